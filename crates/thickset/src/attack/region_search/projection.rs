//! The point nearest to the origin of an intersection of half-spaces, by coordinate ascent on the multipliers (Hildreth).

/// `sign <normal, d> + offset >= 0`.
pub(super) struct HalfSpace<'a> {
    pub(super) normal: &'a [f64],
    /// 1 or -1.
    pub(super) sign: f64,
    pub(super) offset: f64,
    /// `||normal||^2`, positive.
    pub(super) square: f64,
}

impl HalfSpace<'_> {
    /// What is missing to the half-space, as a multiple of its normal; negative inside.
    fn missing(&self, d: &[f64]) -> f64 {
        -(self.sign * dot(self.normal, d) + self.offset) / self.square
    }

    fn push(&self, d: &mut [f64], by: f64) {
        for (d, a) in d.iter_mut().zip(self.normal) {
            *d += by * self.sign * a;
        }
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Rounds over all half-spaces, and rounds over those that hold the point between two of them.
const ROUNDS: usize = 30;
const SHORT_ROUNDS: usize = 4;

/// Shares of the radius: a change after which the point has come to rest, and what a point may lie outside.
const AT_REST: f64 = 1e-6;
const OUTSIDE: f64 = 5e-6;

/// The nearest point to the origin, if it is within the radius and was reached. `multipliers` are where the search begins, and
/// where it ended: those of a neighbour save most of the way.
pub(super) fn nearest(
    half_spaces: &[HalfSpace<'_>],
    multipliers: &mut [f64],
    dimensions: usize,
    radius: f64,
) -> Option<Vec<f64>> {
    let mut d = vec![0.0; dimensions];
    for (half_space, multiplier) in half_spaces.iter().zip(&*multipliers) {
        if *multiplier > 0.0 {
            half_space.push(&mut d, *multiplier);
        }
    }
    let ascend = |place: usize, multipliers: &mut [f64], d: &mut [f64]| {
        let half_space = &half_spaces[place];
        let by = half_space.missing(d).max(-multipliers[place]);
        if by == 0.0 {
            return 0.0;
        }
        multipliers[place] += by;
        half_space.push(d, by);
        by.abs() * half_space.square.sqrt()
    };
    for _ in 0..ROUNDS {
        let mut largest = 0.0_f64;
        for place in 0..half_spaces.len() {
            largest = largest.max(ascend(place, multipliers, &mut d));
        }
        let holding: Vec<usize> = (0..half_spaces.len())
            .filter(|place| multipliers[*place] > 0.0)
            .collect();
        // Any multipliers prove a distance.
        let offsets = holding.iter();
        let offsets = offsets.map(|place| multipliers[*place] * half_spaces[*place].offset);
        let proven = -0.5 * dot(&d, &d) - offsets.sum::<f64>();
        if proven > 0.5 * radius * radius {
            return None;
        }
        if largest < AT_REST * radius {
            break;
        }
        for _ in 0..SHORT_ROUNDS {
            let mut largest = 0.0_f64;
            for place in &holding {
                largest = largest.max(ascend(*place, multipliers, &mut d));
            }
            if largest < AT_REST * radius {
                break;
            }
        }
    }
    let inside = |one: &HalfSpace<'_>| one.missing(&d) * one.square.sqrt() <= OUTSIDE * radius;
    (half_spaces.iter().all(inside) && dot(&d, &d) <= radius * radius).then_some(d)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half_space(normal: &[f64], offset: f64) -> HalfSpace<'_> {
        HalfSpace {
            square: dot(normal, normal),
            normal,
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
    fn half_spaces_without_a_common_point_are_proven_apart() {
        let spaces = [half_space(&[1.0], -1.0), half_space(&[-1.0], 0.0)];
        assert!(nearest(&spaces, &mut [0.0; 2], 1, 10.0).is_none());
    }
}
