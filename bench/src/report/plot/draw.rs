//! A plot as an SVG element.

use super::axis::Ends;
use super::{Plot, Series};
use crate::report::html::escape;
use std::fmt::Write;

/// How plots look, and the colours of the whole page; a plot in a file of its own carries it.
pub(crate) const STYLE: &str = include_str!("plot.css");

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 16.0;
/// Room for the names of the lines.
const RIGHT: f64 = 290.0;
const BOTTOM: f64 = 56.0;
const LINE: f64 = 20.0;
const COLOURS: usize = 8;

/// The area in which the lines are, in the picture's own units.
struct Area {
    x: Ends,
    y: Ends,
    height: f64,
}

impl Area {
    fn across(&self, x: f64) -> f64 {
        LEFT + self.x.position(x) * (WIDTH - LEFT - RIGHT)
    }

    fn down(&self, y: f64) -> f64 {
        TOP + (1.0 - self.y.position(y)) * (self.height - TOP - BOTTOM)
    }

    fn bottom(&self) -> f64 {
        self.height - BOTTOM
    }
}

impl Plot {
    /// As an element of a page whose style is [`STYLE`]; `id` is unique there.
    pub(crate) fn svg(&self, id: &str) -> String {
        self.element(id, "", "")
    }

    /// As a file of its own.
    pub(crate) fn file(&self) -> String {
        let style = format!("<style>\n{STYLE}</style>\n");
        let namespace = " xmlns=\"http://www.w3.org/2000/svg\"";
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", self.element("plot", namespace, &style))
    }

    fn element(&self, id: &str, namespace: &str, style: &str) -> String {
        let area = self.area();
        let mut svg = format!(
            "<svg{namespace} viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\">\n\
             <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-text\">{}</desc>\n{style}",
            escape(&self.title),
            escape(&self.description()),
            height = area.height,
        );
        self.frame(&area, &mut svg);
        self.guides(&area, &mut svg);
        for series in &self.series {
            self.series(series, &area, &mut svg);
        }
        self.legend(&mut svg);
        svg.push_str("</svg>");
        svg
    }

    fn area(&self) -> Area {
        let points = || self.series.iter().flat_map(|series| self.drawable(series));
        let guides = || self.guides.iter().flat_map(|guide| guide.points.iter().copied());
        // A curve may leave the area; an upright line must be in it.
        let upright = guides().filter(|(_, y)| y.is_infinite()).map(|(x, _)| x);
        let spans = self.series.iter().flat_map(|series| &series.spans).flat_map(|(_, low, high)| [*low, *high]);
        let names = self.series.iter().map(|series| &series.label).chain(self.guides.iter().map(|guide| &guide.label));
        let lines = names.map(|name| wrapped(name).len()).sum::<usize>() as f64;
        Area {
            x: self.x.ends(points().map(|(x, _)| x).chain(upright)),
            y: self.y.ends(points().map(|(_, y)| y).chain(spans)),
            height: HEIGHT.max(TOP + BOTTOM + LINE * lines),
        }
    }

    fn frame(&self, area: &Area, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, area.bottom());
        for (value, word) in area.x.ticks() {
            let x = area.across(value);
            line(svg, &format!("<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>"));
            text(svg, x, bottom + 18.0, "middle", &word);
        }
        for (value, word) in area.y.ticks() {
            let y = area.down(value);
            line(svg, &format!("<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>"));
            text(svg, LEFT - 8.0, y + 4.0, "end", &word);
        }
        line(svg, &format!("<path class=\"frame\" d=\"M{LEFT} {TOP}V{bottom:.1}H{right}\"/>"));
        text(svg, f64::midpoint(LEFT, right), area.height - 12.0, "middle", &self.x.titled());
        let middle = f64::midpoint(TOP, bottom);
        line(
            svg,
            &format!(
                "<text transform=\"translate(16 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                escape(&self.y.titled())
            ),
        );
    }

    fn guides(&self, area: &Area, svg: &mut String) {
        for guide in &self.guides {
            let seen = guide.points.iter().filter(|(x, y)| area.x.holds(*x) && (y.is_infinite() || area.y.holds(*y)));
            line(svg, &format!("<path class=\"guide\" d=\"{}\"/>", path(seen.copied(), area)));
        }
    }

    fn series(&self, series: &Series, area: &Area, svg: &mut String) {
        let (colour, dashed) = (series.style % COLOURS, dashes(series.style));
        if series.joined {
            let path = path(self.drawable(series), area);
            line(svg, &format!("<path class=\"c{colour} curve{dashed}\" d=\"{path}\"/>"));
        }
        for (x, low, high) in series.spans.iter().filter(|(x, low, _)| self.x.can_show(*x) && self.y.can_show(*low)) {
            let (x, low, high) = (area.across(*x), area.down(*low), area.down(*high));
            line(svg, &format!("<path class=\"c{colour} span\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>"));
        }
        for (x, y) in self.drawable(series) {
            line(svg, &mark(series.style, area.across(x), area.down(y)));
        }
    }

    fn legend(&self, svg: &mut String) {
        let (left, mut y) = (WIDTH - RIGHT + 16.0, TOP + 12.0);
        for series in &self.series {
            let (colour, dashed) = (series.style % COLOURS, dashes(series.style));
            if series.joined {
                let (end, at) = (left + 28.0, y - 4.0);
                line(svg, &format!("<path class=\"c{colour} curve{dashed}\" d=\"M{left} {at}H{end}\"/>"));
            }
            line(svg, &mark(series.style, left + 14.0, y - 4.0));
            y = name(svg, left + 36.0, y, &series.label);
        }
        for guide in &self.guides {
            line(svg, &format!("<path class=\"guide\" d=\"M{left} {at}H{end}\"/>", at = y - 4.0, end = left + 28.0));
            y = name(svg, left + 36.0, y, &guide.label);
        }
    }
}

/// What a line of the legend says, and where the next one is.
fn name(svg: &mut String, x: f64, y: f64, label: &str) -> f64 {
    wrapped(label).into_iter().fold(y, |y, words| {
        text(svg, x, y, "start", words);
        y + LINE
    })
}

/// What fits into the room for names: a long one is broken where its last comma is.
fn wrapped(label: &str) -> Vec<&str> {
    const FITS: usize = 34;
    match label.rfind(", ").filter(|_| label.chars().count() > FITS) {
        Some(comma) => vec![&label[..=comma], &label[comma + 2..]],
        None => vec![label],
    }
}

fn line(svg: &mut String, words: &str) {
    let _ = writeln!(svg, "{words}");
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let words = escape(words);
    line(svg, &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"));
}

fn path(points: impl Iterator<Item = (f64, f64)>, area: &Area) -> String {
    let step = |(n, (x, y)): (usize, (f64, f64))| {
        format!("{}{:.1} {:.1}", if n == 0 { 'M' } else { 'L' }, area.across(x), area.down(y))
    };
    points.enumerate().map(step).collect()
}

/// The second eight have the colours of the first, dashed.
fn dashes(style: usize) -> &'static str {
    if style / COLOURS % 2 == 1 { " dashed" } else { "" }
}

/// Five shapes; with eight colours, no two of forty are alike.
fn mark(style: usize, x: f64, y: f64) -> String {
    let colour = style % COLOURS;
    match style % 5 {
        0 => format!("<circle class=\"c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"),
        1 => format!("<path class=\"c{colour}\" d=\"M{x:.1} {y:.1}m-3.5 -3.5h7v7h-7z\"/>"),
        2 => format!("<path class=\"c{colour}\" d=\"M{x:.1} {y:.1}m0 -4.5l4.5 8h-9z\"/>"),
        3 => format!("<path class=\"c{colour}\" d=\"M{x:.1} {y:.1}m0 -5l5 5l-5 5l-5 -5z\"/>"),
        _ => format!("<path class=\"c{colour}\" d=\"M{x:.1} {y:.1}m0 4.5l4.5 -8h-9z\"/>"),
    }
}
