//! What is said of which ratios.

use super::*;

const FIVE: &[f64] = &[1.10, 1.12, 1.08, 1.15, 1.13];

fn question(measure: Measure) -> Question<'static> {
    Question { subject: "portcullis", reference: "nginx", measure }
}

#[track_caller]
fn check(ratios: &[f64], lost: &[&str], quick: bool, expected: &str) {
    let pairs = Pairs { ratios: ratios.to_vec(), lost: lost.iter().map(|text| (*text).to_owned()).collect() };
    let verdict = judge(&pairs, quick, None);
    assert_eq!(sentence(&question(Measure::Goodput), &verdict), expected);
}

#[test]
fn five_pairs_on_one_side_are_a_difference() {
    check(FIVE, &[], false, "portcullis served 1.12 times (1.08..1.15, 5 pairs) the requests of nginx.");
    check(
        &[0.6, 0.62, 0.61, 0.66, 0.64],
        &[],
        false,
        "portcullis served 0.62 times (0.60..0.66, 5 pairs) the requests of nginx.",
    );
}

#[test]
fn a_pair_on_the_other_side_makes_it_noise() {
    check(
        &[1.10, 1.12, 0.99, 1.15, 1.13],
        &[],
        false,
        "Within noise: portcullis served 1.12 times (0.99..1.15, 5 pairs) the requests of nginx.",
    );
    check(
        &[1.0, 1.0, 1.0, 1.0, 1.0],
        &[],
        false,
        "Within noise: portcullis served 1.00 times (1.00..1.00, 5 pairs) the requests of nginx.",
    );
}

#[test]
fn a_difference_below_the_tolerance_is_noise_however_steady() {
    for (median, noise) in [(1.029, true), (1.03, true), (1.031, false), (0.97, true), (0.969, false)] {
        let ratios = [median - 0.0001, median, median, median, median + 0.0001];
        let verdict = judge(&Pairs { ratios: ratios.to_vec(), lost: vec![] }, false, None);
        assert_eq!(matches!(verdict, Verdict::WithinNoise { .. }), noise, "{median}");
    }
}

#[test]
fn four_pairs_are_never_a_verdict() {
    check(
        &FIVE[..4],
        &["round 3: nginx is void: late"],
        false,
        "portcullis, nginx: no verdict from 4 valid pairs, 5 are needed (round 3: nginx is void: late).",
    );
    check(&FIVE[..1], &[], false, "portcullis, nginx: no verdict from one valid pair, 5 are needed.");
    for few in 0..5 {
        let verdict = judge(&Pairs { ratios: vec![9.0; few], lost: vec![] }, false, None);
        assert!(matches!(verdict, Verdict::TooFew { .. } | Verdict::Nothing { .. }), "{few}: {verdict:?}");
    }
}

#[test]
fn without_a_pair_the_reason_is_told() {
    check(
        &[],
        &["round 1: nginx is void: late"],
        false,
        "portcullis, nginx: no verdict: no valid pair (round 1: nginx is void: late).",
    );
    check(
        &[],
        &["round 1: nginx has no run"],
        true,
        "portcullis, nginx: no verdict: no valid pair (round 1: nginx has no run).",
    );
}

#[test]
fn a_quick_measurement_gives_no_verdict_however_many_pairs_it_has() {
    check(&[1.12], &[], true, "Not a verdict: portcullis served 1.12 times (one pair) the requests of nginx.");
    check(FIVE, &[], true, "Not a verdict: portcullis served 1.12 times (1.08..1.15, 5 pairs) the requests of nginx.");
    check(
        &[9.0; 20],
        &[],
        true,
        "Not a verdict: portcullis served 9.00 times (9.00..9.00, 20 pairs) the requests of nginx.",
    );
}

#[test]
fn with_many_pairs_one_that_strays_changes_nothing() {
    check(
        &[1.2, 1.2, 1.2, 1.3, 1.1, 1.2, 1.2, 1.2, 0.5],
        &[],
        false,
        "portcullis served 1.20 times (0.50..1.30, 1.10..1.20 at 96.1 %, 9 pairs) the requests of nginx.",
    );
}

#[test]
fn each_measure_has_its_words() {
    let verdict = judge(&Pairs { ratios: FIVE.to_vec(), lost: vec![] }, false, None);
    let table = [
        (Measure::P99, "At 99 %, portcullis took 1.12 times (1.08..1.15, 5 pairs) as long as nginx."),
        (
            Measure::Processor,
            "portcullis spent 1.12 times (1.08..1.15, 5 pairs) the processor time of nginx on a request.",
        ),
        (Measure::Memory, "portcullis took 1.12 times (1.08..1.15, 5 pairs) the memory of nginx."),
        (Measure::Threads, "portcullis had 1.12 times (1.08..1.15, 5 pairs) the threads of nginx."),
    ];
    for (measure, expected) in table {
        assert_eq!(sentence(&question(measure), &verdict), expected);
    }
}

#[test]
fn more_answers_and_less_of_all_else_are_better() {
    let five = |median: f64| Pairs { ratios: vec![median; 5], lost: vec![] };
    let table = [
        (Measure::Goodput, five(1.2), false, Standing::Subject),
        (Measure::Goodput, five(0.8), false, Standing::Reference),
        (Measure::P99, five(1.2), false, Standing::Reference),
        (Measure::P99, five(0.8), false, Standing::Subject),
        (Measure::Processor, five(1.2), false, Standing::Reference),
        (Measure::Goodput, five(1.02), false, Standing::Neither),
        (Measure::Goodput, five(1.02), true, Standing::Neither),
        (Measure::Goodput, five(1.2), true, Standing::Subject),
        (Measure::Goodput, Pairs { ratios: vec![9.0; 4], lost: vec![] }, false, Standing::Open),
        (Measure::Goodput, Pairs::default(), true, Standing::Open),
    ];
    for (measure, pairs, quick, expected) in table {
        assert_eq!(standing(measure, &judge(&pairs, quick, None)), expected, "{measure:?} {pairs:?} {quick}");
    }
}

#[test]
fn what_says_nothing_of_the_two_is_told_and_favours_nobody() {
    let (said, few) =
        ("portcullis served 1.12 times (1.08..1.15, 5 pairs) the requests of nginx.", "1.12 times (one pair)");
    let [ceiling, warming] =
        ["this cell cannot tell models apart, both are at the ceiling of its closed loop", "still warming up"];
    let table = [
        (FIVE, false, Doubt::WarmingUp, format!("No verdict: {warming}: {said}"), Standing::Open),
        (FIVE, false, Doubt::Ceiling, format!("No verdict: {ceiling}: {said}"), Standing::Inseparable),
        (FIVE, true, Doubt::Ceiling, format!("Not a verdict: {ceiling}: {said}"), Standing::Inseparable),
        (
            &[1.12],
            true,
            Doubt::WarmingUp,
            format!("Not a verdict: {warming}: portcullis served {few} the requests of nginx."),
            Standing::Open,
        ),
    ];
    for (ratios, quick, doubt, expected, favoured) in table {
        let verdict = judge(&Pairs { ratios: ratios.to_vec(), lost: vec![] }, quick, Some(doubt));
        assert_eq!(sentence(&question(Measure::Goodput), &verdict), expected);
        assert_eq!(standing(Measure::Goodput, &verdict), favoured, "{expected}");
    }
    let few = judge(&Pairs { ratios: vec![1.0; 4], lost: vec![] }, false, Some(Doubt::Ceiling));
    assert!(matches!(few, Verdict::TooFew { .. }), "{few:?}");
}
