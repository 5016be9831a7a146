//! The house rules that a machine can check, over the sources of the crate, of `bench` and of the tests.
//!
//! A rule is here because a reader relies on it: files small enough to be read, one place for each dependency, time with a name. Each
//! exception stands in a list, with its reason.

use std::path::{Path, PathBuf};

/// Files that may ask what time it is, and why.
const CLOCKS: &[(&str, &str)] = &[
    ("src/deadline.rs", "time gets its name here"),
    ("src/front/", "loops that serve and tend connections are entry points of time"),
    ("src/container/", "a request's time begins here"),
    ("src/isolation/", "how long a place was waited for is measured here"),
    ("src/upstream/", "read and write loops recompute what is left"),
    ("src/rate_limit/limit.rs", "the clock that buckets are filled by"),
    ("src/management/", "its own small server"),
    ("src/gateway/", "times of a request's stages are taken here"),
    ("src/server/", "start and drain"),
    ("bench/src/", "it measures"),
];

/// Crates that only one place may name.
const ONE_PLACE: &[(&str, &str)] =
    &[("ureq", "src/upstream"), ("serde_yaml", "src/config/yaml.rs"), ("tiny_http", "src/container")];

/// Files whose tests may sleep, and why.
const SLEEPERS: &[(&str, &str)] = &[
    ("tests/it/support/wait.rs", "the place where integration tests wait"),
    ("src/container/tiny/tests.rs", "between two looks at a condition, with a bound"),
    ("src/upstream/testing.rs", "plays a client that is slow on purpose"),
    ("src/front/tests.rs", "between two looks at a gauge, with a bound"),
    ("src/front/tests/limits.rs", "the drip of a slow client"),
    ("src/front/tests/rules.rs", "shows that nothing happens meanwhile"),
];

const MOST_CODE_LINES: usize = 300;
const MOST_FUNCTION_LINES: usize = 60;

struct Source {
    name: String,
    text: String,
    is_test: bool,
}

impl Source {
    /// The modules in files of their own that only tests have, as paths without `.rs`.
    fn test_modules(&self) -> Vec<String> {
        let parent = self.name.trim_end_matches(".rs").trim_end_matches("/mod");
        let parent = if parent == "src/lib" || parent == "src/main" { "src" } else { parent };
        let mut only_in_tests = false;
        let mut names = Vec::new();
        for line in self.text.lines().map(str::trim) {
            if line.starts_with('#') {
                only_in_tests |= line.contains("cfg(test)") || line.contains("cfg(all(test");
                continue;
            }
            let module = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod "));
            names.extend(module.filter(|_| only_in_tests).map(|(_, name)| format!("{parent}/{name}")));
            only_in_tests = false;
        }
        names
    }

    /// The lines before the file's own tests, numbered from 1; none when all of it is for tests.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_code = |line: &&str| *line != "#[cfg(test)]" && *line != "#[cfg(all(test, loom))]";
        let text = if self.is_test { "" } else { &self.text };
        text.lines().take_while(is_code).enumerate().map(|(i, line)| (i + 1, line))
    }

    /// Those of them that are neither blank nor comment.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("//")
        })
    }

    fn is_under(&self, place: &str) -> bool {
        self.name == place || self.name == format!("{place}.rs") || self.name.starts_with(&format!("{place}/"))
    }
}

fn sources(dirs: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    dirs.iter().for_each(|dir| walk(&root.join(dir), &mut files));
    assert!(!files.is_empty());
    let read = |file: PathBuf| {
        let name = file.strip_prefix(root).expect("below the root").display().to_string();
        Source { name, text: std::fs::read_to_string(&file).expect("sources are text"), is_test: false }
    };
    let mut sources: Vec<Source> = files.into_iter().map(read).collect();
    let of_tests: Vec<String> = sources.iter().flat_map(Source::test_modules).collect();
    for source in &mut sources {
        source.is_test = source.name.starts_with("tests/") || of_tests.iter().any(|module| source.is_under(module));
    }
    sources
}

fn walk(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the sources can be read").flatten() {
        let path = entry.path();
        match path.extension() {
            _ if path.is_dir() => walk(&path, into),
            Some(extension) if extension == "rs" => into.push(path),
            _ => {}
        }
    }
    into.sort();
}

#[track_caller]
fn assert_none(rule: &str, offences: Vec<String>) {
    assert!(offences.is_empty(), "{rule}:\n{}", offences.join("\n"));
}

#[test]
fn every_file_begins_with_what_it_is_for() {
    let bare = sources(&["src", "bench/src", "tests"]).into_iter().filter(|source| !source.text.starts_with("//! "));
    assert_none("no head", bare.map(|source| source.name).collect());
}

#[test]
fn files_are_short_enough_to_be_read() {
    let long = sources(&["src", "bench/src"]).into_iter().filter_map(|source| {
        let lines = source.code().count();
        (lines > MOST_CODE_LINES).then(|| format!("{}: {lines} lines of code", source.name))
    });
    assert_none("split by idea", long.collect());
}

#[test]
fn functions_are_short() {
    let mut offences = Vec::new();
    for source in sources(&["src", "bench/src", "tests"]) {
        let mut begun: Option<(usize, usize)> = None;
        for (number, line) in source.text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            match begun {
                None if is_function(line) && line.ends_with('{') => begun = Some((number, indent)),
                Some((start, at)) if indent == at && line.trim_end() == format!("{}}}", " ".repeat(at)) => {
                    if number - start > MOST_FUNCTION_LINES {
                        offences.push(format!("{}:{}: {} lines", source.name, start + 1, number - start));
                    }
                    begun = None;
                }
                _ => {}
            }
        }
    }
    assert_none("functions above sixty lines", offences);
}

fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    ["fn ", "const fn ", "unsafe fn "].iter().any(|start| line.starts_with(start))
}

#[test]
fn only_clocks_ask_for_the_time() {
    let mut offences = Vec::new();
    for source in sources(&["src", "bench/src"]) {
        let allowed = CLOCKS.iter().any(|(place, _)| source.name.starts_with(place));
        let asks = |line: &str| line.contains("Instant::now()");
        offences.extend(
            source.code().filter(|(_, line)| !allowed && asks(line)).map(|(n, _)| format!("{}:{n}", source.name)),
        );
    }
    assert_none("asks for the time", offences);
}

#[test]
fn each_dependency_has_one_place() {
    let mut offences = Vec::new();
    for source in sources(&["src", "bench/src"]) {
        for (name, place) in ONE_PLACE {
            let names = |line: &str| line.contains(&format!("{name}::")) || line.contains(&format!("use {name}"));
            let elsewhere = source.code().filter(|(_, line)| !source.is_under(place) && names(line));
            offences.extend(elsewhere.map(|(n, _)| format!("{}:{n} names {name}", source.name)));
        }
    }
    assert_none("named outside of its place", offences);
}

#[test]
fn nothing_panics_on_purpose_outside_of_tests() {
    let panics = [".unwrap()", "panic!(", "unreachable!(", "todo!(", "unimplemented!("];
    let mut offences = Vec::new();
    for source in sources(&["src", "bench/src"]) {
        let found = source.code().filter(|(_, line)| panics.iter().any(|panic| line.contains(panic)));
        offences.extend(found.map(|(n, line)| format!("{}:{n}: {}", source.name, line.trim())));
    }
    assert_none("can panic", offences);
}

/// Tests wait for conditions: a fixed time is too short on one machine and too long on all others.
#[test]
fn tests_do_not_sleep() {
    let mut offences = Vec::new();
    let sleeps = concat!("thread::", "sleep(");
    for source in sources(&["src", "tests"]) {
        let in_tests = |n: usize| source.name.starts_with("tests/") || source.lines().count() < n;
        let lines = source.text.lines().enumerate().map(|(i, line)| (i + 1, line));
        let found = lines.filter(|(n, line)| line.contains(sleeps) && in_tests(*n));
        let found = found.filter(|_| !SLEEPERS.iter().any(|(name, _)| source.name == *name));
        offences.extend(found.map(|(n, _)| format!("{}:{n}", source.name)));
    }
    assert_none("sleeps", offences);
}

/// No test can be left out, or pass by panicking.
#[test]
fn no_test_is_ignored() {
    let marks = [concat!("#[ig", "nore"), concat!("should_", "panic]")];
    let mut offences = Vec::new();
    for source in sources(&["src", "bench/src", "tests"]) {
        let found = source.text.lines().enumerate().filter(|(_, line)| marks.iter().any(|mark| line.contains(mark)));
        offences.extend(found.map(|(i, _)| format!("{}:{}", source.name, i + 1)));
    }
    assert_none("not a whole test", offences);
}
