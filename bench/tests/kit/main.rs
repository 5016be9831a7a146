//! The kit as its user has it: the binary, from the command line to the files that it leaves. No figure is looked at.

/// Whatever ends the kit ends what it started.
mod ends;

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory for results, removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("portcullis-kit-{name}-{}", std::process::id())))
    }

    fn rows(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bench(arguments: &[&str], results: Option<&Path>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    // Not where the sources are: the binary knows what it was built of.
    command.current_dir(std::env::temp_dir());
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    results.map(|dir| command.arg("--results").arg(dir));
    command
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

const TINY: &[&str] = &["--seconds", "0.3", "--rounds", "2", "--warm-up", "0", "--configuration", "equalised"];

#[test]
fn a_tiny_measurement_leaves_all_its_files() {
    let dir = Dir::new("tiny");
    let arguments = [&["all", "--scenario", "tail", "--contestant", "direct,portcullis"], TINY].concat();
    let output = bench(&arguments, Some(&dir.0)).output().expect("bench runs");
    assert!(output.status.success(), "{}", told(&output));
    // Two contestants, two cells, two rounds.
    let mut runs = csv::Reader::from_path(dir.0.join("runs.csv")).expect("runs");
    let heads = runs.headers().expect("heads").clone();
    let rows: Vec<_> = runs.records().collect::<Result<_, _>>().expect("rows");
    assert_eq!(rows.len(), 2 * 2 * 2);
    let turns = |round: &str| -> Vec<(&str, &str)> {
        let at = |name: &str| heads.iter().position(|head| head == name).expect("a column");
        let rows = rows.iter().filter(|row| row[at("round")] == *round);
        rows.map(|row| (&row[at("contestant")], &row[at("position")])).collect()
    };
    let (forwards, backwards) = ([("direct", "1"), ("portcullis", "2")], [("portcullis", "1"), ("direct", "2")]);
    assert_eq!((turns("1"), turns("2")), ([forwards, forwards].concat(), [backwards, backwards].concat()));
    assert!(dir.rows("latencies.csv").len() > 4 && dir.rows("windows.csv").len() > 4);
    assert!(dir.rows("contestants.csv").iter().any(|row| row.contains("server.tomcat.threads.max = 200")));
    assert!(dir.rows("environment.csv").iter().any(|row| row == "seed,1"));
    let built = format!("revision,{}", env!("BENCH_REVISION"));
    assert!(dir.rows("environment.csv").contains(&built), "{built}");
    for run in table(&dir, "runs.csv").iter().filter(|run| run["contestant"] == "portcullis") {
        assert!(!run["sent"].is_empty() && run["gateway_requests"] == run["sent"], "{run:?}");
    }
    assert!(told(&output).contains("== tail"));
    can_be_told_again(&dir, &told(&output));
}

/// A file's rows, as what stands under each head.
fn table(dir: &Dir, file: &str) -> Vec<HashMap<String, String>> {
    let mut table = csv::Reader::from_path(dir.0.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    table.deserialize().collect::<Result<_, _>>().expect("rows")
}

#[test]
fn nginx_is_held_against_portcullis_at_each_start_and_its_backend_never_notices() {
    is_held_against_portcullis("nginx", "nginx");
}

#[test]
fn haproxy_is_held_against_portcullis_at_each_start_and_its_backend_never_notices() {
    is_held_against_portcullis("haproxy", "HAProxy");
}

fn is_held_against_portcullis(name: &str, label: &str) {
    let dir = Dir::new(name);
    let arguments = [&["all", "--scenario", "tail", "--contestant", name], TINY].concat();
    let output = bench(&arguments, Some(&dir.0)).output().expect("bench runs");
    assert!(output.status.success(), "{}", told(&output));
    let contestants = table(&dir, "contestants.csv");
    let [it] = &contestants[..] else { panic!("{contestants:?}") };
    if !it["missing"].is_empty() {
        let required = std::env::var_os("PORTCULLIS_REQUIRE_PARTS").is_some_and(|value| value == "1");
        assert!(!required, "{}, and parts are required", it["missing"]);
        // Not a print macro: the harness would swallow the line of a test that passes.
        let _ = writeln!(std::io::stderr(), "skipped: {}", it["missing"]);
        return;
    }
    assert!(it["parity"].starts_with("not like for like: "), "{}", it["parity"]);
    let via = format!(r#"answer: field via: portcullis "1.1 portcullis", {name} has none (and in "#);
    assert!(it["parity"].contains(&via), "{}", it["parity"]);
    // The second start showed nothing else.
    assert!(!dir.rows("environment.csv").iter().any(|row| row.starts_with("parity of ")));
    let runs = table(&dir, "runs.csv");
    assert_eq!(runs.len(), 2 * 2);
    for run in runs {
        assert_eq!((&run["backend_requests"], run["reconciliation"].as_str()), (&run["sent"], ""));
    }
    let report = std::fs::read_to_string(dir.0.join("report.md")).expect("a report");
    assert!(report.contains(&format!("| {label}, equalised, beside portcullis | not like for like: ")), "{report}");
}

#[test]
fn wrk_and_ab_bring_their_loads_and_are_read_back() {
    let dir = Dir::new("tools");
    // bodies: three cells of wrk and an open one; seed2: two of ab, which end with their number of requests.
    let arguments = ["quick", "--scenario", "bodies,seed2", "--contestant", "portcullis", "--seconds", "1"];
    let output = bench(&arguments, Some(&dir.0)).args(["--warm-up", "0"]).output().expect("bench runs");
    assert!(output.status.success(), "{}", told(&output));
    let runs = table(&dir, "runs.csv");
    if let Some(run) = runs.iter().find(|run| run["void"].contains("apt-get install")) {
        let required = std::env::var_os("PORTCULLIS_REQUIRE_PARTS").is_some_and(|value| value == "1");
        assert!(!required, "{}, and parts are required", run["void"]);
        let _ = writeln!(std::io::stderr(), "skipped: {}", run["void"]);
        return;
    }
    let of = |tool: &str| -> Vec<_> { runs.iter().filter(|run| run["tool"] == *tool).collect() };
    let (wrk, ab) = (of("wrk"), of("ab"));
    assert_eq!((wrk.len(), ab.len(), of("bench").len()), (3, 2, 1));
    for run in wrk.iter().chain(&ab) {
        let count = |name: &str| run[name].parse::<u64>().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((run["kind"].as_str(), run["scheduled"].as_str(), run["in_time"].as_str()), ("closed", "", ""));
        assert_eq!((run["reconciliation"].as_str(), run["void"].as_str(), run["refused"].as_str()), ("", "", "0"));
        // Each connection of a closed loop may be cut off with a request under way.
        assert!(count("ok") > 0 && count("backend_requests") >= count("ok"), "{run:?}");
        assert!(!run["p50_ms"].is_empty() && !run["cpu_per_thousand"].is_empty(), "{run:?}");
    }
    let bodies: Vec<&str> = wrk.iter().map(|run| run["body_octets"].as_str()).collect();
    assert_eq!(bodies, ["100", "10000", "100000"]);
    // ab sends as many as its cell says, and waits for each answer.
    let whole = |run: &&HashMap<String, String>| run["cell"].ends_with(&format!(" -n {}", run["ok"]));
    assert!(ab.iter().all(whole), "{ab:?}");
}

/// The report whose path was printed comes out the same from the files alone.
#[track_caller]
fn can_be_told_again(dir: &Dir, printed: &str) {
    let pages = ["report.md", "report.html"].map(|name| dir.0.join(name));
    let read = || pages.each_ref().map(|page| std::fs::read_to_string(page).expect("a page"));
    assert!(pages.iter().all(|page| printed.contains(&page.display().to_string())), "{printed}");
    let first = read();
    assert!(first.iter().all(|text| text.contains("portcullis") && text.contains("heavy tail")));
    pages.iter().for_each(|page| std::fs::remove_file(page).expect("removed"));
    let again = bench(&["report"], None).arg(&dir.0).output().expect("bench runs");
    assert!(again.status.success(), "{}", told(&again));
    assert_eq!(read(), first);
}

#[test]
fn results_that_are_not_there_are_named() {
    let dir = Dir::new("nothing");
    let output = bench(&["report"], None).arg(&dir.0).output().expect("bench runs");
    assert!(!output.status.success() && told(&output).contains("runs.csv"), "{}", told(&output));
    assert!(!dir.0.exists());
}

#[test]
fn the_planned_duration_is_told_and_nothing_started() {
    let dir = Dir::new("plan");
    let output = bench(&["all", "--plan"], Some(&dir.0)).output().expect("bench runs");
    assert!(output.status.success());
    assert!(told(&output).contains("5 rounds, at most about "), "{}", told(&output));
    assert!(!dir.0.exists());
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    for (arguments, known) in
        [(["all", "--scenario", "sweeep"], "sweep"), (["quick", "--contestant", "ngins"], "nginx")]
    {
        let output = bench(&arguments, None).output().expect("bench runs");
        assert!(!output.status.success() && told(&output).contains(known), "{}", told(&output));
    }
}

#[test]
fn the_twin_is_probed_with_the_limits_that_it_is_measured_with() {
    let dir = Dir::new("twin");
    let arguments = ["quick", "--scenario", "tail", "--contestant", "twin", "--seconds", "0.3", "--warm-up", "0"];
    let output = bench(&arguments, Some(&dir.0)).output().expect("bench runs");
    assert!(output.status.success(), "{}", told(&output));
    let contestants = table(&dir, "contestants.csv");
    let [twin] = &contestants[..] else { panic!("{contestants:?}") };
    assert_eq!((twin["contestant"].as_str(), twin["configuration"].as_str()), ("twin", "equalised"));
    assert!(twin["parity"].starts_with("like for like in "), "{}", twin["parity"]);
    // Beside the richer comparison on a configuration of its own.
    assert!(
        dir.rows("environment.csv").iter().any(|row| row.starts_with("parity before everything,like for like in "))
    );
    let report = std::fs::read_to_string(dir.0.join("report.md")).expect("a report");
    assert!(report.contains("| async twin, equalised, beside portcullis | like for like in "), "{report}");
}
