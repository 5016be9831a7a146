//! Plays cases against a gateway and says what is wrong with each: one lane is one gateway with one recording upstream, and several lanes
//! share the work. Which gateway stands behind a lane is the caller's affair: ours, nginx, or one that is faulty on purpose.

use super::corpus::{Case, Expect, Need, RequestPart};
use super::judge::{Outcome, State, accepted, is_wanted, judge, states};
use super::player::{Connection, Player, Terms};
use super::upstream::{ALIVE, Record, Upstream};
use crate::support::wait;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// How long the gateway under test waits; a case that runs into one of them is given that long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// For its upstream's answer.
    pub(crate) upstream_timeout: Duration,
    /// For a request head.
    pub(crate) header_timeout: Duration,
}

/// What came of one case.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// The case.
    pub(crate) id: String,
    /// Its group, the rule it comes from, and the reason for it.
    pub(crate) about: String,
    /// What is wrong; empty when it passes.
    pub(crate) problems: Vec<String>,
    /// The fates of its responses.
    pub(crate) states: Vec<State>,
}

impl Verdict {
    /// Whether the case passes.
    pub(crate) fn passes(&self) -> bool {
        self.problems.is_empty()
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let states: Vec<_> = self.states.iter().map(ToString::to_string).collect();
        write!(f, "{:<34} [{}] {} ({})", self.id, states.join(" "), self.problems.join("; "), self.about)
    }
}

/// One gateway and its upstream.
pub(crate) struct Lane {
    gateway: SocketAddr,
    upstream: Upstream,
    limits: Limits,
    probes: usize,
}

/// Plays every case, each on the lane that is free next; verdicts come in the order of the cases.
pub(crate) fn play_all(lanes: Vec<Lane>, cases: &[Case]) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let work = |mut lane: Lane| {
        let mut verdicts = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
            verdicts.push(lane.play(case));
        }
        verdicts
    };
    let mut verdicts: Vec<Verdict> = std::thread::scope(|scope| {
        let lanes: Vec<_> = lanes.into_iter().map(|lane| scope.spawn(|| work(lane))).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("a lane does not panic")).collect()
    });
    let place = |verdict: &Verdict| cases.iter().position(|case| case.id == verdict.id);
    verdicts.sort_by_key(place);
    verdicts
}

impl Lane {
    /// A lane over a gateway that forwards everything to `upstream`.
    pub(crate) fn new(gateway: SocketAddr, upstream: Upstream, limits: Limits) -> Self {
        let lane = Self { gateway, upstream, limits, probes: 0 };
        let record = Arc::new(Record::default());
        lane.upstream.begin(record.clone());
        lane.alive().expect("the gateway forwards before the first case");
        assert_eq!(record.seen().requests.len(), 1, "the gateway forwards to the lane's upstream");
        lane
    }

    /// Plays one case.
    pub(crate) fn play(&mut self, case: &Case) -> Verdict {
        let about = format!("{}: {}; {}", case.group, case.why, case.source);
        let verdict = |problems, states| Verdict { id: case.id.clone(), about, problems, states };
        let record = Arc::new(Record::of(case));
        self.upstream.begin(record.clone());
        let wanted = accepted(&case.expect);
        let parts = request_parts(case);
        let mut client = match Player::connect(self.gateway, self.terms(case, &parts)) {
            Ok(client) => client,
            Err(fault) => {
                let problems = vec![format!("cannot connect: {fault}")];
                return verdict(problems, Vec::new());
            }
        };
        client.play(&parts, self.upstream.names(), &record);
        if !client.left() {
            self.see_it_end(&mut client, &wanted);
        }
        self.upstream.settle(case.settle.map_or(Duration::from_millis(500), Duration::from_secs_f64));
        let mut problems = self.problems(case, &wanted, &client, &record);
        self.upstream.close_kept();
        let kept = record.seen().kept;
        problems
            .extend(self.still_serves(kept).map(|trouble| format!("gateway not serving after this case: {trouble}")));
        verdict(problems, states(&client))
    }

    fn terms(&self, case: &Case, parts: &[RequestPart]) -> Terms {
        let line = first_line(parts, &self.upstream);
        let first_word = line.split(|&b| b == b' ').next().unwrap_or_default().to_vec();
        let names = self.upstream.names();
        let methods = case.methods.as_ref().map(|methods| methods.iter().map(|m| m.octets(names)).collect());
        let slack = Duration::from_millis(2500);
        let timeout = match case.needs {
            Some(Need::UpstreamTimeout) => self.limits.upstream_timeout + slack,
            Some(Need::HeaderTimeout) => self.limits.header_timeout + slack,
            None => Duration::from_secs_f64(case.timeout.unwrap_or(2.0)),
        };
        Terms { methods: methods.unwrap_or_else(|| vec![first_word]), http10: line.ends_with(b" HTTP/1.0"), timeout }
    }

    /// Waits for the responses that may come, then finds out what became of the connection.
    fn see_it_end(&mut self, client: &mut Player, wanted: &[Expect]) {
        let statuses = wanted.iter().filter_map(|want| want.statuses.as_ref()).map(Vec::len);
        let responses = wanted.iter().filter_map(|want| want.responses.as_ref());
        let responses = responses.flat_map(|list| list.as_slice().iter().copied());
        let count = statuses.chain(responses).fold(1, usize::max);
        client.pump(None, |me| me.finals.len() >= count || me.tunnel.is_some());
        if wanted.iter().any(|want| want.responses.is_some()) {
            client.pump(Some(Duration::from_millis(80)), |_| false);
        }
        let first = states(client)[0];
        let applies = |want: &&Expect| want.status.as_ref().is_none_or(|status| is_wanted(status, first));
        let ends: Vec<bool> = wanted.iter().filter(applies).filter_map(|want| want.close).collect();
        if !ends.is_empty() {
            client.connection = self.look_at_end(client, ends.contains(&false));
        }
        client.close();
    }

    fn look_at_end(&mut self, client: &mut Player, may_stay: bool) -> Connection {
        client.extend(Duration::from_secs(3));
        let said_close = client.finals.iter().any(|msg| msg.members("connection").iter().any(|m| has_close(m)));
        let patience = if may_stay && !said_close { 150 } else { 1200 };
        client.pump(Some(Duration::from_millis(patience)), |_| false);
        if client.ended().is_some() {
            return Connection::Closed;
        }
        if said_close {
            return Connection::OpenDespiteClose;
        }
        if !may_stay {
            return Connection::Open;
        }
        self.probes += 1;
        client.probe(self.probes)
    }

    fn problems(&self, case: &Case, wanted: &[Expect], client: &Player, record: &Record) -> Vec<String> {
        let seen = record.seen();
        let outcome = Outcome { client, seen: &seen, names: self.upstream.names() };
        let verdicts: Vec<_> = wanted.iter().map(|want| judge(want, &outcome)).collect();
        let mut problems = verdicts.into_iter().min_by_key(Vec::len).unwrap_or_default();
        if !problems.is_empty() && wanted.len() > 1 {
            problems = vec![format!("none of {} accepted outcomes ({})", wanted.len(), problems.join("; "))];
        }
        let allowed = |problem: &str| case.allow.iter().any(|allow| problem.contains(allow.as_str()));
        for problem in seen.problems.iter().chain(&client.problems) {
            if !allowed(problem) && !problems.contains(problem) {
                problems.push(problem.clone());
            }
        }
        problems
    }

    /// What is wrong with an ordinary request afterwards; each connection that the case kept open may cost the gateway one failed try.
    fn still_serves(&self, kept: usize) -> Option<String> {
        let mut trouble = None;
        for _ in 0..2 + kept {
            self.upstream.begin(Arc::default());
            trouble = self.alive().err();
            if trouble.is_none() {
                break;
            }
            wait::pace(Duration::from_millis(50));
        }
        trouble
    }

    fn alive(&self) -> Result<(), String> {
        let terms = Terms { methods: vec![b"GET".to_vec()], http10: false, timeout: Duration::from_secs(2) };
        let mut client = Player::connect(self.gateway, terms).map_err(|fault| format!("cannot connect: {fault}"))?;
        client.queue(format!("GET {ALIVE} HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\n\r\n").as_bytes());
        client.pump(None, |me| !me.finals.is_empty());
        let states = states(&client);
        if states == [State::Status(200)] { Ok(()) } else { Err(format!("GET answered {states:?}")) }
    }
}

fn request_parts(case: &Case) -> Vec<RequestPart> {
    let plain = || serde_yaml::from_str(r#""GET /u HTTP/1.1\r\nHost: gw.test\r\n\r\n""#).expect("a text");
    case.request.as_ref().map_or_else(|| vec![plain()], |parts| parts.as_slice().to_vec())
}

/// The first line that the client sends, which says what it speaks.
fn first_line(parts: &[RequestPart], upstream: &Upstream) -> Vec<u8> {
    let names = upstream.names();
    let sent = |part: &RequestPart| match part {
        RequestPart::Send(data) => data.octets(names),
        RequestPart::Drip { drip, .. } => drip.octets(names),
        _ => Vec::new(),
    };
    let octets: Vec<u8> = parts.iter().flat_map(sent).collect();
    let from = octets.iter().position(|b| !b"\r\n".contains(b)).unwrap_or(octets.len());
    let line = octets[from..].split(|&b| b == b'\n').next().unwrap_or_default();
    line.trim_ascii().to_vec()
}

fn has_close(member: &[u8]) -> bool {
    member.windows(5).any(|window| window == b"close")
}
