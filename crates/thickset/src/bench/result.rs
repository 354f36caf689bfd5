//! What a bench found: the content of `bench.json`, tables and figures that print and draw alike for every bench.

use serde::{Deserialize, Serialize};

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
    /// A dash, and why there is no number.
    Dash(String),
}

/// How a number stands in its column, as the paper marks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Neither.
    #[default]
    None,
    /// The best.
    Best,
    /// The best, and significantly better than every rival of another family (p < 0.05, paired).
    Significant,
}

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
