//! The native client: writes the head, waits for the answer's, parses it. Everything else is the exchange's.

use super::buffers::Input;
use super::error::Fault;
use super::exchange::Exchange;
use super::head;
use super::{Answered, OutboundRequest, Rest, target};

/// Sends `request` and receives the head of its answer.
pub(super) fn call(request: &OutboundRequest, exchange: &mut Exchange<'_>) -> Result<Answered, Fault> {
    let origin = exchange.server.origin()?;
    let target = target(request.target.clone())?;
    let line = (&request.method, target.as_str().as_bytes(), &request.fields);
    head::write_request(&mut exchange.outgoing.octets, line, &origin.host, exchange.framing);
    let mut input = Input::new();
    exchange.begin(&mut input)?;
    let mut looked_at = 0;
    loop {
        let unread = input.unread();
        if head::is_worth_parsing(unread, looked_at)
            && let Some((used, head)) = head::parse_answer(unread)?
        {
            input.used(used);
            return Ok(Answered { head, rest: Rest::Here(input) });
        }
        looked_at = unread.len();
        exchange.receive(&mut input)?;
    }
}
