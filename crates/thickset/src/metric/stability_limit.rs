//! The stability limit: how high mean P@k can be at all, given what the rows are told and how near they are to each other.
//!
//! If two rows of one class are within two radii, the point between them is within reach of both. Its set of k features cannot be both
//! sets: `|A ∩ C| + |B ∩ C| <= k + |A ∩ B|`, so `P(x) + P(y) <= 1 + overlap(x, y)`, for any model. Over all such pairs the largest
//! mean of P is a linear program, and no model that tells these rows these sets holds better under the worst attack. What is missing to 100 is the data's geometry, not
//! a weakness of training. A pair counts where the model predicts the same class between the rows as at both, so the bound holds for an attack that
//! must keep the prediction.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};

use super::ranking::TopK;
use crate::check::as_f64;
use crate::registry::{Direction, Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "stability-limit",
    label: "Stability limit",
    family: Family::Metric,
    summary: "The highest mean P@k that any model could have which tells these rows these features, by the geometry of the rows alone",
    formula: "max mean P, P(x) + P(y) <= 1 + |A ∩ B| / k for rows of one class within two radii, 0 <= P <= 1",
    source: "thickset",
    direction: Some(Direction::Higher),
    cost: "the distances of all pairs of rows, and a linear program of one variable a row",
    defaults: &[Setting::in_words(
        "radius",
        "the data's",
        "how far a row may move, in encoded units",
    )],
};

/// Two rows that some point is within reach of both of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearPair {
    /// The first row.
    pub first: usize,
    /// The second row.
    pub second: usize,
}

/// What the geometry allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StabilityLimit {
    /// The highest mean P@k, in `[0, 1]`.
    pub mean: f64,
    /// The share of all pairs of rows that are near.
    pub near: f64,
}

/// Pairs of rows, row-major, of one class and within `2 radius` in l2.
#[must_use]
pub fn near_pairs(rows: &[f64], features: usize, classes: &[usize], radius: f64) -> Vec<NearPair> {
    let rows: Vec<&[f64]> = rows.chunks(features.max(1)).collect();
    let mut pairs = Vec::new();
    for (second, y) in rows.iter().enumerate() {
        for (first, x) in rows[..second].iter().enumerate() {
            let square: f64 = x.iter().zip(*y).map(|(x, y)| (x - y) * (x - y)).sum();
            if classes[first] == classes[second] && square <= 4.0 * radius * radius {
                pairs.push(NearPair { first, second });
            }
        }
    }
    pairs
}

/// The limit of rows with these sets, of which these pairs are near.
///
/// # Errors
/// If sets differ in their number of features or in k, or the program is not solved.
pub fn score(sets: &[TopK], pairs: &[NearPair]) -> Result<StabilityLimit> {
    let rows = sets.len();
    let all = as_f64(rows) * as_f64(rows.saturating_sub(1)) / 2.0;
    let near = if all > 0.0 {
        as_f64(pairs.len()) / all
    } else {
        0.0
    };
    let (mut places, mut columns, mut values, mut right) = (vec![], vec![], vec![], vec![]);
    for pair in pairs {
        let (first, second) = (&sets[pair.first], &sets[pair.second]);
        let overlap = as_f64(first.overlap(second)?) / as_f64(first.k().max(1));
        // Two that share all are no constraint.
        if overlap < 1.0 {
            for row in [pair.first, pair.second] {
                places.push(right.len());
                columns.push(row);
                values.push(1.0);
            }
            right.push(1.0 + overlap);
        }
    }
    if right.is_empty() {
        return Ok(StabilityLimit { mean: 1.0, near });
    }
    for (sign, bound) in [(1.0, 1.0), (-1.0, 0.0)] {
        for row in 0..rows {
            places.push(right.len());
            columns.push(row);
            values.push(sign);
            right.push(bound);
        }
    }
    let failed = |status: String| Error::Solver {
        problem: "the stability limit",
        status,
    };
    let constraints = CscMatrix::new_from_triplets(right.len(), rows, places, columns, values);
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        ..DefaultSettings::default()
    };
    let mut solver = DefaultSolver::new(
        &CscMatrix::zeros((rows, rows)),
        &vec![-1.0 / as_f64(rows); rows],
        &constraints,
        &right,
        &[NonnegativeConeT(right.len())],
        settings,
    )
    .map_err(|error| failed(error.to_string()))?;
    solver.solve();
    match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => {}
        status => return Err(failed(format!("{status:?}"))),
    }
    // The dual value is what bounds the mean from above.
    let mean = (-solver.solution.obj_val_dual).clamp(0.0, 1.0);
    Ok(StabilityLimit { mean, near })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(features: [usize; 2]) -> TopK {
        let mut importance = [0.0; 6];
        for feature in features {
            importance[feature] = 1.0;
        }
        TopK::of(&importance, 2).unwrap()
    }

    #[test]
    fn two_near_rows_that_share_nothing_hold_half_between_them() {
        let sets = [set([0, 1]), set([2, 3]), set([4, 5])];
        let pair = NearPair {
            first: 0,
            second: 1,
        };
        // P(0) + P(1) <= 1, and the third is free: (1 + 1) / 3.
        let limit = score(&sets, &[pair]).unwrap();
        assert!((limit.mean - 2.0 / 3.0).abs() < 1e-6, "{}", limit.mean);
        assert!((limit.near - 1.0 / 3.0).abs() < 1e-12);
        // A triangle: half of each.
        let pairs = [(0, 1), (0, 2), (1, 2)].map(|(first, second)| NearPair { first, second });
        assert!((score(&sets, &pairs).unwrap().mean - 0.5).abs() < 1e-6);
        // Told the same, they may all hold.
        let same = [set([0, 1]), set([0, 1])];
        assert!((score(&same, &[pair]).unwrap().mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn rows_are_near_within_two_radii_and_in_one_class() {
        let rows = [0.0, 0.0, 1.0, 0.0, 0.0, 0.9];
        let pairs = near_pairs(&rows, 2, &[0, 0, 1], 0.5);
        assert_eq!(pairs.len(), 1);
        assert!(pairs[0].first == 0 && pairs[0].second == 1);
        assert!(near_pairs(&rows, 2, &[0, 0, 1], 0.49).is_empty());
    }

    #[test]
    fn two_near_rows_that_share_half_hold_three_quarters() {
        let pair = NearPair {
            first: 0,
            second: 1,
        };
        // P(0) + P(1) <= 1 + 1/2.
        let limit = score(&[set([0, 1]), set([1, 2])], &[pair]).unwrap();
        assert!((limit.mean - 0.75).abs() < 1e-6, "{}", limit.mean);
        assert!((limit.near - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_single_row_is_near_to_none_and_free() {
        let limit = score(&[set([0, 1])], &[]).unwrap();
        assert!(limit.near.abs() < 1e-15);
        assert!((limit.mean - 1.0).abs() < 1e-15);
    }
}
