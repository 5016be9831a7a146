//! Both forms as their readers' programs see them.

use super::super::plot::STYLE;
use super::*;
use roxmltree::{Document as Parsed, Node, ParsingOptions};
use std::collections::HashSet;

/// The page is written as XML would have it, so an XML parser finds each tag that is not closed.
fn parse(page: &str) -> Parsed<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Parsed::parse_with_options(page, options).expect("well-formed")
}

fn all<'a, 'i: 'a>(page: &'a Parsed<'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    page.descendants().filter(move |node| node.has_tag_name(name))
}

pub(super) fn assert_well_formed(page: &str) {
    let page = parse(page);
    assert_eq!(page.root_element().attribute("lang"), Some("en"));
    assert_eq!(
        (all(&page, "h1").count(), all(&page, "main").count(), all(&page, "title").next().is_some()),
        (1, 1, true)
    );
}

/// Where a line of Markdown with a picture leads.
pub(super) fn target(line: &str) -> Option<&str> {
    line.rsplit_once("](").and_then(|(_, end)| end.strip_suffix(')'))
}

#[test]
fn the_page_is_well_formed_whatever_the_data_hold() {
    assert_well_formed(&pages(&measurement()).1);
    let mut data = measurement();
    for run in &mut data.runs {
        run.cell = format!("<script>&\"'{}\u{1b}[0m|`_*\\\n", run.cell);
        run.void = "</td></table>".into();
    }
    data.participants[0].limits = "a<b = &c".into();
    let (text, page) = pages(&data);
    assert_well_formed(&page);
    assert!(all(&parse(&page), "script").next().is_none());
    assert_tables(&text);
}

#[test]
fn the_page_needs_nothing_else() {
    let page = pages(&measurement()).1;
    let parsed = parse(&page);
    let ids: HashSet<&str> = parsed.descendants().filter_map(|node| node.attribute("id")).collect();
    for node in parsed.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        assert!(!["script", "link", "img", "iframe", "object", "embed", "use", "image"].contains(&name), "{name}");
        for attribute in node.attributes() {
            assert!(!["src", "srcset", "style", "onclick"].contains(&attribute.name()), "{attribute:?}");
            if attribute.name() == "href" {
                assert!(attribute.value().strip_prefix('#').is_some_and(|id| ids.contains(id)), "{attribute:?}");
            }
        }
    }
    let styles: String = all(&parsed, "style").filter_map(|style| style.text()).collect();
    assert!(styles.contains(STYLE) && !styles.contains("url(") && !styles.contains("@import"));
}

#[test]
fn those_who_cannot_see_are_told_too() {
    let page = pages(&measurement()).1;
    let parsed = parse(&page);
    let mut ids: Vec<&str> = parsed.descendants().filter_map(|node| node.attribute("id")).collect();
    let known: HashSet<&str> = ids.iter().copied().collect();
    ids.dedup();
    assert_eq!(ids.len(), known.len(), "an id is there twice");
    assert!(all(&parsed, "svg").count() > 8);
    for plot in all(&parsed, "svg") {
        assert_eq!(plot.attribute("role"), Some("img"));
        let labels = plot.attribute("aria-labelledby").expect("labels");
        assert!(labels.split(' ').count() == 2 && labels.split(' ').all(|id| known.contains(id)), "{labels}");
        let description = plot.children().find(|node| node.has_tag_name("desc")).and_then(|node| node.text());
        assert!(description.is_some_and(|text| text.contains("Across: ") && text.contains("Up: ")));
    }
    for table in all(&parsed, "table") {
        assert!(table.children().any(|node| node.has_tag_name("caption")));
        let heads = |scope| table.descendants().filter(|node| node.attribute("scope") == Some(scope)).count();
        let columns = heads("col");
        assert!(columns > 1 && heads("row") > 0);
        let rows = table.descendants().filter(|node| node.has_tag_name("tr"));
        for row in rows {
            assert_eq!(row.children().filter(Node::is_element).count(), columns);
        }
    }
}

#[test]
fn the_text_has_whole_tables() {
    let text = pages(&measurement()).0;
    assert_tables(&text);
    let headings: Vec<usize> =
        text.lines().filter_map(|line| line.split_once("# ").map(|(marks, _)| marks.len())).collect();
    assert!(headings.windows(2).all(|pair| pair[1] <= pair[0] + 1), "a level is left out: {headings:?}");
}

/// Each table has a line of dashes under its head, and as many cells in each row as in the head.
#[track_caller]
fn assert_tables(text: &str) {
    let cells = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = text.lines().collect();
    let mut tables = 0;
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with('|')) {
        assert!(line.ends_with('|'), "{line}");
        if lines[number - 1].starts_with('|') {
            assert_eq!(cells(line), cells(lines[number - 1]), "{line}");
        } else {
            assert!(lines[number + 1].starts_with("|---|"), "{line}");
            assert_eq!(lines[number - 1], "");
            tables += 1;
        }
    }
    assert!(tables > 10, "{tables}");
}

/// Of WCAG 2: 4.5 for text, 3 for what is drawn.
#[test]
fn colours_can_be_told_from_the_paper_in_light_and_in_dark() {
    let (light, dark) = STYLE.split_once("prefers-color-scheme: dark").expect("both");
    let dark = dark.split_once("} }").expect("an end").0;
    for theme in [light.split_once("@media").map_or(light, |(first, _)| first), dark] {
        let paper = luminance(theme, "--paper");
        let contrast = |name: &str| {
            let (a, b) = (luminance(theme, name) + 0.05, paper + 0.05);
            a.max(b) / a.min(b)
        };
        for name in ["--ink", "--dim", "--warn", "--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"] {
            assert!(contrast(name) >= 4.5, "{name}: {:.2}", contrast(name));
        }
    }
}

fn luminance(theme: &str, name: &str) -> f64 {
    let hex = theme.split(&format!("{name}: #")).nth(1).and_then(|rest| rest.get(..6)).expect(name);
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("a colour")) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}
