//! What the gateway answers itself: its actuator, `OPTIONS *`, a refused method, and 404 for what no route takes.

use super::record::Record;
use super::{Failure, Gateway};
use crate::client::{Client, Ending, Request};
use crate::exchange::{ALLOW, Planned};
use crate::management::Answer;
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
            self.rate(route, request, client, record)?;
        }
        let asked = (head.path(), head.query().unwrap_or_default());
        let mut answer = self.page(planned, head, asked, client.subscription().is_some())?;
        answer.reply.fields.extend(record.fields().map(|(name, value)| (name.into(), value)));
        record.replying(&answer.reply, head.method());
        Ok(answer.send(head, client))
    }

    /// The answer to what does not go upstream; `asked` is the path and query that no route takes.
    pub(super) fn page(
        &self,
        planned: &Planned<'_>,
        head: &RequestHead,
        asked: (&[u8], &[u8]),
        can_subscribe: bool,
    ) -> Result<Answer, Failure> {
        Ok(match planned {
            Planned::Forward { path, .. } => {
                let (page, query) = split(path);
                self.actuator.page_at(head, (page, query), can_subscribe).ok_or_else(|| no_page(page))?
            }
            Planned::Options => allow(StatusCode::OK).into(),
            Planned::MethodNotAllowed => allow(StatusCode::METHOD_NOT_ALLOWED).into(),
            Planned::None | Planned::Proxy(_) => {
                let page = self.actuator_here.then(|| self.actuator.page_at(head, asked, can_subscribe)).flatten();
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
