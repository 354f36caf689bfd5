//! A cell of a table: a number with its interval below.

use askama::Template;
use thickset::statistics::Estimate;

use crate::number::{Style, interval};

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
    /// An estimate.
    pub fn estimate(estimate: &Estimate, style: Style) -> Self {
        Self {
            value: style(estimate.value),
            interval: interval(estimate.interval, style),
        }
    }

    /// An estimate, or a dash.
    pub fn estimated(estimate: Option<&Estimate>, style: Style) -> Self {
        estimate.map_or_else(Self::dash, |estimate| Self::estimate(estimate, style))
    }

    /// A number, or a dash.
    pub fn number(value: Option<f64>, style: Style) -> Self {
        value.map_or_else(Self::dash, |value| Self::words(style(value)))
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
