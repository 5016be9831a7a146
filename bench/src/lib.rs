//! Comparisons with other gateways, run side by side on the user's own machine.
//!
//! [`comparison`] is what `bench quick` and `bench all` do: [`scenario`]s are data, a [`plan`] puts them in order, a [`session`] runs it. A
//! run is a [`load`] on a [`contestant`] before the [`backend`], and [`measure`] says what it cost and whether it counts; [`raw`] keeps it.
//! Only ratios from one measurement mean anything. Traffic goes to the loopback only.

mod backend;
mod body;
mod child;
mod comparison;
mod contestant;
mod fidelity;
mod footprint;
mod load;
mod measure;
mod method;
mod message;
pub mod parity;
mod peers;
mod plan;
mod random;
mod raw;
mod report;
mod scenario;
mod session;
mod stop;
mod summary;
mod table;
pub mod twin;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Measures portcullis beside its peers.
#[derive(Debug, Parser)]
#[command(name = "bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A glance at everything: one round of short cells, one process for each setup of a contestant; no verdict. Fifteen minutes at most.
    Quick(comparison::Options),
    /// For a verdict: five rounds in ABBA order, a fresh process for each run; says first how long it will take.
    All(comparison::Options),
    /// Tells results once more: writes report.md and report.html beside them.
    Report {
        /// A directory of bench/results.
        dir: std::path::PathBuf,
    },
    /// Makes one of results that were measured in parts, each of other scenarios, and tells them: all of one machine, of the same build,
    /// rounds and verdict. What else differs between them, the revision too, is told of each.
    Join {
        /// A directory that is not there yet.
        #[arg(long)]
        into: std::path::PathBuf,
        /// A scenario that is in several parts is taken from the last of them, which the report tells; without this it is refused.
        #[arg(long)]
        again: bool,
        /// Directories of bench/results, in the order in which their scenarios are told.
        #[arg(required = true, num_args = 2..)]
        parts: Vec<std::path::PathBuf>,
    },
    /// How the kit answers the 28 ways in which such comparisons have gone wrong.
    Method,
    /// Who can take part, and with which limits; and building the Java originals.
    Peers {
        #[command(subcommand)]
        action: peers::Action,
    },
    /// Whether portcullis and its asynchronous twin do the same, request by request; prints what differs.
    Parity,
    /// The same requests to a running Zuul 1 and to portcullis: every difference is known and meant, or told.
    Fidelity(fidelity::Options),
    /// The backend that `quick` starts for itself: one thread, answers at once or after a delay.
    #[command(hide = true)]
    Backend {
        /// Milliseconds before each answer on /product/slow.
        #[arg(long, default_value_t = 50)]
        delay_ms: u64,
        /// Of its heavy-tailed delays.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Becomes another program, which is ended when the process that wanted it ends.
    #[command(hide = true)]
    Tied {
        /// The process that wants it.
        parent: u32,
        program: std::ffi::OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// The gateway, in a process of its own: the arguments are those of `portcullis`.
    #[command(hide = true)]
    Gateway {
        /// What `portcullis` is given.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
    /// The asynchronous twin, in a process of its own: `-c FILE`, `--threads N`.
    #[command(hide = true)]
    AsyncGateway {
        /// What `async-gateway` is given.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
}

/// Runs the command that the process was given.
pub fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Quick(options) => comparison::quick(&options),
        Command::All(options) => comparison::all(&options),
        Command::Report { dir } => report::run(&dir),
        Command::Join { into, again, parts } => comparison::join(&parts, &into, again),
        Command::Method => method::print(),
        Command::Parity => parity::run(),
        Command::Backend { delay_ms, seed } => backend::serve(std::time::Duration::from_millis(delay_ms), seed),
        Command::Fidelity(options) => fidelity::run(&options),
        Command::Peers { action } => peers::run(&action),
        Command::Tied { parent, program, arguments } => child::become_tied(parent, &program, &arguments),
        Command::Gateway { words } => {
            let words = std::iter::once("portcullis".into()).chain(words);
            return portcullis::cli::main(words).into();
        }
        Command::AsyncGateway { words } => {
            return twin::main(std::iter::once("async-gateway".into()).chain(words));
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            table::say(&format!("bench: {error}"));
            ExitCode::FAILURE
        }
    }
}
