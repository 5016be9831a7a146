//! Who is compared with whom.

use super::*;
use crate::raw::scenarios;

fn run(contestant: &str, round: u32, goodput: f64) -> Run {
    Run { scenario: "s".into(), cell: "c".into(), contestant: contestant.into(), round, goodput, ..Run::default() }
}

#[track_caller]
fn check(runs: &[Run], ratios: &[f64], lost: &[&str]) {
    let cells = cells(runs, "s");
    let pairs = cells[0].pairs("a", "b", Measure::Goodput);
    assert_eq!((pairs.ratios.as_slice(), pairs.lost), (ratios, lost.iter().map(|text| (*text).to_owned()).collect()));
}

#[test]
fn ratios_are_taken_inside_a_round() {
    check(&[run("a", 1, 10.0), run("b", 1, 5.0), run("b", 2, 20.0), run("a", 2, 10.0)], &[2.0, 0.5], &[]);
    check(&[run("a", 1, 1.0), run("b", 1, 2.0), run("a", 1, 3.0), run("b", 1, 4.0)], &[0.5, 0.75], &[]);
    check(&[run("a", 1, 1.0), run("b", 2, 2.0)], &[], &["round 1: b has no run"]);
}

#[test]
fn a_pair_with_a_void_run_is_no_pair() {
    let void = Run { void: "the client was late".into(), ..run("b", 1, 5.0) };
    check(&[run("a", 1, 10.0), void.clone()], &[], &["round 1: b is void: the client was late"]);
    check(
        &[void, run("a", 1, 10.0), run("a", 2, 8.0), run("b", 2, 4.0)],
        &[2.0],
        &["round 1: b is void: the client was late"],
    );
}

#[test]
fn nothing_can_be_divided_by_nothing() {
    check(&[run("a", 1, 10.0), run("b", 1, 0.0)], &[], &["round 1: b gave no right answer in time"]);
    let runs = [run("a", 1, 1.0), run("b", 1, 1.0)];
    let pairs = cells(&runs, "s")[0].pairs("a", "b", Measure::Processor);
    assert_eq!(pairs.lost, ["round 1: not told"]);
}

#[test]
fn a_latency_at_the_end_of_few_is_not_compared() {
    let few = |who: &str, ok| Run { ok, p99_ms: Some(5.0), ..run(who, 1, 1.0) };
    let runs = [few("a", 999), few("b", 1000)];
    let pairs = cells(&runs, "s")[0].pairs("a", "b", Measure::P99);
    assert_eq!(
        (pairs.ratios.len(), pairs.lost),
        (0, vec!["round 1: too few answers for a latency at 99 %".to_owned()])
    );
    let runs = [few("a", 1000), few("b", 1000)];
    assert_eq!(cells(&runs, "s")[0].pairs("a", "b", Measure::P99).ratios, [1.0]);
}

#[test]
fn other_cells_and_other_limits_are_other_comparisons() {
    let stock = Run { configuration: Configuration::Stock, ..run("b", 1, 1.0) };
    let other = Run { cell: "d".into(), ..run("b", 1, 1.0) };
    let runs = [run("a", 1, 1.0), stock, other, Run { scenario: "t".into(), ..run("a", 1, 1.0) }];
    let found: Vec<_> = cells(&runs, "s").iter().map(|cell| (cell.name, cell.configuration, cell.runs.len())).collect();
    let expected =
        [("c", Configuration::Equalised, 1), ("c", Configuration::Stock, 1), ("d", Configuration::Equalised, 1)];
    assert_eq!(found, expected);
    assert_eq!(scenarios(&runs), ["s", "t"]);
}

#[test]
fn the_backend_alone_stands_in_for_both_configurations() {
    let stock = Run { configuration: Configuration::Stock, ..run("portcullis", 1, 1.0) };
    let runs = [run(DIRECT, 1, 4.0), stock];
    let cells = cells(&runs, "s");
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].contestants(), [DIRECT, "portcullis"]);
    assert_eq!(cells[0].pairs("portcullis", DIRECT, Measure::Goodput).ratios, [0.25]);
}

#[test]
fn late_answers_are_compared_only_where_both_serve_what_is_offered() {
    let open = |who: &str, ok| Run { kind: Kind::Open, scheduled: Some(200), ok, ..run(who, 1, 90.0) };
    let late = |who: &str, in_time| Run { in_time: Some(in_time), ..open(who, 200) };
    let table = [
        ([late("a", 200), late("b", 198)], Measure::P99),
        ([late("a", 200), late("b", 197)], Measure::Goodput),
        ([late("a", 197), late("b", 200)], Measure::Goodput),
        ([open("a", 200), open("b", 198)], Measure::P99),
        ([open("a", 200), open("b", 197)], Measure::Goodput),
        ([open("a", 120), open("b", 120)], Measure::Goodput),
        ([run("a", 1, 1.0), run("b", 1, 1.0)], Measure::Goodput),
        ([("a"), ("b")].map(|who| Run { kind: Kind::Parked, ..run(who, 1, 0.0) }), Measure::Memory),
    ];
    for (runs, expected) in table {
        assert_eq!(cells(&runs, "s")[0].measure("a", "b"), expected, "{runs:?}");
    }
}
