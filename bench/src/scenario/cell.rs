//! One cell: which load on which target.

use crate::backend::PRODUCTS;
use std::time::Duration;

/// A load on a target, with the name of its row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) load: Load,
    pub(crate) seconds: f64,
}

/// How requests are brought; see [`crate::load`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Load {
    /// A closed loop.
    Wrk { threads: u64, connections: u64 },
    /// A closed loop of HTTP/1.0, ended by the number of requests.
    Ab { concurrency: u64, requests: u64 },
    /// An open loop at one rate.
    Open(Open),
    /// An open loop that goes from half of the knee far beyond it and back; see [`OVERLOAD`].
    Overload { knee: f64, connections: usize },
    /// Connections that stand idle, and an open loop of few requests beside them.
    Parked { connections: usize, probe: Open },
    /// Two open loops at once.
    Beside(Box<Beside>),
}

/// The phases of an overload: the rate in parts of the knee, and the time in parts of the whole. At twice the knee, whatever cannot be
/// served lags by as long as the phase lasts, so a phase well above [`crate::load::OBJECTIVE`] must show. At half of it a backlog takes twice
/// as long to go as it took to come, so the last phase has that time.
pub(crate) const OVERLOAD: [(f64, f64); 3] = [(0.5, 0.25), (2.0, 0.25), (0.5, 0.5)];

/// Windows of the first phase of an overload, and of the second: those of the others are as long.
const WINDOWS: u32 = 20;

/// An open loop at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Open {
    pub(crate) rate: f64,
    pub(crate) poisson: bool,
    pub(crate) connections: usize,
}

/// The other one of two open loops.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Beside {
    pub(crate) own: Open,
    pub(crate) other: Open,
    /// How long before the cell's own load it begins, in seconds.
    pub(crate) ahead: f64,
    pub(crate) other_name: String,
    pub(crate) other_target: Target,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    /// The first segment of the path, by which contestants route.
    pub(crate) service: &'static str,
    /// What the backend waits, or its mean.
    pub(crate) delay_ms: u32,
    /// Whether the delay has a heavy tail.
    pub(crate) tail: bool,
    /// Octets of the answer's body; `None` for the usual list of products.
    pub(crate) bytes: Option<u32>,
    /// Octets of the request's body.
    pub(crate) upload: u32,
}

impl Target {
    /// The usual list, at once.
    pub(crate) const LIST: Self = Self { service: "product", delay_ms: 0, tail: false, bytes: None, upload: 0 };

    /// The usual list after a delay.
    pub(crate) fn after(delay_ms: u32) -> Self {
        Self { delay_ms, ..Self::LIST }
    }

    /// Path and query.
    pub(crate) fn path(&self) -> String {
        let page = if self.upload > 0 { "upload" } else { "list" };
        let delay = if self.tail { "tail" } else { "ms" };
        let delay = (self.delay_ms > 0).then(|| format!("{delay}={}", self.delay_ms));
        let bytes = self.bytes.map(|bytes| format!("bytes={bytes}"));
        let query = [delay, bytes].into_iter().flatten().collect::<Vec<_>>().join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        format!("/{}/{page}{mark}{query}", self.service)
    }

    /// Octets of the right answer's body.
    pub(crate) fn body_octets(&self) -> u64 {
        match (self.upload, self.bytes) {
            (0, Some(bytes)) => bytes.into(),
            (0, None) => PRODUCTS.len() as u64,
            (upload, _) => format!("{{\"octets\":{upload}}}").len() as u64,
        }
    }

    /// The whole request.
    pub(crate) fn request(&self) -> Vec<u8> {
        let (method, length) = match self.upload {
            0 => ("GET", String::new()),
            octets => ("POST", format!("Content-Length: {octets}\r\n")),
        };
        let head = format!("{method} {} HTTP/1.1\r\nHost: bench\r\n{length}\r\n", self.path());
        [head.into_bytes(), vec![b'x'; self.upload as usize]].concat()
    }
}

/// When the load of an overload rises, and when it falls, in a whole of so many seconds.
pub(crate) fn overload_turns(seconds: f64) -> (Duration, Duration) {
    let [(_, first), (_, second), _] = OVERLOAD;
    (Duration::from_secs_f64(first * seconds), Duration::from_secs_f64((first + second) * seconds))
}

/// How finely the time of an overload is looked at: no window belongs to two phases.
pub(crate) fn overload_window(seconds: f64) -> Duration {
    overload_turns(seconds).0 / WINDOWS
}

impl Cell {
    /// How long its load takes, without the warm-up: for the plan.
    pub(crate) fn lasts(&self) -> Duration {
        let delay = f64::from(self.target.delay_ms) / 1000.0;
        Duration::from_secs_f64(match &self.load {
            Load::Wrk { .. } => self.seconds.max(1.0),
            Load::Ab { concurrency, requests } => *requests as f64 / *concurrency as f64 * delay.max(0.001),
            Load::Open(_) => self.seconds + delay,
            // Queues empty while it recovers.
            Load::Overload { .. } => self.seconds + 1.0,
            // A thousand connections take a good tenth of a second.
            Load::Parked { connections, .. } => self.seconds + *connections as f64 / 5000.0,
            // What nobody has a thread for is given up after a while.
            Load::Beside(beside) => beside.ahead + self.seconds + f64::from(beside.other_target.delay_ms) / 500.0,
        })
    }
}
