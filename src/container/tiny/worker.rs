//! Workers: take judged requests from the queue and serve them, one at a time and blocking.

use super::Common;
use super::client::TinyClient;
use crate::cancel::Cancel;
use crate::client::{BodyLength, Client, Ending, Handler, Refused, Request};
use crate::phase::{self, Phase, PhaseHandle, PhaseSlot};
use crate::reason::Reason;
use crate::reply;
use crate::wire::HeadError;
use crate::wire::head::RequestHead;
use crossbeam_channel::Receiver;
use http::StatusCode;
use std::borrow::Cow;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// A request on its way to a worker.
pub(super) struct Job {
    pub(super) request: tiny_http::Request,
    pub(super) verdict: Verdict,
    pub(super) received: Instant,
    pub(super) running: Running,
}

/// What is to be done with a request.
pub(super) enum Verdict {
    Serve(Box<RequestHead>, BodyLength),
    Refuse(HeadError),
    /// Its connection was given up.
    Ignore,
}

/// Why a request is refused.
struct Told {
    reason: Reason,
    status: StatusCode,
    detail: Cow<'static, str>,
}

/// Counts a request among those of its client, until dropped.
pub(super) struct Running {
    common: Arc<Common>,
    peer: SocketAddr,
}

impl Running {
    pub(super) fn new(common: Arc<Common>, peer: SocketAddr) -> Self {
        common.peers.run(peer);
        Self { common, peer }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.common.peers.done(self.peer);
    }
}

pub(super) struct Worker<H> {
    pub(super) common: Arc<Common>,
    pub(super) handler: Arc<H>,
    pub(super) cancel: Arc<Cancel>,
    pub(super) phase: Arc<PhaseSlot>,
}

impl<H: Handler> Worker<H> {
    /// Until the queue ends.
    pub(super) fn run(self, queue: &Receiver<Job>) {
        let _adopted = phase::adopt(PhaseHandle { slot: self.phase.clone(), tick: Arc::default() });
        let mut local = self.handler.local();
        while let Some(job) = next(queue) {
            let _busy = self.common.meters.busy.hold();
            self.common.meters.waiting.move_by(-1);
            self.cancel.reset();
            self.attend(&mut local, job);
        }
    }

    fn attend(&self, local: &mut H::Local, job: Job) {
        let Job { request, verdict, received, running: _running } = job;
        let queued = received.elapsed();
        self.common.meters.wait.record(queued);
        let parsed = match &verdict {
            Verdict::Serve(head, length) => Some((&**head, *length)),
            Verdict::Refuse(_) | Verdict::Ignore => None,
        };
        let client = TinyClient::new(self.common.clone(), self.cancel.clone(), request, parsed);
        match verdict {
            Verdict::Ignore => {
                self.common.meters.ignored.add_one();
                client.ignore();
            }
            Verdict::Refuse(error) => {
                let answer = reply::head_error(&error, SystemTime::now());
                let told = Told { reason: error.reason(), status: error.status(), detail: error.to_string().into() };
                self.refuse(client, told, received, &answer);
            }
            Verdict::Serve(..) if queued > self.common.config.queue_timeout => {
                let reason = Reason::QueueTimeout;
                let told = Told { reason, status: reason.status(), detail: "".into() };
                self.refuse(client, told, received, &canned(reason));
            }
            Verdict::Serve(head, _) => self.serve(local, Request { head: *head, received, queued }, client),
        }
    }

    fn refuse(&self, mut client: TinyClient, told: Told, since: Instant, answer: &[u8]) {
        let Told { reason, status, detail } = told;
        self.common.meters.refused(reason).add_one();
        let peer = client.peer();
        let sent = if client.write(&mut [IoSlice::new(answer)]).is_ok() { answer.len() } else { 0 };
        client.end(if sent > 0 { Ending::Close } else { Ending::Abort });
        self.handler.refused(&Refused { reason, status, detail, peer, since, sent });
    }

    fn serve(&self, local: &mut H::Local, request: Request, mut client: TinyClient) {
        self.common.meters.requests.add_one();
        let served = catch_unwind(AssertUnwindSafe(|| self.handler.serve(local, request, &mut client)));
        let ending = served.unwrap_or_else(|_| {
            self.common.meters.panics.add_one();
            // What a panic left behind in there is not to be relied on.
            *local = self.handler.local();
            answer_panic(&mut client)
        });
        client.end(ending);
    }
}

fn next(queue: &Receiver<Job>) -> Option<Job> {
    let _phase = phase::enter(Phase::Idle);
    queue.recv().ok()
}

/// 500, if no answer was begun.
fn answer_panic(client: &mut TinyClient) -> Ending {
    if client.has_written() {
        return Ending::Abort;
    }
    let answer = canned(Reason::Internal);
    if client.write(&mut [IoSlice::new(&answer)]).is_ok() { Ending::Close } else { Ending::Abort }
}

fn canned(reason: Reason) -> Vec<u8> {
    let now = SystemTime::now();
    reply::canned_refusal(reason, reply::retry_after(now), now)
}
