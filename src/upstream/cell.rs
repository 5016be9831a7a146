//! The way around the Agent: what its interface cannot carry reaches our transport through a cell of the calling thread.
//!
//! ureq owns the transport that it is given, knows no deadline of ours and no client to relay to. So the transport that it gets is hollow:
//! whatever it is asked to do it does through the [`Wire`] that [`lend`] puts into the cell for the time of one ureq call. The wire, with
//! the connection in it, stays with us: with the call until the response head is there, with the answer's body afterwards, on whichever
//! thread that is read.

use super::buffers::Input;

/// The wire has failed, and keeps the reason.
#[derive(Debug)]
pub(super) struct Broken;

/// What a hollow transport does its work through.
pub(super) trait Wire {
    /// Octets of the request head.
    fn send(&mut self, octets: &[u8]) -> Result<(), Broken>;

    /// Adds at least one octet to `input`, waiting if need be; false at the end of the stream.
    fn fill(&mut self, input: &mut Input) -> Result<bool, Broken>;

    /// The exchange is over, the input empty; whether the connection may be used again.
    fn settle(&mut self) -> bool;

    /// Whether the server is spoken to over TLS.
    fn is_tls(&self) -> bool;

    /// How long the longest line of the request head can be.
    fn longest_line(&self) -> usize;

    /// ureq is done with this input; what is unread of it may be taken out.
    fn reclaim(&mut self, _: &mut Input) {}
}

scoped_tls_hkt::scoped_thread_local!(static mut CURRENT: for<'a> &'a mut (dyn Wire + 'a));

/// Runs `call` with `wire` in the cell.
pub(super) fn lend<R>(wire: &mut dyn Wire, call: impl FnOnce() -> R) -> R {
    CURRENT.set(wire, call)
}

/// Offers the input of a transport that is about to go to the wire, if there is one.
pub(super) fn offer(input: &mut Input) {
    if CURRENT.is_set() {
        wire(|wire| wire.reclaim(input));
    }
}

/// Does something with the wire in the cell. Only for code that [`lend`] calls.
pub(super) fn wire<R>(work: impl FnOnce(&mut dyn Wire) -> R) -> R {
    CURRENT.with(|wire| work(wire))
}
