//! Whether a ratio says anything of the two whose it is, however steady it may be.

use super::pairs::{Cell, Measure};
use super::verdict::Doubt;
use super::warmth::Warmth;
use crate::measure::statistics::Summary;
use crate::raw::{Kind, Run};

/// What stands against a verdict on the pair in this cell.
pub(crate) fn doubt(cell: &Cell<'_>, pair: [&str; 2], measure: Measure, warmth: &Warmth) -> Option<Doubt> {
    if pair.iter().any(|who| warmth.is_warming(cell, who)) {
        return Some(Doubt::WarmingUp);
    }
    // What it costs to get there tells them apart nevertheless.
    let at_ceiling = measure == Measure::Goodput && pair.iter().all(|who| is_at_ceiling(cell, who));
    at_ceiling.then_some(Doubt::Ceiling)
}

/// Whether a closed loop served nearly all that its connections can ask for while each waits for the backend: then the backend's delay was
/// measured, whoever stood before it.
fn is_at_ceiling(cell: &Cell<'_>, contestant: &str) -> bool {
    const NEARLY: f64 = 0.9;
    let part = |run: &&Run| Some(run.goodput / ceiling(run)?);
    Summary::of(cell.valid(contestant).iter().filter_map(part)).is_some_and(|parts| parts.median >= NEARLY)
}

/// Little's law, for a closed loop before a backend that waits.
fn ceiling(run: &Run) -> Option<f64> {
    (run.kind == Kind::Closed && run.delay_ms > 0.0).then(|| run.connections as f64 * 1000.0 / run.delay_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::Data;
    use crate::report::pairs::cells;

    fn run(contestant: &str, goodput: f64) -> Run {
        Run {
            scenario: "core".into(),
            cell: "50 ms c200".into(),
            contestant: contestant.into(),
            connections: 200,
            delay_ms: 50.0,
            goodput,
            warmed_up: Some(true),
            ..Run::default()
        }
    }

    #[track_caller]
    fn check(runs: [Run; 2], measure: Measure, expected: Option<Doubt>) {
        let runs: Vec<Run> = runs.into_iter().zip(1..).map(|(run, id)| Run { id, ..run }).collect();
        let data = Data { runs, ..Data::default() };
        let warmth = Warmth::of(&data, false);
        assert_eq!(doubt(&cells(&data.runs, "core")[0], ["a", "b"], measure, &warmth), expected, "{:?}", data.runs);
    }

    #[test]
    fn two_that_both_reach_the_ceiling_cannot_be_told_apart() {
        let ceiling = Some(Doubt::Ceiling);
        // 200 connections before 50 ms can have 4000 answers a second.
        check([run("a", 3850.0), run("b", 3600.0)], Measure::Goodput, ceiling);
        check([run("a", 3850.0), run("b", 3599.0)], Measure::Goodput, None);
        check([run("a", 3850.0), run("b", 3850.0)], Measure::Processor, None);
        let at_once = |run| Run { delay_ms: 0.0, ..run };
        check([run("a", 3850.0), run("b", 3850.0)].map(at_once), Measure::Goodput, None);
        let open = |run| Run { kind: Kind::Open, ..run };
        check([run("a", 3850.0), run("b", 3850.0)].map(open), Measure::Goodput, None);
    }

    #[test]
    fn a_side_that_is_warming_up_spoils_every_measure() {
        let cold = Run { warmed_up: Some(false), ..run("b", 3850.0) };
        for measure in [Measure::Goodput, Measure::Processor, Measure::P99] {
            check([run("a", 3850.0), cold.clone()], measure, Some(Doubt::WarmingUp));
        }
    }
}
