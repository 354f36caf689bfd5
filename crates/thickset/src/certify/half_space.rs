//! Half-spaces `a.d + c >= 0` of the move d.

use super::vector::dot;

/// One of them. `c` is already widened by `widening`, so every move that the deployed model can be at is inside.
#[derive(Clone, Debug)]
pub(super) struct HalfSpace {
    pub normal: Vec<f64>,
    pub offset: f64,
    /// By how much `offset` is above that of the exact kink.
    pub widening: f64,
    /// `<a, a>`.
    pub square: f64,
    /// `|a|`.
    pub length: f64,
}

/// Below this a normal is zero: the products of two such numbers underflow.
const NO_DIRECTION: f64 = 1e-280;

impl HalfSpace {
    pub(super) fn new(normal: Vec<f64>, exact_offset: f64, widening: f64) -> Self {
        let square = dot(&normal, &normal);
        Self {
            normal,
            offset: exact_offset + widening,
            widening,
            square,
            length: square.sqrt(),
        }
    }

    /// The same boundary with everything on the other side, as widely.
    pub(super) fn other_side(&self) -> Self {
        Self {
            normal: self.normal.iter().map(|value| -value).collect(),
            offset: 2.0 * self.widening - self.offset,
            ..*self
        }
    }

    /// Whether it holds or fails wherever one moves.
    pub(super) fn has_no_direction(&self) -> bool {
        self.square <= NO_DIRECTION
    }

    /// How far inside a move is, in units of `c`.
    pub(super) fn at(&self, d: &[f64]) -> f64 {
        dot(&self.normal, d) + self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_side_has_the_same_kink_and_is_as_wide() {
        // 3 x + 4 y + 2 >= 0, widened by 1/2.
        let side = HalfSpace::new(vec![3.0, 4.0], 2.0, 0.5);
        assert_eq!(
            vec![side.square, side.length, side.offset],
            [25.0, 5.0, 2.5]
        );
        assert_eq!(vec![side.at(&[1.0, -2.0])], [-2.5]);
        let other = side.other_side();
        assert_eq!(other.normal, [-3.0, -4.0]);
        assert_eq!(
            vec![other.offset, other.widening, other.length],
            [-1.5, 0.5, 5.0]
        );
        assert!(!side.has_no_direction());
        assert!(HalfSpace::new(vec![1e-150, 0.0], 1.0, 0.0).has_no_direction());
    }
}
