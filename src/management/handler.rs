//! Serves an [`Actuator`] alone, on `management.server.port`: a front of two threads calls it.
//!
//! It never blocks but for the client itself, and what it answers is no traffic: it is neither logged nor counted.

use super::Actuator;
use super::page::Page;
use crate::client::{Client, Ending, Handler, Refused, Request};
use std::sync::Arc;
use std::time::SystemTime;

/// The handler of the management port.
pub struct ManagementHandler {
    actuator: Arc<Actuator>,
}

impl ManagementHandler {
    /// For `actuator`; what is not below its base path is not found.
    pub fn new(actuator: Arc<Actuator>) -> Self {
        Self { actuator }
    }
}

impl Handler for ManagementHandler {
    type Local = ();

    fn local(&self) {}

    fn serve(&self, _local: &mut (), request: Request, client: &mut dyn Client) -> Ending {
        let head = &request.head;
        let nothing = || Page::not_found("only the actuator is here").into_reply(head, SystemTime::now());
        self.actuator.page(head).unwrap_or_else(nothing).send(head, client)
    }

    fn refused(&self, _refusal: &Refused) {}
}
