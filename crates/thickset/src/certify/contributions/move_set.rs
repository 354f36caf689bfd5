//! Moves of a row: a ball cut to what each feature may do.

use super::super::ball::MoveNorm;

/// All `x + d` with `|d| <= radius` and `low <= d <= high`, which holds no move.
pub(in super::super) struct MoveSet<'a> {
    pub(in super::super) x: &'a [f64],
    pub(in super::super) norm: MoveNorm,
    pub(in super::super) radius: f64,
    pub(in super::super) low: &'a [f64],
    pub(in super::super) high: &'a [f64],
}

impl MoveSet<'_> {
    /// The features that can move.
    pub(in super::super) fn moving(&self) -> impl Iterator<Item = usize> {
        let limits = self.low.iter().zip(self.high).enumerate();
        let can_move = limits.filter(|(_, (low, high))| **low < 0.0 || **high > 0.0);
        can_move.map(|(feature, _)| feature)
    }

    /// The most that `Σ q_f d_f` can fall, over the features that are given.
    pub(in super::super) fn fall(&self, terms: impl Iterator<Item = (usize, f64)>) -> f64 {
        let (mut square, mut boxed) = (0.0, 0.0);
        for (feature, q) in terms {
            let limit = if q > 0.0 {
                -self.low[feature]
            } else {
                self.high[feature]
            };
            if limit > 0.0 {
                square += q * q;
                boxed += q.abs() * limit.min(self.radius);
            }
        }
        match self.norm {
            MoveNorm::L2 => f64::min(boxed, self.radius * f64::sqrt(square)),
            MoveNorm::Linf => boxed,
        }
    }

    /// The most that it can rise.
    pub(in super::super) fn rise(&self, terms: impl Iterator<Item = (usize, f64)>) -> f64 {
        self.fall(terms.map(|(feature, q)| (feature, -q)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_function_falls_as_far_as_ball_and_limits_allow() {
        let (x, low, high) = ([0.0; 3], [-1.0, -0.1, 0.0], [1.0, 1.0, 0.0]);
        let set = |norm| MoveSet {
            x: &x,
            norm,
            radius: 0.5,
            low: &low,
            high: &high,
        };
        let q = || [(0, 3.0), (1, 4.0), (2, 100.0)].into_iter();
        // The third feature stays. The whole ball would allow 0.5 * 5, the limits 0.5 * 3 + 0.1 * 4.
        assert!((set(MoveNorm::L2).fall(q()) - 1.9).abs() < 1e-12);
        assert!((set(MoveNorm::L2).rise(q()) - 2.5).abs() < 1e-12);
        assert!((set(MoveNorm::Linf).rise(q()) - 3.5).abs() < 1e-12);
    }

    #[test]
    fn a_feature_moves_if_either_of_its_limits_allows_it() {
        let (low, high) = ([-1.0, 0.0, 0.0, -1.0], [0.0, 1.0, 0.0, 1.0]);
        let set = MoveSet {
            x: &[0.0; 4],
            norm: MoveNorm::L2,
            radius: 2.0,
            low: &low,
            high: &high,
        };
        assert_eq!(set.moving().collect::<Vec<_>>(), [0, 1, 3]);
        // The first can only fall and the second only rise, each by 1; the length of the rest does not count.
        let q = || [(0, 3.0), (1, 4.0)].into_iter();
        assert!((set.fall(q()) - 3.0).abs() < 1e-12);
        assert!((set.rise(q()) - 4.0).abs() < 1e-12);
        assert!(set.fall([(2, 9.0), (1, 0.0)].into_iter()).abs() < 1e-12);
    }
}
