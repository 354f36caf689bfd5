//! Series of points: lines by epoch or rank, the trade-off of several models, the figures of a bench.

use thickset::bench::front;

use super::scale::{Kind, range, with_room};
use super::{Drawing, Frame, Mark, Marker, Px, marker};

/// Points above which a series has no markers of its own and is thinned for drawing.
const MANY: usize = 240;

/// Points of one kind.
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// In the order in which lines join them.
    pub points: Vec<[f64; 2]>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Not joined.
    None,
    /// Joined one after the other.
    All,
    /// Those that no other of any series beats in both directions.
    Front,
}

/// What the reader sees beside the series.
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
    /// How points are joined.
    pub join: Join,
    /// A vertical line.
    pub rule: Option<f64>,
    /// Lines begin at the vertical value 0.
    pub from_zero: bool,
    /// What the horizontal values are.
    pub x: Kind,
    /// The height of the drawing.
    pub height: f64,
}

/// Draws the series; points that are not finite are left out.
pub fn draw(series: &[Series], look: &Look<'_>) -> Drawing {
    let finite: Vec<Vec<[f64; 2]>> = series.iter().map(|one| finite(&one.points)).collect();
    let all = || finite.iter().flatten();
    let room = if look.join == Join::All { 0.02 } else { 0.06 };
    let x = range(all().map(|point| point[0])).unwrap_or((0.0, 1.0));
    let (low, high) = range(all().map(|point| point[1])).unwrap_or((0.0, 1.0));
    let y = if look.from_zero && low >= 0.0 {
        (0.0, high * 1.05)
    } else {
        with_room((low, high), 0.06)
    };
    let mut frame = Frame::new(look.height, with_room(x, room), y)
        .of(look.x, Kind::Any)
        .axes(look.x_label, look.y_label);
    if let Some(rule) = look.rule {
        frame.rule("rule", rule);
    }
    if look.join == Join::Front {
        let points: Vec<[f64; 2]> = all().copied().collect();
        frame.push(path(&frame, "front", &front::of(&points)));
    }
    for (number, (points, series)) in finite.iter().zip(series).enumerate() {
        let class = marker::class(number);
        if look.join == Join::All {
            frame.push(path(&frame, &format!("curve {class}"), &thinned(points)));
        }
        if points.len() > MANY {
            continue;
        }
        let radius = if look.join == Join::All { 2.6 } else { 4.5 };
        for point in points {
            let (x, y) = (frame.x.at(point[0]), frame.y.at(point[1]));
            frame.push(Mark::Path {
                class: format!("point {class}"),
                data: Marker::of(number).path(x, y, radius),
                tip: format!("{}: {}, {}", series.name, shown(point[0]), shown(point[1])),
            });
        }
    }
    frame.finish(look.id, look.title, look.description)
}

fn shown(value: f64) -> String {
    crate::number::plain(value)
}

fn finite(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let is_finite = |point: &&[f64; 2]| point.iter().all(|value| value.is_finite());
    points.iter().filter(is_finite).copied().collect()
}

/// At most [`MANY`] points, evenly chosen, the first and the last among them.
fn thinned(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    if points.len() <= MANY {
        return points.to_vec();
    }
    let last = points.len() - 1;
    (0..MANY)
        .map(|index| points[index * last / (MANY - 1)])
        .collect()
}

fn path(frame: &Frame, class: &str, points: &[[f64; 2]]) -> Mark {
    let places = points.iter().enumerate().map(|(index, point)| {
        let command = if index == 0 { 'M' } else { 'L' };
        format!(
            "{command}{} {}",
            Px(frame.x.at(point[0])),
            Px(frame.y.at(point[1]))
        )
    });
    Mark::Path {
        class: class.to_owned(),
        data: places.collect(),
        tip: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use askama::Template as _;

    use super::*;

    fn look(join: Join) -> Look<'static> {
        Look {
            id: "a",
            title: "t",
            description: "d",
            x_label: "x",
            y_label: "y",
            join,
            rule: None,
            from_zero: false,
            x: Kind::Any,
            height: 200.0,
        }
    }

    #[test]
    fn thinning_keeps_the_ends() {
        let points: Vec<[f64; 2]> = (0..3072).map(|index| [f64::from(index), 0.0]).collect();
        let thin = thinned(&points);
        assert_eq!(thin.len(), MANY);
        assert_eq!((thin[0], thin[MANY - 1]), (points[0], points[3071]));
    }

    #[test]
    fn values_that_are_not_finite_leave_no_trace() {
        let series = [Series {
            name: "a".to_owned(),
            points: vec![[f64::NAN, 1.0], [1.0, f64::INFINITY], [2.0, 3.0]],
        }];
        let written = draw(&series, &look(Join::All)).render().unwrap();
        assert!(
            !written.contains("NaN") && !written.contains("inf"),
            "{written}"
        );
        assert_eq!(written.matches("point s0").count(), 1);
    }

    #[test]
    fn no_series_is_an_empty_frame() {
        for join in [Join::None, Join::All, Join::Front] {
            assert!(draw(&[], &look(join)).render().unwrap().contains("<text"));
        }
    }
}
