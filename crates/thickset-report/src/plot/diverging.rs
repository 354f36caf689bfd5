//! Horizontal bars to both sides of zero: a name above each, what is below zero to the left.

use super::{Anchor, Drawing, Mark, Px, Scale, WIDTH, line, shortened, text};

/// Letters of a name that fit above the bars.
const NAME: usize = 54;
const BAR: f64 = 9.0;
/// Room at both sides for the values.
const VALUE: f64 = 46.0;

/// A bar.
pub struct SignedBar {
    /// Written above it.
    pub name: String,
    /// To the right above zero, to the left below.
    pub value: f64,
    /// Written at its end.
    pub label: String,
    /// A second bar on the same line, to the other side.
    pub opposite: Option<(f64, String)>,
}

/// Draws the bars, all on one scale.
pub fn draw(bars: &[SignedBar], id: &str, title: &str, description: &str) -> Drawing {
    let finite = bars
        .iter()
        .flat_map(|bar| {
            [
                Some(bar.value),
                bar.opposite.as_ref().map(|(value, _)| *value),
            ]
        })
        .flatten()
        .filter(|value| value.is_finite());
    let (low, high) = finite.fold((0.0_f64, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    // Without bars to the left there is no room lost there.
    let from = if low < 0.0 { VALUE } else { 2.0 };
    let x = Scale::new((low, high), (from, WIDTH - VALUE));
    let zero = x.at(0.0);
    let mut marks = Vec::new();
    let mut y = 4.0;
    for bar in bars {
        marks.push(text(
            "name",
            2.0,
            y + 12.0,
            Anchor::Start,
            shortened(&bar.name, NAME),
        ));
        y += 18.0;
        let own = std::iter::once((bar.value, &bar.label));
        let opposite = bar.opposite.iter().map(|(value, label)| (*value, label));
        for (value, label) in own.chain(opposite) {
            let value = if value.is_finite() { value } else { 0.0 };
            let end = x.at(value);
            marks.push(Mark::Rectangle {
                class: if value < 0.0 { "bar-1" } else { "bar-0" }.to_owned(),
                x: Px(zero.min(end)),
                y: Px(y),
                width: Px((end - zero).abs().max(1.0)),
                height: Px(BAR),
                tip: format!("{}: {label}", bar.name),
            });
            let (place, anchor) = if value < 0.0 {
                (end - 5.0, Anchor::End)
            } else {
                (end + 5.0, Anchor::Start)
            };
            marks.push(text("value", place, y + BAR - 0.5, anchor, label.clone()));
        }
        // Beside the bars only: a line through all would cut the names.
        if low < 0.0 {
            marks.push(line("axis", (zero, y - 2.0), (zero, y + BAR + 2.0)));
        }
        y += BAR + 11.0;
    }
    Drawing {
        id: id.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        height: y.max(20.0),
        marks,
    }
}

#[cfg(test)]
mod tests {
    use askama::Template as _;

    use super::*;

    #[test]
    fn what_is_below_zero_lies_to_the_left_of_it() {
        let bar = |value: f64| SignedBar {
            name: "a".to_owned(),
            value,
            label: "l".to_owned(),
            opposite: None,
        };
        let written = draw(&[bar(1.0), bar(-1.0), bar(f64::NAN)], "a", "t", "d");
        let written = written.render().unwrap();
        let lefts: Vec<&str> = written
            .split("<rect")
            .skip(1)
            .filter_map(|rest| rest.split(" x=\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(lefts, ["200", "46", "200"]);
    }
}
