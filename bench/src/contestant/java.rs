//! The Java originals: where Maven puts them, which Java runs them, how they are started.

use super::{Availability, Launch, Limit, Listening, free_address};
use crate::child::{Running, program, tied};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The projects below `bench/peers`, each of which Maven makes into `target/peers/<name>/<name>.jar`.
pub(crate) const PROJECTS: &[&str] = &["zuul1", "zuul2", "gateway-webflux", "gateway-webmvc"];

/// Where `bench/peers/<project>` is.
pub(crate) fn project_folder(project: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(project)
}

/// Where Maven's output goes.
pub(crate) fn output_folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    workspace.unwrap_or(Path::new(".")).join("target/peers")
}

/// What Maven makes of the project.
pub(crate) fn jar(project: &str) -> PathBuf {
    output_folder().join(project).join(format!("{project}.jar"))
}

/// The oldest and the newest Java that may run the contestant.
pub(crate) fn releases(contestant: &str) -> (u32, u32) {
    match contestant {
        // Below 21 the key is ignored without a word; below 24 a virtual thread holds its carrier in synchronized blocks.
        "gateway-webmvc-virtual" => (25, 25),
        _ => (17, 25),
    }
}

/// Ready if the contestant's jar is built and there is a Java that can run it.
pub(crate) fn find(project: &str, contestant: &str) -> Availability {
    let (oldest, newest) = releases(contestant);
    if home(contestant).is_none() {
        let why = format!("no Java between {oldest} and {newest} was found in JAVA_HOME, /usr/lib/jvm or on the path");
        return Availability::Missing { why, how: format!("Debian: apt-get install openjdk-{oldest}-jdk-headless") };
    }
    if !jar(project).is_file() {
        let why = format!("{} is not built", jar(project).display());
        return Availability::Missing { why, how: "cargo run --release -p bench -- peers build (needs Maven)".into() };
    }
    Availability::Ready
}

/// The oldest installed Java that may run the contestant.
pub(crate) fn home(contestant: &str) -> Option<PathBuf> {
    let (oldest, newest) = releases(contestant);
    let homes = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    let homes = homes.chain(std::env::var_os("JAVA_HOME").map(PathBuf::from)).chain(home_on_path());
    let known = homes.filter_map(|home| Some((version(&home)?, home)));
    let fitting =
        known.filter(|(version, home)| (oldest..=newest).contains(version) && home.join("bin/java").is_file());
    fitting.min_by_key(|(version, _)| *version).map(|(_, home)| home)
}

/// The home of the `java` on the path.
fn home_on_path() -> Option<PathBuf> {
    Some(program("java")?.canonicalize().ok()?.parent()?.parent()?.to_owned())
}

/// The major version of a Java.
fn version(home: &Path) -> Option<u32> {
    major(&release(home)?)
}

/// The version that a Java's `release` file tells.
pub(crate) fn release(home: &Path) -> Option<String> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let quoted = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(quoted.trim_matches('"').to_owned())
}

/// `17.0.15` is 17, `1.8.0_452` is 8.
fn major(version: &str) -> Option<u32> {
    let mut numbers = version.split(['.', '_', '-', '+']).map_while(|part| part.parse::<u32>().ok());
    match numbers.next()? {
        1 => numbers.next(),
        major => Some(major),
    }
}

/// Starts the project's jar with the limits that are Java's own (`-Xmx`, `-Dname`) and `arguments`, which get the address to listen on.
pub(super) fn run(
    launch: &Launch<'_>,
    project: &str,
    arguments: impl FnOnce(SocketAddr) -> io::Result<Vec<OsString>>,
) -> io::Result<Listening> {
    let home = home(launch.name).ok_or_else(|| io::Error::other("no fitting Java"))?;
    let address = free_address()?;
    let mut command = tied(&home.join("bin/java"));
    command.current_dir(launch.folder()?).args(launch.limits.iter().filter_map(option));
    command.arg("-jar").arg(jar(project)).args(arguments(address)?);
    Ok((address, Some(Running::at(command, address, &launch.log_path())?)))
}

/// How Spring Boot is told where its file is.
pub(crate) fn location(file: &Path) -> OsString {
    let mut argument = OsString::from("--spring.config.location=file:");
    argument.push(file);
    argument
}

/// How Java itself is told the limit, if it is one of Java's own.
fn option(limit: &Limit) -> Option<String> {
    let Limit { key, value, told: true, .. } = limit else { return None };
    match key.get(..2)? {
        "-D" => Some(format!("{key}={value}")),
        "-X" if key.starts_with("-XX") => Some(key.clone()),
        "-X" => Some(format!("{key}{value}")),
        _ => None,
    }
}

/// Whether the limit is given to Java itself, not to the program.
pub(super) fn is_option(limit: &Limit) -> bool {
    limit.key.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestant::Stage;

    #[test]
    fn versions_old_and_new() {
        let versions = ["17.0.15", "1.8.0_452", "25", "21-ea", "x"].map(major);
        assert_eq!(versions, [Some(17), Some(8), Some(25), Some(21), None]);
    }

    #[test]
    fn java_is_told_what_is_its_own() {
        let limit =
            |key: &str, value: &str, told| Limit { stage: Stage::Memory, key: key.into(), value: value.into(), told };
        assert_eq!(option(&limit("-Xmx", "1g", true)).as_deref(), Some("-Xmx1g"));
        assert_eq!(option(&limit("-XX:+UseG1GC", "on", true)).as_deref(), Some("-XX:+UseG1GC"));
        assert_eq!(option(&limit("-Dhttp.maxConnections", "9", true)).as_deref(), Some("-Dhttp.maxConnections=9"));
        assert_eq!(option(&limit("-Dhttp.maxConnections", "5", false)), None);
        assert_eq!(option(&limit("server.port", "9", true)), None);
    }
}
