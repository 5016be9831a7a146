//! Whether those who are compared do the same: looked at before they are measured, noted beside the results.

use super::Session;
use crate::contestant::{self, Setup};
use crate::parity::{self, REFERENCE};
use crate::plan::Task;
use crate::raw::Configuration;
use std::io;
use std::net::SocketAddr;

impl<'a> Session<'a> {
    /// Whether portcullis and its twin still do the same, before each scenario that has the twin.
    pub(super) fn compare_pair(&mut self, task: &Task<'a>) -> io::Result<()> {
        let scenario = if self.effort.quick { "everything" } else { task.scenario.name };
        if task.contestant != "twin" || !self.compared.insert(scenario) {
            return Ok(());
        }
        let (is_alike, verdict) = match parity::of_twin() {
            Ok(differences) => (differences.is_empty(), parity::verdict(&differences).join("\n")),
            Err(error) => (false, could_not(&error)),
        };
        self.stop.check()?;
        self.say_parity(&format!("portcullis and twin, before {scenario}"), &verdict);
        self.results.fact(&format!("parity before {scenario}"), &verdict)?;
        self.parity = if is_alike { String::new() } else { verdict };
        Ok(())
    }

    /// How the contestant that was just started differs from portcullis; `None` when that is known.
    pub(super) fn look_at(
        &mut self,
        task: &Task<'a>,
        setup: &Setup,
        address: SocketAddr,
    ) -> io::Result<Option<String>> {
        let (name, configuration) = (task.contestant, task.configuration);
        if !self.peers.wants(name, configuration, self.effort.quick) {
            return Ok(None);
        }
        let reference = || {
            let portcullis = contestant::named(REFERENCE).ok_or_else(|| io::Error::other("no portcullis"))?;
            // Overrides are the contestant's own, in its own words.
            portcullis.start(&Setup { overrides: Vec::new(), ..setup.clone() }, &self.scratch)
        };
        let verdict = match self.peers.look((name, configuration), address, reference) {
            Ok(found) => found.map(|differences| parity::verdict_in_kinds(&differences)),
            Err(error) => Some(could_not(&error)),
        };
        self.stop.check()?;
        if let Some(verdict) = &verdict {
            self.say_parity(&format!("portcullis and {name}, {configuration:?}"), verdict);
        }
        Ok(verdict)
    }

    /// What a later start showed first, as a fact: the contestant's row is written.
    pub(super) fn note_later(&mut self, task: &Task<'a>, parity: Option<String>) -> io::Result<()> {
        let Some(verdict) = parity else { return Ok(()) };
        let configuration = match task.configuration {
            Configuration::Stock => "stock",
            Configuration::Equalised => "equalised",
        };
        let key = format!("parity of {}, {configuration}, in {}", task.contestant, task.scenario.name);
        self.results.fact(&key, &verdict)
    }

    /// Differences may be many; all of them stand in the results.
    fn say_parity(&self, who: &str, verdict: &str) {
        let told: Vec<&str> = verdict.lines().take(6).collect();
        self.say(&format!("{who}: {}", told.join("\n")));
    }
}

fn could_not(error: &io::Error) -> String {
    format!("not like for like: could not be compared: {error}")
}
