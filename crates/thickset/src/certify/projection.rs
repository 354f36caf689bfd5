//! The nearest move in a set of half-spaces, and a proof of how near it is.
//!
//! For multipliers `λ >= 0`, a move in all half-spaces has `(Σ λ_i a_i).d >= -Σ λ_i c_i`. So it is at least
//! `-Σ λ_i c_i / |Σ λ_i a_i|` away, in the dual norm, whatever the multipliers; and that sum is a half-space of its own. The
//! multipliers come from Hildreth's coordinate ascent and, where the answer must be exact, from the equations of the half-spaces
//! that are tight at it.

use super::ball::MoveNorm;
use super::half_space::HalfSpace;
use super::rounding::{SEARCH_UNIT, gamma};
use super::vector::{absolute_sum, add_scaled, dot, length};

/// What is known of the nearest move.
pub(super) struct Projection {
    /// In l2 the nearest move, as far as the ascent got.
    pub nearest: Vec<f64>,
    /// No move of the set is nearer than this, in the norm asked for; infinite where the set is empty.
    pub at_least: f64,
    /// A half-space that holds the whole set, where there is one that does not hold 0.
    pub aggregate: Option<HalfSpace>,
}

/// The ball that moves are taken from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub dimensions: usize,
    pub radius: f64,
}

/// Changes of a move below this end the ascent: the radii looked for are told apart at 1e-9.
const SETTLED: f64 = 1e-13;

/// Sweeps between two looks at the bound.
const SWEEPS_A_LOOK: usize = 8;

/// A ratio proved below this is as good as none.
const NO_DISTANCE: f64 = 1e-9;

/// Half-spaces that are tight at the answer, more of which than there are dimensions cannot be told apart.
const MOST_TIGHT: usize = 64;

/// Projects 0, with at most so many sweeps, until the bound reaches `enough`. With `polish` the tight half-spaces are solved
/// for.
pub(super) fn project(
    norm: MoveNorm,
    cuts: &[&HalfSpace],
    reach: Reach,
    sweeps: usize,
    enough: f64,
    polish: bool,
) -> Projection {
    let dimensions = reach.dimensions;
    let mut state = Hildreth {
        cuts,
        nearest: vec![0.0; dimensions],
        multipliers: vec![0.0; cuts.len()],
        reach: reach.radius,
        is_empty: false,
    };
    let mut found = Proof::default();
    for sweep in 0..sweeps {
        let moved = state.sweep();
        if state.is_empty {
            found.at_least = f64::INFINITY;
            break;
        }
        let is_settled = moved < SETTLED;
        if is_settled || sweep % SWEEPS_A_LOOK == SWEEPS_A_LOOK - 1 || sweep + 1 == sweeps {
            found.keep(Proof::of(norm, cuts, &state.multipliers, reach));
            if is_settled || found.at_least >= enough {
                break;
            }
            if polish && sweep + 1 >= SWEEPS_A_LOOK && state.solve_tight() {
                found.keep(Proof::of(norm, cuts, &state.multipliers, reach));
                break;
            }
        }
    }
    Projection {
        nearest: state.nearest,
        at_least: found.at_least,
        aggregate: found.aggregate,
    }
}

/// What some multipliers prove.
#[derive(Default)]
pub(super) struct Proof {
    pub at_least: f64,
    pub aggregate: Option<HalfSpace>,
}

impl Proof {
    fn keep(&mut self, other: Self) {
        if other.at_least > self.at_least {
            *self = other;
        }
    }

    /// Computed afresh, and rounding taken off.
    pub(super) fn of(
        norm: MoveNorm,
        cuts: &[&HalfSpace],
        multipliers: &[f64],
        reach: Reach,
    ) -> Self {
        let mut normal = vec![0.0; reach.dimensions];
        let (mut needed, mut offsets, mut lengths) = (0.0, 0.0, 0.0);
        for (cut, &multiplier) in cuts.iter().zip(multipliers) {
            if multiplier > 0.0 {
                add_scaled(&mut normal, multiplier, &cut.normal);
                needed -= multiplier * cut.offset;
                offsets += multiplier * cut.offset.abs();
                lengths += multiplier
                    * match norm {
                        MoveNorm::L2 => cut.length,
                        MoveNorm::Linf => absolute_sum(&cut.normal),
                    };
            }
        }
        let rounding = gamma(2 * cuts.len() + 2 * reach.dimensions + 8, SEARCH_UNIT);
        let needed = needed - rounding * offsets;
        let size = norm.dual(&normal) + rounding * lengths;
        if !(needed > 0.0 && size > 0.0) {
            return Self::default();
        }
        let at_least = needed / size * (1.0 - 4.0 * SEARCH_UNIT);
        // The normal is rounded too, and moves up to the radius feel it.
        let aggregate = (at_least > NO_DISTANCE)
            .then(|| HalfSpace::new(normal, -needed, rounding * lengths * reach.radius));
        Self {
            at_least,
            aggregate,
        }
    }
}

struct Hildreth<'a> {
    cuts: &'a [&'a HalfSpace],
    nearest: Vec<f64>,
    multipliers: Vec<f64>,
    reach: f64,
    is_empty: bool,
}

impl Hildreth<'_> {
    /// Sets each multiplier in turn; how far the move went at most.
    fn sweep(&mut self) -> f64 {
        let mut most = 0.0_f64;
        for (cut, multiplier) in self.cuts.iter().zip(&mut self.multipliers) {
            if cut.has_no_direction() {
                if cut.offset + absolute_sum(&cut.normal) * self.reach < 0.0 {
                    self.is_empty = true;
                }
                continue;
            }
            let inside = cut.at(&self.nearest);
            let next = (*multiplier - inside / cut.square).max(0.0);
            let change = next - *multiplier;
            if change != 0.0 {
                add_scaled(&mut self.nearest, change, &cut.normal);
                *multiplier = next;
                most = most.max(change.abs() * cut.length);
            }
        }
        most
    }

    /// Solves for the half-spaces that seem tight, lets go of those that pull and takes in those that are violated. Whether that
    /// ended in the nearest move.
    fn solve_tight(&mut self) -> bool {
        let mut tight: Vec<usize> = (0..self.cuts.len())
            .filter(|place| self.multipliers[*place] > 0.0)
            .collect();
        for _ in 0..2 * MOST_TIGHT {
            if tight.is_empty() || tight.len() > MOST_TIGHT {
                return false;
            }
            let Some(solved) = solve(self.cuts, &tight) else {
                return false;
            };
            let worst = (0..tight.len()).min_by(|a, b| solved[*a].total_cmp(&solved[*b]));
            if let Some(worst) = worst.filter(|worst| solved[*worst] < 0.0) {
                tight.remove(worst);
                continue;
            }
            let mut nearest = vec![0.0; self.nearest.len()];
            for (place, multiplier) in tight.iter().zip(&solved) {
                add_scaled(&mut nearest, *multiplier, &self.cuts[*place].normal);
            }
            let size = length(&nearest).max(1e-3);
            let mut outside = (0.0, None);
            for (place, cut) in self.cuts.iter().enumerate() {
                if cut.has_no_direction() || tight.contains(&place) {
                    continue;
                }
                let by = -cut.at(&nearest) / cut.length;
                if by > outside.0 {
                    outside = (by, Some(place));
                }
            }
            match outside {
                (by, Some(place)) if by > 1e-12 * size => tight.push(place),
                _ => {
                    self.multipliers.fill(0.0);
                    for (place, multiplier) in tight.iter().zip(solved) {
                        self.multipliers[*place] = multiplier;
                    }
                    self.nearest = nearest;
                    return true;
                }
            }
        }
        false
    }
}

/// The multipliers at which the chosen half-spaces are all tight, by Cholesky's factors of their normals' products.
fn solve(cuts: &[&HalfSpace], chosen: &[usize]) -> Option<Vec<f64>> {
    let count = chosen.len();
    let mut factor = vec![0.0; count * count];
    for (row, &place) in chosen.iter().enumerate() {
        let cut = cuts[place];
        for (column, &other) in chosen[..=row].iter().enumerate() {
            let product = dot(&cut.normal, &cuts[other].normal);
            let known = dot(
                &factor[row * count..][..column],
                &factor[column * count..][..column],
            );
            let rest = product - known;
            if row == column {
                // Normals that depend on each other have no factors.
                if rest <= 1e-12 * cut.square {
                    return None;
                }
                factor[row * count + column] = rest.sqrt();
            } else {
                factor[row * count + column] = rest / factor[column * count + column];
            }
        }
    }
    let mut solved: Vec<f64> = chosen.iter().map(|place| -cuts[*place].offset).collect();
    for row in 0..count {
        let known = dot(&factor[row * count..][..row], &solved[..row]);
        solved[row] = (solved[row] - known) / factor[row * count + row];
    }
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count)
            .map(|below| factor[below * count + row] * solved[below])
            .sum();
        solved[row] = (solved[row] - known) / factor[row * count + row];
    }
    Some(solved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(norm: MoveNorm, cuts: &[HalfSpace]) -> Projection {
        let cuts: Vec<&HalfSpace> = cuts.iter().collect();
        let reach = Reach {
            dimensions: 2,
            radius: 100.0,
        };
        project(norm, &cuts, reach, 1000, f64::INFINITY, true)
    }

    #[test]
    fn a_corner_is_found() {
        // x >= 1 and y >= 2: the nearest move is (1, 2).
        let cuts = [
            HalfSpace::new(vec![1.0, 0.0], -1.0, 0.0),
            HalfSpace::new(vec![0.0, 1.0], -2.0, 0.0),
            HalfSpace::new(vec![1.0, 1.0], -0.5, 0.0),
        ];
        let found = nearest(MoveNorm::L2, &cuts);
        assert!((found.at_least - 5.0_f64.sqrt()).abs() < 1e-9);
        assert!(found.at_least <= 5.0_f64.sqrt());
        assert!((found.nearest[0] - 1.0).abs() < 1e-9 && (found.nearest[1] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn half_spaces_that_hold_zero_are_no_distance_away() {
        let found = nearest(MoveNorm::L2, &[HalfSpace::new(vec![1.0, 0.0], 0.5, 0.0)]);
        assert!(found.at_least <= 0.0 && found.aggregate.is_none());
    }

    #[test]
    fn half_spaces_without_a_common_move_are_infinitely_far() {
        let cuts = [
            HalfSpace::new(vec![1.0, 0.0], -1.0, 0.0),
            HalfSpace::new(vec![-1.0, 0.0], 0.5, 0.0),
        ];
        assert!(nearest(MoveNorm::L2, &cuts).at_least > 50.0);
    }

    #[test]
    fn in_the_largest_norm_the_bound_is_lower() {
        // x + y >= 2: (1, 1), whose length is sqrt 2 and whose largest entry is 1.
        let cut = [HalfSpace::new(vec![1.0, 1.0], -2.0, 0.0)];
        assert!((nearest(MoveNorm::L2, &cut).at_least - 2.0_f64.sqrt()).abs() < 1e-9);
        assert!((nearest(MoveNorm::Linf, &cut).at_least - 1.0).abs() < 1e-9);
    }

    fn proved(norm: MoveNorm, cuts: &[HalfSpace], multipliers: &[f64]) -> Proof {
        let cuts: Vec<&HalfSpace> = cuts.iter().collect();
        let reach = Reach {
            dimensions: 2,
            radius: 100.0,
        };
        Proof::of(norm, &cuts, multipliers, reach)
    }

    #[test]
    fn any_multipliers_prove_a_distance_less_rounding() {
        let cuts = [
            HalfSpace::new(vec![1.0, 0.0], -3.0, 0.0),
            HalfSpace::new(vec![0.0, 2.0], -8.0, 0.0),
            HalfSpace::new(vec![-1.0, 0.0], 7.0, 0.0),
        ];
        // 3 x + 4 y >= 9 + 16: 5 away by length, and 25 / 7 by the largest entry. The third has no say.
        for (norm, exact) in [(MoveNorm::L2, 5.0), (MoveNorm::Linf, 25.0 / 7.0)] {
            let found = proved(norm, &cuts, &[3.0, 2.0, 0.0]);
            assert!(found.at_least < exact, "{}", found.at_least);
            // Of 18 operations, on both sides of the quotient.
            let rounding = 2.0 * gamma(18, SEARCH_UNIT) + 4.0 * SEARCH_UNIT;
            let lengths = if norm == MoveNorm::L2 { 7.0 / 5.0 } else { 1.0 };
            let most = exact * (1.0 - gamma(18, SEARCH_UNIT) * (1.0 + lengths));
            assert!(found.at_least <= most && found.at_least > exact * (1.0 - 2.0 * rounding));
            let half_space = found.aggregate.unwrap();
            assert_eq!(half_space.normal, [3.0, 4.0]);
            let widening = gamma(18, SEARCH_UNIT) * 7.0 * 100.0;
            assert!((half_space.widening / widening - 1.0).abs() < 1e-9);
            assert!((half_space.offset + 25.0).abs() < 1e-9);
        }
        // An offset that holds takes off what is needed.
        let found = proved(MoveNorm::L2, &cuts, &[4.0, 0.0, 1.0]);
        assert!(
            (found.at_least - 5.0 / 3.0).abs() < 1e-12,
            "{}",
            found.at_least
        );
        let none = proved(MoveNorm::L2, &cuts, &[1.0, 0.0, 1.0]);
        assert!(none.at_least <= 0.0 && none.aggregate.is_none());
    }

    #[test]
    fn multipliers_at_which_half_spaces_are_tight_solve_their_equations() {
        let cuts = [
            HalfSpace::new(vec![2.0, 0.0, 0.0], -4.0, 0.0),
            HalfSpace::new(vec![1.0, 1.0, 0.0], -5.0, 0.0),
            HalfSpace::new(vec![1.0, 2.0, 3.0], -6.0, 0.0),
        ];
        let cuts: Vec<&HalfSpace> = cuts.iter().collect();
        for chosen in [&[0, 1, 2][..], &[2, 0], &[1]] {
            let solved = solve(&cuts, chosen).unwrap();
            let mut d = vec![0.0; 3];
            for (place, multiplier) in chosen.iter().zip(&solved) {
                add_scaled(&mut d, *multiplier, &cuts[*place].normal);
            }
            for place in chosen {
                assert!(cuts[*place].at(&d).abs() < 1e-12, "{chosen:?}: {d:?}");
            }
        }
        assert!(solve(&cuts, &[1, 1]).is_none());
    }

    #[test]
    fn a_sweep_goes_to_each_half_space_in_turn_and_says_how_far() {
        // x >= 2, of a normal of length 2; x <= 1 / 2; and a half-space without direction that cannot hold.
        let cuts = [
            HalfSpace::new(vec![2.0, 0.0], -4.0, 0.0),
            HalfSpace::new(vec![-1.0, 0.0], 0.5, 0.0),
            HalfSpace::new(vec![0.0, 0.0], -1.0, 0.0),
        ];
        let cuts: Vec<&HalfSpace> = cuts.iter().collect();
        let state = |count: usize| Hildreth {
            cuts: &cuts[..count],
            nearest: vec![0.0; 2],
            multipliers: vec![0.0; count],
            reach: 1.0,
            is_empty: false,
        };
        let mut one = state(1);
        assert_eq!(vec![one.sweep()], [2.0]);
        assert_eq!(
            (&one.nearest[..], &one.multipliers[..]),
            (&[2.0, 0.0][..], &[1.0][..])
        );
        assert_eq!(vec![one.sweep()], [0.0]);
        let mut two = state(2);
        assert_eq!(vec![two.sweep()], [2.0]);
        assert_eq!(
            (&two.nearest[..], &two.multipliers[..]),
            (&[0.5, 0.0][..], &[1.0, 1.5][..])
        );
        assert!(!two.is_empty);
        let mut three = state(3);
        three.sweep();
        assert!(three.is_empty);
    }

    #[test]
    fn of_the_half_spaces_that_seem_tight_those_that_pull_are_let_go_and_violated_ones_taken_in() {
        // Tight at first seem x + y >= 3 and x >= 0.5, which pulls; without it y >= 2 is violated, and with that the nearest move is (1, 2).
        let cuts = [
            HalfSpace::new(vec![1.0, 1.0], -3.0, 0.0),
            HalfSpace::new(vec![1.0, 0.0], -0.5, 0.0),
            HalfSpace::new(vec![0.0, 1.0], -2.0, 0.0),
            HalfSpace::new(vec![0.0, 0.0], 1.0, 0.0),
        ];
        let cuts: Vec<&HalfSpace> = cuts.iter().collect();
        let mut state = Hildreth {
            cuts: &cuts,
            nearest: vec![0.0; 2],
            multipliers: vec![1.0, 1.0, 0.0, 0.0],
            reach: 100.0,
            is_empty: false,
        };
        assert!(state.solve_tight());
        for (found, exact) in state.nearest.iter().zip([1.0, 2.0]) {
            assert!((found - exact).abs() < 1e-12, "{:?}", state.nearest);
        }
        // (1, 2) is once the normal of the first and once that of the third.
        for (found, exact) in state.multipliers.iter().zip([1.0, 0.0, 1.0, 0.0]) {
            assert!((found - exact).abs() < 1e-12, "{:?}", state.multipliers);
        }
        state.multipliers.fill(0.0);
        assert!(!state.solve_tight());
    }
}
