//! Whether those who are compared do the same: looked at before they are measured, noted beside the results.

use super::Session;
use crate::contestant::{self, Setup};
use crate::parity::{self, REFERENCE};
use crate::plan::Task;
use std::io;
use std::net::SocketAddr;

impl<'a> Session<'a> {
    /// Whether portcullis and its twin still do the same, before each scenario that has the twin.
    pub(super) fn compare_pair(&mut self, task: &Task<'a>) -> io::Result<()> {
        let scenario = if self.effort.quick { "everything" } else { task.scenario.name };
        if task.contestant != "twin" || !self.compared.insert(scenario) {
            return Ok(());
        }
        let verdict = match parity::of_twin() {
            Ok(differences) => parity::verdict(&differences).join("\n"),
            Err(error) => could_not(&error),
        };
        self.stop.check()?;
        self.say_parity(&format!("portcullis and twin, before {scenario}"), &verdict);
        self.results.fact(&format!("parity before {scenario}"), &verdict)
    }

    /// How the contestant that was just started differs from portcullis, as it is measured; `None` when that is known.
    pub(super) fn look_at(
        &mut self,
        task: &Task<'a>,
        setup: &Setup,
        address: SocketAddr,
    ) -> io::Result<Option<String>> {
        let lacks = self.newly_lacking(task)?;
        let probed = self.probe(task, setup, address);
        self.stop.check()?;
        if probed.is_none() && lacks.is_empty() {
            return Ok(None);
        }
        let probed = probed.unwrap_or_else(|| "no probe showed anything new".into());
        let verdict = parity::verdict_and_lacks(&probed, &lacks);
        self.say_parity(&format!("portcullis and {}, {:?}", task.contestant, task.configuration), &verdict);
        Ok(Some(verdict))
    }

    /// What the requests to both show, where that is new.
    fn probe(&mut self, task: &Task<'a>, setup: &Setup, address: SocketAddr) -> Option<String> {
        let (name, configuration) = (task.contestant, task.configuration);
        if !self.peers.wants(name, configuration, self.effort.quick) {
            return None;
        }
        let reference = || {
            let portcullis = contestant::named(REFERENCE).ok_or_else(|| io::Error::other("no portcullis"))?;
            // Overrides are the contestant's own, in its own words.
            portcullis.start(&Setup { overrides: Vec::new(), ..setup.clone() }, &self.scratch)
        };
        match self.peers.look((name, configuration), address, reference) {
            Ok(found) => found.map(|differences| parity::verdict_in_kinds(&differences)),
            Err(error) => Some(could_not(&error)),
        }
    }

    /// What the twin does not have of what its file asks for, as far as an earlier start did not show it.
    fn newly_lacking(&mut self, task: &Task<'a>) -> io::Result<Vec<String>> {
        if task.contestant != "twin" {
            return Ok(Vec::new());
        }
        let lacks = contestant::twin_lacks(&self.scratch)?;
        let known = self.lacking.entry(task.configuration).or_default();
        Ok(lacks.into_iter().filter(|line| known.insert(line.clone())).collect())
    }

    /// What a later start showed first, as a fact: the contestant's row is written.
    pub(super) fn note_later(&mut self, task: &Task<'a>, parity: Option<String>) -> io::Result<()> {
        let Some(verdict) = parity else { return Ok(()) };
        let configuration = task.configuration.word();
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
