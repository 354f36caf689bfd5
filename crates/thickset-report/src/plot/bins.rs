//! Scatter plots of any number of points: each point while there are few, else the number of points in each cell of a grid, so
//! that a plot of 100,000 rows is as small as one of 1,000 and leaves no row out.

use std::collections::BTreeMap;

use super::{Frame, Mark, Marker, Px};

/// Points that are drawn one by one.
pub const MOST: usize = 400;

/// Cells up.
const UP: f64 = 22.0;

/// Shades of a cell.
const SHADES: f64 = 5.0;

/// A point and what is said when it is pointed at.
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Shown when pointed at.
    pub tip: String,
}

/// Whether so many points are drawn as cells.
pub fn is_binned(points: usize) -> bool {
    points > MOST
}

/// Draws the points into the frame. Cells are `across` wide, in the unit of the horizontal axis, and centred on its multiples,
/// so that whole numbers fall into cells of their own.
pub fn draw(frame: &mut Frame, points: impl ExactSizeIterator<Item = Point>, across: f64) {
    if is_binned(points.len()) {
        draw_cells(frame, points, across);
        return;
    }
    for point in points {
        let (x, y) = (frame.x.at(point.x), frame.y.at(point.y));
        frame.push(Mark::Path {
            class: "dot".to_owned(),
            data: Marker::Circle.path(x, y, 3.2),
            tip: point.tip,
        });
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places inside the frame and shades"
)]
fn draw_cells(frame: &mut Frame, points: impl Iterator<Item = Point>, across: f64) {
    let (bottom, top) = frame.ends();
    let height = (bottom - top) / UP;
    let mut cells: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for point in points {
        let column = (point.x / across).round().max(0.0);
        let row = ((frame.y.at(point.y) - top) / height)
            .floor()
            .clamp(0.0, UP - 1.0);
        *cells.entry((column as u32, row as u32)).or_default() += 1;
    }
    let most = cells.values().copied().max().unwrap_or(1);
    for ((column, row), count) in cells {
        // By the logarithm, so that a single row is seen beside a cell of thousands.
        let relative = f64::from(count).ln_1p() / f64::from(most).ln_1p();
        let shade = (relative * SHADES).ceil().clamp(1.0, SHADES) as u32;
        let middle = f64::from(column) * across;
        let (left, right) = (
            frame.x.at(middle - across / 2.0),
            frame.x.at(middle + across / 2.0),
        );
        frame.push(Mark::Rectangle {
            class: format!("cell-{shade}"),
            x: Px(left),
            y: Px(top + f64::from(row) * height),
            width: Px(right - left),
            height: Px(height),
            tip: format!("{count}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use askama::Template as _;

    use super::*;

    fn drawn(count: u32) -> String {
        let mut frame = Frame::new(200.0, (0.0, 1.0), (0.0, 1.0));
        let points: Vec<Point> = (0..count)
            .map(|index| Point {
                x: f64::from(index % 97) / 97.0,
                y: f64::from(index % 89) / 89.0,
                tip: String::new(),
            })
            .collect();
        draw(&mut frame, points.into_iter(), 0.025);
        frame.finish("a", "t", "d").render().unwrap()
    }

    #[test]
    fn few_points_are_drawn_one_by_one() {
        assert_eq!(drawn(400).matches("class=\"dot\"").count(), 400);
    }

    #[test]
    fn cells_leave_no_point_out_and_stay_few() {
        let written = drawn(50_000);
        let counts = written.split("<rect").skip(1).filter_map(|cell| {
            let tip = cell.split("<title>").nth(1)?;
            tip.split('<').next()?.parse::<u32>().ok()
        });
        assert_eq!(counts.sum::<u32>(), 50_000);
        assert!(written.matches("<rect").count() <= 41 * 22);
    }
}
