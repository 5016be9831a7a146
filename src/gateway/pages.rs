//! What the gateway answers itself: its actuator, `OPTIONS *`, a refused method, and 404 for what no route takes.

use super::record::Record;
use super::{Failure, Gateway};
use crate::client::{Client, Ending, Request};
use crate::exchange::{ALLOW, Planned};
use crate::reason::Reason;
use crate::reply::Reply;
use crate::wire::head::RequestHead;
use http::{HeaderValue, StatusCode};

impl Gateway {
    /// Answers what does not go upstream.
    pub(super) fn own_page(
        &self,
        planned: &Planned<'_>,
        request: &Request,
        client: &mut dyn Client,
        record: &mut Record,
    ) -> Result<Ending, Failure> {
        let head = &request.head;
        if let Planned::Forward { route, .. } = planned {
            record.routed(route);
        }
        let reply = self.page(planned, head, (head.path(), head.query().unwrap_or_default()))?;
        record.replying(&reply, head.method());
        Ok(reply.send(head, client))
    }

    /// The answer to what does not go upstream; `asked` is the path and query that no route takes.
    pub(super) fn page(
        &self,
        planned: &Planned<'_>,
        head: &RequestHead,
        asked: (&[u8], &[u8]),
    ) -> Result<Reply, Failure> {
        Ok(match planned {
            Planned::Forward { path, .. } => {
                let (page, query) = split(path);
                self.actuator.page_at(head, page, query).ok_or_else(|| no_page(page))?
            }
            Planned::Options => allow(StatusCode::OK),
            Planned::MethodNotAllowed => allow(StatusCode::METHOD_NOT_ALLOWED),
            Planned::None | Planned::Proxy(_) => {
                let page = self.actuator_here.then(|| self.actuator.page_at(head, asked.0, asked.1)).flatten();
                page.ok_or(Reason::NoRoute)?
            }
        })
    }
}

/// Path and query of a target in origin-form.
pub(super) fn split(target: &[u8]) -> (&[u8], &[u8]) {
    match target.iter().position(|&octet| octet == b'?') {
        Some(at) => (&target[..at], &target[at + 1..]),
        None => (target, b""),
    }
}

fn no_page(path: &[u8]) -> Failure {
    Failure::of_client(Reason::NoRoute, format!("forward to {}: the gateway has no such page", path.escape_ascii()))
}

fn allow(status: StatusCode) -> Reply {
    Reply::empty(status).with("Allow", HeaderValue::from_static(ALLOW))
}
