//! What a measurement says: raw data in, `report.md` and `report.html` out. Old results can be told again at any time, since nothing but
//! the raw data is read; what scenarios, methods and published figures are called is this version's.
//!
//! ```text
//! Data -> pairs (same cell, limits and round), warmth, doubt -> verdict -> sentence
//!      \-> charts -> plot
//! both -> section -> Document -> markdown | html
//! ```
//!
//! All of it is pure but [`write()`], which touches the files.

mod charts;
mod court;
mod document;
mod doubt;
mod html;
mod markdown;
mod numbers;
mod pairs;
mod plot;
mod section;
mod statistics;
#[cfg(test)]
mod tests;
mod verdict;
mod warmth;

use crate::raw::Data;
use crate::table::say;
use document::Document;
use plot::Plot;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Plots of `report.md`, beside it.
const PLOTS: &str = "plots";

/// Reads the results in `dir`, writes both forms of the report beside them, and prints where they are.
pub(crate) fn run(dir: &Path) -> io::Result<()> {
    let pages = write(dir)?;
    say(&format!("report: {} and {}", pages.markdown.display(), pages.html.display()));
    Ok(())
}

/// Where a report was written.
pub(crate) struct Pages {
    pub(crate) markdown: PathBuf,
    pub(crate) html: PathBuf,
}

/// Writes the report of the results in `dir`, over an older one.
fn write(dir: &Path) -> io::Result<Pages> {
    let data = Data::read(dir)?;
    let name = dir.file_name().map_or("results".into(), |name| name.to_string_lossy());
    let document = section::document(&data, &name);
    let pages = Pages { markdown: dir.join("report.md"), html: dir.join("report.html") };
    fs::write(&pages.markdown, markdown::render(&document, file_of))?;
    fs::write(&pages.html, html::render(&document))?;
    write_plots(dir, &document)?;
    Ok(pages)
}

fn write_plots(dir: &Path, document: &Document) -> io::Result<()> {
    let plots = dir.join(PLOTS);
    fs::create_dir_all(&plots)?;
    // Those of an older report may have had other names.
    for entry in fs::read_dir(&plots)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "svg") {
            fs::remove_file(path)?;
        }
    }
    document.plots().enumerate().try_for_each(|(number, plot)| fs::write(dir.join(file_of(number, plot)), plot.file()))
}

/// `plots/03-seed1-p99.svg`.
fn file_of(number: usize, plot: &Plot) -> String {
    let words = plot.title.to_lowercase();
    let words: Vec<&str> =
        words.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    format!("{PLOTS}/{number:02}-{}.svg", words.join("-"))
}
