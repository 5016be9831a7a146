//! What the authors of the reproduced comparisons published: facts about what was claimed, on machines that nobody can look at any more.

/// What is otherwise here than in the comparison that `scenario` repeats, as far as its author told; empty for one that repeats nobody.
pub(crate) fn otherwise(scenario: &str) -> &'static str {
    OTHERWISE.iter().find(|(name, _)| *name == scenario).map_or("", |(_, text)| text)
}

const OTHERWISE: &[(&str, &str)] = &[
    (
        "seed0",
        "Its author published figures of the service alone and of Spring Cloud Gateway, none of any Zuul. The service was Tomcat with 200 \
         threads; here it is the kit's backend. wrk is given a time limit of 10 s instead of its own 2 s, and warms up before the first run.",
    ),
    (
        "seed1",
        "Its author told wrk's connections, but neither its threads (2 here) nor how long it ran. The tables were pictures, so only what the \
         text says of them is set beside ours. What \"optimised\" meant stood in a picture too: here it is the equalised set.",
    ),
    (
        "seed2",
        "Its author's upstream was a service on the internet, about 200 ms away; here it is one that waits 200 ms. ab is given -l, -r and -s 30 \
         besides: answers may differ in length, a reset does not end it, and it waits 30 s for an answer.",
    ),
    (
        "seed3",
        "Its author used JMeter and told neither its threads nor the time; here it is wrk with 200 connections. The machines had four and eight \
         processors. The pool that was recommended, coreSize 100 that may grow to maximumSize 5000 without a queue, has a row here.",
    ),
];

/// One figure of one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Published {
    /// The scenario that repeats it.
    pub(crate) scenario: &'static str,
    /// The cell of the scenario, as far as there is one: the begin of its name.
    pub(crate) cell: &'static str,
    /// Who was measured, in the kit's names where it has them.
    pub(crate) contestant: &'static str,
    /// What was measured.
    pub(crate) figure: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

/// The figures of `scenario`, in the order of their publication.
pub(crate) fn of(scenario: &str) -> impl Iterator<Item = &'static Published> {
    FIGURES.iter().filter(move |published| published.scenario == scenario)
}

const fn row(
    at: (&'static str, &'static str, &'static str),
    (figure, unit): (&'static str, &'static str),
    value: f64,
) -> Published {
    Published { scenario: at.0, cell: at.1, contestant: at.2, figure, value, unit }
}

const RATE: (&str, &str) = ("requests", "/s");
const P50: (&str, &str) = ("p50", "ms");
const P90: (&str, &str) = ("p90", "ms");
const P99: (&str, &str) = ("p99", "ms");
const MAX: (&str, &str) = ("max", "ms");
const ERRORS: (&str, &str) = ("socket errors", "");
const CPU: (&str, &str) = ("processor time", "%");
const TO_ZUUL: (&str, &str) = ("requests, to Zuul 1", "times");
const TO_NGINX: (&str, &str) = ("requests, to nginx", "times");

const FIRST: &str = "30 s, first";
const SECOND: &str = "30 s, second";
const THIRD: &str = "30 s, third";
const LONG: &str = "300 s";
const C10: &str = "ab -c 10";
const C50: &str = "ab -c 50";
const SCG: &str = "gateway-webflux";

const FIGURES: &[Published] = &[
    row(("seed0", FIRST, "direct"), RATE, 37_372.05),
    row(("seed0", FIRST, "direct"), P50, 4.89),
    row(("seed0", FIRST, "direct"), P99, 16.66),
    row(("seed0", SECOND, "direct"), RATE, 35_018.60),
    row(("seed0", SECOND, "direct"), P50, 5.07),
    row(("seed0", SECOND, "direct"), P99, 23.03),
    row(("seed0", THIRD, "direct"), RATE, 37_801.43),
    row(("seed0", THIRD, "direct"), P50, 4.87),
    row(("seed0", THIRD, "direct"), P99, 18.28),
    row(("seed0", LONG, "direct"), RATE, 34_048.64),
    row(("seed0", LONG, "direct"), P50, 5.07),
    row(("seed0", LONG, "direct"), P99, 118.63),
    row(("seed0", FIRST, SCG), RATE, 5144.78),
    row(("seed0", FIRST, SCG), P50, 35.12),
    row(("seed0", FIRST, SCG), P99, 279.64),
    row(("seed0", FIRST, SCG), ERRORS, 104.0),
    row(("seed0", SECOND, SCG), RATE, 9468.68),
    row(("seed0", SECOND, SCG), P50, 19.80),
    row(("seed0", SECOND, SCG), P99, 79.87),
    row(("seed0", SECOND, SCG), ERRORS, 43.0),
    row(("seed0", THIRD, SCG), RATE, 9502.05),
    row(("seed0", THIRD, SCG), P50, 19.87),
    row(("seed0", THIRD, SCG), P99, 66.59),
    row(("seed0", THIRD, SCG), ERRORS, 39.0),
    row(("seed0", LONG, SCG), RATE, 9196.50),
    row(("seed0", LONG, SCG), P50, 20.68),
    row(("seed0", LONG, SCG), P99, 67.17),
    row(("seed0", LONG, SCG), ERRORS, 18.0),
    // Its tables were pictures; these are the author's own sums of them. "Very close" is what it says of the optimised ones.
    row(("seed1", "empty", SCG), TO_ZUUL, 1.5),
    row(("seed1", "50 ms, default", SCG), TO_ZUUL, 9.0),
    row(("seed1", "50 ms, optimised", SCG), TO_ZUUL, 1.0),
    row(("seed2", C10, "zuul1"), P50, 215.0),
    row(("seed2", C10, "zuul1"), P90, 582.0),
    row(("seed2", C10, "zuul1"), P99, 1114.0),
    row(("seed2", C10, "zuul1"), MAX, 2254.0),
    row(("seed2", C10, SCG), P50, 201.0),
    row(("seed2", C10, SCG), P90, 593.0),
    row(("seed2", C10, SCG), P99, 1029.0),
    row(("seed2", C10, SCG), MAX, 2114.0),
    row(("seed2", C50, "zuul1"), P50, 631.0),
    row(("seed2", C50, "zuul1"), P90, 1101.0),
    row(("seed2", C50, "zuul1"), P99, 1853.0),
    row(("seed2", C50, "zuul1"), MAX, 2224.0),
    row(("seed2", C50, SCG), P50, 201.0),
    row(("seed2", C50, SCG), P90, 610.0),
    row(("seed2", C50, SCG), P99, 1024.0),
    row(("seed2", C50, SCG), MAX, 1849.0),
    row(("seed3", "8 cores, nginx with 8 workers", "zuul1"), TO_NGINX, 0.75),
    row(("seed3", "8 cores, nginx with 8 workers", "zuul1"), CPU, 750.0),
    row(("seed3", "8 cores, nginx with 8 workers", "nginx"), CPU, 360.0),
    row(("seed3", "8 cores, nginx with 8 workers", "nginx"), RATE, 16_000.0),
    row(("seed3", "4 cores, nginx with 4 workers", "zuul1"), TO_NGINX, 0.40),
    row(("seed3", "4 cores, nginx with 4 workers", "zuul1"), CPU, 380.0),
    row(("seed3", "4 cores, nginx with 4 workers", "nginx"), CPU, 320.0),
    row(("seed3", "4 cores, nginx with 4 workers", "nginx"), RATE, 20_000.0),
];
