//! QP: the weights whose combined gradient is shortest.
//!
//! `max_w -1/2 ||sum of w_s ∇g_s(x)||^2` over the simplex (R2ET Eq. 60). The combined gradient is then a descent direction of
//! the objective and of every constraint at once, unless there is none.
//!
//! One case the paper does not mention: where a prediction has not moved, its divergence has a zero gradient, all weight
//! on it makes the shortest combination, and the attack would never leave the original input. A constraint without a
//! gradient has nothing to say about the next step, so it is left out and gets weight 0.
//!
//! There are at most a few constraints, so the program is solved exactly: for every subset of gradients the shortest point of
//! their affine hull has a closed form, and the best of those with weights that are not negative is the answer.

use serde::{Deserialize, Serialize};

use super::{Constraint, Multipliers, Observation, check_values, normalise, uniform};
use crate::check::{check_finite, check_length, check_not_empty};
use crate::registry::{Family, Info};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "qp",
    label: "QP",
    family: Family::Constraint,
    summary: "Weights whose combined gradient is shortest: descent on the objective and every constraint at once",
    formula: "min_w ||sum_s w_s ∇g_s(x)||, w >= 0, sum(w) = 1",
    source: "R2ET, Eq. 57 and 60",
    direction: None,
    cost: "S more gradients a step",
    defaults: &[],
};

/// It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QpConfig {}

impl Constraint for QpConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn multipliers(&self, constraints: usize) -> Result<Option<Box<dyn Multipliers>>> {
        Ok(Some(Box::new(Qp::new(constraints))))
    }
}

/// Most gradients: their subsets are tried one by one.
const MOST: usize = 8;

/// Pivot, relative to the largest entry, below which gradients count as dependent. A subset of dependent gradients is
/// skipped, as one of its own subsets reaches the same point.
const DEPENDENT: f64 = 1e-12;

/// The rule's state for one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Qp {
    weights: Vec<f64>,
}

impl Qp {
    /// Equal weights, until the first gradients are seen, for this many constraints.
    #[must_use]
    pub fn new(constraints: usize) -> Self {
        Self {
            weights: uniform(constraints),
        }
    }
}

impl Multipliers for Qp {
    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn update(&mut self, observation: Observation) -> Result<()> {
        check_values(&self.weights, observation.values)?;
        check_length("the gradients", observation.gradients, self.weights.len())?;
        let speaks = |index: usize| {
            index == 0
                || observation.gradients[index]
                    .iter()
                    .any(|slope| *slope != 0.0)
        };
        let kept: Vec<usize> = (0..self.weights.len())
            .filter(|&index| speaks(index))
            .collect();
        let gradients: Vec<&[f64]> = kept
            .iter()
            .map(|&index| observation.gradients[index].as_slice())
            .collect();
        let found = shortest(&gradients)?;
        self.weights.fill(0.0);
        for (index, weight) in kept.into_iter().zip(found) {
            self.weights[index] = weight;
        }
        Ok(())
    }
}

/// The weights, not negative and with sum 1, of the shortest convex combination of these vectors. Where several
/// combinations are shortest, the one of the fewest vectors, and of those the one with the lower indices.
///
/// # Errors
/// When there is no vector or more than 8, they differ in length, or a value is not finite.
pub fn shortest(vectors: &[&[f64]]) -> Result<Vec<f64>> {
    check_not_empty("the gradients", vectors)?;
    if vectors.len() > MOST {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a small count, shown in a message"
        )]
        let got = vectors.len() as f64;
        return Err(Error::OutOfRange {
            what: "the number of gradients",
            expected: "at most 8",
            got,
        });
    }
    for vector in vectors {
        check_length("a gradient", vector, vectors[0].len())?;
        check_finite("a gradient", vector)?;
    }
    // The scale does not change the weights, and a square must neither overflow nor vanish.
    let scale = vectors
        .iter()
        .flat_map(|vector| vector.iter())
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let inner = |a: &[f64], b: &[f64]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a / scale) * (b / scale))
            .sum::<f64>()
    };
    let gram: Vec<Vec<f64>> = vectors
        .iter()
        .map(|a| vectors.iter().map(|b| inner(a, b)).collect())
        .collect();

    let mut subsets: Vec<Vec<usize>> = (1..1_usize << vectors.len())
        .map(|bits| {
            (0..vectors.len())
                .filter(|index| bits >> index & 1 == 1)
                .collect()
        })
        .collect();
    subsets.sort_by_key(Vec::len);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for subset in subsets {
        let Some(weights) = shortest_of_hull(&gram, &subset) else {
            continue;
        };
        let length = quadratic(&gram, &weights);
        // A combination of more vectors must be shorter by more than rounding to be preferred.
        if best
            .as_ref()
            .is_none_or(|(least, _)| length < least * (1.0 - DEPENDENT))
        {
            best = Some((length, weights));
        }
    }
    // A single vector always has its weight, so there is a best one.
    Ok(best.map_or_else(Vec::new, |(_, weights)| weights))
}

fn quadratic(gram: &[Vec<f64>], weights: &[f64]) -> f64 {
    let products = gram.iter().map(|row| {
        row.iter()
            .zip(weights)
            .map(|(entry, weight)| entry * weight)
            .sum::<f64>()
    });
    products
        .zip(weights)
        .map(|(product, weight)| product * weight)
        .sum()
}

/// The weights of the shortest point of the affine hull of a subset; `None` when one is negative, or the vectors are
/// affinely dependent. They solve `G w = mu 1, 1'w = 1`.
fn shortest_of_hull(gram: &[Vec<f64>], subset: &[usize]) -> Option<Vec<f64>> {
    let size = subset.len();
    let mut system = vec![vec![0.0; size + 2]; size + 1];
    for (row, &i) in subset.iter().enumerate() {
        for (column, &j) in subset.iter().enumerate() {
            system[row][column] = gram[i][j];
        }
        system[row][size] = 1.0;
        system[size][row] = 1.0;
    }
    system[size][size + 1] = 1.0;
    let solution = solve(system)?;
    let mut weights = vec![0.0; gram.len()];
    for (&index, weight) in subset.iter().zip(solution) {
        if weight < 0.0 {
            return None;
        }
        weights[index] = weight;
    }
    normalise(&mut weights);
    Some(weights)
}

/// Gaussian elimination with partial pivoting of a square system with its right side as last column.
fn solve(mut system: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = system.len();
    let largest = system
        .iter()
        .flatten()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|&a, &b| system[a][column].abs().total_cmp(&system[b][column].abs()))?;
        if system[pivot][column].abs() <= DEPENDENT * largest {
            return None;
        }
        system.swap(column, pivot);
        let (done, rest) = system.split_at_mut(column + 1);
        let pivot_row = &done[column];
        for row in rest {
            let factor = row[column] / pivot_row[column];
            for (entry, above) in row[column..].iter_mut().zip(&pivot_row[column..]) {
                *entry -= factor * above;
            }
        }
    }
    let mut solution = vec![0.0; size];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size)
            .map(|column| system[row][column] * solution[column])
            .sum();
        solution[row] = (system[row][size] - known) / system[row][row];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn length(vectors: &[Vec<f64>], weights: &[f64]) -> f64 {
        (0..vectors[0].len())
            .map(|axis| {
                vectors
                    .iter()
                    .zip(weights)
                    .map(|(vector, weight)| vector[axis] * weight)
                    .sum::<f64>()
                    .powi(2)
            })
            .sum::<f64>()
            .sqrt()
    }

    fn found(vectors: &[Vec<f64>]) -> Vec<f64> {
        shortest(&vectors.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
    }

    /// The best point of a grid over the simplex.
    fn by_search(vectors: &[Vec<f64>], steps: u32) -> f64 {
        fn visit(
            vectors: &[Vec<f64>],
            weights: &mut Vec<f64>,
            left: u32,
            steps: u32,
            best: &mut f64,
        ) {
            let last = weights.len() + 1 == vectors.len();
            for share in if last { left..=left } else { 0..=left } {
                weights.push(f64::from(share) / f64::from(steps));
                if last {
                    *best = best.min(length(vectors, weights));
                } else {
                    visit(vectors, weights, left - share, steps, best);
                }
                weights.pop();
            }
        }
        let mut best = f64::INFINITY;
        visit(vectors, &mut Vec::new(), steps, steps, &mut best);
        best
    }

    #[test]
    fn the_point_of_a_segment_nearest_to_the_origin_by_hand() {
        let weights = found(&[vec![1.0, 0.0], vec![0.0, 2.0]]);
        // w^2 + 4 (1 - w)^2 is least at w = 4/5.
        assert!((weights[0] - 0.8).abs() < 1e-15);
    }

    #[test]
    fn a_short_vector_in_the_same_direction_takes_all_weight() {
        assert_eq!(found(&[vec![3.0, 0.0], vec![1.0, 0.0]]), [0.0, 1.0]);
    }

    #[test]
    fn opposite_vectors_cancel() {
        let weights = found(&[vec![1.0, 0.0], vec![-3.0, 0.0]]);
        assert!((weights[0] - 0.75).abs() < 1e-15);
    }

    #[test]
    fn equal_and_zero_vectors_have_an_answer() {
        assert_eq!(found(&[vec![1.0, 2.0], vec![1.0, 2.0]]), [1.0, 0.0]);
        assert_eq!(found(&[vec![0.0], vec![0.0], vec![0.0]]), [1.0, 0.0, 0.0]);
        assert_eq!(found(&[vec![1e-200], vec![2e-200]]), [1.0, 0.0]);
    }

    #[test]
    fn the_combination_descends_on_every_function() {
        let gradients = [
            vec![3.0, 1.0, 0.5],
            vec![-1.0, 2.0, 0.0],
            vec![0.0, -0.5, 2.0],
            vec![1.0, 1.0, 1.0],
        ];
        let weights = found(&gradients);
        let combined: Vec<f64> = (0..3)
            .map(|axis| {
                gradients
                    .iter()
                    .zip(&weights)
                    .map(|(g, w)| g[axis] * w)
                    .sum()
            })
            .collect();
        let squared: f64 = combined.iter().map(|value| value * value).sum();
        for gradient in &gradients {
            let slope: f64 = gradient.iter().zip(&combined).map(|(a, b)| a * b).sum();
            assert!(slope >= squared - 1e-12);
        }
    }

    #[test]
    fn a_prediction_that_has_not_moved_does_not_hold_the_attack() {
        let mut rule = Qp::new(1);
        rule.update(Observation {
            values: &[1.0, 0.0],
            gradients: &[vec![2.0, 1.0], vec![0.0, 0.0]],
        })
        .unwrap();
        assert_eq!(rule.weights(), [1.0, 0.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(shortest(&[]).is_err());
        assert!(shortest(&[&[1.0], &[1.0, 2.0]]).is_err());
        assert!(shortest(&[&[f64::NAN]]).is_err());
        assert!(shortest(&[&[1.0][..]; 9]).is_err());
        assert!(
            Qp::new(1)
                .update(Observation {
                    values: &[1.0, 0.0],
                    gradients: &[]
                })
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn no_point_of_a_fine_grid_on_the_simplex_is_shorter(
            vectors in prop::collection::vec(prop::collection::vec(-3.0..3.0_f64, 3), 1..=4)
        ) {
            let weights = found(&vectors);
            prop_assert!(weights.iter().all(|weight| *weight >= 0.0));
            prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let (exact, searched) = (length(&vectors, &weights), by_search(&vectors, 40));
            prop_assert!(exact <= searched + 1e-9, "{exact} > {searched}");
            // The condition of optimality: no vector reaches less far along the combination than the combination itself.
            for vector in &vectors {
                let along: f64 = (0..3)
                    .map(|axis| vector[axis] * vectors.iter().zip(&weights).map(|(v, w)| v[axis] * w).sum::<f64>())
                    .sum();
                prop_assert!(along >= exact * exact - 1e-9);
            }
        }
    }

    #[test]
    fn vectors_whose_squares_vanish_are_weighed_like_longer_ones() {
        assert_eq!(found(&[vec![2e-200], vec![1e-200]]), [0.0, 1.0]);
    }

    #[test]
    fn a_system_without_a_single_solution_has_none() {
        assert_eq!(solve(vec![vec![0.0, 0.0]]), None);
        assert_eq!(solve(vec![vec![1.0, 2.0, 3.0], vec![2.0, 4.0, 6.0]]), None);
        // The first pivot is zero, so rows change places: 2 y = 4 and x + 3 y = 7.
        let solved = solve(vec![vec![0.0, 2.0, 4.0], vec![1.0, 3.0, 7.0]]);
        assert_eq!(solved, Some(vec![1.0, 2.0]));
    }

    #[test]
    fn an_objective_without_a_slope_keeps_its_weight() {
        let mut rule = QpConfig {}.multipliers(1).unwrap().unwrap();
        rule.update(Observation {
            values: &[1.0, 1.0],
            gradients: &[vec![0.0, 0.0], vec![2.0, 1.0]],
        })
        .unwrap();
        assert_eq!(rule.weights(), [1.0, 0.0]);
    }

    #[test]
    fn eight_gradients_are_weighed() {
        let units: Vec<Vec<f64>> = (0..8)
            .map(|place| {
                (0..8)
                    .map(|axis| f64::from(u8::from(axis == place)))
                    .collect()
            })
            .collect();
        for weight in found(&units) {
            assert!((weight - 0.125).abs() < 1e-12);
        }
    }
}
