//! Lower bounds of linear functions over a ball and half-spaces, by their dual, one multiplier at a time.
//!
//! For any `β >= 0`: `q.d >= -Σ β_i c_i - r |q - Σ β_i a_i|` over all d with `|d| <= r` and `a_i.d + c_i >= 0`, in the dual norm.
//! The multipliers are looked for by bisection of the dual's slope; the value that they prove is computed afresh.

use super::super::ball::MoveNorm;
use crate::check::as_f64;

/// `a.d + c >= 0`.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub a: Vec<f64>,
    pub c: f64,
}

/// A ball cut by half-spaces.
pub(super) struct Dual<'a> {
    pub norm: MoveNorm,
    pub radius: f64,
    pub cuts: &'a [Cut],
}

/// Sweeps over the multipliers, and halvings for each.
const SWEEPS: usize = 3;
const HALVINGS: usize = 40;

/// Sweeps where all rests on one answer, and how much of a corner each leaves.
const MANY_SWEEPS: usize = 60;
const SHARPER: f64 = 0.7;

/// Sweeps of the projection that looks for an empty part.
const PROJECTIONS: usize = 100;

impl Dual<'_> {
    /// A lower bound of `q.d`.
    pub(super) fn least(&self, q: &[f64]) -> f64 {
        self.ascend(q, SWEEPS)
    }

    /// The same after so many sweeps. The dual of the largest norm has corners at which single multipliers get stuck; they are
    /// rounded off, less at every sweep.
    fn ascend(&self, q: &[f64], sweeps: usize) -> f64 {
        let mut multipliers = vec![0.0; self.cuts.len()];
        let mut rest = q.to_vec();
        let mut corner = self.size(q) / as_f64(q.len().max(1));
        for _ in 0..sweeps {
            corner *= SHARPER;
            for (cut, multiplier) in self.cuts.iter().zip(&mut multipliers) {
                let next = self.best(&rest, cut, *multiplier, corner);
                for (rest, a) in rest.iter_mut().zip(&cut.a) {
                    *rest -= (next - *multiplier) * a;
                }
                *multiplier = next;
            }
        }
        let plain = self.value(q, &vec![0.0; self.cuts.len()]);
        plain.max(self.value(q, &multipliers))
    }

    /// What multipliers prove. Each number added up is rounded at most `operations` times, so the sum of their absolute values
    /// bounds what rounding can have added.
    pub(super) fn value(&self, q: &[f64], multipliers: &[f64]) -> f64 {
        let mut rest = q.to_vec();
        let (mut sum, mut size, mut summed) = (0.0, self.size(q), 0.0);
        for (cut, &multiplier) in self.cuts.iter().zip(multipliers) {
            if multiplier > 0.0 {
                for (rest, a) in rest.iter_mut().zip(&cut.a) {
                    *rest -= multiplier * a;
                }
                sum += multiplier * cut.c;
                summed += multiplier * cut.c.abs();
                size += multiplier * self.size(&cut.a);
            }
        }
        let operations = as_f64(2 * self.cuts.len() + 2 * q.len() + 16);
        let error = operations * f64::EPSILON * (summed + self.radius * size);
        -sum - self.radius * self.size(&rest) - error
    }

    /// Whether one half-space after the other is shown to miss what the ball and the rest leave.
    pub(super) fn is_surely_empty(&self) -> bool {
        self.cuts.iter().any(|cut| {
            let negative: Vec<f64> = cut.a.iter().map(|a| -a).collect();
            self.ascend(&negative, MANY_SWEEPS) > cut.c
        })
    }

    /// Whether some multipliers prove that no move is in all half-spaces.
    pub(super) fn is_empty(&self, dimensions: usize) -> bool {
        let mut d = vec![0.0; dimensions];
        let mut multipliers = vec![0.0; self.cuts.len()];
        let zero = vec![0.0; dimensions];
        for sweep in 1..=PROJECTIONS {
            for (cut, multiplier) in self.cuts.iter().zip(&mut multipliers) {
                let square: f64 = cut.a.iter().map(|a| a * a).sum();
                let inside: f64 = cut.a.iter().zip(&d).map(|(a, d)| a * d).sum();
                if square <= f64::MIN_POSITIVE {
                    continue;
                }
                let next = f64::max(*multiplier - (inside + cut.c) / square, 0.0);
                for (d, a) in d.iter_mut().zip(&cut.a) {
                    *d += (next - *multiplier) * a;
                }
                *multiplier = next;
            }
            if sweep % 10 == 0 && self.value(&zero, &multipliers) > 0.0 {
                return true;
            }
        }
        false
    }

    /// The multiplier at which the dual is largest along one cut: where its slope changes sign.
    fn best(&self, rest: &[f64], cut: &Cut, now: f64, corner: f64) -> f64 {
        let base: Vec<f64> = rest.iter().zip(&cut.a).map(|(r, a)| r + now * a).collect();
        let size = self.size(&cut.a);
        if size <= f64::MIN_POSITIVE {
            return 0.0;
        }
        let slope = |multiplier: f64| -> f64 {
            let rest = base
                .iter()
                .zip(&cut.a)
                .map(|(b, a)| (b - multiplier * a, a));
            -cut.c
                + self.radius
                    * match self.norm {
                        MoveNorm::L2 => {
                            let (mut along, mut square) = (0.0, 0.0);
                            for (rest, a) in rest {
                                along += rest * a;
                                square += rest * rest;
                            }
                            if square > 0.0 {
                                along / f64::sqrt(square)
                            } else {
                                0.0
                            }
                        }
                        MoveNorm::Linf => rest
                            .map(|(rest, a)| {
                                let size = f64::hypot(rest, corner);
                                if size > 0.0 { a * rest / size } else { 0.0 }
                            })
                            .sum(),
                    }
        };
        if slope(0.0) <= 0.0 {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, 2.0 * self.size(&base) / size + 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if slope(middle) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The norm dual to the ball's.
    fn size(&self, q: &[f64]) -> f64 {
        match self.norm {
            MoveNorm::L2 => q.iter().map(|q| q * q).sum::<f64>().sqrt(),
            MoveNorm::Linf => q.iter().map(|q| q.abs()).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cut_of_a_disc_and_of_a_square() {
        // The least of x over the unit disc with y >= 0.6 is -0.8; the least of x + y over the square with x - y >= 0.5 is -1.5.
        let cuts = [Cut {
            a: vec![0.0, 1.0],
            c: -0.6,
        }];
        let disc = Dual {
            norm: MoveNorm::L2,
            radius: 1.0,
            cuts: &cuts,
        };
        assert!((disc.least(&[1.0, 0.0]) + 0.8).abs() < 1e-6);
        let cuts = [Cut {
            a: vec![1.0, -1.0],
            c: -0.5,
        }];
        let square = Dual {
            norm: MoveNorm::Linf,
            radius: 1.0,
            cuts: &cuts,
        };
        assert!((square.ascend(&[1.0, 1.0], MANY_SWEEPS) + 1.5).abs() < 1e-6);
        assert!(!square.is_empty(2));
    }

    #[test]
    fn half_spaces_without_a_common_move_are_empty() {
        let cuts = [
            Cut {
                a: vec![1.0, 0.0],
                c: -0.5,
            },
            Cut {
                a: vec![-1.0, 0.1],
                c: 0.2,
            },
        ];
        for norm in [MoveNorm::L2, MoveNorm::Linf] {
            let dual = Dual {
                norm,
                radius: 1.0,
                cuts: &cuts,
            };
            assert!(dual.is_empty(2), "{norm:?}");
            let dual = Dual {
                radius: 5.0,
                ..dual
            };
            assert!(!dual.is_empty(2), "{norm:?}");
        }
    }

    fn cut(a: [f64; 2], c: f64) -> Cut {
        Cut { a: a.to_vec(), c }
    }

    #[test]
    fn multipliers_prove_a_sum_less_what_rounding_can_have_added() {
        let cuts = [cut([3.0, 4.0], -2.0), cut([0.0, 1.0], 0.5)];
        // q is (4, 5); once the first and twice the second leave (1, -1), and -2 + 1 are added.
        for (norm, [q, rest, first, second]) in [
            (MoveNorm::L2, [41.0_f64.sqrt(), 2.0_f64.sqrt(), 5.0, 1.0]),
            (MoveNorm::Linf, [9.0, 2.0, 7.0, 1.0]),
        ] {
            let dual = Dual {
                norm,
                radius: 2.0,
                cuts: &cuts,
            };
            let operations = 2.0 * 2.0 + 2.0 * 2.0 + 16.0;
            let summed = 2.0 + 1.0 + 2.0 * (q + first + 2.0 * second);
            let error = operations * f64::EPSILON * summed;
            assert!(error > 1e-13);
            let found = dual.value(&[4.0, 5.0], &[1.0, 2.0]);
            let expected = 1.0 - 2.0 * rest - error;
            assert!((found - expected).abs() < 2e-15, "{found} {expected}");
            // Without multipliers it is the ball alone.
            let error = operations * f64::EPSILON * 2.0 * q;
            let found = dual.value(&[4.0, 5.0], &[0.0, 0.0]);
            assert!((found - (-2.0 * q - error)).abs() < 4e-15, "{found}");
        }
    }

    #[test]
    fn a_larger_ball_and_longer_normals_are_answered_exactly() {
        let cases = [
            (MoveNorm::L2, [1.0, 0.0], vec![cut([0.0, 2.0], -2.4)], -1.6),
            (MoveNorm::L2, [0.0, 3.0], vec![cut([0.0, 2.0], 2.4)], -3.6),
            (MoveNorm::L2, [3.0, 4.0], vec![cut([0.0, 2.0], 2.4)], -9.6),
            (MoveNorm::L2, [3.0, 4.0], vec![cut([0.0, 0.0], 1.0)], -10.0),
            (MoveNorm::Linf, [2.0, 1.0], vec![cut([1.0, 1.0], 1.0)], -3.0),
            (
                MoveNorm::Linf,
                [3.0, -1.0],
                vec![cut([2.0, 0.0], 1.0)],
                -3.5,
            ),
        ];
        for (norm, q, cuts, exact) in cases {
            let dual = Dual {
                norm,
                radius: 2.0,
                cuts: &cuts,
            };
            let found = dual.ascend(&q, MANY_SWEEPS);
            assert!(
                found <= exact && found > exact - 1e-5,
                "{norm:?} {q:?}: {found} {exact}"
            );
            assert!(dual.least(&q) <= exact);
        }
    }

    #[test]
    fn a_part_is_surely_empty_where_one_half_space_misses_what_the_others_leave() {
        // x >= 1 and x <= c.
        for norm in [MoveNorm::L2, MoveNorm::Linf] {
            for (most, is_empty) in [(0.9, true), (1.1, false)] {
                let cuts = [cut([1.0, 0.0], -1.0), cut([-1.0, 0.0], most)];
                let dual = Dual {
                    norm,
                    radius: 2.0,
                    cuts: &cuts,
                };
                assert_eq!(dual.is_surely_empty(), is_empty, "{norm:?} {most}");
                assert_eq!(dual.is_empty(2), is_empty, "{norm:?} {most}");
            }
        }
    }

    #[test]
    fn how_long_normals_are_does_not_matter() {
        for length in [0.1, 3.0] {
            // y >= 1.2 in the disc of 2; and x >= 1 with x <= 0.9.
            let cuts = [cut([0.0, length], -1.2 * length)];
            let dual = Dual {
                norm: MoveNorm::L2,
                radius: 2.0,
                cuts: &cuts,
            };
            let found = dual.least(&[1.0, 0.0]);
            assert!((found + 1.6).abs() < 1e-6, "{length}: {found}");
            let cuts = [cut([length, 0.0], -length), cut([-1.0, 0.0], 0.9)];
            let dual = Dual {
                cuts: &cuts,
                ..dual
            };
            assert!(dual.is_empty(2), "{length}");
        }
    }
}
