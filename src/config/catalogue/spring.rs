//! The few keys under `spring` that mean something here.
//!
//! Everything else under `spring` belongs to libraries that are not here; `settings` warns of it once for each namespace below it, such as
//! `spring.datasource`.

use super::{Key, Kind, Unit, acts, inert};

pub(super) const KEYS: &[Key] = &[
    acts(
        "spring.application.name",
        Kind::Text,
        "portcullis",
        "The gateway's own name: the first thing that its log says.",
    ),
    acts(
        "spring.lifecycle.timeout-per-shutdown-phase",
        Kind::Duration { unit: Unit::Millis, min: 0 },
        "30s",
        "How long requests that run may take when the gateway is told to stop.",
    ),
    acts("spring.profiles.active", Kind::List, "", "Profiles whose documents count."),
    acts("spring.profiles.include", Kind::List, "", "Profiles that count besides the active ones."),
    acts("spring.profiles", Kind::List, "", "At the head of a document: the profiles it is for (before Boot 2.4)."),
    acts("spring.config.activate.on-profile", Kind::List, "", "At the head of a document: the profiles it is for."),
];

pub(super) const UNREAD_BUT_KNOWN: &[Key] = &[
    inert("spring.config.**", "files are named by -c"),
    inert("spring.profiles.group.**", "name the profiles in spring.profiles.active"),
];
