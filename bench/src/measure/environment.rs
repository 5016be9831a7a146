//! The machine and what runs on it, as facts beside the results: figures without them mean nothing.

use crate::child;
use crate::contestant::java;
use std::process::Command;

/// Settings of the kernel that a comparison over the loopback can depend on.
const KERNEL: &[&str] = &[
    "net/core/somaxconn",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/tcp_tw_reuse",
    "net/ipv4/tcp_fin_timeout",
    "vm/swappiness",
];

/// Programs whose versions are told, and how they tell them.
const PROGRAMS: &[(&str, &str)] =
    &[("wrk", "-v"), ("ab", "-V"), ("nginx", "-v"), ("haproxy", "-v"), ("java", "-version")];

/// The key of the words that started the measurement.
pub(crate) const COMMAND_LINE: &str = "command line";

/// A command line with the last part of each path alone: where somebody keeps things is no fact of the machine.
pub(crate) fn without_folders(line: &str) -> String {
    let last = |word: &str| word.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    line.split(' ').map(last).collect::<Vec<_>>().join(" ")
}

/// Everything that can be found out, as keys and values; what is missing is said to be. A debug build is for trying the kit out, and says so.
pub(crate) fn facts() -> Vec<(String, String)> {
    let mut facts = vec![
        ("kernel".into(), file("/proc/sys/kernel/osrelease")),
        ("kernel version".into(), file("/proc/sys/kernel/version")),
        ("cpu".into(), line_of("/proc/cpuinfo", "model name")),
        ("processors".into(), std::thread::available_parallelism().map_or("?".into(), |n| n.to_string())),
        ("memory".into(), line_of("/proc/meminfo", "MemTotal")),
        ("governor".into(), file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("cpu quota".into(), file("/sys/fs/cgroup/cpu.max")),
        ("load before".into(), file("/proc/loadavg")),
        ("connections in TIME_WAIT before".into(), time_wait()),
        ("open files limit".into(), line_of("/proc/self/limits", "Max open files")),
        ("portcullis".into(), env!("CARGO_PKG_VERSION").into()),
        // Of the sources that this binary was built of, by build.rs: what lies around at run time may be another.
        ("revision".into(), env!("BENCH_REVISION").into()),
        ("version of rustc".into(), env!("BENCH_RUSTC").into()),
        // A debug build is for trying the kit out.
        ("build".into(), if cfg!(debug_assertions) { "debug: no figures" } else { "release" }.into()),
        (COMMAND_LINE.into(), without_folders(&std::env::args().collect::<Vec<_>>().join(" "))),
        ("network".into(), "loopback: no loss, no distance".into()),
        ("protocol".into(), "HTTP/1.1 with kept connections; ab: HTTP/1.0, a connection for each request".into()),
    ];
    facts.extend(KERNEL.iter().map(|name| (name.replace('/', "."), file(&format!("/proc/sys/{name}")))));
    facts.extend(PROGRAMS.iter().map(|(program, flag)| (format!("version of {program}"), version(program, flag))));
    facts
}

/// What the file says, without the spaces around it.
fn file(path: &str) -> String {
    std::fs::read_to_string(path).map_or("not told".into(), |text| text.trim().to_owned())
}

/// The rest of the line that begins with `name`.
fn line_of(path: &str, name: &str) -> String {
    let text = file(path);
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or("not told".into(), |rest| rest.trim_start_matches([' ', '\t', ':']).trim().to_owned())
}

/// Ports that are not free yet, from the kernel's summary of sockets.
fn time_wait() -> String {
    let text = file("/proc/net/sockstat");
    let words: Vec<&str> =
        text.lines().filter(|line| line.starts_with("TCP:")).flat_map(str::split_whitespace).collect();
    let at = words.iter().position(|word| *word == "tw");
    at.and_then(|at| words.get(at + 1)).map_or("not told".into(), |count| (*count).to_owned())
}

/// The Java originals: how their names begin, the project that they are built from, and whose versions in it are theirs.
const ORIGINALS: &[(&str, &str, &[&str])] = &[
    ("zuul2", include_str!("../../peers/zuul2/pom.xml"), &["zuul-core"]),
    ("zuul1", include_str!("../../peers/zuul1/pom.xml"), BOOT_AND_CLOUD),
    ("gateway-webmvc", include_str!("../../peers/gateway-webmvc/pom.xml"), BOOT_AND_CLOUD),
    ("gateway-webflux", include_str!("../../peers/gateway-webflux/pom.xml"), BOOT_AND_CLOUD),
];

const BOOT_AND_CLOUD: &[&str] = &["spring-boot-starter-parent", "spring-cloud-dependencies"];

/// What a contestant says of its version; the Java originals' stands in their projects, by which they were built.
pub(crate) fn version_of(contestant: &str) -> String {
    match contestant {
        "direct" => String::new(),
        "nginx" | "haproxy" => version(contestant, "-v"),
        _ if contestant.starts_with("portcullis") || contestant == "twin" => env!("CARGO_PKG_VERSION").into(),
        _ => original(contestant).map_or("not told".into(), |version| on_java(version, contestant)),
    }
}

fn original(contestant: &str) -> Option<String> {
    let (_, project, artifacts) = ORIGINALS.iter().find(|(name, ..)| contestant.starts_with(name))?;
    let versions = artifacts.iter().map(|artifact| Some(format!("{artifact} {}", declared(project, artifact)?)));
    versions.collect::<Option<Vec<_>>>().map(|versions| versions.join(", "))
}

/// With the Java that runs it, which need not be the one on the path.
fn on_java(version: String, contestant: &str) -> String {
    match java::home(contestant).and_then(|home| java::release(&home)) {
        Some(java) => format!("{version}, on Java {java}"),
        None => version,
    }
}

/// The version that a Maven project declares of an artifact.
fn declared<'a>(project: &'a str, artifact: &str) -> Option<&'a str> {
    let (_, after) = project.split_once(&format!("<artifactId>{artifact}</artifactId>"))?;
    let (version, _) = after.split_once("<version>")?.1.split_once("</version>")?;
    Some(version)
}

/// The first line that is not empty of what the program says of itself, on either output.
fn version(program: &str, flag: &str) -> String {
    let found = child::program(program).unwrap_or_else(|| program.into());
    let Ok(output) = Command::new(found).arg(flag).output() else { return "not found".into() };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("says nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn originals_tell_the_versions_that_their_projects_declare() {
        for contestant in ["zuul1", "zuul1-thread", "zuul2", "gateway-webflux", "gateway-webmvc-virtual"] {
            let version = version_of(contestant);
            assert!(version.contains(" ") && version.bytes().any(|octet| octet.is_ascii_digit()), "{version}");
        }
        assert_eq!(declared("<artifactId>a</artifactId>\n <version>1.2</version>", "a"), Some("1.2"));
        assert_eq!(declared("<artifactId>a</artifactId>", "a"), None);
        assert_eq!(version_of("nobody"), "not told");
    }

    #[test]
    fn nobodys_folders_are_told() {
        assert_eq!(
            without_folders("/a/b/bench all --results /c/d/e/ --seconds 2"),
            "bench all --results e --seconds 2"
        );
    }

    #[test]
    fn the_kernel_and_the_processors_are_told() {
        let facts = facts();
        let value = |key: &str| facts.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value.as_str());
        assert!(value("kernel").contains('.'), "{}", value("kernel"));
        assert!(value("processors").parse::<usize>().is_ok_and(|n| n > 0));
        assert!(value("memory").ends_with("kB"));
        assert!(value("version of rustc").starts_with("rustc 1."), "{}", value("version of rustc"));
        let commit = value("revision").trim_end_matches("-dirty").rsplit("-g").next().unwrap_or_default();
        let is_commit = commit.len() >= 7 && commit.bytes().all(|octet| octet.is_ascii_hexdigit());
        assert!(is_commit || value("revision") == "not told", "{}", value("revision"));
        assert!(value("connections in TIME_WAIT before").parse::<u64>().is_ok());
        let mut names: Vec<_> = facts.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), facts.len());
    }
}
