//! Bakes in what results must tell of the binary that made them: the commit of its sources, and the compiler.

use std::path::Path;
use std::process::Command;

/// Whatever of these changes, the sources may no longer be those of the commit. Relative to this package.
const SOURCES: &[&str] =
    &["build.rs", "src", "peers", "fidelity", "Cargo.toml", "../src", "../Cargo.toml", "../Cargo.lock"];

/// Commits, checkouts and what is staged change one of these; git knows where a worktree keeps them.
const OF_GIT: &[&str] = &["HEAD", "logs/HEAD", "index"];

fn main() {
    let of_git = OF_GIT.iter().filter_map(|name| said(Command::new("git").args(["rev-parse", "--git-path", name])));
    // A path that is not there would count as changed at each build.
    let of_git = of_git.filter(|path| Path::new(path).exists());
    let sources = SOURCES.iter().map(|name| (*name).to_owned());
    of_git.chain(sources).for_each(|path| println!("cargo:rerun-if-changed={path}"));
    // It must not write the index meanwhile, or each build would begin anew.
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]).env("GIT_OPTIONAL_LOCKS", "0");
    tell("BENCH_REVISION", said(&mut git));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    tell("BENCH_RUSTC", said(Command::new(rustc).arg("-V")));
}

fn tell(name: &str, value: Option<String>) {
    println!("cargo:rustc-env={name}={}", value.as_deref().unwrap_or("not told"));
}

/// What the program says in one line; `None` when it fails or is not there.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let line = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}
