//! What a bench found: the content of `bench.json`, tables and figures that print and draw alike for every bench.
//!
//! The benches themselves are the crate `thickset-papers`; whoever reads or draws their results needs this module alone.

pub mod front;
mod picture;

use serde::{Deserialize, Serialize};

pub use picture::{Picture, PictureKind, PictureRow, PictureTable};

use crate::statistics::Estimate;

/// The schema's number; it grows when a reader of the old one would misread the new one.
pub const SCHEMA: u32 = 1;

/// The whole of `bench.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of thickset that made it.
    pub version: String,
    /// `table1`, `fig2`, `igr` and so on.
    pub bench: String,
    /// What it shows, in a line.
    pub title: String,
    /// How it was made, setting by setting: seeds, effort, rows, epochs, radii.
    pub settings: Vec<(String, String)>,
    /// The tables, in the order of reading.
    pub tables: Vec<Table>,
    /// The figures, in the order of reading.
    pub figures: Vec<Figure>,
    /// The pictures, in the order of reading.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PictureTable>,
    /// What the numbers say, a sentence each; the paper's claims with a yes or a no.
    pub findings: Vec<String>,
}

/// A table of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// What the first column holds: `method`, `dataset`.
    pub corner: String,
    /// The names of the other columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// What it is about.
    pub label: String,
    /// One a column.
    pub cells: Vec<Cell>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// A number.
    Number {
        /// Ours, over the seeds.
        ours: Estimate,
        /// The paper's, if it gives one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        paper: Option<f64>,
        /// How it is marked.
        mark: Mark,
    },
    /// Words.
    Text(String),
    /// A dash.
    Dash {
        /// Why there is no number.
        reason: String,
        /// The paper's, if it gives one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        paper: Option<f64>,
    },
}

impl Cell {
    /// One number of ours, without an interval.
    #[must_use]
    pub fn number(value: f64) -> Self {
        Self::Number {
            ours: Estimate {
                value,
                interval: None,
                count: 1,
            },
            paper: None,
            mark: Mark::None,
        }
    }

    /// A dash without a number of the paper's.
    #[must_use]
    pub fn dash(reason: impl Into<String>) -> Self {
        Self::Dash {
            reason: reason.into(),
            paper: None,
        }
    }

    /// The paper's number, if there is one.
    #[must_use]
    pub fn paper(&self) -> Option<f64> {
        match self {
            Self::Number { paper, .. } | Self::Dash { paper, .. } => *paper,
            Self::Text(_) => None,
        }
    }
}

impl Table {
    fn cells(&self, column: usize) -> impl Iterator<Item = &Cell> {
        self.rows
            .iter()
            .filter_map(move |row| row.cells.get(column))
    }

    /// Decimals that the paper prints in a column: those of its longest number there.
    #[must_use]
    pub fn paper_decimals(&self, column: usize) -> usize {
        let numbers = self.cells(column).filter_map(Cell::paper);
        let decimals = numbers.map(|number| {
            let written = number.to_string();
            let own = written.split_once('.').map_or(0, |(_, rest)| rest.len());
            // Percentages are printed with one, also 100.
            own.max(usize::from(number >= PERCENTAGE))
        });
        decimals.max().unwrap_or(0)
    }

    /// Decimals of our numbers in a column: what the largest is worth, and no fewer than the paper has.
    #[must_use]
    pub fn decimals(&self, column: usize) -> usize {
        let numbers = self.cells(column).filter_map(|cell| match cell {
            Cell::Number { ours, .. } => Some(ours.value.abs()),
            _ => None,
        });
        let most = numbers.filter(|value| value.is_finite());
        let own = match most.fold(0.0, f64::max) {
            10_000.0.. => 0,
            PERCENTAGE.. => 1,
            1.5.. => 2,
            0.01.. => 4,
            _ => 6,
        };
        own.max(self.paper_decimals(column))
    }
}

/// Numbers from here on are percentages or counts, smaller ones are shares.
const PERCENTAGE: f64 = 10.0;

/// How a number stands in its column, as the paper marks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Neither.
    #[default]
    None,
    /// The best.
    Best,
    /// The best, and significantly better (p < 0.05, paired t-test over rows) than the best of the other side: R2ET's family or
    /// its rivals.
    Significant,
    /// The second best.
    RunnerUp,
}

/// What marks mean, for every reader of a table.
pub const SIGNIFICANCE: &str = "significantly better than the best of the other side, R2ET's family or its rivals (paired t-test over rows, p < 0.05)";

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// What is to be read from it, in a sentence; also for those who cannot see it.
    pub caption: String,
    /// The horizontal axis.
    pub x_label: String,
    /// The vertical axis.
    pub y_label: String,
    /// How points are drawn.
    pub style: Style,
    /// The series, in the order of the legend.
    pub series: Vec<Series>,
}

/// How a figure's points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Marks.
    Points,
    /// Marks joined by lines.
    Lines,
    /// Marks, those that no other beats in both directions joined: the Pareto front. Higher is better on both axes.
    Front,
}

/// Points of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Horizontal and vertical places.
    pub points: Vec<[f64; 2]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[(f64, Option<f64>)]) -> Table {
        let cell = |&(value, paper): &(f64, Option<f64>)| Cell::Number {
            ours: Estimate {
                value,
                interval: None,
                count: 3,
            },
            paper,
            mark: Mark::None,
        };
        let rows = cells.iter().map(|one| TableRow {
            label: String::new(),
            cells: vec![cell(one)],
        });
        Table {
            title: String::new(),
            corner: String::new(),
            columns: vec!["one".to_owned()],
            rows: rows.collect(),
        }
    }

    #[test]
    fn the_papers_digits_are_kept_and_ours_are_no_fewer() {
        let percentages = column(&[(97.25, Some(100.0)), (99.9, Some(97.5))]);
        assert_eq!(
            (percentages.paper_decimals(0), percentages.decimals(0)),
            (1, 1)
        );
        let thickness = column(&[(0.99, Some(0.9989)), (0.5, Some(0.996))]);
        assert_eq!((thickness.paper_decimals(0), thickness.decimals(0)), (4, 4));
        let faithfulness = column(&[(0.31, Some(0.5)), (0.2, Some(0.24))]);
        assert_eq!(
            (faithfulness.paper_decimals(0), faithfulness.decimals(0)),
            (2, 4)
        );
        assert_eq!(column(&[(3.0, None)]).decimals(0), 2);
    }
}
