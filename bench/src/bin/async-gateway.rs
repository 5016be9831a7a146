//! `async-gateway`: what [`bench::twin::main`] does.

use std::process::ExitCode;

/// The same as portcullis', so that allocators are not what is compared.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    bench::twin::main(std::env::args_os())
}
