//! One request to an upstream server and the head of its answer.

use super::Failure;
use super::lease::{Lease, until};
use super::notes::Notes;
use super::upload::{Progress, Upload};
use http::header::CONTENT_LENGTH;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use portcullis::deadline::Deadline;
use portcullis::exchange::Plan;
use portcullis::reason::{Cause, Reason};
use portcullis::upstream::framing::{RequestFraming, strip};
use portcullis::upstream::name_host;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shortest sleep while the client is waited for: its deadline moves away, and is looked at again.
const LEAST_SLEEP: Duration = Duration::from_millis(5);

/// A call under way.
pub(super) struct Call {
    pub(super) lease: Lease,
    /// For the head of the answer; stands still while the client is waited for.
    pub(super) deadline: Deadline,
    /// For the upstream to move.
    pub(super) read_timeout: Option<Duration>,
    /// The upload, if there is one.
    pub(super) progress: Option<Arc<Progress>>,
    pub(super) idempotent: bool,
}

/// Why an attempt failed.
struct Failed {
    failure: Failure,
    /// The request, when nothing of it was sent.
    unsent: Option<Request<Upload>>,
}

/// The request that a plan makes.
pub(super) fn outbound(
    plan: Plan<'_>,
    host: &HeaderValue,
    framing: RequestFraming,
    upload: Upload,
) -> Result<Request<Upload>, Failure> {
    let Plan { method, target, mut fields, .. } = plan;
    let length = target.len();
    let bad = |why: String| Failure::of_client(Reason::BadRequest, why);
    let target = PathAndQuery::from_maybe_shared(target).map_err(|error| bad(format!("target: {error}")))?;
    if target.as_str().len() != length {
        return Err(bad("the target holds a fragment".into()));
    }
    strip(&mut fields);
    match framing {
        RequestFraming::Empty => drop(fields.insert(CONTENT_LENGTH, HeaderValue::from_static("0"))),
        RequestFraming::Exactly(length) => drop(fields.insert(CONTENT_LENGTH, length.into())),
        RequestFraming::Silent | RequestFraming::Chunked => {}
    }
    name_host(&mut fields, host);
    let mut request = Request::new(upload);
    *request.method_mut() = method;
    *request.uri_mut() = Uri::from(target);
    *request.headers_mut() = fields;
    Ok(request)
}

impl Call {
    /// Sends the request and waits for the head of the answer. Once, where a kept connection failed as a stale one does and nothing can
    /// happen twice, it is sent again on a new one: as it is if nothing of it was sent, else as `again` makes it.
    pub(super) async fn answered(
        &mut self,
        mut request: Request<Upload>,
        notes: &mut Notes,
        again: impl Fn(&Notes) -> Result<Request<Upload>, Failure>,
    ) -> Result<Response<Incoming>, Failure> {
        loop {
            notes.attempted();
            let Failed { failure, unsent } = match self.send(request).await {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            let harmless = failure.reason == Reason::UpstreamAborted && self.idempotent && self.progress.is_none();
            request = match unsent {
                Some(unsent) if self.lease.reused => unsent,
                None if self.lease.reused && harmless => again(notes)?,
                _ => return Err(failure),
            };
            within(self.deadline, "connecting", self.lease.reopen()).await??;
        }
    }

    async fn send(&mut self, request: Request<Upload>) -> Result<Response<Incoming>, Failed> {
        let progress = self.progress.as_deref();
        let late = too_late(self.deadline, self.read_timeout, progress);
        let sender = self.lease.sender().map_err(|failure| Failed { failure, unsent: None })?;
        tokio::select! {
            biased;
            answer = sender.try_send_request(request) => answer.map_err(|mut error| {
                let unsent = error.take_message();
                Failed { failure: fault(error.error(), progress), unsent }
            }),
            failure = late => Err(Failed { failure, unsent: None }),
        }
    }
}

/// Waits until it has taken too long.
async fn too_late(deadline: Deadline, read_timeout: Option<Duration>, progress: Option<&Progress>) -> Failure {
    let begun = Instant::now();
    loop {
        let now = Instant::now();
        let (deadline, gap) = match progress {
            Some(progress) => progress.bounds(deadline, read_timeout, now),
            None => (deadline, read_timeout.map_or(Deadline::NEVER, |gap| Deadline::at(begun + gap))),
        };
        if deadline.moment().is_some_and(|at| at <= now) {
            return deadline_passed("waiting for the answer");
        }
        if gap.moment().is_some_and(|at| at <= now) {
            let why = "the read timeout passed while waiting for the answer";
            return Failure::new(Reason::Timeout, why).by(Cause::ReadTimeout);
        }
        match deadline.nearer(gap).moment() {
            None => std::future::pending::<()>().await,
            Some(at) if progress.is_none() => tokio::time::sleep_until(at.into()).await,
            Some(at) => tokio::time::sleep_until(at.max(now + LEAST_SLEEP).into()).await,
        }
    }
}

/// What `doing` comes to, unless the deadline passes before.
pub(super) async fn within<T>(deadline: Deadline, doing: &str, what: impl Future<Output = T>) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = what => Ok(done),
        () = until(deadline) => Err(deadline_passed(doing)),
    }
}

/// The deadline passed, `doing` something.
fn deadline_passed(doing: &str) -> Failure {
    Failure::new(Reason::Timeout, format!("the deadline passed while {doing}")).by(Cause::Deadline)
}

/// What hyper's error means; what the client did is behind it where the body broke.
pub(super) fn fault(error: &hyper::Error, progress: Option<&Progress>) -> Failure {
    if let Some(client) = progress.and_then(Progress::failure) {
        return client.into();
    }
    let told = || match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    match error {
        _ if error.is_parse() => Failure::new(Reason::UpstreamBadResponse, told()),
        _ if error.is_incomplete_message() => Failure::new(Reason::UpstreamAborted, told()).by(Cause::NoAnswer),
        _ => Failure::new(Reason::UpstreamAborted, told()),
    }
}
