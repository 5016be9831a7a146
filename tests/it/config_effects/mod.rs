//! Keys of the configuration: each is shown by what it does to requests, not by how it is parsed.
//!
//! Many keys have their test where their subject is (timeouts, streaming, shutdown, isolation, headers, forwarding, management). What is left stands here, by
//! name space, and [`every_key_that_acts_is_named_in_a_test`] keeps the whole list honest.

mod command;
mod gateway;
mod hystrix;
mod ribbon;
mod server;
mod sources;
mod zuul;

use portcullis::config::catalogue::catalogue;
use regex::Regex;
use std::path::Path;

#[test]
fn every_key_that_acts_is_named_in_a_test() {
    let mut sources = String::new();
    read_all(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")), &mut sources);
    let sources = uniform(&sources);
    let acting = catalogue().iter().filter(|key| key.acts()).map(|key| key.name);
    let untested: Vec<_> = acting.filter(|name| !pattern(name).is_match(&sources)).collect();
    assert!(untested.is_empty(), "no test sets {untested:?}");
}

/// All spellings of a key are one: in lower case and without hyphens.
fn uniform(text: &str) -> String {
    text.to_lowercase().replace('-', "")
}

/// The key as tests write it: in quotes, or at the beginning of a line, with ids of their own. One of a service stands for that of all.
fn pattern(name: &str) -> Regex {
    let common = name.strip_prefix("<service...>.").unwrap_or(name);
    let of_a_service = if common.starts_with("ribbon.") { r#"(?:[^ "]+\.)?"# } else { "" };
    let mut pattern = format!(r#"(?:"|\\n){of_a_service}"#);
    let mut rest = common;
    while let Some((before, after)) = rest.split_once('<') {
        let (id, after) = after.split_once('>').unwrap_or_default();
        let letters = if id.ends_with("...") { r#"[^ "]+"# } else { r#"[^ ".]+"# };
        pattern += &(regex::escape(&uniform(before)) + letters);
        rest = after;
    }
    pattern += &(regex::escape(&uniform(rest)) + r#"["=:]"#);
    Regex::new(&pattern).expect("the pattern is sound")
}

/// Every source of the tests but this one, which names each key.
fn read_all(dir: &Path, into: &mut String) {
    for entry in std::fs::read_dir(dir).expect("the tests can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_all(&path, into);
        } else if path.ends_with("config_effects/mod.rs") {
            continue;
        } else {
            into.push_str(&std::fs::read_to_string(&path).expect("sources are text"));
        }
    }
}
