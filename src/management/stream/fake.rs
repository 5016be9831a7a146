//! A stream that tells one event a time, and connections that tests fill up and break.

use super::{EventStream, Events};
use crate::client::{ClientError, EventConnection};
use crate::config::model::StreamConfig;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

pub(in crate::management) const EVENT: &str = "data: {}\n\n";

pub(in crate::management) fn stream(interval: u64, max_clients: usize) -> Arc<EventStream> {
    let events: Box<Events> = Box::new(|out, _, _| out.push_str(EVENT));
    EventStream::new(StreamConfig { interval: Duration::from_millis(interval), max_clients }, events)
}

/// What a connection has come to.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) sent: String,
    /// Octets that it still takes.
    pub(super) room: usize,
    pub(super) is_gone: bool,
    pub(super) is_draining: bool,
    pub(super) is_finished: bool,
    pub(super) is_dropped: bool,
}

pub(super) struct FakeConnection(pub(super) Arc<Mutex<Connection>>);

impl EventConnection for FakeConnection {
    fn send_now(&mut self, octets: &[u8]) -> Result<usize, ClientError> {
        let mut connection = self.0.lock();
        if connection.is_gone {
            return Err(ClientError::Gone);
        }
        let taken = octets.len().min(connection.room);
        connection.room -= taken;
        connection.sent += std::str::from_utf8(&octets[..taken]).unwrap();
        Ok(taken)
    }

    fn is_draining(&self) -> bool {
        self.0.lock().is_draining
    }

    fn finish(self: Box<Self>) {
        self.0.lock().is_finished = true;
    }
}

impl Drop for FakeConnection {
    fn drop(&mut self) {
        self.0.lock().is_dropped = true;
    }
}
