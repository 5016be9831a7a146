//! The report as Markdown. Plots stand beside it as files, since Markdown has no drawings of its own.

use super::document::{Block, Document, Table};
use super::plot::Plot;
use std::fmt::Write;

/// The text of `report.md`; `file_of` tells where the n-th plot, counted from 0, is.
pub(crate) fn render(document: &Document, file_of: impl Fn(usize, &Plot) -> String) -> String {
    let mut text = format!("# {}\n", escape(&document.title));
    let mut plots = 0;
    for block in &document.blocks {
        text.push('\n');
        match block {
            Block::Heading(level, title) => {
                line(&mut text, &format!("{} {}", "#".repeat((*level).into()), escape(title)))
            }
            Block::Paragraph(words) => line(&mut text, &escape(words)),
            Block::Warning(words) => line(&mut text, &format!("> **{}**", escape(words))),
            Block::List(items) => items.iter().for_each(|item| line(&mut text, &format!("- {}", escape(item)))),
            Block::Table(content) => table(&mut text, content),
            Block::Figure(plot) => {
                let (alt, file) = (escape(&plot.description()), file_of(plots, plot));
                line(&mut text, &format!("![{alt}]({file})\n\n*{}*", escape(&plot.caption())));
                plots += 1;
            }
        }
    }
    text
}

fn line(text: &mut String, words: &str) {
    let _ = writeln!(text, "{words}");
}

fn table(text: &mut String, table: &Table) {
    line(text, &format!("*{}*\n", escape(&table.caption)));
    let row =
        |cells: &[String]| format!("| {} |", cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" | "));
    line(text, &row(&table.columns));
    line(text, &format!("|{}", "---|".repeat(table.columns.len())));
    table.rows.iter().for_each(|cells| line(text, &row(cells)));
}

/// Words that mean themselves, on one line.
fn escape(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for letter in words.trim().chars() {
        match letter {
            '\n' => text.push_str("; "),
            '\r' => {}
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' | '~' => text.extend(['\\', letter]),
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_themselves() {
        assert_eq!(escape("a|b_c\n*d*\r\n"), "a\\|b\\_c; \\*d\\*");
    }

    #[test]
    fn a_row_has_as_many_cells_as_the_head_whatever_they_hold() {
        let mut document = Document::new("t");
        document.table(Table::new("c", &["a", "b"]).with([vec!["1|2".into(), "x\ny".into()]]));
        let text = render(&document, |_, _| String::new());
        assert!(text.ends_with("| a | b |\n|---|---|\n| 1\\|2 | x; y |\n"), "{text}");
    }
}
