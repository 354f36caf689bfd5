//! What R2ET's theory says of one explanation, evaluated where it can be: at the row, and at a few points around it.
//!
//! - **Prop. 4.4** puts the thickness of a pair between `h - (ε/2) ||H_i - H_j||` and `h + ε (L_i + L_j)`. The left side has the Hessian
//!   at x, where a bound would need the largest within the ball: it is a first-order estimate and no bound. So is the right side here,
//!   with `||H_i(x)||` for `L_i`.
//! - **Prop. 4.5** has the radius `min h / max ||H_i - H_j||`; evaluated at x alone it is an estimate too, and for a `ReLU` network,
//!   whose gradient jumps, it is wrong even with the true maximum (`docs/deviations.md`). `thickset certify` has radii that hold.
//! - **Theorem 5.1** bounds the iterations of the multi-objective attack by `(h_up - h_low) κ / ε²`. By Lemma A.9
//!   `1/κ = η min(Δ, (1 - η) γ / (L_g + L_J / 2))`. Its constants are maxima over all inputs; here they are the largest at some points
//!   of the ball, so the number is an estimate from below.
//! - **Theorem 5.2** adds to the empirical margin risk, the share of pairs whose gap is below u, a term with the covering number of all
//!   explanations of a class of models, which nobody can compute: it stays symbolic.

use serde::{Deserialize, Serialize};

use crate::attack::moo::{Derivatives, Ending, MooConfig, Values};
use crate::check::{as_f64, check_length};
use crate::metric::ranking::TopK;
use crate::{Error, Result};

/// The margins u of Theorem 5.2, as multiples of the row's mean gap.
pub const MARGINS: [f64; 5] = [0.0, 0.25, 0.5, 1.0, 2.0];

/// What the theory says of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TheoryRow {
    /// Prop. 4.4 for the pair whose lower estimate is least.
    pub thickness: ThicknessEstimate,
    /// Prop. 4.5 at the row: the least gap over Hessian difference; absent where no Hessian differs.
    pub radius: Option<f64>,
    /// Theorem 5.1 beside the attack that it is about.
    pub iterations: IterationBound,
    /// Theorem 5.2: each margin u and the share of pairs whose gap is below it.
    pub margin_risk: Vec<MarginRisk>,
}

/// Prop. 4.4 for one pair of features.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThicknessEstimate {
    /// The salient feature.
    pub ahead: usize,
    /// The other one.
    pub behind: usize,
    /// `h`, the gap at the row.
    pub gap: f64,
    /// `h - (ε/2) ||H_i - H_j||`, an estimate of the least thickness.
    pub lower: f64,
    /// `h + ε (||H_i|| + ||H_j||)`.
    pub upper: f64,
}

/// Theorem 5.1's number of iterations, and the real one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationBound {
    /// `h_up - h_low` over the points that were looked at.
    pub gap_range: f64,
    /// `κ` of Lemma A.9 with the largest constants at those points.
    pub kappa: f64,
    /// `ε`, the criticality below which the attack ends.
    pub epsilon: f64,
    /// `(h_up - h_low) κ / ε²`.
    pub bound: f64,
    /// What the attack took.
    pub taken: usize,
    /// Whether it flipped a pair.
    pub flipped: bool,
}

/// One margin of Theorem 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarginRisk {
    /// `u`
    pub margin: f64,
    /// The share of pairs whose gap is below it.
    pub risk: f64,
}

/// A model at one point: what it says there, and the derivatives of that.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where.
    pub x: Vec<f64>,
    /// Outputs and importances.
    pub values: Values,
    /// Their derivatives.
    pub derivatives: Derivatives,
}

/// What the attack that Theorem 5.1 is about came to.
#[derive(Clone, Copy, Debug)]
pub struct Attacked {
    /// Its iterations.
    pub iterations: usize,
    /// How it ended.
    pub ending: Ending,
}

/// Evaluates the theory at a row, the first point; the others lie within the ball around it.
///
/// # Errors
/// When there is no point, k does not fit, or points have other sizes than the first.
pub fn of_row(
    points: &[Point],
    k: usize,
    radius: f64,
    settings: &MooConfig,
    attacked: Attacked,
) -> Result<TheoryRow> {
    let [row, others @ ..] = points else {
        return Err(Error::Empty { what: "the points" });
    };
    let importance = &row.values.importance;
    check_length(
        "the derivatives",
        &row.derivatives.importance,
        importance.len(),
    )?;
    if k == 0 || k >= importance.len() {
        return Err(Error::TopKOutOfRange {
            k,
            largest: importance.len().saturating_sub(1),
        });
    }
    let top = TopK::of(importance, k)?;
    let pairs = pairs(&top, importance.len());
    let hessian = &row.derivatives.importance;
    let norms: Vec<f64> = hessian.iter().map(|line| length(line)).collect();
    let (mut thickness, mut radius_at_row) = (None::<ThicknessEstimate>, None::<f64>);
    for &(ahead, behind) in &pairs {
        let gap = importance[ahead] - importance[behind];
        let difference = distance(&hessian[ahead], &hessian[behind]);
        let found = ThicknessEstimate {
            ahead,
            behind,
            gap,
            lower: gap - radius / 2.0 * difference,
            upper: gap + radius * (norms[ahead] + norms[behind]),
        };
        if thickness.is_none_or(|least| found.lower < least.lower) {
            thickness = Some(found);
        }
        if difference > 0.0 {
            let holds = gap / difference;
            radius_at_row = Some(radius_at_row.map_or(holds, |least: f64| least.min(holds)));
        }
    }
    let gaps: Vec<f64> = pairs
        .iter()
        .map(|&(ahead, behind)| importance[ahead] - importance[behind])
        .collect();
    Ok(TheoryRow {
        thickness: thickness.ok_or(Error::Empty { what: "the pairs" })?,
        radius: radius_at_row,
        iterations: iterations(row, others, &pairs, settings, attacked)?,
        margin_risk: margin_risk(&gaps),
    })
}

/// Every salient feature with every other one.
fn pairs(top: &TopK, count: usize) -> Vec<(usize, usize)> {
    let (salient, rest): (Vec<usize>, Vec<usize>) =
        (0..count).partition(|&feature| top.contains(feature));
    salient
        .iter()
        .flat_map(|&ahead| rest.iter().map(move |&behind| (ahead, behind)))
        .collect()
}

fn margin_risk(gaps: &[f64]) -> Vec<MarginRisk> {
    let mean = gaps.iter().sum::<f64>() / as_f64(gaps.len());
    let risk = |margin: f64| {
        let below = gaps.iter().filter(|gap| **gap < margin).count();
        as_f64(below) / as_f64(gaps.len())
    };
    let margins = MARGINS.iter().map(|multiple| multiple * mean);
    margins
        .map(|margin| MarginRisk {
            margin,
            risk: risk(margin),
        })
        .collect()
}

/// Theorem 5.1 with the largest constants between the row and the other points.
fn iterations(
    row: &Point,
    others: &[Point],
    pairs: &[(usize, usize)],
    settings: &MooConfig,
    attacked: Attacked,
) -> Result<IterationBound> {
    let (mut high, mut low) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut slope_change, mut output_change) = (0.0_f64, 0.0_f64);
    for point in std::iter::once(row).chain(others) {
        check_length("a point", &point.x, row.x.len())?;
        check_length(
            "the importances",
            &point.values.importance,
            row.values.importance.len(),
        )?;
        for &(ahead, behind) in pairs {
            let gap = point.values.importance[ahead] - point.values.importance[behind];
            high = high.max(gap);
            low = low.min(gap);
        }
        let moved = distance(&point.x, &row.x);
        if moved <= 0.0 {
            continue;
        }
        let changes: Vec<Vec<f64>> = point
            .derivatives
            .importance
            .iter()
            .zip(&row.derivatives.importance)
            .map(|(there, here)| there.iter().zip(here).map(|(a, b)| a - b).collect())
            .collect();
        for &(ahead, behind) in pairs {
            // g = H_i - H_j, so its change is the difference of theirs.
            let change = distance(&changes[ahead], &changes[behind]) / moved;
            slope_change = slope_change.max(change);
        }
        let outputs = point
            .derivatives
            .outputs
            .iter()
            .zip(&row.derivatives.outputs);
        let squares: f64 = outputs
            .map(|(there, here)| distance(there, here).powi(2))
            .sum();
        output_change = output_change.max(squares.sqrt() / moved);
    }
    let (shrink, accept) = (settings.shrink, settings.accept);
    let curvature = slope_change + output_change / 2.0;
    let smallest = if curvature > 0.0 {
        settings.radius.min((1.0 - accept) * shrink / curvature)
    } else {
        settings.radius
    };
    let kappa = 1.0 / (accept * smallest);
    let epsilon = settings.criticality;
    Ok(IterationBound {
        gap_range: high - low,
        kappa,
        epsilon,
        bound: ((high - low) * kappa / (epsilon * epsilon)).ceil(),
        taken: attacked.iterations,
        flipped: matches!(attacked.ending, Ending::Flipped { .. }),
    })
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Importances 3 a, b and -c at (a, b, c), with Hessian rows (3, 0, 0), (0, 1, 0), (0, 0, -1).
    fn point(x: [f64; 3], bend: f64) -> Point {
        let slope = |value: f64| value + bend * x[0];
        Point {
            x: x.to_vec(),
            values: Values {
                outputs: vec![vec![0.5, 0.5]],
                importance: vec![3.0 * x[0], x[1], -x[2]],
                followed: None,
            },
            derivatives: Derivatives {
                outputs: vec![vec![0.0; 3], vec![0.0; 3]],
                importance: vec![
                    vec![slope(3.0), 0.0, 0.0],
                    vec![0.0, 1.0, 0.0],
                    vec![0.0, 0.0, -1.0],
                ],
            },
        }
    }

    fn theory(points: &[Point], settings: &MooConfig) -> TheoryRow {
        let attacked = Attacked {
            iterations: 7,
            ending: Ending::Flipped {
                ahead: 0,
                behind: 1,
            },
        };
        of_row(points, 1, 0.2, settings, attacked).unwrap()
    }

    #[test]
    fn estimates_of_a_bent_function_by_hand() {
        // Importances 3, 2 and -1; gaps 1 and 4, Hessian differences (3, -1, 0) and (3, 0, 1), both of length sqrt(10).
        let found = theory(&[point([1.0, 2.0, 1.0], 0.0)], &MooConfig::default());
        let ten = 10.0_f64.sqrt();
        let ThicknessEstimate {
            ahead,
            behind,
            gap,
            lower,
            upper,
        } = found.thickness;
        assert_eq!((ahead, behind), (0, 1));
        assert!((gap - 1.0).abs() < 1e-12);
        assert!((lower - (1.0 - 0.1 * ten)).abs() < 1e-12);
        assert!((upper - (1.0 + 0.2 * 4.0)).abs() < 1e-12);
        assert!((found.radius.unwrap() - 1.0 / ten).abs() < 1e-12);
        // The mean gap is 2.5: margins 0, 0.625, 1.25, 2.5 and 5.
        let risks: Vec<f64> = found.margin_risk.iter().map(|one| one.risk).collect();
        assert_eq!(risks, [0.0, 0.0, 0.5, 0.5, 1.0]);
    }

    #[test]
    fn the_iteration_bound_by_hand() {
        let settings = MooConfig {
            radius: 1.0,
            shrink: 0.5,
            accept: 0.1,
            criticality: 0.01,
            ..MooConfig::default()
        };
        // Without a change of slopes the first radius decides: κ = 1 / (0.1 * 1), h from 1 to 4, (4 - 1) * 10 / 1e-4.
        let flat = theory(&[point([1.0, 2.0, 1.0], 0.0)], &settings).iterations;
        assert!((flat.kappa - 10.0).abs() < 1e-9);
        assert!((flat.bound - 300_000.0).abs() <= 1.0, "{}", flat.bound);
        assert_eq!((flat.taken, flat.flipped), (7, true));
        // A slope that changes by 2 for a move of 1: min(1, 0.9 * 0.5 / 2) = 0.225.
        let bent = [point([1.0, 2.0, 1.0], 2.0), point([2.0, 2.0, 1.0], 2.0)];
        let bent = theory(&bent, &settings).iterations;
        assert!(
            (bent.kappa - 1.0 / (0.1 * 0.225)).abs() < 1e-9,
            "{}",
            bent.kappa
        );
        assert!((bent.gap_range - 6.0).abs() < 1e-12, "{}", bent.gap_range);
    }

    #[test]
    fn a_function_without_curvature_has_no_radius_that_ends() {
        let mut flat = point([1.0, 2.0, 1.0], 0.0);
        flat.derivatives.importance = vec![vec![0.0; 3]; 3];
        let found = theory(&[flat], &MooConfig::default());
        assert_eq!(found.radius, None);
        assert!((found.thickness.lower - found.thickness.gap).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let attacked = Attacked {
            iterations: 0,
            ending: Ending::Flipped {
                ahead: 0,
                behind: 1,
            },
        };
        let settings = MooConfig::default();
        assert!(of_row(&[], 1, 0.1, &settings, attacked).is_err());
        let one = point([1.0, 2.0, 1.0], 0.0);
        for k in [0, 3, 9] {
            assert!(of_row(std::slice::from_ref(&one), k, 0.1, &settings, attacked).is_err());
        }
    }
}
