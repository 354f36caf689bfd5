//! Markers of points: every series has a shape of its own beside its colour, so that colour alone says nothing.

use super::Px;

/// A shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle, point up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle, point down.
    Wedge,
    /// A cross.
    Cross,
}

/// Colours that the style sheet has.
pub const COLOURS: usize = 6;

impl Marker {
    const ALL: [Self; 6] = [
        Self::Circle,
        Self::Square,
        Self::Triangle,
        Self::Diamond,
        Self::Wedge,
        Self::Cross,
    ];

    /// The shape of the series of this number. After every [`COLOURS`] series the shapes move on by one, so 36 series differ.
    pub fn of(series: usize) -> Self {
        Self::ALL[(series + series / COLOURS) % Self::ALL.len()]
    }

    /// Path data of the shape around a point.
    pub fn path(self, x: f64, y: f64, radius: f64) -> String {
        let corners = |points: &[(f64, f64)]| {
            let places = points.iter().enumerate().map(|(index, (dx, dy))| {
                let command = if index == 0 { 'M' } else { 'L' };
                format!("{command}{} {}", Px(x + dx * radius), Px(y + dy * radius))
            });
            places.collect::<String>() + "Z"
        };
        match self {
            Self::Circle => {
                let (r, d) = (Px(radius), Px(2.0 * radius));
                format!(
                    "M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z",
                    Px(x - radius),
                    Px(y)
                )
            }
            Self::Square => corners(&[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)]),
            Self::Triangle => corners(&[(0.0, -1.1), (1.05, 0.8), (-1.05, 0.8)]),
            Self::Diamond => corners(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
            Self::Wedge => corners(&[(0.0, 1.1), (1.05, -0.8), (-1.05, -0.8)]),
            Self::Cross => corners(&[
                (-1.1, -0.7),
                (-0.7, -1.1),
                (0.0, -0.4),
                (0.7, -1.1),
                (1.1, -0.7),
                (0.4, 0.0),
                (1.1, 0.7),
                (0.7, 1.1),
                (0.0, 0.4),
                (-0.7, 1.1),
                (-1.1, 0.7),
                (-0.4, 0.0),
            ]),
        }
    }
}

/// The style of the series of this number.
pub fn class(series: usize) -> String {
    format!("s{}", series % COLOURS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn thirty_six_series_differ_in_colour_or_shape() {
        let looks: BTreeSet<String> = (0..36)
            .map(|series| format!("{} {:?}", class(series), Marker::of(series)))
            .collect();
        assert_eq!(looks.len(), 36);
    }

    #[test]
    fn a_square_has_four_corners() {
        assert_eq!(
            Marker::Square.path(10.0, 10.0, 10.0),
            "M1.5 1.5L18.5 1.5L18.5 18.5L1.5 18.5Z"
        );
    }
}
