//! The requests of one connection, in order: read what is there, serve each whole head, say what becomes of the connection.
//!
//! The drain rule of edge triggering is kept here: a connection is only given back when the buffer holds no octets that could be served and
//! the socket is known to be empty. Fairness too: after so many requests in line, or when others wait, a connection that has more goes to the
//! tail of the queue. Called by `worker`, which owns the connection.

use super::body::Body;
use super::input::Received;
use super::native_client::{Link, NativeClient};
use super::refusal::send_at_once;
use super::slots::{Owned, State};
use super::worker::Worker;
use crate::client::{ClientError, Ending, Handler, Refused, Request, Subscription};
use crate::reason::Reason;
use crate::reply;
use crate::wire::head::RequestHead;
use crate::wire::{HeadError, framing};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Requests served in line before others get a turn.
const IN_LINE: u32 = 16;
/// How long a worker reads and waits for the unread rest of a body, for the sake of the next request.
const SWALLOW_PATIENCE: Duration = Duration::from_millis(500);

/// What becomes of a connection.
pub(super) enum After {
    /// Nothing there: give it back, until something comes or `budget` has passed since `from`.
    Idle { from: Instant, budget: Option<Duration> },
    /// It has more, but others wait.
    GiveWay,
    /// Answer with a canned refusal, then close in stages.
    Refuse(Reason, Instant),
    /// Close in stages, so that the answer arrives.
    Linger,
    /// Leave it to this: it outlives its request.
    Subscribe(Box<dyn Subscription>),
    /// Close so that the client notices.
    Reset,
    /// Close.
    Close,
}

/// What the octets at hand are.
enum Next {
    Request(RequestHead, Body),
    /// No whole head, and the socket holds no more.
    NotYet,
    /// The client has closed, or broken the connection.
    Gone,
    Bad(HeadError),
}

impl<H: Handler> Worker<'_, H> {
    /// Serves what the connection holds. `waited`: how long its first request waited for a worker.
    pub(super) fn visit(&mut self, owned: &Owned<'_>, waited: Duration) -> After {
        let socket = owned.socket();
        let Some(socket) = socket.as_ref() else { return After::Close };
        let mut state = owned.state();
        self.input.begin(&std::mem::take(&mut state.unread));
        let after = self.requests(owned, socket, &mut state, waited);
        if matches!(after, After::Idle { .. } | After::GiveWay) && !self.input.unread().is_empty() {
            state.unread = self.input.unread().to_vec();
        }
        after
    }

    fn requests(&mut self, owned: &Owned<'_>, socket: &TcpStream, state: &mut State, waited: Duration) -> After {
        let mut waited = waited;
        loop {
            if self.must_give_way() {
                return After::GiveWay;
            }
            let (head, body) = match self.next(owned, socket) {
                Next::Request(head, body) => (head, body),
                Next::NotYet => return self.not_yet(state),
                Next::Gone => return self.gone(state),
                Next::Bad(error) => return self.bad_head(socket, state, error),
            };
            let link = Link { shared: self.shared, owned, socket, input: &mut self.input, peer: state.peer };
            let keeps = !framing::wants_close(&head) && self.shared.allows_another(state.served + 1);
            let client = NativeClient::new(link, head.version(), body, keeps);
            let request = received(head, self.shared.clock.now(), std::mem::take(&mut waited));
            (state.since, state.head_since) = (None, None);
            let received = request.received;
            let ended = Handling { handler: self.handler, local: &mut self.local }.run(request, client);
            self.place.answered();
            self.in_line += 1;
            state.served += 1;
            match ended {
                Ended::Persists => {}
                Ended::Last(after) => return after,
                Ended::Unanswered => return After::Refuse(Reason::Internal, received),
            }
        }
    }

    fn must_give_way(&self) -> bool {
        let has_more = !self.input.unread().is_empty() || !self.input.drained;
        self.in_line > 0 && has_more && (self.in_line.is_multiple_of(IN_LINE) || self.shared.queue.len() > 0)
    }

    /// The next whole head, from the buffer or the socket, without waiting.
    fn next(&mut self, owned: &Owned<'_>, socket: &TcpStream) -> Next {
        loop {
            if !self.input.unread().is_empty() {
                match self.parse() {
                    Ok(Some((head, body))) => return Next::Request(head, body),
                    Ok(None) => {}
                    Err(error) => return Next::Bad(error),
                }
            }
            if self.input.drained {
                return Next::NotYet;
            }
            match self.input.receive(socket, || owned.hung_up()) {
                Received::Octets(_) => {}
                Received::Nothing => return Next::NotYet,
                Received::End | Received::Broken => return Next::Gone,
            }
        }
    }

    fn parse(&mut self) -> Result<Option<(RequestHead, Body)>, HeadError> {
        let config = &self.shared.config;
        let Some((head, used)) = RequestHead::parse(self.input.unread(), &config.head, &config.relaxed)? else {
            return Ok(None);
        };
        let length = framing::body_length(&head)?;
        self.input.consume(used);
        let body = Body::new(&head, length);
        Ok(Some((head, body)))
    }

    /// Nothing that could be served: the connection waits for its client.
    fn not_yet(&self, state: &mut State) -> After {
        let now = self.shared.clock.now();
        let config = &self.shared.config;
        let draining = self.shared.is_draining();
        if !State::has_begun(self.input.unread()) {
            if draining {
                return After::Linger;
            }
            let budget = if state.served == 0 { Some(config.connection_timeout) } else { config.keep_alive_timeout };
            return After::Idle { from: *state.since.get_or_insert(now), budget };
        }
        let begun = *state.head_since.get_or_insert(now);
        if draining {
            return After::Refuse(Reason::Draining, begun);
        }
        if now.saturating_duration_since(begun) >= config.connection_timeout {
            return After::Refuse(Reason::HeadTimeout, begun);
        }
        After::Idle { from: begun, budget: Some(config.connection_timeout) }
    }

    fn gone(&self, state: &State) -> After {
        if State::has_begun(self.input.unread()) {
            self.shared.stats.aborted.add_one();
            let since = state.head_since.unwrap_or_else(|| self.shared.clock.now());
            let (reason, peer, detail) = (Reason::ClientAborted, state.peer, "the client left inside its head".into());
            self.shared.tell_refused(&Refused { reason, status: reason.status(), detail, peer, since, sent: 0 });
        }
        After::Close
    }

    fn bad_head(&self, socket: &TcpStream, state: &State, error: HeadError) -> After {
        let since = state.head_since.unwrap_or_else(|| self.shared.clock.now());
        let sent = send_at_once(socket, &reply::head_error(&error, self.shared.clock.wall()));
        let (reason, status, detail) = (error.reason(), error.status(), error.to_string().into());
        self.shared.tell_refused(&Refused { reason, status, detail, peer: state.peer, since, sent });
        After::Linger
    }
}

/// The request, received as long before `now` as it waited. Only the first of a visit has waited: one whose head was completed later came
/// to a worker directly, and a pipelined one counts from its turn, since the answer before it is not its own time.
fn received(head: RequestHead, now: Instant, queued: Duration) -> Request {
    Request { head, received: now.checked_sub(queued).unwrap_or(now), queued }
}

/// How a request ended, as its connection sees it.
enum Ended {
    Persists,
    Last(After),
    /// Nothing was sent, by a fault of ours.
    Unanswered,
}

struct Handling<'a, H: Handler> {
    handler: &'a H,
    local: &'a mut H::Local,
}

impl<H: Handler> Handling<'_, H> {
    fn run(self, request: Request, mut client: NativeClient<'_>) -> Ended {
        let served = catch_unwind(AssertUnwindSafe(|| self.handler.serve(self.local, request, &mut client)));
        if served.is_err() {
            client.shared().stats.panics.add_one();
            *self.local = self.handler.local(); // nobody knows in what state the panic left it
        }
        let persists = matches!(served, Ok(Ending::Done)) && client.swallow(SWALLOW_PATIENCE);
        let aborted = &client.shared().stats.aborted;
        let outcome = client.finish();
        match (served, outcome.failed) {
            (_, Some(ClientError::Gone)) => {
                aborted.add_one();
                Ended::Last(After::Close)
            }
            (_, Some(ClientError::WriteTimeout)) => {
                aborted.add_one();
                Ended::Last(After::Reset)
            }
            (Ok(Ending::Abort), _) if outcome.wrote == 0 => Ended::Last(After::Close),
            (Err(_) | Ok(_), _) if outcome.wrote == 0 => Ended::Unanswered,
            (Ok(Ending::Subscribe), _) => Ended::Last(outcome.subscription.map_or(After::Reset, After::Subscribe)),
            (Err(_) | Ok(Ending::Abort), _) => Ended::Last(After::Reset),
            (Ok(Ending::Done), _) if persists => Ended::Persists,
            (Ok(Ending::Done | Ending::Close), _) => Ended::Last(After::Linger),
        }
    }
}
