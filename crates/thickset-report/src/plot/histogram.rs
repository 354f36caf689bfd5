//! Histograms: how many rows have which value, with lines at values worth comparing.

use super::scale::Kind;
use super::{Drawing, Frame, Mark, Px};

/// Equal bins over a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The lower end of the first bin.
    pub low: f64,
    /// The width of a bin.
    pub width: f64,
    /// Rows in each bin.
    pub counts: Vec<usize>,
    /// Values that were not finite and are in no bin.
    pub left_out: usize,
}

impl Histogram {
    /// Counts values in `bins` bins of `low..=high`; values beyond go to the bins at the ends. A value at an inner edge
    /// belongs to the upper bin.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the number of bins"
    )]
    pub fn new(
        values: impl IntoIterator<Item = f64>,
        (low, high): (f64, f64),
        bins: usize,
    ) -> Self {
        let bins = bins.clamp(1, 200);
        let count = f64::from(u32::try_from(bins).unwrap_or(1));
        let width = (high - low) / count;
        let mut counts = vec![0; bins];
        let mut left_out = 0;
        for value in values {
            if value.is_finite() {
                // Shares such as 0.7 are a bit below their bin's edge after rounding.
                let place = ((value - low) / width + 1e-9)
                    .floor()
                    .clamp(0.0, count - 1.0);
                counts[place as usize] += 1;
            } else {
                left_out += 1;
            }
        }
        Self {
            low,
            width,
            counts,
            left_out,
        }
    }

    /// The ends of a bin.
    pub fn bin(&self, index: usize) -> (f64, f64) {
        let index = f64::from(u32::try_from(index).unwrap_or(0));
        (
            self.low + index * self.width,
            self.low + (index + 1.0) * self.width,
        )
    }
}

/// What the reader sees beside the bars.
pub struct Look<'a> {
    /// Unique on the page.
    pub id: &'a str,
    /// What it shows.
    pub title: &'a str,
    /// What is to be read from it.
    pub description: &'a str,
    /// The horizontal axis.
    pub x_label: &'a str,
    /// The vertical axis.
    pub y_label: &'a str,
    /// The ticks of the horizontal axis; round ones if there are none.
    pub ticks: Vec<(f64, String)>,
    /// Lines: style and value.
    pub rules: Vec<(&'static str, f64)>,
    /// The tip of each bar.
    pub tips: Vec<String>,
}

/// Draws it.
pub fn draw(histogram: &Histogram, look: Look<'_>) -> Drawing {
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let as_height = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let high = histogram.bin(histogram.counts.len() - 1).1;
    let frame = Frame::new(230.0, (histogram.low, high), (0.0, as_height(most)));
    let frame = frame.of(Kind::Any, Kind::Whole);
    let mut frame = if look.ticks.is_empty() {
        frame.axes(look.x_label, look.y_label)
    } else {
        frame.axes_with(look.x_label, &look.ticks, look.y_label)
    };
    // Before the bars, so that no line cuts one.
    for (class, value) in look.rules {
        frame.rule(class, value);
    }
    for (index, count) in histogram.counts.iter().enumerate() {
        if *count == 0 {
            continue;
        }
        let (from, to) = histogram.bin(index);
        let (left, right) = (frame.x.at(from), frame.x.at(to));
        let (bottom, top) = (frame.y.at(0.0), frame.y.at(as_height(*count)));
        // A sliver keeps bars of few rows visible and neighbours apart.
        let height = (bottom - top).max(1.0);
        frame.push(Mark::Rectangle {
            class: "bar".to_owned(),
            x: Px(left + 0.75),
            y: Px(bottom - height),
            width: Px((right - left - 1.5).max(0.5)),
            height: Px(height),
            tip: look.tips.get(index).cloned().unwrap_or_default(),
        });
    }
    frame.finish(look.id, look.title, look.description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_bin_or_left_out() {
        let values = [0.0, 0.1, 0.7, 1.0, 5.0, -1.0, f64::NAN, f64::INFINITY];
        let histogram = Histogram::new(values, (0.0, 1.0), 10);
        assert_eq!(histogram.counts, [2, 1, 0, 0, 0, 0, 0, 1, 0, 2]);
        assert_eq!(histogram.left_out, 2);
    }

    #[test]
    fn shares_fall_into_their_own_bin_in_spite_of_rounding() {
        // Bins around 0, 1/8, …, 1.
        for k in 1..=20_u32 {
            let step = 1.0 / f64::from(k);
            let values = (0..=k).map(|kept| f64::from(kept) / f64::from(k));
            let range = (-step / 2.0, 1.0 + step / 2.0);
            let histogram = Histogram::new(values, range, k as usize + 1);
            assert!(histogram.counts.iter().all(|count| *count == 1), "k = {k}");
        }
    }
}
