//! The frame of a plot: two axes with ticks, grid lines and labels.

use super::scale::{Kind, Scale, Ticks};
use super::{Anchor, Drawing, Mark, Px, WIDTH, line, text};

/// The inside of the frame.
const LEFT: f64 = 44.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 30.0;
/// Room below for tick labels and the axis's label.
const BELOW: f64 = 42.0;
/// Half the width of a rule's pointer.
const POINTER: f64 = 4.0;
/// Letters of a label that fit on the width.
const LABEL: usize = 58;

/// A plot in the making.
pub struct Frame {
    /// Horizontal places.
    pub x: Scale,
    /// Vertical places.
    pub y: Scale,
    height: f64,
    kinds: (Kind, Kind),
    marks: Vec<Mark>,
}

impl Frame {
    /// An empty plot over these ranges.
    pub fn new(height: f64, x: (f64, f64), y: (f64, f64)) -> Self {
        Self {
            x: Scale::new(x, (LEFT, RIGHT)),
            y: Scale::new(y, (height - BELOW, TOP)),
            height,
            kinds: (Kind::Any, Kind::Any),
            marks: Vec::new(),
        }
    }

    /// Says what values the horizontal and the vertical axis have.
    #[must_use]
    pub fn of(mut self, x: Kind, y: Kind) -> Self {
        self.kinds = (x, y);
        self
    }

    /// The places of the lower and the upper edge.
    pub fn ends(&self) -> (f64, f64) {
        (self.height - BELOW, TOP)
    }

    /// Draws both axes with round ticks.
    #[must_use]
    pub fn axes(self, x_label: &str, y_label: &str) -> Self {
        let ticks = self.x.ticks(5, self.kinds.0);
        let labelled = labelled(&ticks);
        self.axes_with(x_label, &labelled, y_label)
    }

    /// Draws both axes, the horizontal one with these ticks.
    #[must_use]
    pub fn axes_with(mut self, x_label: &str, x_ticks: &[(f64, String)], y_label: &str) -> Self {
        let (bottom, _) = self.ends();
        for (value, label) in labelled(&self.y.ticks(4, self.kinds.1)) {
            let y = self.y.at(value);
            self.marks.push(line("grid", (LEFT, y), (RIGHT, y)));
            self.marks
                .push(text("tick", LEFT - 6.0, y + 4.0, Anchor::End, label));
        }
        self.marks
            .push(line("axis", (LEFT, bottom), (RIGHT, bottom)));
        for (value, label) in x_ticks {
            let x = self.x.at(*value);
            self.marks
                .push(line("axis", (x, bottom), (x, bottom + 4.0)));
            self.marks.push(text(
                "tick",
                x,
                bottom + 17.0,
                Anchor::Middle,
                label.clone(),
            ));
        }
        let middle = f64::midpoint(LEFT, RIGHT);
        let below = self.height - 6.0;
        let x_label = super::shortened(x_label, LABEL);
        self.marks
            .push(text("label", middle, below, Anchor::Middle, x_label));
        let y_label = super::shortened(y_label, LABEL);
        self.marks
            .push(text("label", 4.0, 13.0, Anchor::Start, y_label));
        self
    }

    /// Adds a mark.
    pub fn push(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// A vertical line across the plot at a value, with a pointer on its top end. What is drawn later lies over the line but
    /// never over the pointer.
    pub fn rule(&mut self, class: &str, value: f64) {
        if value.is_finite() {
            let x = self.x.at(value);
            let (bottom, top) = self.ends();
            self.marks.push(line(class, (x, bottom), (x, top)));
            self.marks.push(Mark::Path {
                class: "pointer".to_owned(),
                data: format!(
                    "M{} {}H{}L{} {}Z",
                    Px(x - POINTER),
                    Px(top - 1.6 * POINTER),
                    Px(x + POINTER),
                    Px(x),
                    Px(top)
                ),
                tip: String::new(),
            });
        }
    }

    /// The drawing.
    pub fn finish(self, id: &str, title: &str, description: &str) -> Drawing {
        Drawing {
            id: id.to_owned(),
            title: title.to_owned(),
            description: description.to_owned(),
            height: self.height,
            marks: self.marks,
        }
    }
}

fn labelled(ticks: &Ticks) -> Vec<(f64, String)> {
    let label = |value: &f64| (*value, ticks.label(*value));
    ticks.values.iter().map(label).collect()
}
