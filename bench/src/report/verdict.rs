//! What may be said of a comparison. Pure: ratios in, a sentence out.
//!
//! | what there is | what is said |
//! |---|---|
//! | a measurement that is meant to be quick | the ratio, "not a verdict" |
//! | fewer than five valid pairs | no verdict, and why |
//! | a side that was still warming up in most runs | no verdict |
//! | two at the ceiling of a closed loop | that the cell cannot tell them apart |
//! | an interval with 1 in it, or a median no further from 1 than the tolerance of the warm-up | within noise |
//! | else | how many times, with the spread |

use super::numbers::times;
use super::pairs::{Measure, Pairs, label};
use super::statistics::{FEWEST, Interval, interval};
use crate::measure::statistics::Summary;
// A difference that is no greater than that between windows that count as equal says nothing.
use crate::measure::warm_up::TOLERANCE;

/// What is compared, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) subject: &'a str,
    pub(crate) reference: &'a str,
    pub(crate) measure: Measure,
}

/// What may be said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// No ratio at all, and why.
    Nothing { lost: Vec<String> },
    /// A ratio, from a measurement that is not meant for more.
    Quick { ratios: Summary, doubt: Option<Doubt> },
    /// Too few pairs are left, and why.
    TooFew { ratios: Summary, lost: Vec<String> },
    /// Enough pairs, which say nothing of the two.
    Doubtful { ratios: Summary, doubt: Doubt },
    /// Nothing can be told apart.
    WithinNoise { ratios: Summary, interval: Interval },
    /// One is more than the other.
    Differs { ratios: Summary, interval: Interval },
}

/// Why a ratio says nothing of the two, however steady it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// At least one of them had not become as fast as it can be.
    WarmingUp,
    /// Both served what a closed loop can ask for.
    Ceiling,
}

/// Judges; `doubt` is what stands against any verdict.
pub(crate) fn judge(pairs: &Pairs, quick: bool, doubt: Option<Doubt>) -> Verdict {
    let Some(ratios) = Summary::of(pairs.ratios.iter().copied()) else {
        return Verdict::Nothing { lost: pairs.lost.clone() };
    };
    if quick {
        return Verdict::Quick { ratios, doubt };
    }
    let Some(interval) = interval(&pairs.ratios) else {
        return Verdict::TooFew { ratios, lost: pairs.lost.clone() };
    };
    if let Some(doubt) = doubt {
        return Verdict::Doubtful { ratios, doubt };
    }
    let holds_one = interval.low <= 1.0 && 1.0 <= interval.high;
    if holds_one || is_near(ratios.median) {
        Verdict::WithinNoise { ratios, interval }
    } else {
        Verdict::Differs { ratios, interval }
    }
}

/// Who comes out better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Subject,
    Neither,
    Reference,
    /// There is no verdict.
    Open,
    /// The cell cannot tell them apart, so it counts for nobody.
    Inseparable,
}

impl Doubt {
    /// What comes before the ratio.
    fn words(self) -> &'static str {
        match self {
            Self::WarmingUp => "still warming up: ",
            Self::Ceiling => "this cell cannot tell models apart, both are at the ceiling of its closed loop: ",
        }
    }
}

impl From<Doubt> for Standing {
    fn from(doubt: Doubt) -> Self {
        match doubt {
            Doubt::WarmingUp => Self::Open,
            Doubt::Ceiling => Self::Inseparable,
        }
    }
}

fn is_near(median: f64) -> bool {
    // A little more than the tolerance, since 1.03 - 1.0 is a little more than 0.03.
    (median - 1.0).abs() <= TOLERANCE + 1e-9
}

/// Whom the verdict favours. Of a quick measurement, which gives none, the tolerance alone decides; it must be labelled so.
pub(crate) fn standing(measure: Measure, verdict: &Verdict) -> Standing {
    let median = match verdict {
        Verdict::Nothing { .. } | Verdict::TooFew { .. } => return Standing::Open,
        Verdict::Doubtful { doubt, .. } | Verdict::Quick { doubt: Some(doubt), .. } => return (*doubt).into(),
        Verdict::WithinNoise { .. } => return Standing::Neither,
        Verdict::Quick { ratios, .. } if is_near(ratios.median) => return Standing::Neither,
        Verdict::Quick { ratios, .. } | Verdict::Differs { ratios, .. } => ratios.median,
    };
    // Of everything but right answers, less is better.
    if (median > 1.0) == (measure == Measure::Goodput) { Standing::Subject } else { Standing::Reference }
}

/// The verdict as a sentence.
pub(crate) fn sentence(question: &Question<'_>, verdict: &Verdict) -> String {
    let (subject, reference) = (label(question.subject), label(question.reference));
    match verdict {
        Verdict::Nothing { lost } => format!("{subject}, {reference}: no verdict: no valid pair{}.", because(lost)),
        Verdict::Quick { ratios, doubt } => {
            format!("Not a verdict: {}{}.", doubt.map_or("", Doubt::words), said(question, ratios, None))
        }
        Verdict::Doubtful { ratios, doubt } => {
            format!("No verdict: {}{}.", doubt.words(), said(question, ratios, None))
        }
        Verdict::TooFew { ratios, lost } => {
            let pairs = if ratios.runs == 1 { "one valid pair".into() } else { format!("{} valid pairs", ratios.runs) };
            let few = format!("no verdict from {pairs}, {FEWEST} are needed");
            format!("{subject}, {reference}: {few}{}.", because(lost))
        }
        Verdict::WithinNoise { ratios, interval } => {
            format!("Within noise: {}.", said(question, ratios, Some(interval)))
        }
        Verdict::Differs { ratios, interval } => format!("{}.", capital(&said(question, ratios, Some(interval)))),
    }
}

fn because(lost: &[String]) -> String {
    if lost.is_empty() { String::new() } else { format!(" ({})", lost.join("; ")) }
}

fn said(question: &Question<'_>, ratios: &Summary, interval: Option<&Interval>) -> String {
    let (subject, reference) = (label(question.subject), label(question.reference));
    let times = format!("{} times{}", times(ratios.median), bracket(ratios, interval));
    match question.measure {
        Measure::Goodput => format!("{subject} served {times} the requests of {reference}"),
        Measure::P99 => format!("at 99 %, {subject} took {times} as long as {reference}"),
        Measure::Processor => format!("{subject} spent {times} the processor time of {reference} on a request"),
        Measure::Memory => format!("{subject} took {times} the memory of {reference}"),
        Measure::Threads => format!("{subject} had {times} the threads of {reference}"),
    }
}

/// The spread, and the interval where it is another.
fn bracket(ratios: &Summary, interval: Option<&Interval>) -> String {
    let (low, high) = (times(ratios.low), times(ratios.high));
    match interval {
        _ if ratios.runs == 1 => " (one pair)".into(),
        Some(Interval { low: from, high: to, level }) if *from > ratios.low || *to < ratios.high => {
            let interval = format!("{}..{} at {:.1} %", times(*from), times(*to), level * 100.0);
            format!(" ({low}..{high}, {interval}, {} pairs)", ratios.runs)
        }
        _ => format!(" ({low}..{high}, {} pairs)", ratios.runs),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    // A name keeps its letters; only "at 99 %" begins a sentence with a word of ours.
    match letters.next() {
        Some(first) if text.starts_with("at ") => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
