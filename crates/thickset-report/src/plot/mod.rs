//! Plots as small static SVG drawings.
//!
//! A plot of any kind becomes a [`Drawing`]: a list of marks in pixels, a title and a description. One template writes them
//! all, and escapes every text. Colours are classes of the page's style sheet, so a plot follows the reader's colour scheme.
//!
//! Drawings are 400 units wide and are shown at about that size on every screen, so that their text stays readable on a phone.

pub mod bars;
pub mod bins;
pub mod curves;
pub mod diverging;
pub mod frame;
pub mod histogram;
pub mod marker;
pub mod scale;

use std::fmt;

use askama::Template;

pub use frame::Frame;
pub use marker::Marker;
pub use scale::Scale;

/// The width of every drawing.
pub const WIDTH: f64 = 400.0;

/// A plot, ready to be written.
#[derive(Template)]
#[template(path = "drawing.svg")]
pub struct Drawing {
    /// Unique on the page.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What is to be read from it, for those who cannot see it.
    pub description: String,
    /// The height; the width is [`WIDTH`].
    pub height: f64,
    /// Painted in this order.
    pub marks: Vec<Mark>,
}

/// Something painted.
pub enum Mark {
    /// A bar or a cell.
    Rectangle {
        /// Style.
        class: String,
        /// Left edge.
        x: Px,
        /// Upper edge.
        y: Px,
        /// Never negative.
        width: Px,
        /// Never negative.
        height: Px,
        /// Shown when pointed at.
        tip: String,
    },
    /// A line, an outline or a marker.
    Path {
        /// Style.
        class: String,
        /// SVG path data.
        data: String,
        /// Shown when pointed at; may be empty.
        tip: String,
    },
    /// A text.
    Text {
        /// Style.
        class: &'static str,
        /// The place of the anchor.
        x: Px,
        /// The base line.
        y: Px,
        /// Which end of the text stands at x.
        anchor: Anchor,
        /// What is said.
        text: String,
    },
}

/// Which end of a text stands at its place.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// The first letter.
    Start,
    /// Half of it.
    Middle,
    /// The last letter.
    End,
}

impl Anchor {
    /// As SVG spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A length or place, written with one decimal; what is not finite is written as 0, for a plot must never be broken by it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Px(pub f64);

impl fmt::Display for Px {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        if !tenths.is_finite() || tenths == 0.0 {
            return formatter.write_str("0");
        }
        write!(formatter, "{tenths}")
    }
}

/// A straight line.
pub fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Mark {
    Mark::Path {
        class: class.to_owned(),
        data: format!("M{} {}L{} {}", Px(from.0), Px(from.1), Px(to.0), Px(to.1)),
        tip: String::new(),
    }
}

/// A text at a place.
pub fn text(class: &'static str, x: f64, y: f64, anchor: Anchor, text: impl Into<String>) -> Mark {
    Mark::Text {
        class,
        x: Px(x),
        y: Px(y),
        anchor,
        text: text.into(),
    }
}

/// The text, with its end cut where it is longer than `most` letters.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_short_and_never_broken() {
        let written: Vec<String> = [1.0, 2.345, -0.01, f64::NAN, f64::INFINITY]
            .iter()
            .map(|value| Px(*value).to_string())
            .collect();
        assert_eq!(written, ["1", "2.3", "0", "0", "0"]);
    }

    #[test]
    fn texts_of_a_drawing_are_escaped() {
        let hostile = "</text><script>alert(1)</script>";
        let drawing = Drawing {
            id: "a".to_owned(),
            title: hostile.to_owned(),
            description: hostile.to_owned(),
            height: 10.0,
            marks: vec![
                text("tick", 0.0, 0.0, Anchor::Start, hostile),
                Mark::Path {
                    class: "line".to_owned(),
                    data: String::new(),
                    tip: hostile.to_owned(),
                },
            ],
        };
        let written = drawing.render().unwrap();
        assert!(!written.contains("<script"), "{written}");
        assert_eq!(written.matches("&#60;script").count(), 4, "{written}");
    }

    #[test]
    fn long_texts_are_cut_by_letters() {
        assert_eq!(shortened("äöüäöü", 4), "äöü…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
