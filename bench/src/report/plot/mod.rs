//! Plots as SVG, drawn by our own few lines: a plotting library would fix the colours where we leave them to the page, which knows whether
//! it is light or dark, and would give no title, no description and no names to what it draws.
//!
//! A line is told from another by its colour, its marks and its dashes, so that colours alone never carry a meaning.

mod axis;
mod draw;
#[cfg(test)]
mod tests;

use super::numbers::short;
pub(crate) use axis::{Axis, Scale};
pub(crate) use draw::STYLE;

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    /// What a point is, and how to read what lies beside it.
    pub(crate) note: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    pub(crate) guides: Vec<Guide>,
}

/// What is shown of one contestant.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) label: String,
    /// Which colour, marks and dashes; a contestant has the same in all plots.
    pub(crate) style: usize,
    /// Whether the points are joined.
    pub(crate) joined: bool,
    /// In the order of x.
    pub(crate) points: Vec<(f64, f64)>,
    /// At an x, from the lowest to the highest round.
    pub(crate) spans: Vec<(f64, f64, f64)>,
}

/// A line to compare with; an infinite coordinate means the edge.
#[derive(Clone, Debug)]
pub(crate) struct Guide {
    pub(crate) label: String,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Series {
    /// With another style.
    pub(crate) fn styled(self, style: usize) -> Self {
        Self { style, ..self }
    }
}

impl Guide {
    /// Upright at `x`.
    pub(crate) fn at(x: f64, label: impl Into<String>) -> Self {
        Self { label: label.into(), points: vec![(x, f64::NEG_INFINITY), (x, f64::INFINITY)] }
    }
}

impl Plot {
    pub(crate) fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), note: String::new(), x, y, series: Vec::new(), guides: Vec::new() }
    }

    /// Whether there is anything to see.
    pub(crate) fn shows(&self) -> bool {
        self.series.iter().any(|series| self.drawable(series).next().is_some())
    }

    /// Title and note: what stands beside the drawing.
    pub(crate) fn caption(&self) -> String {
        if self.note.is_empty() { self.title.clone() } else { format!("{}. {}", self.title, self.note) }
    }

    /// The points that the scales can show: nothing below or at zero on a logarithmic one.
    fn drawable<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        series.points.iter().copied().filter(|(x, y)| self.x.can_show(*x) && self.y.can_show(*y))
    }

    /// What is to be seen, for those who cannot see it.
    pub(crate) fn description(&self) -> String {
        let mut text = format!("{}. Across: {}. Up: {}.", self.title, self.x.label, self.y.label);
        for series in &self.series {
            let points: Vec<_> = self.drawable(series).collect();
            let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
            let at = |(x, y): &(f64, f64)| format!("{} at {}", short(*y), self.x.named(*x));
            let to = if points.len() > 1 { format!(", {}", at(last)) } else { String::new() };
            text.push_str(&format!(" {}: {}{to}.", series.label, at(first)));
        }
        for guide in &self.guides {
            text.push_str(&format!(" Dotted line: {}.", guide.label));
        }
        text
    }
}
