//! The only place that speaks ureq's language: an Agent with nothing of its own but HTTP, and the hollow transport that it is given.
//!
//! No pool, no redirects, no proxy from the environment, no field added, no timeout, no look-up: connections, time and names are ours.

use super::body::Flow;
use super::buffers::{ExchangeBuffers, Input, LARGEST};
use super::cell::{self, Broken, Wire};
use super::error::Fault;
use super::exchange::Exchange;
use super::framing::{self, RequestFraming};
use super::head::AnswerHead;
use super::server::Server;
use super::{Answered, OutboundRequest, Rest, name_host, target};
use crate::reason::Reason;
use http::uri::Parts;
use http::{Request, Uri};
use std::io::{self, Read};
use ureq::config::Config;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

/// The Agent of one thread.
pub(super) fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .save_redirect_history(false)
        .user_agent("")
        .accept("")
        .accept_encoding("")
        .allow_non_standard_methods(true)
        .max_response_header_size(LARGEST - 1)
        .max_idle_connections(0)
        .max_idle_connections_per_host(0)
        .timeout_await_100(None)
        .build();
    ureq::Agent::with_parts(config, HollowConnector, NoResolver)
}

/// Sends `request` and receives the head of its answer.
pub(super) fn call(
    agent: &ureq::Agent,
    request: OutboundRequest,
    exchange: &mut Exchange<'_>,
) -> Result<Answered, Fault> {
    exchange.longest_line = longest_line(&request);
    let request = prepare(exchange.server, request, exchange.framing)?;
    let answered = cell::lend(exchange, || agent.run(request));
    if let Some(fault) = exchange.progress.fault.take() {
        return Err(fault);
    }
    let sent = exchange.progress.lease.is_some();
    let (head, body) = answered.map_err(|error| fault(&error, sent))?.into_parts();
    let head = AnswerHead { status: head.status, version: head.version, fields: head.headers };
    Ok(Answered { head, rest: Rest::Ureq(body) })
}

/// The request as ureq takes it. It never has a body for ureq: that is sent by the exchange.
fn prepare(server: &Server, request: OutboundRequest, framing: RequestFraming) -> Result<Request<()>, Fault> {
    let origin = server.origin()?;
    let mut parts = Parts::default();
    parts.scheme = Some(origin.scheme.clone());
    parts.authority = Some(origin.authority.clone());
    parts.path_and_query = Some(target(request.target)?);
    let uri = Uri::from_parts(parts).map_err(|error| Fault::new(Reason::BadRequest, format!("target: {error}")))?;
    let mut outbound = Request::new(());
    *outbound.method_mut() = request.method;
    *outbound.uri_mut() = uri;
    *outbound.headers_mut() = request.fields;
    name_host(outbound.headers_mut(), &origin.host);
    framing::strip(outbound.headers_mut());
    if framing != RequestFraming::Silent {
        framing::placeholder(outbound.headers_mut());
    }
    Ok(outbound)
}

/// Room for the longest line of the head, name, colon and line end included.
fn longest_line(request: &OutboundRequest) -> usize {
    let first = request.method.as_str().len() + request.target.len();
    let lines = request.fields.iter().map(|(name, value)| name.as_str().len() + value.len());
    lines.fold(first, usize::max) + 64
}

/// What an error of ureq's own means, by whether the request was on its way.
fn fault(error: &ureq::Error, sent: bool) -> Fault {
    match (error, sent) {
        (ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..), true) => {
            Fault::bad_response(error.to_string())
        }
        (ureq::Error::Protocol(_) | ureq::Error::Http(_) | ureq::Error::BadUri(_), false) => {
            Fault::new(Reason::BadRequest, error.to_string())
        }
        (ureq::Error::Io(_), true) => Fault::aborted(error.to_string()),
        _ => Fault::new(Reason::Internal, error.to_string()),
    }
}

/// Ends ureq's part in an answer, whose body is then read without it; gives what was received of that body.
pub(super) fn dismiss(body: ureq::Body) -> Input {
    let mut kept = Kept(Input::default());
    cell::lend(&mut kept, || drop(body));
    kept.0
}

/// The wire of a transport that has nothing to do any more.
struct Kept(Input);

impl Wire for Kept {
    fn send(&mut self, _: &[u8]) -> Result<(), Broken> {
        Err(Broken)
    }

    fn fill(&mut self, _: &mut Input) -> Result<bool, Broken> {
        Err(Broken)
    }

    fn settle(&mut self) -> bool {
        false
    }

    fn is_tls(&self) -> bool {
        false
    }

    fn longest_line(&self) -> usize {
        0
    }

    fn reclaim(&mut self, input: &mut Input) {
        std::mem::swap(&mut self.0, input);
    }
}

/// Reads some of a body that ureq decodes, with the octets that it finds through `flow`.
pub(super) fn decode(reader: &mut ureq::BodyReader<'static>, flow: &mut Flow, into: &mut [u8]) -> Result<usize, Fault> {
    let read = cell::lend(flow, || reader.read(into));
    match (read, flow.fault.take()) {
        (_, Some(fault)) => Err(fault),
        (Ok(count), None) => Ok(count),
        (Err(error), None) => Err(fault(&error.into(), true)),
    }
}

/// Names are looked up when a connection has to be made, and not here.
#[derive(Debug)]
struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}

#[derive(Debug)]
struct HollowConnector;

impl Connector for HollowConnector {
    type Out = Hollow;

    fn connect(&self, _: &ConnectionDetails, _: Option<()>) -> Result<Option<Hollow>, ureq::Error> {
        Ok(Some(cell::wire(|wire| Hollow { buffers: ExchangeBuffers::new(wire.longest_line()), tls: wire.is_tls() })))
    }
}

/// Buffers, and otherwise what the wire in the cell can do.
#[derive(Debug)]
struct Hollow {
    buffers: ExchangeBuffers,
    tls: bool,
}

impl Transport for Hollow {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        cell::wire(|wire| wire.send(&self.buffers.output[..amount])).map_err(broken)
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        cell::wire(|wire| wire.fill(&mut self.buffers.input)).map_err(broken)
    }

    fn is_open(&mut self) -> bool {
        cell::wire(|wire| wire.settle())
    }

    fn is_tls(&self) -> bool {
        self.tls
    }
}

/// ureq takes some kinds of errors for the end of a body; this is none of them. What happened is kept by the wire.
fn broken(_: Broken) -> ureq::Error {
    io::Error::from(io::ErrorKind::Other).into()
}
