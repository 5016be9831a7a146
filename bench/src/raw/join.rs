//! Results that were measured in parts, on a day that had no hours for all scenarios in one go, become one.
//!
//! No scenario may be in two parts, so that each comparison has both sides from one of them, and all must be of the same machine and kind:
//! see [`OF_ALL`]. Whatever else differs, such as the command line or the revision of the kit, is told of each.

use super::{Data, Fact, Latency, Participant, Run, Window, scenarios};
use crate::measure::environment::{COMMAND_LINE, without_folders};
use std::collections::HashSet;

/// A directory of results, and what errors call it.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) data: Data,
}

/// Facts in which all parts must agree, and that each must tell.
const OF_ALL: &[&str] = &["kernel", "cpu", "processors", "memory", "build", "rounds", "verdict"];

/// How keys begin that tell what was measured again.
const LEFT_OUT: &str = "left out of ";

/// How keys begin that tell what probes showed.
const PARITY: &str = "parity ";

impl Part {
    /// In which the contestant took part, or all where none is given, in the order in which they were played.
    fn scenarios(&self, of: Option<&Participant>) -> Vec<&str> {
        let is_its =
            |run: &&Run| of.is_none_or(|it| (&run.contestant, run.configuration) == (&it.contestant, it.configuration));
        scenarios(self.data.runs.iter().filter(is_its))
    }

    /// The scenarios in which a limit of the contestant's first start in this part was as it was there.
    fn scenarios_of(&self, row: &Participant, line: &str) -> String {
        let key = |line: &str| line.split_once(" = ").map_or(line.to_owned(), |(key, _)| key.to_owned());
        let is_otherwise = |scenario: &&str| {
            let same = |it: &&Participant| {
                (&it.contestant, it.configuration, it.scenario.as_str())
                    == (&row.contestant, row.configuration, *scenario)
            };
            let mut later = self.data.participants.iter().filter(same).flat_map(|it| it.limits.lines());
            later.any(|other| key(other) == key(line))
        };
        let first = self.scenarios(Some(row)).into_iter().take(1);
        // Its own first scenario has both values when groups of it differ.
        let others = self.scenarios(Some(row)).into_iter().skip(1).filter(|scenario| !is_otherwise(scenario));
        first.chain(others).collect::<Vec<_>>().join(", ")
    }
}

/// Leaves a scenario out of all parts but the last that has it, and notes so there.
pub(crate) fn leave_out_what_came_again(parts: &mut [Part]) {
    for at in 0..parts.len() {
        let (before, later) = parts.split_at_mut(at + 1);
        let Some(part) = before.last_mut() else { continue };
        let is_again = |name: &str| later.iter().any(|other| other.scenarios(None).contains(&name));
        let again: Vec<String> =
            part.scenarios(None).into_iter().filter(|it| is_again(it)).map(str::to_owned).collect();
        if again.is_empty() {
            continue;
        }
        part.data.runs.retain(|run| !again.contains(&run.scenario));
        let kept: HashSet<u32> = part.data.runs.iter().map(|run| run.id).collect();
        part.data.latencies.retain(|it| kept.contains(&it.run));
        part.data.windows.retain(|it| kept.contains(&it.run));
        part.data.participants.retain(|it| !again.contains(&it.scenario));
        let of_again = |key: &str| again.iter().any(|name| key.ends_with(&format!(" {name}")));
        part.data.environment.retain(|fact| !of_again(&fact.key));
        let value = format!("{}: measured again, and told as it was then", again.join(", "));
        part.data.environment.push(Fact { key: format!("{LEFT_OUT}{}", without_folders(&part.name)), value });
    }
}

/// All parts as one, with runs numbered anew; an error names what does not fit, and where.
pub(crate) fn join(parts: &[Part]) -> Result<Data, String> {
    let mut joined = Data { environment: facts(parts), ..Data::default() };
    for (at, part) in parts.iter().enumerate() {
        refuse_misfits(&parts[..at], part)?;
        let first = joined.runs.iter().map(|run| run.id).max().unwrap_or(0);
        joined.runs.extend(part.data.runs.iter().map(|run| Run { id: first + run.id, ..run.clone() }));
        let latencies = part.data.latencies.iter();
        joined.latencies.extend(latencies.map(|it| Latency { run: first + it.run, ..it.clone() }));
        let windows = part.data.windows.iter();
        joined.windows.extend(windows.map(|it| Window { run: first + it.run, ..it.clone() }));
        part.data.participants.iter().for_each(|it| note_participant(&mut joined, part, it));
    }
    Ok(joined)
}

fn refuse_misfits(before: &[Part], part: &Part) -> Result<(), String> {
    for key in OF_ALL {
        let told = part.data.fact(key).ok_or_else(|| format!("{} does not tell {key}", part.name))?;
        if let Some(other) = before.iter().find(|other| other.data.fact(key) != Some(told)) {
            let known = other.data.fact(key).unwrap_or_default();
            return Err(format!("{key} is {known:?} in {}, and {told:?} in {}", other.name, part.name));
        }
    }
    for other in before {
        let known = other.scenarios(None);
        if let Some(name) = part.scenarios(None).into_iter().find(|name| known.contains(name)) {
            return Err(format!("{name} is in both {} and {}", other.name, part.name));
        }
    }
    Ok(())
}

/// A fact in which all agree stands once; any other once for each part that tells it, behind the part's scenarios.
fn facts(parts: &[Part]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    for fact in parts.iter().flat_map(|part| &part.data.environment) {
        if facts.iter().any(|known| known.key == fact.key) {
            continue;
        }
        // Of a part of which nothing is left, that alone is told.
        let counts = |part: &&Part| !part.data.runs.is_empty() || fact.key.starts_with(LEFT_OUT);
        let told = parts.iter().filter(counts).filter_map(|part| Some((part, part.data.fact(&fact.key)?)));
        // Older kits told folders.
        let short = |value: &str| if fact.key == COMMAND_LINE { without_folders(value) } else { value.to_owned() };
        let told: Vec<(&Part, String)> = told.map(|(part, value)| (part, short(value))).collect();
        let Some((_, first)) = told.first() else { continue };
        let line = |(part, value): &(&Part, String)| format!("{}: {value}", part.scenarios(None).join(", "));
        let value = match told.iter().all(|(_, value)| value == first) {
            true => first.clone(),
            false => told.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        facts.push(Fact { key: fact.key.clone(), value });
    }
    facts
}

/// A contestant has one row of its first start; later parts add limits that they set otherwise, and whatever probes showed else.
fn note_participant(joined: &mut Data, part: &Part, row: &Participant) {
    let is_its = |it: &&Participant| (&it.contestant, it.configuration) == (&row.contestant, row.configuration);
    let is_first = |it: &&Participant| is_its(it) && it.scenario.is_empty() && it.missing.is_empty();
    let Some(first) = joined.participants.iter().find(is_first).filter(|_| row.missing.is_empty()) else {
        if !joined.participants.contains(row) {
            joined.participants.push(row.clone());
        }
        return;
    };
    let otherwise = row.limits.lines().filter(|line| !first.limits.lines().any(|known| known == *line));
    let scenarios = |line: &str| match row.scenario.as_str() {
        "" => part.scenarios_of(row, line),
        later => later.to_owned(),
    };
    let new = otherwise.map(|line| Participant {
        scenario: scenarios(line),
        limits: line.to_owned(),
        parity: String::new(),
        ..row.clone()
    });
    let new: Vec<Participant> = new.collect();
    if !row.parity.is_empty() && without_ports(&row.parity) != without_ports(&first.parity) {
        let at = part.scenarios(Some(row)).join(", ");
        let key = format!("{PARITY}of {}, {}, in {at}", row.contestant, row.configuration.word());
        joined.environment.push(Fact { key, value: row.parity.clone() });
    }
    joined.participants.extend(new);
}

/// The text without the numbers of ports, which are others at each start.
fn without_ports(text: &str) -> String {
    text.split("127.0.0.1:").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: u32, scenario: &str) -> Run {
        Run { id, scenario: scenario.into(), contestant: "nginx".into(), ..Run::default() }
    }

    fn fact(key: &str, value: &str) -> Fact {
        Fact { key: key.into(), value: value.into() }
    }

    /// Two runs of the scenario, a latency and a window, and what each part must tell.
    fn part(scenario: &str, facts: &[(&str, &str)], limits: &str) -> Part {
        let runs = vec![run(1, scenario), run(2, scenario)];
        let mut data = Data {
            latencies: vec![Latency { run: 2, ms: 1.0, ..Latency::default() }],
            windows: vec![Window { run: 1, goodput: 2.0, ..Window::default() }],
            participants: vec![Participant {
                contestant: "nginx".into(),
                limits: limits.into(),
                ..Participant::default()
            }],
            environment: facts.iter().map(|(key, value)| fact(key, value)).collect(),
            runs,
        };
        let told = |key: &&&str| !facts.iter().any(|(known, _)| *known == **key);
        data.environment.extend(OF_ALL.iter().filter(told).map(|key| fact(key, "same")));
        Part { name: format!("results/{scenario}"), data }
    }

    #[test]
    fn runs_are_numbered_anew_with_all_that_belongs_to_them() {
        let joined = join(&[part("core", &[], ""), part("tail", &[], "")]).expect("they fit");
        let of = |run: &Run| (run.id, run.scenario.clone());
        let expected = [(1, "core".into()), (2, "core".into()), (3, "tail".into()), (4, "tail".into())];
        assert_eq!(joined.runs.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(joined.latencies.iter().map(|it| it.run).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(joined.windows.iter().map(|it| it.run).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn a_scenario_in_two_parts_is_refused_by_name() {
        let error = join(&[part("core", &[], ""), part("tail", &[], ""), part("core", &[], "")]).expect_err("refused");
        assert_eq!(error, "core is in both results/core and results/core");
    }

    #[test]
    fn what_was_measured_again_is_taken_from_the_last_part_and_told() {
        let mut first = part("core", &[("threads in idle", "200"), ("threads in core", "1200")], "");
        first.data.runs.push(run(3, "idle"));
        first.data.latencies.push(Latency { run: 3, ..Latency::default() });
        first.data.windows.push(Window { run: 3, ..Window::default() });
        let mut parts = [first, part("idle", &[("threads in idle", "300")], "")];
        leave_out_what_came_again(&mut parts);
        let joined = join(&parts).expect("they fit");
        let names: Vec<&str> = joined.runs.iter().map(|run| run.scenario.as_str()).collect();
        assert_eq!(names, ["core", "core", "idle", "idle"]);
        assert_eq!((joined.latencies.len(), joined.windows.len()), (2, 2));
        assert_eq!(joined.fact("threads in idle"), Some("300"));
        assert_eq!(joined.fact("threads in core"), Some("1200"));
        let told = joined.fact("left out of core");
        assert_eq!(told, Some("idle: measured again, and told as it was then"));
    }

    #[test]
    fn parts_of_other_machines_or_another_kind_are_refused_and_all_else_is_told_of_each() {
        let parts = |key: &str, a: &str, b: &str| join(&[part("core", &[(key, a)], ""), part("tail", &[(key, b)], "")]);
        for key in OF_ALL {
            let error = parts(key, "a", "b").expect_err("refused");
            assert_eq!(error, format!("{key} is \"a\" in results/core, and \"b\" in results/tail"));
        }
        let mut silent = part("tail", &[], "");
        silent.data.environment.retain(|fact| fact.key != "kernel");
        assert_eq!(join(&[silent]).expect_err("refused"), "results/tail does not tell kernel");
        let told = |key: &str, a, b| parts(key, a, b).expect("they fit").fact(key).map(str::to_owned);
        assert_eq!(told("revision", "a", "a").as_deref(), Some("a"));
        assert_eq!(told("revision", "a", "b").as_deref(), Some("core: a\ntail: b"));
    }

    #[test]
    fn three_parts_tell_a_fact_each_even_where_two_agree_or_one_is_silent() {
        let seconds = |scenario, value| part(scenario, &[("seconds of a cell", value)], "");
        let joined = join(&[seconds("core", "2"), seconds("tail", "2"), seconds("idle", "5"), part("bodies", &[], "")]);
        assert_eq!(joined.expect("they fit").fact("seconds of a cell"), Some("core: 2\ntail: 2\nidle: 5"));
    }

    #[test]
    fn a_contestant_keeps_one_first_row_and_later_limits_are_named_by_scenario() {
        let parts = [part("core", &[], "a = 1\nb = 2"), part("tail", &[], "a = 1\nb = 3"), part("idle", &[], "b = 2")];
        let joined = join(&parts).expect("they fit");
        let rows: Vec<_> = joined.participants.iter().map(|it| (it.scenario.as_str(), it.limits.as_str())).collect();
        assert_eq!(rows, [("", "a = 1\nb = 2"), ("tail", "b = 3")]);
    }

    #[test]
    fn a_limit_of_a_later_part_is_told_of_all_its_scenarios_that_have_it() {
        let mut later = part("tail", &[], "b = 3");
        later.data.runs.extend(["idle", "sweep"].map(|scenario| run(3, scenario)));
        let idle =
            Participant { scenario: "idle".into(), limits: "b = 2".into(), ..later.data.participants[0].clone() };
        later.data.participants.push(idle);
        let joined = join(&[part("core", &[], "b = 2"), later]).expect("they fit");
        let rows: Vec<_> = joined.participants.iter().map(|it| (it.scenario.as_str(), it.limits.as_str())).collect();
        assert_eq!(rows, [("", "b = 2"), ("tail, sweep", "b = 3")], "idle had what was first in the whole");
    }

    #[test]
    fn who_was_missing_in_a_part_is_told_once_and_does_not_hide_a_start() {
        let missing = |scenario| {
            let mut part = part(scenario, &[], "");
            part.data.participants[0].missing = "not found".into();
            part
        };
        let parts = [missing("core"), part("tail", &[], "a = 1"), missing("idle"), part("sweep", &[], "a = 1")];
        let joined = join(&parts).expect("they fit");
        let rows: Vec<_> = joined.participants.iter().map(|it| (it.missing.as_str(), it.limits.as_str())).collect();
        assert_eq!(rows, [("not found", ""), ("", "a = 1")]);
    }

    #[test]
    fn what_a_later_part_showed_of_parity_is_a_fact_where_it_is_new() {
        let showed = |scenario, parity: &str| {
            let mut part = part(scenario, &[], "");
            part.data.participants[0].parity = parity.into();
            part
        };
        let joined = join(&[showed("core", "alike"), showed("tail", "alike"), showed("idle", "Host differs")]);
        let joined = joined.expect("they fit");
        assert_eq!(joined.fact("parity of nginx, equalised, in idle"), Some("Host differs"));
        let parities = joined.environment.iter().filter(|fact| fact.key.starts_with(PARITY));
        assert_eq!((parities.count(), joined.participants.len()), (1, 1));
    }
}
