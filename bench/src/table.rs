//! Printing.

use std::io::Write;

/// A line on standard output; a closed pipe is the reader's affair.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
