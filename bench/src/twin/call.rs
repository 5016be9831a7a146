//! One request to an upstream server and the head of its answer.

use super::Failure;
use super::lease::Lease;
use super::upload::{Progress, Upload};
use http::header::{CONTENT_LENGTH, HOST};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use portcullis::deadline::Deadline;
use portcullis::exchange::Plan;
use portcullis::reason::{Cause, Reason};
use portcullis::upstream::framing::{RequestFraming, strip};
use std::time::{Duration, Instant};

/// The shortest sleep while the client is waited for: its deadline moves away, and is looked at again.
const LEAST_SLEEP: Duration = Duration::from_millis(5);

/// When a call has taken too long.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    /// For the head of the answer; stands still while the client is waited for.
    pub(super) deadline: Deadline,
    /// For the upstream to move.
    pub(super) read_timeout: Option<Duration>,
    /// The upload, if there is one.
    pub(super) progress: Option<&'a Progress>,
}

/// Why an attempt failed.
pub(super) struct Failed {
    pub(super) failure: Failure,
    /// The request, when nothing of it was sent.
    pub(super) unsent: Option<Request<Upload>>,
    /// The connection closed before an answer came, as a stale one does.
    pub(super) is_abort: bool,
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
    if !fields.contains_key(HOST) {
        fields.insert(HOST, host.clone());
    }
    let mut request = Request::new(upload);
    *request.method_mut() = method;
    *request.uri_mut() = Uri::from(target);
    *request.headers_mut() = fields;
    Ok(request)
}

/// Sends it and waits for the head of the answer.
pub(super) async fn send(
    lease: &mut Lease,
    request: Request<Upload>,
    patience: Patience<'_>,
) -> Result<Response<Incoming>, Failed> {
    let sender = lease.sender().map_err(Failed::of)?;
    tokio::select! {
        biased;
        answer = sender.try_send_request(request) => answer.map_err(|mut error| {
            let unsent = error.take_message();
            let failure = fault(error.error(), patience.progress);
            let is_abort = failure.reason == Reason::UpstreamAborted;
            Failed { failure, unsent, is_abort }
        }),
        late = patience.ends() => Err(Failed::of(late)),
    }
}

impl Failed {
    pub(super) fn of(failure: Failure) -> Self {
        Self { failure, unsent: None, is_abort: false }
    }
}

impl Patience<'_> {
    /// Waits until it has taken too long.
    async fn ends(self) -> Failure {
        let begun = Instant::now();
        loop {
            let now = Instant::now();
            let (deadline, gap) = match self.progress {
                Some(progress) => progress.bounds(self.deadline, self.read_timeout, now),
                None => (self.deadline, self.read_timeout.map_or(Deadline::NEVER, |gap| Deadline::at(begun + gap))),
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
                Some(at) if self.progress.is_none() => tokio::time::sleep_until(at.into()).await,
                Some(at) => tokio::time::sleep_until(at.max(now + LEAST_SLEEP).into()).await,
            }
        }
    }
}

/// The deadline passed, `doing` something.
pub(super) fn deadline_passed(doing: &str) -> Failure {
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
