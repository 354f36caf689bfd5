//! A plot with its words: a heading, a caption, a legend, and its values as a table for those who want them or cannot see it.

use askama::Template;

use crate::plot::{Drawing, Marker, marker};

/// A plot on the page.
#[derive(Template)]
#[template(path = "chart.html")]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The plot.
    pub drawing: Drawing,
    /// What is to be read from it.
    pub caption: String,
    /// The keys, in order.
    pub legend: Vec<Key>,
    /// The values; none where the caption says enough.
    pub values: Option<Values>,
}

/// A key of the legend.
pub struct Key {
    /// Style.
    pub class: String,
    /// SVG path data in a square of 14.
    pub path: String,
    /// What it stands for.
    pub name: String,
}

impl Key {
    /// The key of a series.
    pub fn series(number: usize, name: &str) -> Self {
        Self {
            class: format!("point {}", marker::class(number)),
            path: Marker::of(number).path(7.0, 7.0, 4.5),
            name: name.to_owned(),
        }
    }

    /// The key of bars.
    pub fn bar(class: &str, name: &str) -> Self {
        Self {
            class: class.to_owned(),
            path: "M1 3H13V11H1Z".to_owned(),
            name: name.to_owned(),
        }
    }

    /// The key of a line across a plot.
    pub fn rule(class: &str, name: String) -> Self {
        Self {
            class: class.to_owned(),
            path: "M7 1V13".to_owned(),
            name,
        }
    }
}

/// A table of values.
#[derive(Default)]
pub struct Values {
    /// The heads.
    pub columns: Vec<String>,
    /// The first cell of each is its head.
    pub rows: Vec<Vec<String>>,
    /// Rows that are not shown.
    pub left_out: usize,
}

impl Values {
    /// Rows that a table on the page has at most.
    const MOST: usize = 60;

    /// The first rows of a table.
    pub fn new(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut rows = rows.into_iter();
        let shown: Vec<Vec<String>> = rows.by_ref().take(Self::MOST).collect();
        Self {
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            rows: shown,
            left_out: rows.count(),
        }
    }
}
