//! Thickness: how far the salient features stay ahead of the rest on the way from x to its neighbours.
//!
//! With the features numbered by their rank at x, the gap `h(x, i, j) = I_i(x) - I_j(x)` and paths
//! `x(t) = (1-t) x + t x'` to neighbours `x' ~ D` (R2ET Def. 4.1, 4.2 and the variants below them):
//!
//! - gap: the mean of h over x', t and the k(n-k) pairs i <= k < j (Eq. 2 and 3);
//! - probability: the mean of `1[h >= 0]`, in `[0, 1]`; Table 5's values near 1 are of this form;
//! - average-precision: the mean of the gap form over k' = 1..k;
//! - discounted: the sum over the pairs of the mean of `h / log2(j - i + 1)`. The paper writes a logarithm without a base;
//!   2 is the base of the discounted cumulative gain it cites, and gives neighbouring ranks the weight 1.
//!
//! All four are means over points of the paths of one function of the explanation there; [`RankGaps`] is that function.
//! [`measure::thickness`](super::measure::thickness) walks the paths of rows of a network.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};

use super::ranking::{self, check_k};
use crate::Result;
use crate::audit::figure::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::check::{as_f64, check_finite, check_length, check_not_empty};
use crate::registry::{Direction, Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "thickness",
    label: "Ranking explanation thickness",
    family: Family::Metric,
    summary: "How far the top-k features stay ahead of the rest on the way to neighbouring inputs",
    formula: "mean over x' ~ D, t in [0,1], i <= k < j of h(x(t), i, j), or of 1[h >= 0]",
    source: "R2ET, Def. 4.1 and 4.2, Eq. 2 and 3, and the variants of section 4.1",
    direction: Some(Direction::Higher),
    cost: "one explanation for each neighbour and point of its path",
    defaults: &[
        Setting::in_words("k", "8", "salient features"),
        Setting::in_words(
            "form",
            "probability",
            "gap, probability, average-precision or discounted",
        ),
        Setting::in_words(
            "points",
            "10",
            "points of each path, t = (j + 1/2) / points",
        ),
    ],
};

/// The entry of an audit's table of figures.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method's own path has another lifetime"
)]
pub static FIGURE: Figure = Figure {
    id: "thickness",
    key: "thickness",
    label: "thickness",
    title: "Thickness",
    meaning: "how often one of the {k} {reasons} stays ahead of the other {features} nearby",
    direction: Direction::Higher,
    unit: Unit::Score,
    of_row: OfRow::Measured(|rows| rows.thickness()),
    sum: SumBy::Mean { range: [0.0, 1.0] },
    baseline: Baseline::No,
    compare: CompareBy::Rows,
    is_main: true,
    method: Some(&INFO),
};

/// What is averaged along the paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The gap itself; in the explanation's unit.
    Gap,
    /// Whether the gap is still there; in `[0, 1]`.
    Probability,
    /// The gap, averaged over the sizes 1..=k of the salient set.
    AveragePrecision,
    /// The gap, divided by the logarithm of the distance in rank, summed over the pairs.
    Discounted,
}

/// The thickness of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thickness {
    /// The mean over the neighbours.
    pub mean: f64,
    /// The least over the neighbours (R2ET B.2.1 reports both).
    pub least: f64,
}

/// Up to so many features beside the salient ones, to compare all of them is quicker than to sort them.
const FEW: usize = 64;

/// Reads the thickness off one explanation on a path, given the explanation at x.
#[derive(Debug, Clone)]
pub struct RankGaps {
    /// Features by rank at x.
    order: Vec<usize>,
    k: usize,
    /// For every rank, its weight in a form that is linear in the explanation; none for the probability.
    weights: Option<Vec<f64>>,
}

impl RankGaps {
    /// The gaps of a row with this explanation at x.
    ///
    /// # Errors
    /// When `k` is not in `1..features`, or a value is not finite.
    pub fn new(at_x: &[f64], k: usize, form: Form) -> Result<Self> {
        let order = ranking::descending(at_x)?;
        check_k(k, order.len() - 1)?;
        let weights = match form {
            Form::Gap => Some(gap_weights(order.len(), k)),
            Form::Probability => None,
            Form::AveragePrecision => Some(average_precision_weights(order.len(), k)),
            Form::Discounted => Some(discounted_weights(order.len(), k)),
        };
        Ok(Self { order, k, weights })
    }

    /// The value at one point of a path.
    ///
    /// # Errors
    /// When the length differs from that of the explanation at x, or a value is not finite.
    pub fn thickness_at(&self, explanation: &[f64]) -> Result<f64> {
        check_length("the explanation on the path", explanation, self.order.len())?;
        check_finite("the explanation on the path", explanation)?;
        let by_rank = self.order.iter().map(|&feature| explanation[feature]);
        if let Some(weights) = &self.weights {
            return Ok(by_rank
                .zip(weights)
                .map(|(importance, weight)| importance * weight)
                .sum());
        }
        let (salient, rest) = self.order.split_at(self.k);
        let mut values = [0.0; FEW];
        let kept: usize = if rest.len() <= FEW {
            let values = &mut values[..rest.len()];
            for (value, feature) in values.iter_mut().zip(rest) {
                *value = explanation[*feature];
            }
            vectorised(CountAhead {
                explanation,
                salient,
                values,
            })
        } else {
            let mut values: Vec<f64> = rest.iter().map(|one| explanation[*one]).collect();
            values.sort_unstable_by(f64::total_cmp);
            let ahead_of = |importance: f64| values.partition_point(|one| *one <= importance);
            salient.iter().map(|one| ahead_of(explanation[*one])).sum()
        };
        Ok(as_f64(kept) / (as_f64(salient.len()) * as_f64(rest.len())))
    }
}

/// How often one of the salient features is not behind one of the values.
struct CountAhead<'a> {
    explanation: &'a [f64],
    salient: &'a [usize],
    values: &'a [f64],
}

impl VectorLoop for CountAhead<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let most = self
            .values
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        let mut ahead = 0;
        for feature in self.salient {
            let importance = self.explanation[*feature];
            // Most salient features are ahead of all others.
            if most <= importance {
                ahead += self.values.len();
                continue;
            }
            for value in self.values {
                ahead += usize::from(*value <= importance);
            }
        }
        ahead
    }
}

/// The thickness of one row, from its explanation at x and the explanations `[neighbour][point of the path][feature]`.
/// Higher is more stable. A constant explanation at x takes the lowest indices as salient, as any ranking here does.
///
/// # Errors
/// When there is no neighbour or no point, `k` is not in `1..features`, lengths of paths or of explanations differ, or a
/// value is not finite.
pub fn score(
    explanations: &[Vec<Vec<f64>>],
    at_x: &[f64],
    k: usize,
    form: Form,
) -> Result<Thickness> {
    let gaps = RankGaps::new(at_x, k, form)?;
    check_not_empty("the neighbours", explanations)?;
    let points = explanations[0].len();
    let mut sum = Sum::default();
    for path in explanations {
        check_not_empty("the path", path)?;
        check_length("the path", path, points)?;
        for explanation in path {
            sum.add(gaps.thickness_at(explanation)?);
        }
        sum.end_way(points);
    }
    Ok(sum.thickness(explanations.len() * points))
}

/// The mean over all points of all ways, and the least over the ways' means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sum {
    all: f64,
    way: f64,
    least: f64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            all: 0.0,
            way: 0.0,
            least: f64::INFINITY,
        }
    }
}

impl Sum {
    /// Takes in one point of the current way.
    pub(super) fn add(&mut self, value: f64) {
        self.all += value;
        self.way += value;
    }

    /// Ends a way of so many points.
    pub(super) fn end_way(&mut self, points: usize) {
        self.least = self.least.min(self.way / as_f64(points));
        self.way = 0.0;
    }

    /// Of so many points in all.
    pub(super) fn thickness(self, points: usize) -> Thickness {
        Thickness {
            mean: self.all / as_f64(points),
            least: self.least,
        }
    }
}

/// The mean gap is the mean of the salient features minus the mean of the rest.
fn gap_weights(features: usize, k: usize) -> Vec<f64> {
    let (salient, rest) = (1.0 / as_f64(k), -1.0 / as_f64(features - k));
    (0..features)
        .map(|rank| if rank < k { salient } else { rest })
        .collect()
}

fn average_precision_weights(features: usize, k: usize) -> Vec<f64> {
    let mut weights = vec![0.0; features];
    for size in 1..=k {
        for (total, weight) in weights.iter_mut().zip(gap_weights(features, size)) {
            *total += weight / as_f64(k);
        }
    }
    weights
}

fn discounted_weights(features: usize, k: usize) -> Vec<f64> {
    let mut weights = vec![0.0; features];
    for i in 0..k {
        for j in k..features {
            let discounted = 1.0 / as_f64(j - i + 1).log2();
            weights[i] += discounted;
            weights[j] -= discounted;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [Form; 4] = [
        Form::Gap,
        Form::Probability,
        Form::AveragePrecision,
        Form::Discounted,
    ];

    /// The definitions, pair by pair.
    fn slow(explanation: &[f64], at_x: &[f64], k: usize, form: Form) -> f64 {
        let order = ranking::descending(at_x).unwrap();
        let n = order.len();
        let over_pairs = |k: usize, term: &dyn Fn(f64, usize, usize) -> f64| -> f64 {
            (0..k)
                .flat_map(|i| (k..n).map(move |j| (i, j)))
                .map(|(i, j)| term(explanation[order[i]] - explanation[order[j]], i, j))
                .sum()
        };
        let pairs = |k: usize| as_f64(k * (n - k));
        match form {
            Form::Gap => over_pairs(k, &|h, _, _| h) / pairs(k),
            Form::Probability => over_pairs(k, &|h, _, _| f64::from(u8::from(h >= 0.0))) / pairs(k),
            Form::AveragePrecision => {
                (1..=k)
                    .map(|size| over_pairs(size, &|h, _, _| h) / pairs(size))
                    .sum::<f64>()
                    / as_f64(k)
            }
            Form::Discounted => over_pairs(k, &|h, i, j| h / as_f64(j - i + 1).log2()),
        }
    }

    #[test]
    fn the_gap_and_the_probability_by_hand() {
        // Ranks at x: features 2, 0, 1. On the path the salient 2 has 3, the others 1 and 4: gaps 2 and -1.
        let explanations = vec![vec![vec![1.0, 4.0, 3.0]]];
        let at_x = [5.0, 1.0, 9.0];
        let gap = score(&explanations, &at_x, 1, Form::Gap).unwrap();
        assert!((gap.mean - 0.5).abs() < 1e-15);
        let probability = score(&explanations, &at_x, 1, Form::Probability).unwrap();
        assert!((probability.mean - 0.5).abs() < 1e-15);
    }

    #[test]
    fn fast_forms_equal_the_definitions_pair_by_pair() {
        let at_x = [0.3, 0.9, 0.1, 0.5, 0.5, 0.0];
        let on_path = [0.4, 0.2, 0.4, 0.9, 0.1, -0.3];
        for form in FORMS {
            for k in 1..at_x.len() {
                let fast = RankGaps::new(&at_x, k, form)
                    .unwrap()
                    .thickness_at(&on_path)
                    .unwrap();
                assert!(
                    (fast - slow(&on_path, &at_x, k, form)).abs() < 1e-14,
                    "{form:?}, k = {k}"
                );
            }
        }
    }

    #[test]
    fn equal_features_have_a_gap_that_is_kept() {
        let gaps = RankGaps::new(&[1.0, 2.0], 1, Form::Probability).unwrap();
        assert!((gaps.thickness_at(&[0.0, -0.0]).unwrap() - 1.0).abs() < 1e-15);
        assert!((gaps.thickness_at(&[3.0, 3.0]).unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_mean_and_the_least_are_over_neighbours() {
        let explanations = vec![
            vec![vec![2.0, 0.0], vec![4.0, 0.0]],
            vec![vec![0.0, 1.0], vec![0.0, 0.0]],
        ];
        let thickness = score(&explanations, &[1.0, 0.0], 1, Form::Gap).unwrap();
        assert!((thickness.mean - 1.25).abs() < 1e-15);
        assert!((thickness.least + 0.5).abs() < 1e-15);
    }

    #[test]
    fn with_every_feature_salient_there_is_no_pair() {
        let message = RankGaps::new(&[1.0, 2.0], 2, Form::Gap)
            .unwrap_err()
            .to_string();
        assert_eq!(message, "k must lie in 1..=1, got 2");
        assert!(RankGaps::new(&[1.0], 1, Form::Gap).is_err());
    }

    #[test]
    fn nan_on_the_path_is_refused() {
        assert!(
            score(
                &[vec![vec![f64::NAN, 1.0]]],
                &[1.0, 2.0],
                1,
                Form::Probability
            )
            .is_err()
        );
    }
}
