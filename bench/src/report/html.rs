//! The report as one HTML file that needs nothing else: no network, no script; in light and in dark as the reader's system wishes.
//!
//! It is written as XML would have it, each tag closed, so that it can be checked with an XML parser.

use super::document::{Block, Document, Table};
use super::plot::{Plot, STYLE as PLOT_STYLE};
use std::fmt::Write;

/// How the page looks, around its plots.
const STYLE: &str = include_str!("style.css");

/// The text of `report.html`.
pub(crate) fn render(document: &Document) -> String {
    let title = escape(&document.title);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>\n{PLOT_STYLE}{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1></header>\n"
    );
    contents(&mut text, document);
    text.push_str("<main>\n");
    for (number, block) in document.blocks.iter().enumerate() {
        self::block(&mut text, number, block);
    }
    text.push_str("</main>\n</body>\n</html>\n");
    text
}

fn line(text: &mut String, words: &str) {
    let _ = writeln!(text, "{words}");
}

fn contents(text: &mut String, document: &Document) {
    line(text, "<nav aria-labelledby=\"contents\"><h2 id=\"contents\">Contents</h2><ul>");
    for (number, block) in document.blocks.iter().enumerate() {
        if let Block::Heading(2, title) = block {
            line(text, &format!("<li><a href=\"#b{number}\">{}</a></li>", escape(title)));
        }
    }
    line(text, "</ul></nav>");
}

fn block(text: &mut String, number: usize, block: &Block) {
    match block {
        Block::Heading(level, title) => {
            line(text, &format!("<h{level} id=\"b{number}\">{}</h{level}>", escape(title)));
        }
        Block::Paragraph(words) => line(text, &format!("<p>{}</p>", escape(words))),
        Block::Warning(words) => line(text, &format!("<p class=\"warning\" role=\"note\">{}</p>", escape(words))),
        Block::List(items) => {
            line(text, "<ul>");
            items.iter().for_each(|item| line(text, &format!("<li>{}</li>", escape(item))));
            line(text, "</ul>");
        }
        Block::Table(content) => table(text, content),
        Block::Figure(plot) => figure(text, number, plot),
    }
}

fn table(text: &mut String, table: &Table) {
    let caption = escape(&table.caption);
    // What can be scrolled must be reachable without a mouse.
    line(text, &format!("<div class=\"wide\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\"><table>"));
    line(text, &format!("<caption><span>{caption}</span></caption>\n<thead><tr>"));
    table.columns.iter().for_each(|column| line(text, &format!("<th scope=\"col\">{}</th>", escape(column))));
    line(text, "</tr></thead>\n<tbody>");
    let mut last = None;
    for row in &table.rows {
        // Rows of one cell belong together.
        let begins = if row.first() == last { "" } else { " class=\"begins\"" };
        last = row.first();
        let mut cells = row.iter().map(|cell| escape(cell));
        let first = cells.next().map(|cell| format!("<th scope=\"row\">{cell}</th>"));
        let cells: String = first.into_iter().chain(cells.map(|cell| format!("<td>{cell}</td>"))).collect();
        line(text, &format!("<tr{begins}>{cells}</tr>"));
    }
    line(text, "</tbody>\n</table></div>");
}

fn figure(text: &mut String, number: usize, plot: &Plot) {
    let note =
        if plot.note.is_empty() { String::new() } else { format!("<br/><small>{}.</small>", escape(&plot.note)) };
    line(text, &format!("<figure>\n<figcaption>{}{note}</figcaption>", escape(&plot.title)));
    line(text, &format!("<div class=\"wide\" role=\"region\" aria-label=\"{}\" tabindex=\"0\">", escape(&plot.title)));
    line(text, &plot.svg(&format!("p{number}")));
    line(text, "</div>\n</figure>");
}

/// Words that mean themselves, as content and in attributes.
pub(crate) fn escape(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            // Not allowed in XML, and of no meaning in what programs say of themselves.
            letter if letter.is_control() && letter != '\n' && letter != '\t' => {}
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
        assert_eq!(escape("<a b=\"&\">\u{1b}[0m\n"), "&lt;a b=&quot;&amp;&quot;&gt;[0m\n");
    }
}
