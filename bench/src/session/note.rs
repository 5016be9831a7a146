//! Who takes part, with which limits: a row at the first start, and another for each later scenario that sets some of them otherwise, or in
//! which it does not start.

use super::Session;
use crate::contestant::Limit;
use crate::measure::environment;
use crate::plan::Task;
use crate::raw::Participant;
use std::collections::HashSet;
use std::io;

/// What is noted of a contestant under a configuration.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// Limits of its first start.
    first: Option<HashSet<String>>,
    /// What later scenarios had otherwise, or why it did not start in them.
    later: HashSet<(&'static str, String)>,
}

impl Noted {
    /// The lines that have to be told: of its first start all, of others once for each scenario what is otherwise than there.
    fn news(&mut self, scenario: &'static str, lines: Vec<String>) -> Vec<String> {
        let Some(first) = &self.first else {
            self.first = Some(lines.iter().cloned().collect());
            return lines;
        };
        let otherwise: Vec<String> = lines.into_iter().filter(|line| !first.contains(line)).collect();
        otherwise.into_iter().filter(|line| self.later.insert((scenario, line.clone()))).collect()
    }
}

impl<'a> Session<'a> {
    /// Notes the contestant's limits as far as they are not noted yet, and whatever `parity` has to say.
    pub(super) fn note(&mut self, task: &Task<'a>, limits: &[Limit], parity: Option<String>) -> io::Result<()> {
        let noted = self.noted.entry((task.contestant, task.configuration)).or_default();
        let is_first = noted.first.is_none();
        let new = noted.news(task.scenario.name, limits.iter().map(Limit::line).collect());
        if !new.is_empty() {
            self.say(&format!("{}, {:?}: {}", task.contestant, task.configuration, new.join("; ")));
        }
        let row = Participant { limits: new.join("\n"), ..participant(task) };
        if is_first {
            return self.results.participant(Participant { parity: parity.unwrap_or_default(), ..row });
        }
        if !new.is_empty() {
            self.results.participant(Participant { scenario: task.scenario.name.into(), ..row })?;
        }
        self.note_later(task, parity)
    }

    /// Notes that it did not start in the task's scenario.
    pub(super) fn note_missing(&mut self, task: &Task<'a>, why: &str) -> io::Result<()> {
        let noted = self.noted.entry((task.contestant, task.configuration)).or_default();
        if !noted.later.insert((task.scenario.name, why.to_owned())) {
            return Ok(());
        }
        let row = Participant { scenario: task.scenario.name.into(), missing: why.into(), ..participant(task) };
        self.results.participant(row)
    }
}

fn participant(task: &Task<'_>) -> Participant {
    Participant {
        contestant: task.contestant.into(),
        configuration: task.configuration,
        version: environment::version_of(task.contestant),
        ..Participant::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::contestant;
    use crate::plan::tasks;
    use crate::raw::{Configuration, Data, Results};
    use crate::scenario::{self, Effort};
    use crate::session::{Session, setup};
    use crate::stop::Stop;

    /// What is noted while somebody plays these scenarios in this order, twice, since a second round has nothing to add.
    fn noted(who: &'static str, played: &[&str], broken: &str) -> Data {
        let dir = std::env::temp_dir().join(format!("portcullis-noted-{}-{}", played.join("-"), std::process::id()));
        let (effort, nobody) = (Effort::QUICK, ([127, 0, 0, 1], 9).into());
        let mut scenarios = scenario::all(&effort);
        scenarios.retain(|scenario| played.contains(&scenario.name));
        scenarios.sort_by_key(|scenario| played.iter().position(|name| *name == scenario.name));
        let each = scenarios.iter().flat_map(|scenario| {
            tasks(std::slice::from_ref(scenario), &[who], Some(Configuration::Equalised), &effort)
        });
        let tasks: Vec<_> = each.collect();
        let mut session = Session::new(&effort, Results::create(&dir).unwrap(), Stop::default()).unwrap();
        for task in tasks.iter().chain(&tasks) {
            let limits = contestant::named(who).unwrap().limits(&setup(task, nobody, nobody));
            match task.scenario.name == broken {
                true => session.note_missing(task, "it ended at once").unwrap(),
                false => session.note(task, &limits, None).unwrap(),
            }
        }
        drop(session);
        let data = Data::read(&dir);
        std::fs::remove_dir_all(&dir).unwrap();
        data.unwrap()
    }

    #[test]
    fn a_later_scenario_has_a_row_of_what_it_sets_otherwise_and_of_nothing_else() {
        let data = noted("twin", &["tail", "isolation"], "");
        let [first, later] = &data.participants[..] else { panic!("{:?}", data.participants) };
        assert_eq!((first.scenario.as_str(), later.scenario.as_str()), ("", "isolation"));
        assert!(first.limits.lines().any(|line| line == "timeout: product.ribbon.ReadTimeout = 30000"));
        assert!(later.limits.lines().any(|line| line == "timeout: slow.ribbon.ReadTimeout = 30000"));
        assert!(later.limits.lines().all(|line| line.contains("slow.")), "{}", later.limits);
    }

    #[test]
    fn each_scenario_that_sets_the_same_otherwise_is_named() {
        let data = noted("portcullis", &["tail", "core", "seed1"], "");
        let rows: Vec<_> =
            data.participants.iter().map(|it| (it.scenario.as_str(), it.limits.lines().count())).collect();
        assert_eq!(rows[1..], [("core", 1), ("seed1", 1)]);
        let last = data.participants.last().expect("a row");
        assert_eq!(last.limits, "workers: server.tomcat.threads.max = 1200");
    }

    #[test]
    fn a_scenario_in_which_it_does_not_start_is_named_and_the_first_start_is_the_first_that_works() {
        let data = noted("twin", &["tail", "bodies"], "tail");
        let rows: Vec<_> = data.participants.iter().map(|it| (it.scenario.as_str(), it.missing.as_str())).collect();
        assert_eq!(rows, [("tail", "it ended at once"), ("", "")]);
    }
}
