//! The scenarios' data hold together.

use super::*;
use crate::contestant;
use std::collections::HashSet;

fn both() -> [Vec<Scenario>; 2] {
    [all(&Effort::QUICK), all(&Effort::ALL)]
}

#[test]
fn every_scenario_is_there_by_name() {
    let names =
        ["core", "seed0", "seed1", "seed2", "seed3", "sweep", "idle", "isolation", "tail", "bodies", "overload"];
    for scenarios in both() {
        assert_eq!(scenarios.iter().map(|scenario| scenario.name).collect::<Vec<_>>(), names);
    }
}

#[test]
fn contestants_that_are_named_exist() {
    for scenario in both().iter().flatten() {
        let groups = scenario.groups.iter().flat_map(|group| group.only);
        for name in scenario.contestants.iter().chain(groups) {
            assert!(contestant::named(name).is_some(), "{name} in {}", scenario.name);
        }
    }
}

#[test]
fn each_row_has_a_name_of_its_own() {
    for scenario in both().iter().flatten() {
        for configuration in BOTH {
            let mut names = HashSet::new();
            let groups = scenario.groups.iter().filter(|group| group.configurations.contains(configuration));
            for cell in groups.flat_map(|group| &group.cells) {
                assert!(names.insert(&cell.name), "{} twice in {}", cell.name, scenario.name);
            }
        }
    }
}

#[test]
fn published_figures_belong_to_cells_that_repeat_them() {
    let scenarios = all(&Effort::ALL);
    for published in ["seed0", "seed1", "seed2", "seed3"].into_iter().flat_map(published::of) {
        let scenario = scenarios.iter().find(|scenario| scenario.name == published.scenario).expect("a scenario");
        // Of two of them only sums over several cells were published, or of machines that are told besides.
        if matches!(published.scenario, "seed0" | "seed2") {
            let mut cells = scenario.groups.iter().flat_map(|group| &group.cells);
            assert!(cells.any(|cell| cell.name.starts_with(published.cell)), "{}", published.cell);
        }
        assert!(contestant::named(published.contestant).is_some(), "{}", published.contestant);
    }
    assert_eq!((published::of("tail").count(), published::otherwise("tail")), (0, ""));
}

#[test]
fn every_repetition_tells_what_is_otherwise() {
    let repeats = |scenario: &Scenario| published::of(scenario.name).count() > 0;
    for scenario in all(&Effort::ALL) {
        assert_eq!(repeats(&scenario), !published::otherwise(scenario.name).is_empty(), "{}", scenario.name);
    }
}

#[test]
fn the_sweep_crosses_the_number_of_threads() {
    for scenarios in both() {
        let sweep = scenarios.iter().find(|scenario| scenario.name == "sweep").expect("a sweep");
        let held = |cell: &Cell| match cell.load {
            Load::Open(open) => open.rate * f64::from(cell.target.delay_ms) / 1000.0,
            _ => 0.0,
        };
        let group = &sweep.groups[0];
        let below = group.cells.iter().filter(|cell| held(cell) < group.workers as f64).count();
        assert!(below >= 2 && group.cells.len() - below >= 2, "{below} of {}", group.cells.len());
    }
}

#[test]
fn a_target_is_a_request_and_the_length_of_its_answer() {
    let table = [
        (Target::LIST, "GET /product/list HTTP/1.1\r\nHost: bench\r\n\r\n", 48),
        (Target::after(50), "GET /product/list?ms=50 HTTP/1.1\r\nHost: bench\r\n\r\n", 48),
        (
            Target { tail: true, bytes: Some(9), service: "slow", ..Target::after(20) },
            "GET /slow/list?tail=20&bytes=9 HTTP/1.1\r\nHost: bench\r\n\r\n",
            9,
        ),
        (
            Target { upload: 3, ..Target::LIST },
            "POST /product/upload HTTP/1.1\r\nHost: bench\r\nContent-Length: 3\r\n\r\nxxx",
            12,
        ),
    ];
    for (target, request, octets) in table {
        assert_eq!(String::from_utf8(target.request()).as_deref(), Ok(request));
        assert_eq!(target.body_octets(), octets, "{request}");
    }
}

#[test]
fn seconds_and_rounds_can_be_given_and_are_told() {
    let effort = Effort { seconds: Some(7.0), rounds: Some(2), ..Effort::QUICK };
    assert_eq!((effort.lasting(1.0, 20.0), effort.rounds()), (7.0, 2));
    assert_eq!((Effort::QUICK.rounds(), Effort::ALL.rounds()), (1, 5));
    let told = Effort { window: Some(3), warm_up: Some(9), narrow: true, ..effort }.facts().map(|(_, value)| value);
    let warm_up = "windows of 3 s, until three bring nothing new: at most 9 for the first cell of a process, 5 for each later one";
    let processes = "one for all cells of a contestant with the same setup";
    assert_eq!(told, [processes, "1", "2", "7", warm_up, "few: the Java originals are in core alone"]);
    let cells = all(&effort).into_iter().flat_map(|scenario| scenario.groups).flat_map(|group| group.cells);
    assert!(cells.filter(|cell| !matches!(cell.load, Load::Ab { .. })).all(|cell| cell.seconds == 7.0));
}

#[test]
fn the_first_cell_of_a_process_is_warmed_longest() {
    let table = [
        (Effort::QUICK, None, [4, 1]),
        (Effort::QUICK, Some(0), [0, 0]),
        (Effort::ALL, None, [15, 5]),
        (Effort::ALL, Some(3), [3, 3]),
        (Effort::ALL, Some(30), [30, 5]),
    ];
    for (effort, warm_up, most) in table {
        let effort = Effort { warm_up, ..effort };
        assert_eq!([true, false].map(|first| effort.patience(first).most), most, "{warm_up:?}");
    }
}
