//! Who takes part, with which limits: a row at the first start, and another wherever a later scenario sets some of them otherwise.

use super::Session;
use crate::contestant::Limit;
use crate::measure::environment;
use crate::plan::Task;
use crate::raw::Participant;
use std::io;

impl<'a> Session<'a> {
    /// Notes the contestant's limits as far as they are not noted yet, or why it is missing, and whatever `parity` has to say.
    pub(super) fn note(
        &mut self,
        task: &Task<'a>,
        limits: &[Limit],
        missing: &str,
        parity: Option<String>,
    ) -> io::Result<()> {
        let whose = (task.contestant, task.configuration);
        let is_first = !self.noted.contains_key(&whose);
        let known = self.noted.entry(whose).or_default();
        let new: Vec<String> = limits.iter().map(line).filter(|line| known.insert(line.clone())).collect();
        if !new.is_empty() {
            self.say(&format!("{}, {:?}: {}", task.contestant, task.configuration, new.join("; ")));
        }
        let row = Participant {
            contestant: task.contestant.into(),
            configuration: task.configuration,
            version: environment::version_of(task.contestant),
            limits: new.join("\n"),
            ..Participant::default()
        };
        if is_first {
            let parity = parity.unwrap_or_default();
            return self.results.participant(Participant { missing: missing.into(), parity, ..row });
        }
        if !new.is_empty() {
            self.results.participant(Participant { scenario: task.scenario.name.into(), ..row })?;
        }
        self.note_later(task, parity)
    }
}

fn line(limit: &Limit) -> String {
    let own = if limit.told { "" } else { " (its own)" };
    format!("{}: {} = {}{own}", limit.stage, limit.key, limit.value)
}

#[cfg(test)]
mod tests {
    use crate::contestant;
    use crate::plan::tasks;
    use crate::raw::{Configuration, Data, Results};
    use crate::scenario::{self, Effort};
    use crate::session::{Session, setup};
    use crate::stop::Stop;

    #[test]
    fn a_later_scenario_has_a_row_of_what_it_sets_otherwise_and_of_nothing_else() {
        let dir = std::env::temp_dir().join(format!("portcullis-noted-{}", std::process::id()));
        let (effort, nobody) = (Effort::QUICK, ([127, 0, 0, 1], 9).into());
        let mut scenarios = scenario::all(&effort);
        scenarios.retain(|scenario| ["tail", "isolation"].contains(&scenario.name));
        scenarios.sort_by_key(|scenario| scenario.name != "tail");
        let tasks = tasks(&scenarios, &["twin"], Some(Configuration::Equalised), &effort);
        let mut session = Session::new(&effort, Results::create(&dir).unwrap(), Stop::default()).unwrap();
        // A second round has nothing to add.
        for task in tasks.iter().chain(&tasks) {
            let limits = contestant::named("twin").unwrap().limits(&setup(task, nobody, nobody));
            session.note(task, &limits, "", None).unwrap();
        }
        drop(session);
        let data = Data::read(&dir);
        std::fs::remove_dir_all(&dir).unwrap();
        let data = data.unwrap();
        let [first, later] = &data.participants[..] else { panic!("{:?}", data.participants) };
        assert_eq!((first.scenario.as_str(), later.scenario.as_str()), ("", "isolation"));
        assert!(first.limits.lines().any(|line| line == "timeout: product.ribbon.ReadTimeout = 30000"));
        assert!(later.limits.lines().any(|line| line == "timeout: slow.ribbon.ReadTimeout = 30000"));
        assert!(later.limits.lines().all(|line| line.contains("slow.")), "{}", later.limits);
    }
}
