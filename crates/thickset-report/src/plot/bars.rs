//! Horizontal bars: a name above each group of bars, so that long names fit on a phone.

use super::{Anchor, Drawing, Mark, Px, Scale, WIDTH, line, shortened, text};

/// Letters of a name that fit above the bars.
const NAME: usize = 54;
const BAR: f64 = 9.0;
/// Room at the right for the value.
const VALUE: f64 = 58.0;

/// One name with a bar for each series.
pub struct Group {
    /// Its name.
    pub name: String,
    /// One a series.
    pub bars: Vec<Bar>,
}

/// A bar.
pub struct Bar {
    /// Its length.
    pub value: f64,
    /// Written at its end.
    pub label: String,
    /// An interval drawn over it.
    pub interval: Option<(f64, f64)>,
}

/// Draws groups of bars from 0 to `most`.
pub fn draw(groups: &[Group], most: f64, id: &str, title: &str, description: &str) -> Drawing {
    let x = Scale::new((0.0, most), (2.0, WIDTH - VALUE));
    let mut marks = Vec::new();
    let mut y = 4.0;
    for group in groups {
        marks.push(text(
            "name",
            2.0,
            y + 12.0,
            Anchor::Start,
            shortened(&group.name, NAME),
        ));
        y += 18.0;
        for (series, bar) in group.bars.iter().enumerate() {
            let end = x.at(if bar.value.is_finite() {
                bar.value
            } else {
                0.0
            });
            marks.push(Mark::Rectangle {
                class: format!("bar-{series}"),
                x: Px(2.0),
                y: Px(y),
                width: Px((end - 2.0).max(1.0)),
                height: Px(BAR),
                tip: format!("{}: {}", group.name, bar.label),
            });
            if let Some((low, high)) = bar.interval {
                let middle = y + BAR / 2.0;
                marks.push(line("whisker", (x.at(low), middle), (x.at(high), middle)));
            }
            let after = bar.interval.map_or(end, |(_, high)| x.at(high).max(end));
            marks.push(text(
                "value",
                after + 5.0,
                y + BAR - 0.5,
                Anchor::Start,
                bar.label.clone(),
            ));
            y += BAR + 3.0;
        }
        y += 8.0;
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
    fn a_bar_is_as_long_as_its_share_of_the_most() {
        let bar = |value: f64| Bar {
            value,
            label: "a".to_owned(),
            interval: None,
        };
        let groups = [Group {
            name: "one".to_owned(),
            bars: vec![bar(2.0), bar(1.0), bar(f64::NAN)],
        }];
        let written = draw(&groups, 2.0, "a", "t", "d").render().unwrap();
        let widths: Vec<&str> = written
            .split(" width=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert_eq!(widths, ["340", "170", "1"]);
    }

    #[test]
    fn no_bars_are_an_empty_drawing() {
        assert!(
            draw(&[], 0.0, "a", "t", "d")
                .render()
                .unwrap()
                .contains("</svg>")
        );
    }
}
