//! Orders and durations of plans.

use super::*;
use crate::contestant;
use crate::scenario;

fn everybody() -> Vec<&'static str> {
    contestant::all().map(|contestant| contestant.name).collect()
}

fn total(effort: &Effort) -> Duration {
    let scenarios = scenario::all(effort);
    durations(&tasks(&scenarios, &everybody(), None, effort), effort).iter().sum()
}

#[test]
fn a_glance_at_everything_takes_fifteen_minutes_at_most() {
    let planned = total(&Effort::QUICK);
    assert!(planned < Duration::from_secs(15 * 60), "{}", in_words(planned));
}

#[test]
fn a_verdict_takes_hours_and_can_be_shortened() {
    let whole = total(&Effort::ALL);
    assert!((2..26).contains(&(whole.as_secs() / 3600)), "{}", in_words(whole));
    let short = total(&Effort { seconds: Some(1.0), rounds: Some(1), ..Effort::ALL });
    assert!(short * 5 < whole, "{}", in_words(short));
}

#[test]
fn a_narrow_verdict_has_everybody_in_core_and_a_glances_contestants_elsewhere() {
    let parties = |effort: &Effort, scenario: &str| -> Vec<&str> {
        let scenarios = scenario::all(effort);
        let tasks = tasks(&scenarios, &everybody(), None, effort);
        let there = |name: &&str| tasks.iter().any(|it| it.scenario.name == scenario && it.contestant == *name);
        everybody().into_iter().filter(there).collect()
    };
    let narrow = Effort { narrow: true, ..Effort::ALL };
    assert_eq!(parties(&narrow, "core"), everybody());
    for scenario in
        scenario::all(&narrow).into_iter().map(|it| it.name).filter(|name| !["core", "scheduling"].contains(name))
    {
        // No proxy is left out of a glance alone.
        let is_direct = |name: &&str| *name == "direct";
        let others: Vec<_> = parties(&narrow, scenario).into_iter().filter(|name| !is_direct(name)).collect();
        assert_eq!(others, parties(&Effort::QUICK, scenario), "{scenario}");
        let directs = [narrow, Effort::ALL].map(|effort| parties(&effort, scenario).iter().any(is_direct));
        assert_eq!(directs[0], directs[1], "{scenario}");
    }
}

#[test]
fn each_choice_makes_the_plan_shorter() {
    let whole = total(&Effort::ALL);
    let table = [
        ("narrow", Effort { narrow: true, ..Effort::ALL }),
        ("window", Effort { window: Some(1), ..Effort::ALL }),
        ("warm-up", Effort { warm_up: Some(2), ..Effort::ALL }),
        ("seconds", Effort { seconds: Some(3.0), ..Effort::ALL }),
        ("shared", Effort { shared: true, ..Effort::ALL }),
    ];
    for (choice, effort) in table {
        assert!(total(&effort) < whole, "{choice}");
    }
    assert_eq!(total(&Effort { narrow: true, ..Effort::QUICK }), total(&Effort::QUICK), "a glance is narrow");
    assert_eq!(total(&Effort { window: Some(2), ..Effort::ALL }), whole, "as by default");
    assert!(total(&Effort { window: Some(2), ..Effort::QUICK }) > total(&Effort::QUICK));
}

#[test]
fn a_shared_process_plays_the_cells_of_a_group_once_in_each_round() {
    let effort = Effort { shared: true, ..Effort::ALL };
    let scenarios: Vec<Scenario> = scenario::all(&effort).into_iter().filter(|it| it.name == "core").collect();
    let tasks = tasks(&scenarios, &["portcullis"], None, &effort);
    let groups = scenarios[0].groups.iter().filter(|group| group.has("portcullis")).count();
    assert_eq!(tasks.len(), 5 * groups);
    assert!(tasks.iter().all(|task| task.cells.len() == task.group.cells.len()));
}

#[test]
fn where_memory_is_what_it_is_about_each_cell_has_a_process_of_its_own_but_in_a_glance() {
    let cells = |effort: &Effort| -> Vec<usize> {
        let scenarios: Vec<Scenario> = scenario::all(effort).into_iter().filter(|it| it.name == "idle").collect();
        tasks(&scenarios, &["portcullis"], None, effort).iter().map(|task| task.cells.len()).collect()
    };
    assert_eq!(cells(&Effort { shared: true, rounds: Some(1), ..Effort::ALL }), [1, 1, 1, 1, 1]);
    assert_eq!(cells(&Effort::QUICK).len(), 1);
}

#[test]
fn rounds_go_forwards_and_backwards() {
    let effort = Effort { rounds: Some(2), ..Effort::ALL };
    let scenarios: Vec<Scenario> = scenario::all(&effort).into_iter().filter(|it| it.name == "tail").collect();
    let order: Vec<_> = tasks(&scenarios, &["nginx", "portcullis", "twin"], None, &effort)
        .iter()
        .map(|task| (task.contestant, task.round, task.position))
        .collect();
    let forwards = [("nginx", 1, 1), ("portcullis", 1, 2), ("twin", 1, 3)];
    let backwards = [("twin", 2, 1), ("portcullis", 2, 2), ("nginx", 2, 3)];
    // Both of its cells in each round.
    assert_eq!(order, [forwards, forwards, backwards, backwards].concat());
}

#[test]
fn cells_of_one_process_go_backwards_in_even_rounds_but_for_sequences() {
    let effort = Effort { shared: true, rounds: Some(2), ..Effort::ALL };
    let scenarios = scenario::all(&effort);
    let turns = |scenario: &str| -> Vec<(u32, Vec<&str>)> {
        let tasks = tasks(&scenarios, &["portcullis"], Some(Configuration::Equalised), &effort);
        let of = tasks.iter().filter(|task| task.scenario.name == scenario && task.cells.len() > 1);
        of.map(|task| (task.round, task.turns().into_iter().map(|cell| cell.name.as_str()).collect())).collect()
    };
    let core = turns("core");
    assert_eq!(core[0], (1, vec!["static c10", "static c200", "static c1000"]));
    assert_eq!(
        core.last(),
        Some(&(2, vec!["static c1000", "static c200", "static c10"])),
        "the first group comes last"
    );
    let seed0 = turns("seed0");
    assert_eq!((seed0.len(), &seed0[0].1), (2, &seed0[1].1), "the later find the process warm");
}

#[test]
fn rounds_of_a_glance_go_forwards_and_backwards_too() {
    let effort = Effort { rounds: Some(2), ..Effort::QUICK };
    let scenarios: Vec<Scenario> = scenario::all(&effort).into_iter().filter(|it| it.name == "core").collect();
    let tasks = tasks(&scenarios, &["nginx", "portcullis"], None, &effort);
    let delayed = |round: u32| -> Vec<&str> {
        let of = tasks.iter().filter(|task| (task.round, task.contestant) == (round, "nginx"));
        let names = of.flat_map(Task::turns).map(|cell| cell.name.as_str());
        names.filter(|name| name.starts_with("50 ms")).collect()
    };
    assert!(delayed(1).len() == 5 && delayed(1).iter().eq(delayed(2).iter().rev()), "{:?}", delayed(2));
    let order: Vec<&str> = tasks.iter().map(|task| task.contestant).collect();
    assert_eq!((order.first(), order.last()), (Some(&"nginx"), Some(&"nginx")));
}

#[test]
fn in_a_glance_a_contestant_has_one_process_for_each_setup() {
    let effort = Effort::QUICK;
    let scenarios = scenario::all(&effort);
    let tasks = tasks(&scenarios, &everybody(), None, &effort);
    let mut seen: Vec<&Task<'_>> = Vec::new();
    for (n, task) in tasks.iter().enumerate() {
        if n > 0 && task.shares_process_with(&tasks[n - 1]) {
            continue;
        }
        assert!(!seen.iter().any(|earlier| earlier.shares_process_with(task)), "{} twice", task.contestant);
        seen.push(task);
    }
    assert!(seen.len() < tasks.len());
}

#[test]
fn for_a_verdict_each_cell_has_a_process_of_its_own_but_for_sequences() {
    let effort = Effort::ALL;
    let scenarios = scenario::all(&effort);
    for task in tasks(&scenarios, &["portcullis"], None, &effort) {
        let cells = if task.scenario.name == "seed0" { 4 } else { 1 };
        assert_eq!(task.cells.len(), cells, "{}", task.scenario.name);
    }
    let of_seed0 = |rounds| {
        let effort = Effort { rounds, ..effort };
        tasks(&scenarios, &["twin"], None, &effort).iter().filter(|task| task.scenario.name == "seed0").count()
    };
    assert_eq!((of_seed0(None), of_seed0(Some(3))), (1, 3), "it repeats itself, unless told otherwise");
}

#[test]
fn one_configuration_can_be_chosen_and_no_proxy_has_none() {
    let effort = Effort::ALL;
    let scenarios: Vec<Scenario> = scenario::all(&effort).into_iter().filter(|it| it.name == "seed1").collect();
    let stock = tasks(&scenarios, &["direct", "nginx"], Some(Configuration::Stock), &effort);
    assert!(!stock.is_empty());
    assert!(stock.iter().all(|task| task.contestant == "nginx" && task.configuration == Configuration::Stock));
}

#[test]
fn a_group_may_be_for_some_only() {
    let effort = Effort::ALL;
    let scenarios: Vec<Scenario> = scenario::all(&effort).into_iter().filter(|it| it.name == "seed3").collect();
    let tasks = tasks(&scenarios, &everybody(), None, &effort);
    let nginx = |task: &&Task<'_>| task.group.cells[0].name.starts_with("nginx,");
    assert!(tasks.iter().filter(nginx).count() > 0);
    assert!(tasks.iter().filter(nginx).all(|task| task.contestant == "nginx"));
}

#[test]
fn core_has_few_connections_of_everybody_and_the_steps_between_of_some() {
    let everybodys = ["static c10", "static c200", "static c1000", "50 ms c200", "50 ms c1000"];
    let between = ["50 ms c100", "50 ms c250", "50 ms c500"];
    for effort in [Effort::QUICK, Effort::ALL] {
        let scenarios: Vec<Scenario> = scenario::all(&effort).into_iter().filter(|it| it.name == "core").collect();
        let tasks = tasks(&scenarios, &everybody(), None, &effort);
        let has = |contestant: &str, cell: &str| {
            tasks.iter().any(|task| task.contestant == contestant && task.cells.iter().any(|it| it.name == cell))
        };
        for contestant in everybody() {
            assert!(everybodys.iter().all(|cell| has(contestant, cell)), "{contestant}");
            let is_drawn = ["direct", "nginx", "portcullis", "twin"].contains(&contestant);
            assert!(between.iter().all(|cell| has(contestant, cell) == is_drawn), "{contestant}");
        }
    }
}

#[test]
fn those_who_are_compared_across_groups_meet_in_the_same_round() {
    let effort = Effort { rounds: Some(3), ..Effort::ALL };
    let scenarios: Vec<Scenario> = scenario::all(&effort).into_iter().filter(|it| it.name == "seed3").collect();
    let tasks = tasks(&scenarios, &everybody(), None, &effort);
    let rounds: Vec<u32> = tasks.iter().map(|task| task.round).collect();
    assert!(rounds.is_sorted() && rounds.ends_with(&[3]), "{rounds:?}");
    let cells = |round| tasks.iter().filter(move |it| it.round == round).map(|it| &it.cells[0].name);
    let (first, second): (Vec<_>, Vec<_>) = (cells(1).collect(), cells(2).collect());
    assert_eq!(first, second.into_iter().rev().collect::<Vec<_>>());
}

/// The tasks of a narrow measurement to which they were invited by name.
fn invited(
    scenario: &str,
    names: &[&'static str],
    configuration: Option<Configuration>,
) -> Vec<(String, Configuration)> {
    let effort = Effort { narrow: true, rounds: Some(1), ..Effort::ALL };
    let mut scenarios: Vec<Scenario> = scenario::all(&effort).into_iter().filter(|it| it.name == scenario).collect();
    scenarios.iter_mut().for_each(|it| it.invite(names, configuration));
    let tasks = tasks(&scenarios, names, configuration, &effort);
    tasks.iter().map(|task| (format!("{}: {}", task.contestant, task.cells[0].name), task.configuration)).collect()
}

#[test]
fn whoever_is_named_takes_part_where_nothing_particular_is_told_to_others() {
    for scenario in scenario::all(&Effort::ALL).into_iter().map(|it| it.name) {
        for name in everybody() {
            assert!(!invited(scenario, &[name], None).is_empty(), "{name} in {scenario}");
        }
    }
    assert_eq!(invited("seed3", &["haproxy"], None), [("haproxy: gateway".into(), Configuration::Equalised)]);
    assert!(invited("seed3", &["nginx"], None).iter().all(|(cell, _)| cell.starts_with("nginx: nginx,")));
}

#[test]
fn a_configuration_that_a_scenario_does_not_have_is_played_when_it_is_chosen() {
    let stock = Some(Configuration::Stock);
    assert!(invited("core", &["zuul2"], stock).iter().all(|(_, it)| *it == Configuration::Stock));
    assert_eq!(invited("core", &["zuul2"], stock).len(), 5);
    // It has one cell for each.
    assert_eq!(invited("overload", &["zuul2"], stock).len(), 1);
    assert!(invited("core", &["direct"], stock).is_empty(), "no proxy has no limits");
}

#[test]
fn times_are_told_in_words() {
    let table = [(20, "20 s"), (200, "3 min 20 s"), (3900, "1 h 5 min")];
    for (seconds, words) in table {
        assert_eq!(in_words(Duration::from_secs(seconds)), words);
    }
}
