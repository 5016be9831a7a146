//! A kit that is interrupted or killed leaves no process behind.

use crate::{Dir, bench};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Ends the process if the test does not.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn after_an_interrupt_nothing_is_left_running() {
    let dir = Dir::new("interrupt");
    let arguments =
        ["all", "--scenario", "isolation", "--contestant", "portcullis", "--seconds", "600", "--warm-up", "0"];
    let mut bench = Ended(bench(&arguments, Some(&dir.0)).spawn().expect("bench starts"));
    let mut lines = BufReader::new(bench.0.stdout.take().expect("a pipe"));
    // Its limits are told once the gateway runs.
    let mut line = String::new();
    while !line.starts_with("portcullis, ") {
        line.clear();
        assert!(lines.read_line(&mut line).expect("a line") > 0, "ended early");
    }
    let started = children(bench.0.id());
    assert_eq!(started.len(), 2, "a backend and a gateway");
    let pid = rustix::process::Pid::from_raw(bench.0.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let status = wait(&mut bench.0);
    assert!(!status.success());
    assert!(started.iter().all(|pid| !is_running(*pid)), "{started:?}");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("the rest");
    assert!(rest.contains("raw data: ") && rest.contains("stopped by a signal"), "{rest}");
}

fn wait(child: &mut Child) -> std::process::ExitStatus {
    let patience = Instant::now() + Duration::from_secs(60);
    while Instant::now() < patience {
        if let Some(status) = child.try_wait().expect("a state") {
            return status;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    panic!("it does not end");
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

fn is_running(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_killed_kit_leaves_nothing_running() {
    let long = ["--seconds", "600", "--warm-up", "0", "--configuration", "equalised"];
    let all = |scenario, contestant| [&["all", "--scenario", scenario, "--contestant", contestant], &long[..]].concat();
    let cases = [
        (all("isolation", "portcullis"), "a backend and a gateway", "bench"),
        (all("seed1", "direct"), "a backend and wrk", "wrk"),
        (vec!["parity"], "portcullis and its twin", "bench"),
        (vec!["quick", "--scenario", "footprint"], "a service and a gateway", "bench"),
    ];
    for (number, (arguments, who, last)) in cases.into_iter().enumerate() {
        if last == "wrk" && !is_on_path("wrk") {
            let required = std::env::var_os("PORTCULLIS_REQUIRE_PARTS").is_some_and(|value| value == "1");
            assert!(!required, "wrk is missing, and parts are required");
            let _ = writeln!(std::io::stderr(), "skipped: wrk is missing");
            continue;
        }
        let dir = Dir::new(&format!("killed-{number}"));
        let results = arguments.contains(&"--warm-up").then_some(dir.0.as_path());
        let mut command = bench(&arguments, results);
        let mut bench = Ended(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("bench starts"));
        let mut started = Vec::new();
        let is_there = holds_within(|| {
            started = children(bench.0.id());
            started.len() >= 2 && started.iter().any(|pid| name(*pid) == last)
        });
        assert!(is_there, "{who}: {started:?}");
        bench.0.kill().expect("killed");
        assert!(holds_within(|| started.iter().all(|pid| !is_running(*pid))), "{who}: {started:?} are left");
    }
}

fn holds_within(mut condition: impl FnMut() -> bool) -> bool {
    let patience = Instant::now() + Duration::from_secs(60);
    while Instant::now() < patience {
        if condition() {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    false
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}
