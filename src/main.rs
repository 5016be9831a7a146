//! Arguments in, exit code out; everything else is the library's.

/// A request makes some forty small allocations, with one larger than glibc's per-thread caches hold; this one is made for threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    portcullis::cli::main(std::env::args_os()).into()
}
