//! The README against the product: its generated parts are what the code gives, and the names it uses are names that exist.
//!
//! Generated parts stand between `<!-- name -->` and `<!-- /name -->`. `UPDATE_README=1 cargo test --test it readme` writes them anew.

use crate::support::gateway::{GatewayProcess, Setup, TestGateway};
use crate::support::origin::TestOrigin;
use portcullis::config::catalogue::{Effect, Key, catalogue};
use portcullis::container::tiny::shortcomings;
use portcullis::reason::Reason;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");

/// Two tests may write the file: one at a time.
static WRITING: Mutex<()> = Mutex::new(());

/// The first words of keys, in the order of the README, and what stands above the keys of each.
const NAMESPACES: &[(&str, &str)] = &[
    ("server", ""),
    ("zuul", ""),
    ("ribbon", "Each of these can be written as `<service>.ribbon.<key>` too, for one service, and then wins."),
    (
        "hystrix",
        "`<key>` is a service id, a url route's id, or a pool's name; `default` stands for all where the text says so.",
    ),
    ("management", ""),
    ("logging", ""),
    ("info", ""),
    (
        "gateway",
        "These are portcullis' own; everything else has the name that Spring, Zuul, Hystrix or Ribbon gave it.",
    ),
    ("spring", ""),
    ("eureka", ""),
    ("niws", ""),
    ("error", ""),
];

fn readme() -> String {
    std::fs::read_to_string(FILE).expect("README.md can be read")
}

/// Checks the part of this name, or writes it.
#[track_caller]
fn check(name: &str, generated: &str) {
    let _one_at_a_time = WRITING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let text = readme();
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let start = text.find(&begin).expect("the part has a beginning") + begin.len();
    let stop = start + text[start..].find(&end).expect("the part has an end");
    if std::env::var_os("UPDATE_README").is_some_and(|v| v == "1") {
        let text = [&text[..start], generated, &text[stop..]].concat();
        std::fs::write(FILE, text).expect("README.md can be written");
        return;
    }
    let difference = text[start..stop].lines().zip(generated.lines()).find(|(written, made)| written != made);
    let hint = "UPDATE_README=1 cargo test --test it readme";
    assert!(text[start..stop] == *generated, "README.md is behind the code in `{name}`: {hint}\n{difference:#?}");
}

#[test]
fn the_table_of_keys_is_the_catalogue() {
    let mut told = 0;
    let mut out = String::new();
    for (namespace, remark) in NAMESPACES {
        let keys: Vec<_> = catalogue().iter().filter(|key| first_word(key.name) == *namespace).collect();
        let _ = writeln!(out, "\n**`{namespace}`**\n");
        if !remark.is_empty() {
            let _ = writeln!(out, "{remark}\n");
        }
        out.push_str("| key | default | effect | what it does |\n|---|---|---|---|\n");
        let rows = keys.chunk_by(|a, b| a.effect == b.effect && matches!(a.effect, Effect::Inert(_)));
        rows.for_each(|keys| out.push_str(&row(keys)));
        told += keys.len();
    }
    let of_one_service = catalogue().iter().filter(|key| key.name.starts_with("<service...>.")).count();
    assert_eq!(told + of_one_service, catalogue().len(), "a namespace without a place in the README");
    check("keys", &out);
}

/// Keys of one service are those of all services with another beginning: the README says so in one sentence.
#[test]
fn each_key_of_one_service_is_one_of_all_services() {
    let all: BTreeSet<_> = catalogue().iter().map(|key| key.name).collect();
    for one in all.iter().filter_map(|name| name.strip_prefix("<service...>.")) {
        assert!(all.contains(one), "{one}");
    }
}

#[test]
fn the_list_of_what_tiny_http_cannot_give_is_that_of_check() {
    let lines = shortcomings().iter().map(|(what, why)| format!("- {}: {}\n", plain(what), plain(why)));
    check("tiny-http", &format!("\n{}", lines.collect::<String>()));
}

fn first_word(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// One key, or several that do nothing for the same reason.
fn row(keys: &[&Key]) -> String {
    let key = keys[0];
    let names: Vec<_> = keys.iter().map(|key| format!("`{}`", key.name.replace("...>", ">"))).collect();
    let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
    let (effect, text) = match key.effect {
        Effect::Acts => ("yes", plain(key.doc)),
        Effect::MatchingOnly => ("matching", plain(key.doc)),
        Effect::Inert(reason) => ("none", plain(reason)),
        Effect::Later("it is not built") => ("later", plain(key.doc)),
        Effect::Later(reason) => ("later", format!("{} Until then: {}.", plain(key.doc), plain(reason))),
    };
    format!("| {} | {default} | {effect} | {text} |\n", names.join(", "))
}

/// Text as it looks, in Markdown: what stands between two backticks stays code, the rest means itself.
fn plain(text: &str) -> String {
    let is_balanced = text.matches('`').count().is_multiple_of(2);
    let mut in_code = false;
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '`' if is_balanced => {
                in_code = !in_code;
                out.push(letter);
            }
            '`' => out.push_str("&#96;"),
            '|' => out.push_str("\\|"),
            '<' if !in_code => out.push_str("&lt;"),
            '*' | '\\' | '[' | ']' if !in_code => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}

/// What stands between backticks in the sections that begin with these words, and the lines of their blocks of code.
fn code(sections: &[&str]) -> Vec<String> {
    let text = readme();
    let chosen: Vec<_> = text.split("\n## ").filter(|part| sections.iter().any(|s| part.starts_with(s))).collect();
    assert_eq!(chosen.len(), sections.len(), "sections were renamed");
    let mut found = Vec::new();
    for part in chosen {
        for (index, piece) in part.split("```").enumerate() {
            match index % 2 {
                0 => found.extend(piece.split('`').skip(1).step_by(2).map(str::to_owned)),
                _ => found.extend(piece.lines().skip(1).map(str::to_owned)),
            }
        }
    }
    found
}

const SECTIONS: &[&str] = &["Dropping in", "Which limit binds?", "Logs, metrics"];

/// A gateway that has had a request of each kind that brings a metric of its own.
fn busy_gateway() -> TestGateway {
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).service_route("pooled", "/pooled/**", &[&origin]);
    let setup = setup.set("hystrix.command.pooled.execution.isolation.strategy", "THREAD");
    let setup = setup.set("zuul.routes.pooled.retryable", "true");
    let setup = setup.url_route("gone", "/gone/**", "http://127.0.0.1:1").set("gateway.access-log.format", "json");
    let setup = setup.set("gateway.fallback.gone.body", "sorry");
    let setup = setup.set("gateway.rate-limit.routes.up.requests", "1000");
    let gateway = setup.set("gateway.limit", "vegas").set("gateway.isolation.max-wait", "1s").start();
    for target in ["/pooled/x", "/gone/x", "/x"] {
        gateway.get(target);
    }
    let mut client = gateway.client();
    client.send("not HTTP\r\n\r\n");
    client.response();
    gateway
}

#[test]
fn metrics_reasons_and_log_fields_have_the_names_that_the_readme_says() {
    let gateway = busy_gateway();
    let metrics: BTreeSet<String> =
        gateway.metrics().into_keys().map(|series| series.split('{').next().unwrap_or_default().to_owned()).collect();
    let (mut known, mut counted) = (words_of_the_log(&gateway.process), 0);
    known.extend(Reason::ALL.iter().map(|reason| reason.name().to_owned()));
    for code in code(SECTIONS) {
        if ["portcullis_", "http_server_", "hystrix_", "process_"].iter().any(|start| code.starts_with(start)) {
            let name = code.split('{').next().unwrap_or_default();
            assert!(metrics.contains(name), "{name} is no metric");
            counted += 1;
        } else if code.contains('_') && code.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_') {
            assert!(known.contains(&code), "{code} is neither a reason nor a field of the access log");
            counted += 1;
        }
    }
    assert!(counted > 40, "only {counted} names found: the README or this test lost them");
}

/// The fields of a line of the access log in JSON.
fn words_of_the_log(process: &GatewayProcess) -> BTreeSet<String> {
    crate::support::wait::until("a line was written", || !process.stdout().is_empty());
    let line = process.stdout().remove(0);
    let line: serde_json::Value = serde_json::from_str(&line).expect("the line is JSON");
    line.as_object().expect("the line is an object").keys().cloned().collect()
}

#[test]
fn every_reason_stands_in_the_readme_with_its_status() {
    let text = readme();
    for reason in Reason::ALL {
        let cells = format!("| `{}` | {} |", reason.name(), reason.status().as_u16());
        assert!(text.contains(&cells), "no row begins with {cells}");
    }
}

#[test]
fn the_command_line_knows_the_words_that_the_readme_says() {
    let mut counted = 0;
    for code in code(SECTIONS) {
        let Some(rest) = code.trim_start().strip_prefix("portcullis ") else { continue };
        let word = rest
            .split_whitespace()
            .find(|word| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'));
        let Some(word) = word.filter(|word| !word.starts_with('-')) else { continue };
        let help = Setup::new().run_to_end(&["help", word]);
        assert!(help.status.success(), "portcullis has no {word}: {}", help.stderr);
        counted += 1;
    }
    assert!(counted >= 6, "only {counted} command lines found");
}
