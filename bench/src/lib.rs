//! Comparisons with other gateways, run side by side on the user's own machine.
//!
//! `bench quick` is the first of them: portcullis beside a real nginx and beside no proxy at all, in front of a backend that is not the
//! bottleneck. Only ratios from one run mean anything; every limit in the path is raised and printed. Traffic goes to the loopback only.

mod backend;
mod child;
mod contestant;
mod fidelity;
mod footprint;
mod message;
pub mod parity;
mod peers;
mod quick;
mod table;
pub mod twin;
mod wrk;

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
    /// Throughput and latency beside nginx and beside no proxy; memory and threads with idle connections and large bodies.
    Quick(quick::Options),
    /// Who can take part, and with which limits; and building the Java originals.
    Peers {
        #[command(subcommand)]
        action: peers::Action,
    },
    /// The same requests to a running Zuul 1 and to portcullis: every difference is known and meant, or told.
    Fidelity(fidelity::Options),
    /// Whether portcullis and its asynchronous twin do the same, request by request; prints what differs.
    Parity,
    /// The backend that `quick` starts for itself: one thread, answers at once or after a delay.
    #[command(hide = true)]
    Backend {
        /// Milliseconds before each answer on /product/slow.
        #[arg(long, default_value_t = 50)]
        delay_ms: u64,
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
        Command::Quick(options) => quick::run(&options),
        Command::Fidelity(options) => fidelity::run(&options),
        Command::Peers { action } => peers::run(&action),
        Command::Parity => parity::run(),
        Command::Backend { delay_ms } => backend::serve(std::time::Duration::from_millis(delay_ms)),
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
