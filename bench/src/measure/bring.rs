//! A cell's load on a started contestant, whichever tool brings it; and the same for windows of the warm-up.

use super::run::Site;
use super::warm_up::Told;
use crate::load::schedule::{Arrivals, Phase};
use crate::load::{Outcome, ab, open, wrk};
use crate::scenario::{Cell, Load, OVERLOAD, Open, Target, overload_window};
use std::io;
use std::time::{Duration, Instant};

/// How long an open loop waits for an answer, from when the request was due.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How finely the time of an open loop is looked at, unless its phases ask for more.
const WINDOW: Duration = Duration::from_millis(500);

/// The seed of the arrivals of a cell's other load: with the same, both would come at the same moments. No round's seed is so far from
/// another's.
fn of_other(seed: u64) -> u64 {
    seed.wrapping_add(1 << 32)
}

/// How often a stop is looked for while the one load waits for its turn.
const LOOK: Duration = Duration::from_millis(50);

/// One load of a cell and what became of it.
pub(super) struct Brought<'a> {
    pub(super) name: &'a str,
    pub(super) target: &'a Target,
    pub(super) open: Option<Open>,
    pub(super) outcome: Outcome,
}

/// A window of the warm-up: the load that will be measured, or what comes nearest to it.
pub(super) fn warm(site: &Site<'_>, cell: &Cell, window: Duration) -> io::Result<Told> {
    let outcome = match &cell.load {
        Load::Ab { concurrency, .. } => wrk::run(&url(site, &cell.target), (1, *concurrency), window, site.stop)?,
        Load::Wrk { threads, connections } => {
            wrk::run(&url(site, &cell.target), (*threads, *connections), window, site.stop)?
        }
        Load::Open(open) | Load::Parked { probe: open, .. } => {
            run_open(site, &cell.target, *open, (site.seed, window.as_secs_f64()))?
        }
        Load::Beside(beside) => run_open(site, &cell.target, beside.own, (site.seed, window.as_secs_f64()))?,
        Load::Overload { knee, connections } => {
            let (before, _) = OVERLOAD[0];
            let half = Open { rate: before * knee, poisson: false, connections: *connections };
            run_open(site, &cell.target, half, (site.seed, window.as_secs_f64()))?
        }
    };
    site.stop.check()?;
    // A schedule tells an open loop.
    let median_ms = outcome.scheduled.and_then(|_| outcome.latency(50.0));
    Ok(Told { seconds: outcome.seconds, ok: outcome.counts.ok, failed: outcome.counts.failed(), median_ms })
}

/// The load itself.
pub(super) fn bring<'a>(site: &Site<'_>, cell: &'a Cell, seconds: f64) -> io::Result<Vec<Brought<'a>>> {
    let own = |open, outcome| Brought { name: &cell.name, target: &cell.target, open, outcome };
    Ok(match &cell.load {
        Load::Wrk { threads, connections } => {
            let lasting = Duration::from_secs_f64(seconds);
            vec![own(None, wrk::run(&url(site, &cell.target), (*threads, *connections), lasting, site.stop)?)]
        }
        Load::Ab { concurrency, requests } => {
            vec![own(None, ab::run(&url(site, &cell.target), *concurrency, *requests, site.stop)?)]
        }
        Load::Open(open) | Load::Parked { probe: open, .. } => {
            vec![own(Some(*open), run_open(site, &cell.target, *open, (site.seed, seconds))?)]
        }
        Load::Overload { knee, connections } => {
            let phases = OVERLOAD.map(|(part, of_time)| (part * knee, of_time * seconds));
            let mean = knee * OVERLOAD.iter().map(|(part, of_time)| part * of_time).sum::<f64>();
            let mean = Open { rate: mean, poisson: false, connections: *connections };
            let plan = plan(site, &cell.target, mean, (site.seed, &phases));
            let plan = open::Plan { window: overload_window(seconds), ..plan };
            vec![own(Some(mean), open::run(&plan, site.stop)?)]
        }
        Load::Beside(beside) => {
            let (own_outcome, other) = std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    let length = (of_other(site.seed), beside.ahead + seconds);
                    run_open(site, &beside.other_target, beside.other, length)
                });
                let own = pause(site, beside.ahead)
                    .and_then(|()| run_open(site, &cell.target, beside.own, (site.seed, seconds)));
                let other = other.join().unwrap_or_else(|_| Err(io::Error::other("the other load ended early")));
                Ok::<_, io::Error>((own?, other?))
            })?;
            let (name, target) = (beside.other_name.as_str(), &beside.other_target);
            vec![own(Some(beside.own), own_outcome), Brought { name, target, open: Some(beside.other), outcome: other }]
        }
    })
}

/// Until it is the own load's turn.
fn pause(site: &Site<'_>, seconds: f64) -> io::Result<()> {
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        site.stop.check()?;
        std::thread::sleep(left.min(LOOK));
    }
    Ok(())
}

fn run_open(site: &Site<'_>, target: &Target, open: Open, (seed, seconds): (u64, f64)) -> io::Result<Outcome> {
    open::run(&plan(site, target, open, (seed, &[(open.rate, seconds)])), site.stop)
}

/// Rates and their seconds, one after the other.
fn plan(site: &Site<'_>, target: &Target, open: Open, (seed, phases): (u64, &[(f64, f64)])) -> open::Plan {
    let phase = |(rate, seconds): &(f64, f64)| Phase { rate: *rate, lasting: Duration::from_secs_f64(*seconds) };
    open::Plan {
        address: site.address,
        request: target.request().into(),
        expected: Some(target.body_octets()),
        arrivals: if open.poisson { Arrivals::Poisson(seed) } else { Arrivals::Constant },
        phases: phases.iter().map(phase).collect(),
        connections: open.connections,
        timeout: TIMEOUT,
        delay: Duration::from_millis(target.delay_ms.into()),
        objective: site.objective,
        window: WINDOW,
    }
}

fn url(site: &Site<'_>, target: &Target) -> String {
    format!("http://{}{}", site.address, target.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::schedule::due_times;
    use crate::scenario::Effort;

    #[test]
    fn no_two_loads_and_no_two_rounds_have_the_same_arrivals() {
        let phases = [Phase { rate: 200.0, lasting: Duration::from_secs(1) }];
        let rounds = (1..=5).map(|round| Effort::ALL.seed_of(round));
        let seeds: Vec<u64> = rounds.flat_map(|seed| [seed, of_other(seed)]).collect();
        let arrivals: Vec<_> = seeds.iter().map(|seed| due_times(Arrivals::Poisson(*seed), &phases)).collect();
        for (n, own) in arrivals.iter().enumerate() {
            assert!(arrivals[..n].iter().all(|earlier| earlier != own), "{}", seeds[n]);
        }
        assert_eq!(Effort::ALL.seed_of(3), Effort::ALL.seed_of(3), "the same for all contestants");
    }
}
