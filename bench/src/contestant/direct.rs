//! No proxy: the client speaks to the backend.

use super::{Availability, Contestant, Family};
use std::io;

pub(super) const DIRECT: Contestant = Contestant {
    name: "direct",
    label: "direct",
    family: Family::None,
    knobs: &[],
    find: || Availability::Ready,
    launch: |launch| {
        let first = launch.setup.routes.first().and_then(|route| route.servers.first());
        Ok((*first.ok_or_else(|| io::Error::other("no backend"))?, None))
    },
};
