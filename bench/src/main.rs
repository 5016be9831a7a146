//! `bench`: what [`bench::main`] does.

use std::process::ExitCode;

/// As in portcullis itself, which runs in this binary too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    bench::main()
}
