//! `bench`: what [`bench::main`] does.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench::main()
}
