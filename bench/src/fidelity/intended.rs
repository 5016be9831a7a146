//! Which differences are meant: `bench/fidelity/intended.toml`, without wildcards, each with its row of the README's table.

use super::observation::Difference;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Intended {
    difference: Vec<Entry>,
}

/// The same difference in each of the probes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The first column of "Where we differ from Zuul 1, and why".
    row: String,
    aspect: String,
    zuul: String,
    portcullis: String,
    probes: Vec<String>,
}

/// What came of a comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// With the row.
    pub(super) intended: Vec<(Difference, String)>,
    pub(super) unexpected: Vec<Difference>,
    /// Entries that no longer occur.
    pub(super) stale: Vec<Difference>,
}

impl Intended {
    pub(super) fn parse(text: &str) -> io::Result<Self> {
        toml::from_str(text).map_err(io::Error::other)
    }

    /// Sorts the differences that were found in the probes that were `played`.
    pub(super) fn judge(&self, found: Vec<Difference>, played: &[&str]) -> Verdict {
        let known = self.known();
        let mut verdict = Verdict::default();
        let occurred: BTreeSet<Difference> = found.iter().cloned().collect();
        for difference in found {
            match known.get(&difference) {
                Some(row) => verdict.intended.push((difference, (*row).to_owned())),
                None => verdict.unexpected.push(difference),
            }
        }
        let missing = known.into_keys().filter(|entry| !occurred.contains(entry));
        verdict.stale = missing.filter(|entry| played.contains(&entry.probe.as_str())).collect();
        verdict
    }

    fn known(&self) -> BTreeMap<Difference, &str> {
        let of_entry = |entry: &Entry, probe: &String| Difference {
            probe: probe.clone(),
            aspect: entry.aspect.clone(),
            zuul: entry.zuul.clone(),
            portcullis: entry.portcullis.clone(),
        };
        let entries = self.difference.iter();
        entries.flat_map(|entry| entry.probes.iter().map(move |p| (of_entry(entry, p), entry.row.as_str()))).collect()
    }

    /// Rows that the README's table does not have, and probes that nobody plays.
    pub(super) fn faults(&self, readme: &str, probes: &[&str]) -> Vec<String> {
        let rows = rows(readme);
        let mut faults = BTreeSet::new();
        for entry in &self.difference {
            if !rows.contains(&entry.row.as_str()) {
                faults.insert(format!("the README's table has no row \"{}\"", entry.row));
            }
            let unknown = entry.probes.iter().filter(|probe| !probes.contains(&probe.as_str()));
            faults.extend(unknown.map(|probe| format!("no probe is called {probe}")));
        }
        faults.into_iter().collect()
    }
}

/// The first column of the table below "Where we differ".
fn rows(readme: &str) -> Vec<&str> {
    let section = readme.split("\n## ").find(|section| section.starts_with("Where we differ")).unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.strip_prefix("| "));
    lines.filter_map(|line| Some(line.split_once(" | ")?.0)).collect()
}

/// Entries for `differences`, without rows: for somebody to judge and complete.
pub(super) fn propose(differences: &[Difference]) -> String {
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for difference in differences {
        let key = (difference.aspect.as_str(), difference.zuul.as_str(), difference.portcullis.as_str());
        groups.entry(key).or_default().push(&difference.probe);
    }
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut text = String::new();
    for ((aspect, zuul, portcullis), probes) in groups {
        let probes: String = probes.into_iter().map(|probe| format!("    {},\n", quoted(probe))).collect();
        let (aspect, zuul, portcullis) = (quoted(aspect), quoted(zuul), quoted(portcullis));
        let _ = write!(
            text,
            "[[difference]]\nrow = \"\"\naspect = {aspect}\nzuul = {zuul}\nportcullis = {portcullis}\nprobes = [\n{probes}]\n\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fidelity::probe::{Probe, Probes};
    use crate::fidelity::{INTENDED, PROBES};

    fn difference(probe: &str, zuul: &str) -> Difference {
        Difference { probe: probe.into(), aspect: "status".into(), zuul: zuul.into(), portcullis: "404".into() }
    }

    const FILE: &str =
        "[[difference]]\nrow = 'path'\naspect = 'status'\nzuul = '500'\nportcullis = '404'\nprobes = ['a', 'b']\n";

    #[test]
    fn an_entry_fits_its_probe_aspect_and_values_alone() {
        let verdict = Intended::parse(FILE)
            .unwrap()
            .judge(vec![difference("a", "500"), difference("a", "400"), difference("c", "500")], &["a", "c"]);
        assert_eq!(verdict.intended, [(difference("a", "500"), "path".to_owned())]);
        assert_eq!(verdict.unexpected, [difference("a", "400"), difference("c", "500")]);
        assert_eq!(verdict.stale, []);
    }

    #[test]
    fn an_entry_that_no_longer_occurs_is_stale_if_its_probe_was_played() {
        let stale = |played: &[&str]| Intended::parse(FILE).unwrap().judge(vec![difference("a", "500")], played).stale;
        assert_eq!(stale(&["a", "b"]), [difference("b", "500")]);
        assert_eq!(stale(&["a"]), []);
    }

    #[test]
    fn a_proposal_is_an_entry_once_it_has_a_row() {
        let found = [difference("a", "5\"\r\n"), difference("b", "5\"\r\n"), difference("c", "-")];
        let file = propose(&found);
        assert_eq!(Intended::parse(&file).unwrap().judge(found.to_vec(), &[]).unexpected, []);
        assert_eq!(
            Intended::parse(&file).unwrap().faults("", &["a", "b", "c"]),
            ["the README's table has no row \"\""]
        );
    }

    #[test]
    fn rows_and_probes_must_exist() {
        let readme = "# x\n\n## Where we differ from Zuul 1, and why\n\n| what | Zuul 1 |\n|---|---|\n| path | a | b |\n\n## Next\n| other | c |\n";
        let intended = Intended::parse(FILE).unwrap();
        assert_eq!(intended.faults(readme, &["a", "b"]), [""; 0]);
        assert_eq!(intended.faults(readme, &["a"]), ["no probe is called b"]);
        assert_eq!(intended.faults("| path | a |", &["a", "b"]), ["the README's table has no row \"path\""]);
    }

    #[test]
    fn failures_have_zuuls_statuses_under_compat() {
        let probes = Probes::parse(PROBES).unwrap();
        let is_told = |probe: &Probe| !probes.setup[probe.setup()].contains_key("gateway.compat");
        let of_a7 = probes.probe.iter().filter(|probe| probe.section == "A7" && is_told(probe));
        let names: BTreeSet<&str> = of_a7.map(|probe| probe.name.as_str()).collect();
        assert!(names.len() > 30, "{names:?}");
        let intended = Intended::parse(INTENDED).unwrap();
        let entries = intended.difference.iter().filter(|entry| entry.aspect.starts_with("status"));
        let others = entries.flat_map(|entry| &entry.probes).map(String::as_str);
        let others: BTreeSet<&str> = others.filter(|name| names.contains(name)).collect();
        assert_eq!(others, BTreeSet::new());
    }

    #[test]
    fn a_wildcard_or_a_slip_is_no_entry() {
        assert!(Intended::parse("[[difference]]\nrow = 'path'\naspect = 'status'\nprobes = ['a']\n").is_err());
    }
}
