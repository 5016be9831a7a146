//! `async-gateway`: what [`bench::twin::main`] does.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench::twin::main(std::env::args_os())
}
