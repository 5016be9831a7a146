//! The 28 ways in which comparisons of gateways have gone wrong, and what this kit does about each. `bench method` prints them; a report
//! carries them, so that a reader can see what a figure is worth.

use crate::table::say;
use std::io;

/// One way, and the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// `B01` to `B28`.
    pub(crate) id: &'static str,
    /// What went wrong.
    pub(crate) fault: &'static str,
    /// What the kit does.
    pub(crate) answer: &'static str,
    /// What it does not.
    pub(crate) limit: &'static str,
}

impl Answer {
    /// The scenarios on which the answer stands; without `core` and those that repeat others, which stand for nothing alone.
    pub(crate) fn scenarios(&self) -> impl Iterator<Item = &'static str> {
        SCENARIOS.iter().copied().filter(|name| self.answer.contains(&format!("`{name}`")))
    }
}

const SCENARIOS: &[&str] = &["sweep", "idle", "isolation", "tail", "bodies", "overload"];

const fn row(id: &'static str, fault: &'static str, answer: &'static str, limit: &'static str) -> Answer {
    Answer { id, fault, answer, limit }
}

/// All of them, in their order.
pub(crate) const ANSWERS: &[Answer] = &[
    row(
        "B01",
        "A closed loop waits with the server: a pause costs one sample a connection.",
        "Open loops, constant and Poisson, count latency from when a request was due. wrk and ab are kept as capacity probes: what is compared \
         of them is right answers, never latency, and each such sentence calls them so.",
        "",
    ),
    row(
        "B02",
        "Corrected latencies are invented afterwards.",
        "Nothing is filled in: requests are scheduled, sent, recorded. From the due time and from the send time are two columns with two names.",
        "",
    ),
    row(
        "B03",
        "An HTTP/1.0 client measures a corner of one contestant.",
        "The client speaks HTTP/1.1 everywhere, but for ab in seed2, which is HTTP/1.0 as its author's was, and says so.",
        "",
    ),
    row(
        "B04",
        "Without kept connections the handshake is measured.",
        "Connections are kept; the backend's count of accepted ones is a column, so reuse is seen and not assumed. ab in seed2 reuses none.",
        "Reuse at the client's side is not switched off elsewhere, and wrk does not tell how often it connected.",
    ),
    row(
        "B05",
        "One contestant alone opens a connection upstream for each request.",
        "Stock and equalised are two sets: nginx's stock file has no upstream reuse, its equalised one has; accepted connections are counted.",
        "",
    ),
    row(
        "B06",
        "Client, proxy and backend fight for the same processors.",
        "Their processor time is three columns; closed loops on shared processors are called capacity probes; open loops are void when client or backend had no time to spare.",
        "Roles are not pinned: on two processors that would starve one of them.",
    ),
    row(
        "B07",
        "The load generator was the limit.",
        "An open-loop run is void when the client used over 70 % of a processor, or looked at one of a hundred requests more than 10 ms late, or later than half of what the slowest of a hundred answers took; also when its rate, on average, is more than half of what client and backend reached together before the first run, without a gateway (small answers; environment.csv tells it where it was measured). Its thread has a better priority where that is allowed, and wakes by a timer in nanoseconds.",
        "It is not calibrated apart from the backend.",
    ),
    row(
        "B08",
        "The backend was the limit.",
        "What wrk reaches on it before the first run is its ceiling, and an open loop that asks for more than half of that is void, as is one in which it used over 70 % of a processor; where `direct` takes part, each cell has its own ceiling.",
        "Its delays are whole milliseconds, rounded up, for all alike. `quick` has `direct` in `core` alone. In a closed loop the backend takes what it can get: its share is a column, and nothing proves that \
         it is not the limit.",
    ),
    row(
        "B09",
        "Errors were left out, or counted as requests.",
        "Each scheduled request ends as one of eight; their sum is the schedule, and is reconciled with the gateway's and the backend's counters. Timeouts enter the distribution at their value.",
        "wrk tells kinds of errors, not what became of each request.",
    ),
    row(
        "B10",
        "Fast refusals look like throughput.",
        "The headline is goodput: 2xx with a body of the right length, and in an open loop in time: within 1 s and the backend's delay, and while the schedule lasts. Late answers and refusals stand beside it by reason.",
        "The body's length is checked, not each octet; wrk and ab look at the status alone.",
    ),
    row(
        "B11",
        "Ports run out, and the server is blamed.",
        "Connections are kept, so few ports are used; the range and the number in TIME_WAIT before the start are recorded, failed connects counted.",
        "Nothing waits until TIME_WAIT is over: whoever opens a connection upstream for each request, as stock nginx does, leaves many.",
    ),
    row(
        "B12",
        "No warm-up, or for one only.",
        "The same for all: windows of the measured load, or of what comes nearest to it, until three bring nothing new (within 3 %) or there were \
         enough: fifteen of 2 s for the first cell of a process, five for later ones, unless told otherwise. Where most runs of a side had not \
         settled, or were faster than their warm-up, there is no verdict; every window is in windows.csv.",
        "ab is warmed up by wrk, `overload` by its first phase, `isolation` by its fast load. `quick` has four windows of 1 s for the first \
         cell, too few for a JVM, and one for each later one. There is no scenario of a cold start.",
    ),
    row(
        "B13",
        "Too short, once.",
        "`all` has five rounds and tells medians with their spread; every run's row is kept. `quick` is labelled as no verdict.",
        "By themselves cells last 10 to 30 s, one of seed0 300 s; --seconds gives them another length, and a report tells how long they were. seed0 repeats itself, so it has one round.",
    ),
    row(
        "B14",
        "A fixed order, and state left over.",
        "ABBA order, of the cells of one process too, and in `all` a fresh process of contestant and backend for each run, but for seed0, whose point is a warm one; with `--shared` one for the cells of a group in each round, which the report says.",
        "There is no pause to cool down.",
    ),
    row(
        "B15",
        "Somebody's defaults against somebody else's.",
        "Stock and equalised are never mixed; every limit in the path is printed and kept in contestants.csv, and again with the scenario that \
         sets it otherwise. Equalised lowers none but a time that nobody here waits for.",
        "What a contestant cannot be told stays: Zuul 2's backlog of 128. Which limit bound in a run is not found out, but for refusals, whose reasons are counted. Stock is played where a scenario says so or --configuration asks for it, not in `core`.",
    ),
    row(
        "B16",
        "A concurrency at which the models cannot differ.",
        "`sweep` takes rate x delay across the number of threads and names the product in each cell. Closed loops whose connections over delay \
         is reached by both are told, and left out of the count.",
        "",
    ),
    row(
        "B17",
        "A toy backend.",
        "Delays of 0 and 50 ms in `core`, 200 ms in `seed2`, 50 and 500 ms in `sweep` (100 ms in `quick`), with a heavy tail in `tail`; bodies of \
         0.1 to 100 kB and uploads in `bodies`; a service of 2 s beside a fast one in `isolation`.",
        "No TLS, no streaming of unknown length.",
    ),
    row(
        "B18",
        "Features differ.",
        "portcullis and its twin are asked the same requests before each scenario, routes, limits and failures included; each other is asked what any reverse proxy understands, at each start (in `quick` at the first), and held against portcullis. A difference is printed as not like for like, and named beside the verdict.",
        "What others do at their limits is not compared: those are printed. Log lines are compared by this project's tests, not here, and what each feature costs is not measured.",
    ),
    row(
        "B19",
        "Another component or version than the name says.",
        "Real programs, their versions recorded; the Java originals are built from pinned coordinates in bench/peers.",
        "No digests are recorded.",
    ),
    row(
        "B20",
        "Averages only.",
        "p50 to p99.9 and the longest, from a whole histogram of each run; percentiles of runs are never averaged, their median is told.",
        "wrk and ab tell fewer percentiles.",
    ),
    row(
        "B21",
        "The harness measures itself.",
        "The open loop is one thread with one epoll and no lock; its lateness and processor time are columns.",
        "",
    ),
    row(
        "B22",
        "Containers hide processors.",
        "Plain processes, with explicit worker counts when equalised; the quota, if any, is recorded.",
        "WebFlux keeps the threads that it has by itself, four at least.",
    ),
    row(
        "B23",
        "The network was the limit.",
        "Loopback only, and called so.",
        "No loss and no distance: what depends on them is not shown.",
    ),
    row(
        "B24",
        "The environment is not told.",
        "environment.csv: kernel, processor, quota, limits, sysctls, versions, load before, seeds, command line.",
        "",
    ),
    row(
        "B25",
        "No base line.",
        "`direct` takes part in `core` and, in `all`, in every scenario but seed3 and scheduling, unless others are chosen by name; what a contestant adds to its latency and processor seconds \
         for a thousand answers are columns.",
        "",
    ),
    row(
        "B26",
        "Starved connections vanish in the total.",
        "In an open loop each request has its own latency, so a connection that is never served is a timeout in the distribution; `sweep` and `overload` have more requests than threads.",
        "There is no index of fairness by connection.",
    ),
    row(
        "B27",
        "Only throughput is compared.",
        "`idle` tells threads and memory of 0 to 10,000 parked connections; `isolation` and `overload` tell behaviour; processor time is told of \
         every proxied run.",
        "No backend becomes slow and fast again during a run.",
    ),
    row(
        "B28",
        "Overload and recovery are not tested.",
        "`overload` goes to 200 % of the knee and back, and tells how far goodput fell and the time until it is back. More requests at the backend than were sent, as retries make them, void a run, \
         with both counts.",
        "How much a contestant's own retries multiply is therefore not compared.",
    ),
];

/// Prints them.
pub(crate) fn print() -> io::Result<()> {
    for Answer { id, fault, answer, limit } in ANSWERS {
        say(&format!("{id}  {fault}\n     {answer}"));
        if !limit.is_empty() {
            say(&format!("     But: {limit}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_name_the_scenarios_on_which_they_stand() {
        let of = |id: &str| -> Vec<&str> {
            ANSWERS.iter().filter(|answer| answer.id == id).flat_map(Answer::scenarios).collect()
        };
        assert_eq!(of("B17"), ["sweep", "isolation", "tail", "bodies"]);
        assert_eq!(of("B27"), ["idle", "isolation", "overload"]);
        assert_eq!((of("B16"), of("B02")), (vec!["sweep"], vec![]));
        let known = crate::scenario::all(&crate::scenario::Effort::ALL);
        assert!(SCENARIOS.iter().all(|name| known.iter().any(|scenario| scenario.name == *name)));
    }

    #[test]
    fn each_of_the_twenty_eight_has_an_answer() {
        let ids: Vec<String> = ANSWERS.iter().map(|answer| answer.id.to_owned()).collect();
        assert_eq!(ids, (1..=28).map(|n| format!("B{n:02}")).collect::<Vec<_>>());
        assert!(ANSWERS.iter().all(|answer| !answer.fault.is_empty() && !answer.answer.is_empty()));
    }
}
