//! What a request's target asks of the backend.

use std::time::Duration;

/// How long to wait before the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Delay {
    #[default]
    None,
    /// As the backend was started.
    Default,
    Exactly(Duration),
    /// With this mean.
    HeavyTailed(Duration),
}

/// A whole request, as far as the answer depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) delay: Delay,
    /// Octets of the answer's body; `None` for the usual one.
    pub(super) bytes: Option<u32>,
    /// Whether the answer tells how long the request's body was.
    pub(super) upload: bool,
    /// Heavy-tailed delays begin anew, from this seed.
    pub(super) seed: Option<u64>,
    /// Whether the counters are asked for.
    pub(super) counters: bool,
    /// Octets of the request's body, known once it is through.
    pub(super) octets: u64,
}

impl Ask {
    /// As the target says. What it does not understand it ignores: the kit itself writes the targets.
    pub(super) fn of(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut ask = Self {
            upload: path.ends_with("/upload"),
            counters: matches!(path, "/counters" | "/restart"),
            ..Self::default()
        };
        if path.ends_with("/slow") {
            ask.delay = Delay::Default;
        }
        if path == "/restart" {
            ask.seed = query.strip_prefix("seed=").and_then(|seed| seed.parse().ok());
        }
        for (name, value) in query.split('&').filter_map(|parameter| parameter.split_once('=')) {
            match (name, value.parse::<u32>()) {
                ("ms", Ok(ms)) => ask.delay = Delay::Exactly(Duration::from_millis(ms.into())),
                ("tail", Ok(ms)) => ask.delay = Delay::HeavyTailed(Duration::from_millis(ms.into())),
                ("bytes", Ok(bytes)) => ask.bytes = Some(bytes),
                _ => {}
            }
        }
        ask
    }
}
