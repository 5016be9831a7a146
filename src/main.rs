//! Arguments in, exit code out; everything else is the library's.

fn main() -> std::process::ExitCode {
    portcullis::cli::main(std::env::args_os()).into()
}
