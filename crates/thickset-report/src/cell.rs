//! A cell of a table: a number with its interval below.

use askama::Template;
use thickset::audit::figure::{Figure, Summary};

use crate::number::{interval, style};

/// What stands in a cell.
#[derive(Template)]
#[template(
    source = "{{ value }}{% if let Some(interval) = interval %}<span class=\"interval\">{{ interval }}</span>{% endif %}",
    ext = "html"
)]
pub struct Cell {
    /// The number, or words.
    pub value: String,
    /// Its 95% interval.
    pub interval: Option<String>,
}

impl Cell {
    /// A figure of a summary, or a dash.
    pub fn figure(summary: &Summary, figure: &Figure) -> Self {
        let style = style(figure.unit);
        summary.get(figure).map_or_else(Self::dash, |found| Self {
            value: style(found.value()),
            interval: interval(found.interval(), style),
        })
    }

    /// Words.
    pub fn words(value: String) -> Self {
        Self {
            value,
            interval: None,
        }
    }

    /// Nothing.
    pub fn dash() -> Self {
        Self::words("–".to_owned())
    }
}
