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
