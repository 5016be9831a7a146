//! The scenarios' data hold together.

use super::*;
use crate::contestant;
use std::collections::HashSet;

fn both() -> [Vec<Scenario>; 2] {
    [all(&Effort::QUICK), all(&Effort::ALL)]
}

#[test]
fn every_scenario_is_there_by_name() {
    let names = [
        "core",
        "scheduling",
        "seed0",
        "seed1",
        "seed2",
        "seed3",
        "sweep",
        "idle",
        "isolation",
        "tail",
        "bodies",
        "overload",
    ];
    for scenarios in both() {
        assert_eq!(scenarios.iter().map(|scenario| scenario.name).collect::<Vec<_>>(), names);
    }
}

#[test]
fn contestants_that_are_named_exist() {
    for scenario in both().iter().flatten() {
        let groups = scenario.groups.iter().flat_map(|group| &group.only);
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
        // Of one of them sums over several cells were published, of limits by other names; of another, of machines and nginx's workers there.
        let (begin, configuration) = match (published.scenario, published.cell.rsplit_once(", ")) {
            ("seed1", Some((name, "default"))) => (name, Configuration::Stock),
            ("seed1", Some((name, "optimised"))) => (name, Configuration::Equalised),
            ("seed3", Some((_, "nginx with 8 workers" | "nginx with 4 workers")))
                if published.contestant == "nginx" =>
            {
                ("nginx, ", Configuration::Equalised)
            }
            ("seed3", Some(_)) => ("gateway", Configuration::Equalised),
            _ => (published.cell, Configuration::Equalised),
        };
        let mut groups = scenario.groups.iter().filter(|group| group.configurations.contains(&configuration));
        let repeats = |group: &Group| {
            let takes_part = group.has(published.contestant) && scenario.contestants.contains(&published.contestant);
            takes_part && group.cells.iter().any(|cell| cell.name.starts_with(begin))
        };
        assert!(groups.any(repeats), "{published:?}");
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
    let arrivals = "of each round from a seed of its own, the same for all contestants";
    assert_eq!(
        told,
        [processes, "1", arrivals, "2", "7", warm_up, "few: the Java originals are in core alone, unless named"]
    );
    let cells = all(&effort).into_iter().flat_map(|scenario| scenario.groups).flat_map(|group| group.cells);
    let its_own = |cell: &Cell| matches!(cell.load, Load::Ab { .. } | Load::Overload { .. });
    assert!(cells.filter(|cell| !its_own(cell)).all(|cell| cell.seconds == 7.0));
}

fn cells_of(scenario: &str, effort: &Effort) -> Vec<Cell> {
    let of = all(effort).into_iter().filter(|it| it.name == scenario);
    of.flat_map(|it| it.groups).flat_map(|group| group.cells).collect()
}

#[test]
fn what_is_too_short_to_show_anything_keeps_its_least_length() {
    let (quick, short) = (Effort { seconds: Some(0.3), ..Effort::QUICK }, Effort { seconds: Some(0.3), ..Effort::ALL });
    let least = |scenario: &str, effort: &Effort| {
        cells_of(scenario, effort).iter().map(|cell| cell.seconds).fold(f64::INFINITY, f64::min)
    };
    assert_eq!([least("overload", &quick), least("overload", &short)], [12.0, 20.0]);
    assert_eq!([least("isolation", &quick), least("isolation", &short)], [2.0, 6.0]);
    assert_eq!([least("core", &quick), least("core", &short)], [0.3, 0.3]);
    // Who asks for more has it.
    let long = Effort { seconds: Some(60.0), ..Effort::ALL };
    assert!(["overload", "isolation", "sweep"].iter().all(|scenario| least(scenario, &long) == 60.0));
}

#[test]
fn for_a_verdict_open_loops_have_answers_enough_for_a_latency_at_99_percent() {
    let short = Effort { seconds: Some(0.3), ..Effort::ALL };
    for effort in [Effort::ALL, short] {
        for cell in ["sweep", "isolation", "tail", "bodies"].iter().flat_map(|name| cells_of(name, &effort)) {
            let open = match &cell.load {
                Load::Open(open) => open,
                Load::Beside(beside) => &beside.own,
                _ => continue,
            };
            let run = crate::raw::Run { ok: (open.rate * cell.seconds) as u64, ..crate::raw::Run::default() };
            assert!(run.reaches(0.01), "{}", cell.name);
        }
    }
}

#[test]
fn an_overload_leaves_a_backlog_of_more_than_the_objective_and_time_to_get_rid_of_it() {
    for effort in [Effort::QUICK, Effort::ALL, Effort { seconds: Some(0.3), ..Effort::ALL }] {
        for cell in cells_of("overload", &effort) {
            let [before, peak, after] = OVERLOAD.map(|(part, of_time)| (part, of_time * cell.seconds));
            // In seconds of what the knee serves: what lags behind, and what is made up for.
            let backlog = (peak.0 - 1.0) * peak.1;
            let patience = crate::load::OBJECTIVE.as_secs_f64() + f64::from(cell.target.delay_ms) / 1000.0;
            assert!(before.0 < 1.0 && backlog > 2.0 * patience, "{}", cell.name);
            assert!((1.0 - after.0) * after.1 > backlog - patience, "{}", cell.name);
            assert!(before.1.min(peak.1).min(after.1) >= effort.choose(3.0, 5.0), "{}", cell.name);
            let (rises, falls) = overload_turns(cell.seconds);
            let window = overload_window(cell.seconds);
            assert_eq!((rises.as_nanos() / window.as_nanos(), falls.as_nanos() / window.as_nanos()), (20, 40));
        }
    }
}

#[test]
fn stocks_knee_is_that_of_its_connections_to_the_service() {
    let all = all(&Effort::ALL);
    let overload = all.iter().find(|scenario| scenario.name == "overload").expect("an overload");
    let knees = |configuration: Configuration| -> Vec<f64> {
        let groups = overload.groups.iter().filter(|group| group.configurations == [configuration]);
        let knee = |cell: &Cell| if let Load::Overload { knee, .. } = cell.load { knee } else { 0.0 };
        groups.flat_map(|group| &group.cells).map(knee).collect()
    };
    assert_eq!((knees(Configuration::Stock), knees(Configuration::Equalised)), (vec![500.0], vec![2000.0]));
}

#[test]
fn the_slow_service_has_all_it_can_get_when_the_fast_one_begins() {
    for effort in [Effort::QUICK, Effort { seconds: Some(0.3), ..Effort::ALL }] {
        let cells = cells_of("isolation", &effort);
        let beside =
            cells.iter().find_map(|cell| if let Load::Beside(beside) = &cell.load { Some(beside) } else { None });
        let beside = beside.expect("two loads");
        let delay = f64::from(beside.other_target.delay_ms) / 1000.0;
        // At twice what the threads hold, they are full after half a delay.
        assert!(beside.ahead >= delay + 1.0 && beside.other.rate * delay >= 2.0 * 200.0);
    }
}

#[test]
fn the_first_comparisons_cells_tell_their_real_length() {
    let names = |seconds| -> Vec<String> {
        cells_of("seed0", &Effort { seconds, ..Effort::ALL }).into_iter().map(|cell| cell.name).collect()
    };
    assert_eq!(names(None), ["30 s, first", "30 s, second", "30 s, third", "300 s"]);
    assert_eq!(names(Some(2.9)), ["2 s, first", "2 s, second", "2 s, third", "2 s, fourth"]);
    assert_eq!(names(Some(0.3))[0], "1 s, first", "wrk takes a second at least");
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
