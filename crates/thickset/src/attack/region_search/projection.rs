//! The point nearest to the origin of an intersection of half-spaces, by coordinate ascent on the multipliers (Hildreth).

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::sum_of_pairs;

/// What a half-space's border is at right angles to.
#[derive(Clone, Copy)]
pub(super) enum Normal<'a> {
    Dense(&'a [f64]),
    /// The unit vector along this axis: a bound of one feature.
    Axis(usize),
}

/// `sign <normal, d> + offset >= 0`.
pub(super) struct HalfSpace<'a> {
    pub(super) normal: Normal<'a>,
    /// 1 or -1.
    pub(super) sign: f64,
    pub(super) offset: f64,
    /// `||normal||^2`, positive.
    pub(super) square: f64,
}

impl HalfSpace<'_> {
    /// What is missing to the half-space, as a multiple of its normal; negative inside.
    #[inline(always)]
    fn missing(&self, d: &[f64]) -> f64 {
        let along = match self.normal {
            Normal::Dense(normal) => dot(normal, d),
            Normal::Axis(axis) => d[axis],
        };
        -(self.sign * along + self.offset) / self.square
    }

    #[inline(always)]
    fn push(&self, d: &mut [f64], by: f64) {
        let by = by * self.sign;
        match self.normal {
            Normal::Dense(normal) => {
                for (d, a) in d.iter_mut().zip(normal) {
                    *d += by * a;
                }
            }
            Normal::Axis(axis) => d[axis] += by,
        }
    }
}

#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_of_pairs(a, b, |a, b| a * b)
}

/// Rounds over all half-spaces, and rounds over those that hold the point between two of them.
const ROUNDS: usize = 30;
const SHORT_ROUNDS: usize = 4;

/// Shares of the radius: a change after which the point has come to rest, and what a point may lie outside.
const AT_REST: f64 = 1e-6;
const OUTSIDE: f64 = 5e-6;

/// The nearest point to the origin, if it is within the radius and was reached. `multipliers` are where the search begins, and
/// where it ended: those of a neighbour save most of the way.
#[inline(always)]
pub(super) fn nearest(
    half_spaces: &[HalfSpace<'_>],
    multipliers: &mut [f64],
    dimensions: usize,
    radius: f64,
) -> Option<Vec<f64>> {
    let ascent = Ascent {
        half_spaces,
        multipliers,
        dimensions,
        radius,
    };
    ascent.run()
}

struct Ascent<'a> {
    half_spaces: &'a [HalfSpace<'a>],
    multipliers: &'a mut [f64],
    dimensions: usize,
    radius: f64,
}

impl Ascent<'_> {
    /// Moves one multiplier to its best value; how far that moves the point.
    #[inline(always)]
    fn ascend(&mut self, place: usize, d: &mut [f64]) -> f64 {
        let half_space = &self.half_spaces[place];
        let by = half_space.missing(d).max(-self.multipliers[place]);
        if by == 0.0 {
            return 0.0;
        }
        self.multipliers[place] += by;
        half_space.push(d, by);
        by.abs() * half_space.square.sqrt()
    }
}

impl Ascent<'_> {
    #[inline(always)]
    fn run(mut self) -> Option<Vec<f64>> {
        let radius = self.radius;
        let mut d = vec![0.0; self.dimensions];
        for (half_space, multiplier) in self.half_spaces.iter().zip(&*self.multipliers) {
            if *multiplier > 0.0 {
                half_space.push(&mut d, *multiplier);
            }
        }
        let mut holding: Vec<usize> = Vec::with_capacity(self.half_spaces.len());
        for _ in 0..ROUNDS {
            let mut largest = 0.0_f64;
            for place in 0..self.half_spaces.len() {
                largest = largest.max(self.ascend(place, &mut d));
            }
            holding.clear();
            holding.extend((0..self.half_spaces.len()).filter(|&at| self.multipliers[at] > 0.0));
            // Any multipliers prove a distance.
            let mut offsets = 0.0;
            for place in &holding {
                offsets += self.multipliers[*place] * self.half_spaces[*place].offset;
            }
            let proven = -0.5 * dot(&d, &d) - offsets;
            if proven > 0.5 * radius * radius {
                return None;
            }
            if largest < AT_REST * radius {
                break;
            }
            for _ in 0..SHORT_ROUNDS {
                let mut largest = 0.0_f64;
                for place in &holding {
                    largest = largest.max(self.ascend(*place, &mut d));
                }
                if largest < AT_REST * radius {
                    break;
                }
            }
        }
        let outside = OUTSIDE * radius;
        for one in self.half_spaces {
            // Not `>`: what is no number is not inside.
            let is_inside = one.missing(&d) * one.square.sqrt() <= outside;
            if !is_inside {
                return None;
            }
        }
        (dot(&d, &d) <= radius * radius).then_some(d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half_space(normal: &[f64], offset: f64) -> HalfSpace<'_> {
        HalfSpace {
            square: dot(normal, normal),
            normal: Normal::Dense(normal),
            sign: 1.0,
            offset,
        }
    }

    #[test]
    fn the_nearest_point_of_a_corner_is_the_corner() {
        // x >= 3 and y >= 4: (3, 4), 5 from the origin.
        let spaces = [half_space(&[1.0, 0.0], -3.0), half_space(&[0.0, 1.0], -4.0)];
        let mut multipliers = [0.0; 2];
        let found = nearest(&spaces, &mut multipliers, 2, 5.1).unwrap();
        assert!((found[0] - 3.0).abs() < 1e-6 && (found[1] - 4.0).abs() < 1e-6);
        // Begun where it ended, it stays.
        assert_eq!(nearest(&spaces, &mut multipliers, 2, 5.1).unwrap(), found);
        assert!(nearest(&spaces, &mut [0.0; 2], 2, 4.9).is_none());
    }

    #[test]
    fn a_bound_is_the_half_space_of_its_unit_vector() {
        let slope = half_space(&[1.0, 2.0, 0.5], -1.0);
        let bound = |normal| HalfSpace {
            normal,
            sign: -1.0,
            offset: 0.1,
            square: 1.0,
        };
        let unit = [0.0, 1.0, 0.0];
        let found = [Normal::Axis(1), Normal::Dense(&unit)].map(|normal| {
            let spaces = [half_space(&[1.0, 2.0, 0.5], -1.0), bound(normal)];
            nearest(&spaces, &mut [0.0; 2], 3, 2.0).unwrap()
        });
        assert_eq!(found[0], found[1]);
        assert!((found[0][1] - 0.1).abs() < 1e-5, "{found:?}");
        assert!(slope.missing(&found[0]) < 1e-5);
    }

    #[test]
    fn half_spaces_without_a_common_point_are_proven_apart() {
        let spaces = [half_space(&[1.0], -1.0), half_space(&[-1.0], 0.0)];
        assert!(nearest(&spaces, &mut [0.0; 2], 1, 10.0).is_none());
    }

    #[test]
    fn what_is_missing_is_counted_in_normals() {
        let normal = [3.0, 4.0];
        let space = |sign: f64| HalfSpace {
            normal: Normal::Dense(&normal),
            sign,
            offset: 5.0,
            square: 25.0,
        };
        // 3 + 8 + 5 = 16 too much, or -11 + 5 = -6: 6/25 of the normal is missing.
        assert!((space(1.0).missing(&[1.0, 2.0]) + 16.0 / 25.0).abs() < 1e-15);
        assert!((space(-1.0).missing(&[1.0, 2.0]) - 6.0 / 25.0).abs() < 1e-15);
        let mut d = [1.0, 2.0];
        space(-1.0).push(&mut d, 0.5);
        crate::toy::assert_close(&d, &[-0.5, 0.0]);
        let axis = HalfSpace {
            normal: Normal::Axis(1),
            ..space(-1.0)
        };
        axis.push(&mut d, 0.5);
        crate::toy::assert_close(&d, &[-0.5, -0.5]);
        assert!((axis.missing(&d) + 5.5 / 25.0).abs() < 1e-15);
    }

    #[test]
    fn a_multiplier_rises_by_what_is_missing_and_falls_no_lower_than_zero() {
        let spaces = [half_space(&[2.0], -3.0)];
        let mut multipliers = [0.25];
        let mut ascent = Ascent {
            half_spaces: &spaces,
            multipliers: &mut multipliers,
            dimensions: 1,
            radius: 9.0,
        };
        // 2 d >= 3: from 1/2 it is 1 away, which is half a normal.
        let mut d = [0.5];
        assert!((ascent.ascend(0, &mut d) - 1.0).abs() < 1e-15);
        crate::toy::assert_close(&d, &[1.5]);
        assert!((ascent.multipliers[0] - 0.75).abs() < 1e-15);
        assert_eq!(ascent.ascend(0, &mut d).to_bits(), 0.0_f64.to_bits());
        // From 9 it would fall by 3.75, of which there is 0.75.
        d = [9.0];
        assert!((ascent.ascend(0, &mut d) - 1.5).abs() < 1e-15);
        crate::toy::assert_close(&d, &[7.5]);
        assert_eq!(ascent.multipliers[0].to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn multipliers_that_are_known_are_begun_with() {
        // x >= 3 with its multiplier is at its point at once; one too many comes back.
        let spaces = [half_space(&[2.0], -6.0), half_space(&[1.0], -1.0)];
        let mut multipliers = [1.5, 2.0];
        let found = nearest(&spaces, &mut multipliers, 1, 4.0).unwrap();
        assert!((found[0] - 3.0).abs() < 1e-5, "{found:?}");
        assert!((multipliers[0] * 2.0 + multipliers[1] - 3.0).abs() < 1e-5);
    }

    #[test]
    fn a_point_at_just_the_radius_is_within_it() {
        let spaces = [half_space(&[1.0, 0.0], -2.0)];
        let found = nearest(&spaces, &mut [0.0], 2, 2.0).unwrap();
        crate::toy::assert_close(&found, &[2.0, 0.0]);
        assert!(nearest(&spaces, &mut [0.0], 2, 1.999).is_none());
        let none: Option<Vec<f64>> = nearest(&[], &mut [], 2, 1.0);
        crate::toy::assert_close(&none.unwrap(), &[0.0, 0.0]);
    }

    #[test]
    fn a_sharp_corner_is_reached_in_rounds() {
        // y >= 1 and y <= 1/2 + x: the corner (1/2, 1) lies behind an obtuse way.
        let spaces = [half_space(&[0.0, 1.0], -1.0), half_space(&[1.0, -1.0], 0.5)];
        let found = nearest(&spaces, &mut [0.0; 2], 2, 2.0).unwrap();
        assert!(
            (found[0] - 0.5).abs() < 1e-4 && (found[1] - 1.0).abs() < 1e-4,
            "{found:?}"
        );
        assert!(nearest(&spaces, &mut [0.0; 2], 2, 1.1).is_none());
    }
}
