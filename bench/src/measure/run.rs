//! One run: warm-up, both counts and costs before, the load, the same after, and the rows that follow from them.

use super::bring::{Brought, bring, warm};
use super::counters::{self, Gateway};
use super::parked::{park, standing};
use super::process::{Machine, Size, Snapshot, own_cpu_seconds, pss_kb, watching};
use super::reconcile::{Sides, reconcile};
use super::recovery::{fell_to, recovery};
use super::void;
use super::warm_up::{Patience, WarmUp, warm_up};
use crate::load::{Bucket, Counts, Outcome, per_second};
use crate::raw::{Kind, Latency, Run, Window};
use crate::scenario::{Cell, Load, Open, overload_turns};
use crate::stop::Stop;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Where and with what a cell is measured.
pub(crate) struct Site<'a> {
    pub(crate) address: SocketAddr,
    /// Tells the contestant and its children; none when there is no proxy. Asked when the load begins: some start theirs late.
    pub(crate) pids: &'a (dyn Fn() -> Vec<u32> + Sync),
    /// Whether the contestant tells its counters.
    pub(crate) tells: bool,
    pub(crate) backend: SocketAddr,
    pub(crate) backend_pids: Vec<u32>,
    /// Of this round's arrivals and heavy-tailed delays.
    pub(crate) seed: u64,
    /// What a right answer may take beyond the backend's delay to be in time.
    pub(crate) objective: Duration,
    /// What client and backend reach without anybody between them, in answers a second, where that is known.
    pub(crate) ceiling: Option<f64>,
    pub(crate) stop: &'a Stop,
}

/// What a run leaves for the files of [`crate::raw`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) run: Run,
    pub(crate) latencies: Vec<Latency>,
    pub(crate) windows: Vec<Window>,
}

/// Everything that is looked at before and after.
struct Look {
    /// Whether `gateway` should be there.
    tells: bool,
    contestant: Snapshot,
    backend: Snapshot,
    own_cpu: f64,
    machine: Machine,
    counted: crate::backend::Counted,
    gateway: Option<Gateway>,
}

impl Look {
    fn at(site: &Site<'_>, pids: &[u32]) -> io::Result<Self> {
        Ok(Self {
            counted: counters::backend(site.backend)?,
            gateway: site.tells.then(|| counters::gateway(site.address)).flatten(),
            contestant: Snapshot::of(pids),
            backend: Snapshot::of(&site.backend_pids),
            own_cpu: own_cpu_seconds(),
            machine: Machine::now(),
            tells: site.tells,
        })
    }
}

/// Measures a cell; a row for each of its loads.
pub(crate) fn measure(site: &Site<'_>, cell: &Cell, patience: Patience) -> io::Result<Vec<Measured>> {
    let warm = warm_up(patience, |window| warm(site, cell, window))?;
    // Only now: servers end connections that stand idle for some time, and a warm-up may take as long.
    let parked = match &cell.load {
        Load::Parked { connections, .. } => park(site, &cell.target, *connections)?,
        _ => Vec::new(),
    };
    settle(site)?;
    counters::restart(site.backend, site.seed)?;
    let pids = (site.pids)();
    let before = Look::at(site, &pids)?;
    let started = jiff::Timestamp::now().to_string();
    let watched = if pids.is_empty() { &site.backend_pids } else { &pids };
    let (brought, size) = watching(watched, site.stop, || bring(site, cell, cell.seconds))?;
    site.stop.check()?;
    let after = Look::at(site, &pids)?;
    // After the last look: to count it takes the kernel a while, which is nobody's cost.
    let pss_kb = pss_kb(&pids).filter(|_| !pids.is_empty());
    let base = Run { started, pss_kb, ..common(&warm, cell) };
    let base = if let Load::Parked { connections, .. } = &cell.load {
        with_parked(base, *connections, (parked.len(), standing(&parked)))
    } else {
        base
    };
    let base = account(base, !pids.is_empty(), &brought, (&before, &after), size);
    Ok(rows(&base, (site, cell), &warm, brought))
}

/// Waits until what a closed loop left behind has reached the backend: two looks agree, or there were enough.
fn settle(site: &Site<'_>) -> io::Result<()> {
    let mut before = counters::backend(site.backend)?.requests;
    for _ in 0..20 {
        site.stop.check()?;
        std::thread::sleep(Duration::from_millis(50));
        let now = counters::backend(site.backend)?.requests;
        if now == before {
            return Ok(());
        }
        before = now;
    }
    Ok(())
}

/// What all rows of the cell have in common before anything is known of its load.
fn common(warm: &WarmUp, cell: &Cell) -> Run {
    let mut run = Run { warm_up_seconds: warm.lasted().as_secs_f64(), warmed_up: warm.settled, ..Run::default() };
    (run.kind, run.tool, run.connections) = match &cell.load {
        Load::Wrk { connections, .. } => (Kind::Closed, "wrk".into(), *connections),
        Load::Ab { concurrency, .. } => (Kind::Closed, "ab".into(), *concurrency),
        Load::Open(open) => (kind(open), "bench".into(), open.connections as u64),
        Load::Beside(beside) => (kind(&beside.own), "bench".into(), beside.own.connections as u64),
        Load::Overload { connections, .. } => (Kind::Open, "bench".into(), *connections as u64),
        Load::Parked { connections, .. } => (Kind::Parked, "bench".into(), *connections as u64),
    };
    run
}

/// What became of the connections that were to be parked.
fn with_parked(run: Run, wanted: usize, (parked, standing): (usize, usize)) -> Run {
    let void = match (parked < wanted, standing < parked) {
        (true, _) => format!("only {parked} of {wanted} connections could be parked"),
        (false, true) => format!("only {standing} of {parked} parked connections were still open at the end"),
        (false, false) => String::new(),
    };
    Run { connections: standing as u64, void, ..run }
}

fn kind(open: &Open) -> Kind {
    if open.poisson { Kind::Poisson } else { Kind::Open }
}

/// What the processes used and counted meanwhile, for all loads of the cell together.
fn account(run: Run, proxied: bool, brought: &[Brought<'_>], (before, after): (&Look, &Look), size: Size) -> Run {
    let mut sum = Outcome { counts: Counts::default(), ..Outcome::default() };
    for Brought { outcome, .. } in brought {
        sum.counts.add(&outcome.counts);
        let plus = |sum: Option<u64>, more: Option<u64>| more.map(|more| sum.unwrap_or(0) + more);
        (sum.scheduled, sum.sent) = (plus(sum.scheduled, outcome.scheduled), plus(sum.sent, outcome.sent));
    }
    let cost = proxied.then(|| after.contestant.since(&before.contestant));
    let gateway = after.gateway.as_ref().zip(before.gateway.as_ref()).map(|(after, before)| after.since(before));
    // The look before is a connection of its own, which was accepted after its counters were taken.
    let connections = after.counted.connections.saturating_sub(before.counted.connections).saturating_sub(1);
    let requests = after.counted.requests.saturating_sub(before.counted.requests);
    let sides = Sides {
        outcome: &sum,
        cut_off: run.cut_off(),
        tells: before.tells,
        gateway: gateway.as_ref(),
        backend: Some(requests),
    };
    Run {
        user_seconds: cost.map(|cost| cost.user_seconds),
        system_seconds: cost.map(|cost| cost.system_seconds),
        cpu_per_thousand: cost
            .filter(|_| sum.counts.answered() > 0)
            .map(|cost| cost.cpu_seconds() * 1000.0 / sum.counts.answered() as f64),
        client_cpu_seconds: Some(after.own_cpu - before.own_cpu),
        backend_cpu_seconds: Some(after.backend.since(&before.backend).cpu_seconds()),
        machine_busy: after.machine.busy_since(&before.machine),
        voluntary_switches: cost.map(|cost| cost.voluntary_switches),
        involuntary_switches: cost.map(|cost| cost.involuntary_switches),
        peak_rss_kb: proxied.then_some(size.peak_rss_kb),
        threads: proxied.then_some(size.threads),
        open_files: proxied.then_some(size.open_files),
        backend_requests: Some(requests),
        backend_connections: Some(connections),
        reconciliation: reconcile(&sides),
        gateway_requests: gateway.as_ref().map(|gateway| gateway.requests),
        gateway_refused: gateway.map(|gateway| gateway.refused),
        ..run
    }
}

/// A row for each load. What was used and counted is of all of them together, so it stands in the first row alone.
fn rows(base: &Run, (site, cell): (&Site<'_>, &Cell), warm: &WarmUp, brought: Vec<Brought<'_>>) -> Vec<Measured> {
    let longest = brought.iter().map(|it| it.outcome.seconds).fold(0.0, f64::max);
    let names: Vec<String> = brought.iter().map(|it| it.name.to_owned()).collect();
    let beside = |n: usize| names.iter().enumerate().find(|(other, _)| *other != n).map(|(_, name)| name.clone());
    let one = |(n, brought): (usize, Brought<'_>)| {
        let objective_ms = brought.outcome.in_time.map(|_| site.objective.as_secs_f64() * 1000.0);
        let beside = beside(n).unwrap_or_default();
        let base = Run { accounted_seconds: longest, objective_ms, beside, ..base.clone() };
        let measured = row(base, (site, cell), warm, brought);
        // Only now, since the account decides whether the run counts.
        if n == 0 { measured } else { Measured { run: measured.run.without_account(), ..measured } }
    };
    brought.into_iter().enumerate().map(one).collect()
}

/// The row of one load.
fn row(base: Run, (site, cell): (&Site<'_>, &Cell), warm: &WarmUp, brought: Brought<'_>) -> Measured {
    let mut run = told(base, &brought);
    let outcome = brought.outcome;
    let turns = match &cell.load {
        Load::Overload { .. } => Some(overload_turns(outcome.seconds)),
        _ => None,
    };
    run.fell_to = turns.and_then(|turns| fell_to(&outcome.windows, turns));
    run.recovery_ms = turns.and_then(|turns| recovery(&outcome.windows, turns)).map(|time| time.as_secs_f64() * 1000.0);
    let reasons = [std::mem::take(&mut run.void), void::reasons(&run, site.ceiling)];
    run.void = reasons.into_iter().filter(|reason| !reason.is_empty()).collect::<Vec<_>>().join("; ");
    let latencies =
        outcome.latencies.iter().map(|(percentile, ms)| Latency { run: 0, percentile: *percentile, ms: *ms });
    let phase = |bucket: &Bucket| match turns {
        Some((_, falls)) if bucket.middle() >= falls => "recovery",
        Some((rises, _)) if bucket.middle() >= rises => "overload",
        _ => "measured",
    };
    let warm = warm.windows.iter().map(|bucket| window("warm-up", bucket));
    let windows = warm.chain(outcome.windows.iter().map(|bucket| window(phase(bucket), bucket))).collect();
    Measured { run, latencies: latencies.collect(), windows }
}

/// The row, as far as the load itself tells it.
fn told(base: Run, Brought { name, target, open, outcome }: &Brought<'_>) -> Run {
    let counts = outcome.counts.clone();
    Run {
        cell: (*name).into(),
        seconds: outcome.seconds,
        offered_per_second: open.map(|open| open.rate),
        delay_ms: target.delay_ms.into(),
        body_octets: target.body_octets(),
        upload_octets: target.upload.into(),
        scheduled: outcome.scheduled,
        sent: outcome.sent,
        ok: counts.ok,
        in_time: outcome.in_time,
        refused: counts.refused,
        non_2xx: counts.non_2xx,
        wrong_body: counts.wrong_body,
        connect_errors: counts.connect_errors,
        socket_errors: counts.socket_errors,
        timeouts: counts.timeouts,
        unsent: counts.unsent,
        requests_per_second: outcome.requests_per_second(),
        goodput: outcome.goodput(),
        p50_ms: outcome.latency(50.0),
        p90_ms: outcome.latency(90.0),
        p99_ms: outcome.latency(99.0),
        p999_ms: outcome.latency(99.9),
        max_ms: outcome.latency(100.0),
        service_p50_ms: outcome.service_p50_ms,
        service_p99_ms: outcome.service_p99_ms,
        lateness_p99_ms: outcome.lateness_p99_ms,
        ..base
    }
}

fn window(phase: &str, bucket: &Bucket) -> Window {
    let seconds = bucket.lasting.as_secs_f64();
    Window {
        run: 0,
        phase: phase.into(),
        at_seconds: bucket.at.as_secs_f64(),
        seconds,
        offered_per_second: (bucket.scheduled > 0).then(|| per_second(bucket.scheduled, seconds)),
        goodput: per_second(bucket.ok, seconds),
        failed_per_second: per_second(bucket.failed, seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_all_its_parked_connections_is_void() {
        let table = [
            ((100, 100), 100, ""),
            ((90, 90), 90, "only 90 of 100 connections could be parked"),
            ((100, 99), 99, "only 99 of 100 parked connections were still open at the end"),
            ((90, 80), 80, "only 90 of 100 connections could be parked"),
        ];
        for (counted, connections, void) in table {
            let run = with_parked(Run::default(), 100, counted);
            assert_eq!((run.connections, run.void.as_str()), (connections, void));
        }
    }
}
