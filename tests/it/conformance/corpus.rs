//! The corpus as data: `tests/conformance/cases.yaml` read into types that know every key, so that a misspelt one fails the run.
//!
//! The head of that file says what each key means. Texts hold octets as code points 0 to 255; two words in them stand for what is known
//! only when a case is played: the host that the gateway routes and the address of the upstream ([`Names`]).

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};
use std::collections::BTreeMap;

/// What a text's placeholders stand for.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// In place of `@UPSTREAM@`.
    pub(crate) upstream: String,
}

/// Octets, written as text.
#[derive(Clone, Debug)]
pub(crate) struct Text(String);

impl Text {
    /// The octets.
    pub(crate) fn octets(&self, names: &Names) -> Vec<u8> {
        let octet = |c: char| u8::try_from(u32::from(c)).expect("the corpus holds code points up to 255 only");
        self.0.replace("@UPSTREAM@", &names.upstream).chars().map(octet).collect()
    }

    /// As it stands in the corpus, for field names and complaints.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match serde_yaml::Value::deserialize(from)? {
            serde_yaml::Value::String(text) => Ok(Self(text)),
            serde_yaml::Value::Number(number) => Ok(Self(number.to_string())),
            other => Err(D::Error::custom(format!("expected a text, found {other:?}"))),
        }
    }
}

/// One value or a list of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany<T> {
    /// A list.
    Many(Vec<T>),
    /// One.
    One(T),
}

impl<T> OneOrMany<T> {
    /// As a list.
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Self::Many(list) => list,
            Self::One(one) => std::slice::from_ref(one),
        }
    }
}

/// Octets to send, or to compare with.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Data {
    /// The same text several times.
    Repeat {
        /// The text.
        repeat: Text,
        /// How often.
        times: usize,
    },
    /// One after the other.
    List(Vec<Data>),
    /// A text.
    Text(Text),
}

impl Data {
    /// The octets.
    pub(crate) fn octets(&self, names: &Names) -> Vec<u8> {
        match self {
            Self::Repeat { repeat, times } => repeat.octets(names).repeat(*times),
            Self::List(parts) => parts.iter().flat_map(|part| part.octets(names)).collect(),
            Self::Text(text) => text.octets(names),
        }
    }
}

/// What a client does next.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum RequestPart {
    /// Sends single octets.
    Drip {
        /// What.
        drip: Data,
        /// Seconds between them.
        #[serde(default = "drip_pace_of_clients")]
        every: f64,
    },
    /// Lets time pass, in seconds.
    Delay {
        /// How much.
        delay: f64,
    },
    /// Waits for something to come.
    Await {
        /// What.
        #[serde(rename = "await")]
        what: Awaited,
        /// How many of it.
        #[serde(default = "one")]
        count: usize,
    },
    /// Sends through a tunnel, if there is one.
    IfTunnel {
        /// What.
        if_tunnel: Data,
        /// How many octets are to come back.
        expect: usize,
    },
    /// Closes its sending half.
    Shutdown {
        /// Always true.
        shutdown: bool,
    },
    /// Resets the connection and stops looking.
    Reset {
        /// Always true.
        reset: bool,
    },
    /// Sends octets.
    Send(Data),
}

/// What a client waits for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Awaited {
    /// Final responses.
    Responses,
    /// An interim or final response.
    Interim,
    /// Requests at the upstream.
    Upstream,
    /// A switched protocol, or a final response.
    Tunnel,
}

/// What the upstream does with one request.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Exchange {
    /// Step by step; without steps it answers as the default upstream does.
    Plan {
        /// How much of the request it reads first.
        #[serde(default)]
        read: Read,
        /// Whether the connection stays open afterwards.
        #[serde(default)]
        keepalive: bool,
        /// What it does.
        steps: Option<Vec<Step>>,
    },
    /// Sends octets and closes.
    Octets(Data),
}

/// How much of a request the upstream reads before it acts.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Read {
    /// All of it.
    #[default]
    Full,
    /// Its head.
    Head,
}

/// One step of the upstream; exactly one of the actions is given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Only if the request has this field.
    pub(crate) if_header: Option<String>,
    /// Only if it has not.
    pub(crate) unless_header: Option<String>,
    /// Sends octets.
    pub(crate) send: Option<Data>,
    /// Sends single octets.
    pub(crate) drip: Option<Data>,
    /// Seconds between them.
    pub(crate) every: Option<f64>,
    /// Lets time pass, in seconds.
    pub(crate) delay: Option<f64>,
    /// Reads the body.
    pub(crate) read_body: Option<bool>,
    /// Closes in order.
    pub(crate) close: Option<bool>,
    /// Resets.
    pub(crate) reset: Option<bool>,
    /// Sends back what comes, in angle brackets, for so many seconds.
    pub(crate) echo: Option<f64>,
    /// Waits so many seconds for the gateway to close.
    pub(crate) await_close: Option<f64>,
    /// Waits until the gateway has given up.
    pub(crate) stall: Option<bool>,
}

/// How binding the rule behind a case is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// A MUST, or an outcome that nobody could defend.
    Must,
    /// A SHOULD, or common practice.
    Should,
}

/// A limit of the gateway that a case runs into.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Need {
    /// How long it waits for its upstream.
    UpstreamTimeout,
    /// How long it waits for a request head.
    HeaderTimeout,
}

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) id: String,
    /// The group it stands in.
    pub(crate) group: String,
    /// How binding.
    pub(crate) level: Level,
    /// The rule it comes from.
    pub(crate) source: String,
    /// The reason in a line.
    pub(crate) why: String,
    /// Where other proxies are known to differ.
    pub(crate) note: Option<String>,
    /// What the client sends; without it a plain GET.
    pub(crate) request: Option<OneOrMany<RequestPart>>,
    /// The methods of the requests, where that is not one request.
    pub(crate) methods: Option<Vec<Text>>,
    /// What the upstream does, request by request; the last entry repeats.
    pub(crate) upstream: Option<OneOrMany<Exchange>>,
    /// The limit that it runs into.
    pub(crate) needs: Option<Need>,
    /// Complaints that are fine here.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    /// Seconds that the client has.
    pub(crate) timeout: Option<f64>,
    /// Seconds that the upstream has to finish.
    pub(crate) settle: Option<f64>,
    /// What must come of it.
    pub(crate) expect: Expect,
}

/// What must come of a case: all that is given, and one of `any_of`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// Accepted outcomes, each on top of the other keys.
    pub(crate) any_of: Option<Vec<Expect>>,
    /// Status of the first response.
    pub(crate) status: Option<OneOrMany<Status>>,
    /// Statuses of all responses.
    pub(crate) statuses: Option<Vec<OneOrMany<Status>>>,
    /// Number of final responses.
    pub(crate) responses: Option<OneOrMany<usize>>,
    /// Whether the gateway closes, or stays usable.
    pub(crate) close: Option<bool>,
    /// Whether the request reached the upstream.
    pub(crate) forwarded: Option<Forwarded>,
    /// Whole requests at the upstream: a number, or lowest and highest.
    pub(crate) requests: Option<OneOrMany<usize>>,
    /// Interim statuses that come.
    pub(crate) interim: Option<Vec<u16>>,
    /// That none comes.
    pub(crate) no_interim: Option<bool>,
    /// Facts about what the upstream got.
    pub(crate) upstream_sees: Option<Vec<Fact>>,
    /// Facts about what the client got.
    pub(crate) client_sees: Option<Vec<Fact>>,
    /// Events at the upstream.
    pub(crate) events: Option<BTreeMap<String, bool>>,
}

/// A status that is accepted.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Status {
    /// This one.
    Code(u16),
    /// `4xx` and the like, or `drop`: closed without a response.
    Word(String),
}

/// Whether a request reached the upstream.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Forwarded {
    /// Whole, or not at all.
    Whole(bool),
    /// `incomplete`: at most in a form that does not look whole.
    Word(String),
}

/// Something that must be so.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fact {
    /// Which message it is about.
    #[serde(default)]
    pub(crate) n: usize,
    /// Its method is one of these.
    pub(crate) method: Option<OneOrMany<Text>>,
    /// Its target is one of these.
    pub(crate) target: Option<OneOrMany<Text>>,
    /// Its version is one of these.
    pub(crate) version: Option<OneOrMany<Text>>,
    /// Its framing is one of these.
    pub(crate) framing: Option<OneOrMany<Text>>,
    /// Its body.
    pub(crate) body: Option<Data>,
    /// Whether it is complete.
    pub(crate) complete: Option<bool>,
    /// The field that the keys below are about.
    pub(crate) header: Option<Text>,
    /// The trailer field that they are about.
    pub(crate) trailer: Option<Text>,
    /// It is not there.
    #[serde(default)]
    pub(crate) absent: bool,
    /// It may be missing.
    #[serde(default)]
    pub(crate) optional: bool,
    /// Its only line is one of these.
    pub(crate) equals: Option<OneOrMany<Text>>,
    /// Its lines.
    pub(crate) lines: Option<Vec<Text>>,
    /// Its members over all lines.
    pub(crate) members: Option<Vec<Text>>,
    /// Its last member.
    pub(crate) last: Option<Text>,
    /// No line has this in it.
    pub(crate) lacks: Option<Text>,
    /// Each line matches this.
    pub(crate) matches: Option<String>,
    /// The octets of the whole connection lack this.
    pub(crate) raw_absent: Option<Text>,
    /// The octets of the whole connection have this.
    pub(crate) raw_present: Option<Text>,
    /// What came through the tunnel.
    pub(crate) tunnel: Option<Text>,
    /// Seconds within which the first octet of a body came.
    pub(crate) body_within: Option<f64>,
}

/// A case that the gateway declines, and why.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declined {
    /// The case.
    pub(crate) id: String,
    /// The reason, as the README gives it.
    pub(crate) reason: String,
}

/// Every case, in order.
pub(crate) fn cases() -> Vec<Case> {
    let cases: Vec<Case> = read(include_str!("../../conformance/cases.yaml"), "cases");
    let mut ids: Vec<_> = cases.iter().map(|case| case.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), cases.len(), "ids of cases are distinct");
    cases
}

/// Every declined case.
pub(crate) fn declined() -> Vec<Declined> {
    read(include_str!("../../conformance/declined.yaml"), "declined")
}

fn read<T: DeserializeOwned>(text: &str, key: &str) -> Vec<T> {
    let mut document: serde_yaml::Value = serde_yaml::from_str(text).expect("the corpus is YAML");
    document.apply_merge().expect("merge keys name mappings");
    let list = document.get(key).and_then(serde_yaml::Value::as_sequence).expect("the corpus has its list").clone();
    let one = |value: serde_yaml::Value| {
        let id = value.get("id").cloned();
        serde_yaml::from_value(value).unwrap_or_else(|fault| panic!("{key} {id:?}: {fault}"))
    };
    list.into_iter().map(one).collect()
}

fn one() -> usize {
    1
}

fn drip_pace_of_clients() -> f64 {
    0.001
}
