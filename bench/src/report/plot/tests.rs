//! Scales as tables, and what a drawing holds.

use super::*;
use crate::report::plot::axis::{Axis, Scale};

#[track_caller]
fn positions(scale: Scale, values: &[f64], expected: &[(f64, f64)]) {
    let ends = Axis::new("a", scale).ends(values.iter().copied());
    for (value, position) in expected {
        assert!((ends.position(*value) - position).abs() < 0.05, "{value}: {}", ends.position(*value));
    }
}

#[test]
fn values_stand_where_their_scale_says() {
    positions(Scale::Linear, &[50.0, 100.0], &[(0.0, 0.0), (50.0, 0.48), (100.0, 0.95), (500.0, 1.0)]);
    positions(Scale::Log, &[1.0, 100.0], &[(1.0, 0.04), (10.0, 0.5), (100.0, 0.96), (0.0, 0.0)]);
    positions(Scale::Tail, &[50.0, 99.9], &[(0.0, 0.0), (90.0, 1.0 / 3.0), (99.0, 2.0 / 3.0), (99.9, 1.0)]);
    positions(Scale::Log, &[7.0], &[(7.0, 0.5)]);
    positions(Scale::Linear, &[], &[(0.0, 0.0), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0)]);
}

#[track_caller]
fn ticks(scale: Scale, values: &[f64], expected: &[&str]) {
    let ends = Axis::new("a", scale).ends(values.iter().copied());
    let words: Vec<String> = ends.ticks().into_iter().map(|(_, word)| word).collect();
    assert_eq!(words, expected);
}

#[test]
fn round_values_are_marked() {
    ticks(Scale::Linear, &[87_000.0], &["0", "20k", "40k", "60k", "80k"]);
    ticks(Scale::Linear, &[0.9], &["0", "0.2", "0.4", "0.6", "0.8"]);
    ticks(Scale::Log, &[10.0, 1000.0], &["10", "20", "50", "100", "200", "500", "1000"]);
    ticks(Scale::Log, &[0.1, 10_000.0], &["0.1", "1", "10", "100", "1000", "10k"]);
    ticks(Scale::Log, &[52.0, 73.0], &["55", "60", "65", "70"]);
    ticks(Scale::Tail, &[99.99], &["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
}

fn plot() -> Plot {
    let (x, y) = (Axis::new("percentile", Scale::Tail), Axis::new("latency, ms", Scale::Log));
    let points = vec![(50.0, 1.0), (99.0, 20.0), (100.0, 30.0)];
    Plot {
        series: vec![Series { label: "a & b".into(), style: 9, joined: true, points, spans: vec![(50.0, 0.5, 2.0)] }],
        guides: vec![Guide::at(90.0, "nine of ten")],
        ..Plot::new("How <late>", x, y)
    }
}

#[test]
fn the_words_say_what_the_lines_show() {
    let expected = "How <late>. Across: percentile. Up: latency, ms. a & b: 1.00 at 50 %, 20.0 at 99 %. \
                    Dotted line: nine of ten.";
    assert_eq!(plot().description(), expected);
}

#[test]
fn a_drawing_has_a_title_a_description_and_all_its_points() {
    let file = plot().file();
    let parsed = roxmltree::Document::parse(&file).expect("well-formed");
    let texts = |name: &str| -> Vec<_> {
        parsed.descendants().filter(|node| node.has_tag_name(name)).filter_map(|node| node.text()).collect()
    };
    let named = |name: &'static str| ("http://www.w3.org/2000/svg", name);
    let of = |name| parsed.descendants().filter(|node| node.has_tag_name(named(name))).count();
    assert_eq!((of("title"), of("desc"), of("style")), (1, 1, 1));
    assert!(texts("title").contains(&"How <late>") && texts("text").contains(&"a & b"));
    assert!(texts("text").contains(&"latency, ms (log scale)") && texts("text").contains(&"percentile"));
    let spans = parsed.descendants().filter(|node| node.attribute("class") == Some("c1 span")).count();
    assert_eq!(spans, 1);
    // Two marks in the drawing, one in the legend: 100 % has no place on a scale of nines.
    let marks = parsed.descendants().filter(|node| node.attribute("class") == Some("c1")).count();
    assert_eq!(marks, 3);
    assert!(file.contains("c1 curve dashed"));
    assert!(!file.contains("NaN") && !file.contains("inf"));
}

#[test]
fn what_has_no_points_shows_nothing() {
    let mut plot = plot();
    assert!(plot.shows());
    plot.series[0].points = vec![(100.0, 1.0), (50.0, 0.0), (50.0, f64::NAN)];
    assert!(!plot.shows());
    assert!(!plot.svg("p").contains("NaN"));
}
