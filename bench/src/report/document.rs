//! The report as a list of blocks, so that both its forms say the same.

use super::plot::Plot;

/// A report.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

/// A part of it. All text is plain: each form escapes what it must.
#[derive(Debug)]
pub(crate) enum Block {
    /// A heading below the title, which is level 1.
    Heading(u8, String),
    Paragraph(String),
    /// Something that must not be overlooked.
    Warning(String),
    List(Vec<String>),
    Table(Table),
    Figure(Box<Plot>),
}

/// A table whose first column names its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(caption: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { caption: caption.into(), columns, rows: Vec::new() }
    }

    /// With these rows.
    pub(crate) fn with(mut self, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// Without columns in which no row tells anything; the first stays.
    pub(crate) fn without_untold(mut self) -> Self {
        let untold = |at: usize| self.rows.iter().all(|row| row[at] == super::numbers::NOT_TOLD);
        let kept: Vec<bool> = (0..self.columns.len()).map(|at| at == 0 || !untold(at)).collect();
        let keep = |cells: &mut Vec<String>| {
            let mut at = 0..;
            cells.retain(|_| at.next().is_some_and(|at: usize| kept[at]));
        };
        keep(&mut self.columns);
        self.rows.iter_mut().for_each(keep);
        self
    }
}

impl Document {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    pub(crate) fn heading(&mut self, level: u8, text: impl Into<String>) {
        self.blocks.push(Block::Heading(level, text.into()));
    }

    pub(crate) fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Paragraph(text.into()));
    }

    pub(crate) fn warning(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Warning(text.into()));
    }

    /// A list, if it has anything.
    pub(crate) fn list(&mut self, items: Vec<String>) {
        if !items.is_empty() {
            self.blocks.push(Block::List(items));
        }
    }

    /// A table, if it has rows.
    pub(crate) fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// A plot, if it shows anything.
    pub(crate) fn figure(&mut self, plot: Plot) {
        if plot.shows() {
            self.blocks.push(Block::Figure(Box::new(plot)));
        }
    }

    /// Every plot, in order.
    pub(crate) fn plots(&self) -> impl Iterator<Item = &Plot> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Figure(plot) => Some(plot.as_ref()),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_tell_nothing_are_left_out() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = Table::new("t", &["who", "a", "b"]).with([row(["x", "–", "1"]), row(["y", "–", "–"])]);
        let table = table.without_untold();
        assert_eq!(table.columns, ["who", "b"]);
        assert_eq!(table.rows, [["x", "1"], ["y", "–"]]);
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let mut document = Document::new("t");
        document.table(Table::new("t", &["who"]));
        document.list(Vec::new());
        assert!(document.blocks.is_empty());
    }
}
