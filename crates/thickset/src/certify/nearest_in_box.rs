//! The nearest move in the largest norm: a linear program.
//!
//! Minimise s where `a_i.d + c_i >= 0` and `-s <= d_j <= s`. The solver's multipliers are only a hint: what they prove is computed
//! afresh, so nothing rests on its tolerances.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver as _, NonnegativeConeT, SolverStatus,
};

use super::ball::MoveNorm;
use super::half_space::HalfSpace;
use super::projection::{Projection, Proof, Reach};

/// Projects 0 in the largest norm.
pub(super) fn project(cuts: &[&HalfSpace], reach: Reach) -> Projection {
    let dimensions = reach.dimensions;
    let nothing = |at_least: f64| Projection {
        nearest: vec![0.0; dimensions],
        at_least,
        aggregate: None,
    };
    let (mut rows, mut columns, mut values, mut right) = (vec![], vec![], vec![], vec![]);
    let mut scales = Vec::with_capacity(cuts.len());
    for cut in cuts {
        // Of length one, so that the solver's tolerance means the same for all.
        let scale = if cut.has_no_direction() {
            1.0
        } else {
            1.0 / cut.length
        };
        scales.push(scale);
        for (column, value) in cut.normal.iter().enumerate() {
            rows.push(right.len());
            columns.push(column);
            values.push(-value * scale);
        }
        right.push(cut.offset * scale);
    }
    for column in 0..dimensions {
        for sign in [1.0, -1.0] {
            rows.extend([right.len(); 2]);
            columns.extend([column, dimensions]);
            values.extend([sign, -1.0]);
            right.push(0.0);
        }
    }
    let mut costs = vec![0.0; dimensions + 1];
    costs[dimensions] = 1.0;
    let quadratic = CscMatrix::zeros((dimensions + 1, dimensions + 1));
    let constraints =
        CscMatrix::new_from_triplets(right.len(), dimensions + 1, rows, columns, values);
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        ..DefaultSettings::default()
    };
    let cones = [NonnegativeConeT(right.len())];
    let solver = DefaultSolver::new(&quadratic, &costs, &constraints, &right, &cones, settings);
    let Ok(mut solver) = solver else {
        return nothing(0.0);
    };
    solver.solve();
    let solution = &solver.solution;
    let multipliers: Vec<f64> = solution.z[..cuts.len()]
        .iter()
        .zip(&scales)
        .map(|(multiplier, scale)| multiplier.max(0.0) * scale)
        .collect();
    let is_usable = multipliers.iter().all(|multiplier| multiplier.is_finite());
    let at_least = if is_usable {
        Proof::of(MoveNorm::Linf, cuts, &multipliers, reach).at_least
    } else {
        0.0
    };
    let is_solved = matches!(
        solution.status,
        SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress
    );
    let nearest = solution.x[..dimensions].to_vec();
    if !is_solved || !nearest.iter().all(|value| value.is_finite()) {
        return nothing(at_least);
    }
    Projection {
        nearest,
        at_least,
        aggregate: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corner_of_two_half_spaces_is_found() {
        // 2x + y >= 3 and y <= 0.5: the nearest move in the largest norm is (1.25, 0.5).
        let cuts = [
            HalfSpace::new(vec![2.0, 1.0], -3.0, 0.0),
            HalfSpace::new(vec![0.0, -1.0], 0.5, 0.0),
        ];
        let reach = Reach {
            dimensions: 2,
            radius: 10.0,
        };
        let found = project(&cuts.iter().collect::<Vec<_>>(), reach);
        assert!((found.at_least - 1.25).abs() < 1e-6 && found.at_least <= 1.25);
        assert!((found.nearest[0] - 1.25).abs() < 1e-6);
    }

    #[test]
    fn a_corner_on_the_other_side_is_as_near() {
        // As above with x turned round and everything twice as long; and a half-space without a direction that holds.
        let cuts = [
            HalfSpace::new(vec![-4.0, 2.0], -6.0, 0.0),
            HalfSpace::new(vec![0.0, -2.0], 1.0, 0.0),
            HalfSpace::new(vec![0.0, 0.0], 1.0, 0.0),
        ];
        let reach = Reach {
            dimensions: 2,
            radius: 10.0,
        };
        let found = project(&cuts.iter().collect::<Vec<_>>(), reach);
        assert!((found.at_least - 1.25).abs() < 1e-6 && found.at_least <= 1.25);
        assert!(
            (found.nearest[0] + 1.25).abs() < 1e-6,
            "{:?}",
            found.nearest
        );
    }

    #[test]
    fn half_spaces_that_hold_zero_are_no_distance_away_and_those_apart_have_no_move() {
        let reach = Reach {
            dimensions: 1,
            radius: 10.0,
        };
        let near = HalfSpace::new(vec![1.0], 0.5, 0.0);
        let found = project(&[&near], reach);
        assert!(found.at_least <= 0.0 && found.nearest[0].abs() < 1e-6);
        // x >= 2 and x <= 1.
        let (more, less) = (
            HalfSpace::new(vec![1.0], -2.0, 0.0),
            HalfSpace::new(vec![-1.0], 1.0, 0.0),
        );
        assert_eq!(project(&[&more, &less], reach).nearest, [0.0]);
    }
}
