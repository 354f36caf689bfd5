//! The ranking loss: how far salient features are from being clearly above the others, in log ratios.
//!
//! `l_i = sign(I_i) log(1 + |I_i| / (0.05 mean |I|))` and `R(I, T) = mean over i in T, j not in T of
//! tau softplus((gamma - l_i + l_j) / tau)`. For importances that are not negative `l_i` is `log(I_i / mean I + 0.05)` up to a
//! constant, of which only differences count. A pair whose ratio is beyond `exp(gamma)` costs next to nothing, and the loss
//! is never below zero, so it cannot run away as a gap of differences can; and it does not change when all importances are
//! multiplied by a number, so it cannot be had by making the model surer of itself.
//!
//! The set T is a constant for the gradient. Of more than [`MOST_BESIDE`] features on one side of the boundary only those next to it count:
//! the others are far beyond the margin.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use serde::{Deserialize, Serialize};
use thickset_engine::kernel::{VectorLoop, vectorised};
use thickset_engine::layer::{Layer as _, Softplus};
use thickset_engine::{Int, Tensor, TensorData};

use super::gap::{Pairs, Sides, pair_list};
use super::reading::constant;
use crate::Result;
use crate::check::{as_f64, check_finite, check_positive, check_weight};
use crate::host::read;

/// The share of the mean importance below which importances count as alike.
pub const FLOOR: f64 = 0.05;

/// The most features on one side of the boundary of the salient set that are paired.
pub const MOST_BESIDE: usize = 64;

/// Importances whose mean is below this count as none: its square, by which the gradient divides, is still a number in `f32`.
const LEAST_MEAN: f64 = 1e-15;

/// What counts as clearly above.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RankingMargin {
    /// gamma: the difference of log importances that is asked for.
    pub margin: f64,
    /// tau: how softly the loss ends there.
    pub softness: f64,
}

impl Default for RankingMargin {
    fn default() -> Self {
        Self {
            margin: 0.3,
            softness: 0.15,
        }
    }
}

impl RankingMargin {
    /// Refuses settings that make no sense.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`], with the setting's name.
    pub fn check(&self) -> Result<()> {
        check_weight("`margin`", self.margin)?;
        check_positive("`softness`", self.softness)
    }

    /// The loss of one pair whose levels are this far apart.
    #[must_use]
    pub fn of_difference(&self, difference: f64) -> f64 {
        let short = (self.margin - difference) / self.softness;
        self.softness * (short.max(0.0) + (-short.abs()).exp().ln_1p())
    }
}

/// `l`, the levels of importances `[rows, importances]`.
#[must_use]
pub fn levels(importance: &Tensor<2>) -> Tensor<2> {
    let size = importance.clone().abs();
    let count = as_f64(importance.dims()[1].max(1));
    let floor = size.clone().sum_dim(1) * (FLOOR / count) + LEAST_MEAN;
    importance.clone().sign() * (size / floor).log1p()
}

/// The levels of the least and the most that sizes can be, against the mean size of `center`.
#[must_use]
pub fn levels_between(least: &Tensor<2>, most: &Tensor<2>, center: &Tensor<2>) -> [Tensor<2>; 2] {
    let count = as_f64(center.dims()[1].max(1));
    let floor = center.clone().abs().sum_dim(1) * (FLOOR / count) + LEAST_MEAN;
    [least, most].map(|size| (size.clone() / floor.clone()).log1p())
}

/// The same of one row, in plain numbers.
#[must_use]
pub fn levels_of(importance: &[f64]) -> Vec<f64> {
    let sum: f64 = importance.iter().map(|value| value.abs()).sum();
    let floor = sum * FLOOR / as_f64(importance.len().max(1)) + LEAST_MEAN;
    let level = |value: &f64| {
        let level = (value.abs() / floor).ln_1p();
        if *value < 0.0 { -level } else { level }
    };
    importance.iter().map(level).collect()
}

/// Pairs of a salient and another feature, as many in every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedPairs {
    salient: Vec<i64>,
    other: Vec<i64>,
    pairs: usize,
    /// Where every salient feature of a row is paired with the same others: how many those are. Their pairs follow one another.
    others: Option<usize>,
}

impl RankedPairs {
    /// The pairs of each row; `importances` is row-major and ranks the features, descending, ties to the lower index.
    ///
    /// # Errors
    /// If `k` does not leave a feature on either side, or a value is not finite.
    pub fn new(
        importances: &[f64],
        features: usize,
        k: usize,
        pairs: Pairs,
        pair_count: Option<usize>,
    ) -> Result<Self> {
        check_finite("the explanation", importances)?;
        let mut list = Self {
            salient: Vec::new(),
            other: Vec::new(),
            pairs: 0,
            others: None,
        };
        let rows = importances.chunks(features.max(1));
        if pairs == Pairs::All {
            let mut sides = Sides::default();
            for row in rows {
                let [above, below] = sides.of(row, k, MOST_BESIDE)?;
                let others = below.clone().count();
                for salient in above {
                    let salient = i64::from(salient);
                    list.salient.extend(std::iter::repeat_n(salient, others));
                    list.other.extend(below.clone().map(i64::from));
                }
                list.others = Some(others);
            }
            let rows = importances.len() / features.max(1);
            list.pairs = list.salient.len() / rows.max(1);
            return Ok(list);
        }
        for row in rows {
            let found = pair_list(row, k, pairs, pair_count)?;
            list.pairs = found.len();
            for (salient, other) in found {
                list.salient.push(i64::from(salient));
                list.other.push(i64::from(other));
            }
        }
        Ok(list)
    }

    /// The same for `times` copies of the rows, one after the other.
    #[must_use]
    pub fn repeated(&self, times: usize) -> Self {
        Self {
            salient: self.salient.repeat(times),
            other: self.other.repeat(times),
            pairs: self.pairs,
            others: self.others,
        }
    }

    /// The loss of each row, `[rows, 1]`, given the [levels] of the same rows.
    #[must_use]
    pub fn loss(&self, levels: &Tensor<2>, margin: RankingMargin) -> Tensor<2> {
        self.loss_between(levels, levels, margin)
    }

    /// The same with levels of their own for salient features and for the others.
    #[must_use]
    pub fn loss_between(
        &self,
        salient: &Tensor<2>,
        others: &Tensor<2>,
        margin: RankingMargin,
    ) -> Tensor<2> {
        let above = self.taken(salient, &self.salient) - self.taken(others, &self.other);
        let short = above.neg() + margin.margin;
        let each = match Softplus::new(1.0 / margin.softness) {
            Ok(softplus) => softplus.forward(&[short]),
            // A softness that was not checked: the hinge that it would tend to.
            Err(_) => short.clamp_min(0.0),
        };
        each.sum_dim(1) * (1.0 / as_f64(self.pairs.max(1)))
    }

    /// The mean loss over the rows, given their importances.
    ///
    /// The loss and its slope are computed in plain numbers ([`Self::slopes_of`]) and put into the graph as a linear function of the
    /// importances with that value and that slope. One `backward` gives what it would give through the tensors, without a
    /// recorded operation for each pair.
    #[must_use]
    pub fn mean_loss(&self, importance: &Tensor<2>, margin: RankingMargin) -> Tensor<1> {
        let [rows, features] = importance.dims();
        let values = read(constant(importance));
        let (loss, slopes) = self.slopes_of(&values, features, margin);
        let share = 1.0 / as_f64(rows.max(1));
        let at: f64 = slopes
            .iter()
            .zip(&values)
            .map(|(slope, at)| slope * at)
            .sum();
        let device = importance.device().without_autodiff();
        let data = TensorData::new(slopes, [rows, features]);
        let slopes: Tensor<2> = Tensor::from_data(data, (&device, importance.dtype()));
        let linear = (importance.clone() * slopes).sum();
        (linear + (loss - at)) * share
    }

    /// The sum over rows of the loss, and its slope in every importance.
    ///
    /// With `a_i = exp((gamma - l_i) / tau)` and `b_j = exp(l_j / tau)` a pair's loss is `tau ln(1 + a_i b_j)` and its slope in the
    /// difference of levels `-a_i b_j / (1 + a_i b_j)`: an exponential a feature, and a logarithm a product of many pairs.
    #[must_use]
    pub fn slopes_of(
        &self,
        importances: &[f64],
        features: usize,
        margin: RankingMargin,
    ) -> (f64, Vec<f64>) {
        let pairs = self.pairs.max(1);
        let share = 1.0 / as_f64(pairs);
        let mut slopes = Vec::with_capacity(importances.len());
        let mut total = 0.0;
        let mut grid = Grid::new(margin);
        for (place, row) in importances.chunks(features.max(1)).enumerate() {
            let of = place * pairs..(place + 1) * pairs;
            let (salient, other) = (&self.salient[of.clone()], &self.other[of]);
            if let Some(others) = self.others.filter(|_| grid.fits(row)) {
                let salient = salient.iter().step_by(others);
                let (loss, by_level) = grid.slopes(salient, &other[..others]);
                total += loss * share;
                slopes.extend(level_slopes(row, by_level).map(|slope| slope * share));
                continue;
            }
            let levels = levels_of(row);
            let (loss, by_level) = pair_slopes(&levels, salient, other, margin);
            total += loss * share;
            slopes.extend(level_slopes(row, &by_level).map(|slope| slope * share));
        }
        (total, slopes)
    }

    /// The loss of each row in plain numbers, given row-major importances.
    #[must_use]
    pub fn losses_of(&self, importances: &[f64], margin: RankingMargin) -> Vec<f64> {
        let pairs = self.pairs.max(1);
        let rows = self.salient.len() / pairs;
        let features = importances.len() / rows.max(1);
        let row = |place: usize| {
            let levels = levels_of(&importances[place * features..(place + 1) * features]);
            let of = place * pairs..(place + 1) * pairs;
            let salient = self.salient[of.clone()].iter();
            let sum: f64 = salient
                .zip(&self.other[of])
                .map(|(&salient, &other)| {
                    margin.of_difference(level(&levels, salient) - level(&levels, other))
                })
                .sum();
            sum / as_f64(pairs)
        };
        (0..rows).map(row).collect()
    }

    fn taken(&self, levels: &Tensor<2>, places: &[i64]) -> Tensor<2> {
        let size = [places.len() / self.pairs.max(1), self.pairs];
        let data = TensorData::new(places.to_vec(), size);
        let device = levels.device().without_autodiff();
        let places: Tensor<2, Int> = Tensor::from_data(data, &device);
        levels.clone().gather(1, places)
    }
}

fn level(levels: &[f64], place: i64) -> f64 {
    let place = usize::try_from(place).ok();
    place
        .and_then(|place| levels.get(place))
        .copied()
        .unwrap_or(0.0)
}

/// Beyond this exponent a product of two exponentials might be no number.
const LARGEST_EXPONENT: f64 = 150.0;

/// A product of terms `1 + e` is put into the sum of logarithms when it passes this.
const LARGE_PRODUCT: f64 = 1e100;

/// The summed loss of the pairs of one row, and its slope in every level.
fn pair_slopes(
    levels: &[f64],
    salient: &[i64],
    other: &[i64],
    margin: RankingMargin,
) -> (f64, Vec<f64>) {
    let (gamma, tau) = (margin.margin, margin.softness);
    let mut slopes = vec![0.0; levels.len()];
    let pairs = salient.iter().zip(other).filter_map(|(&one, &two)| {
        let (one, two) = (usize::try_from(one).ok()?, usize::try_from(two).ok()?);
        (one < levels.len() && two < levels.len()).then_some((one, two))
    });
    let largest = levels
        .iter()
        .fold(0.0_f64, |most, level| most.max(level.abs()));
    let mut loss = 0.0;
    if (largest + gamma) / tau > LARGEST_EXPONENT {
        for (one, two) in pairs {
            let difference = levels[one] - levels[two];
            loss += margin.of_difference(difference);
            let slope = 1.0 / (1.0 + ((difference - gamma) / tau).exp());
            slopes[one] -= slope;
            slopes[two] += slope;
        }
        return (loss, slopes);
    }
    let down: Vec<f64> = levels
        .iter()
        .map(|level| ((gamma - level) / tau).exp())
        .collect();
    let up: Vec<f64> = levels.iter().map(|level| (level / tau).exp()).collect();
    // A logarithm of a product of many: far fewer logarithms than pairs.
    let mut product = 1.0_f64;
    for (one, two) in pairs {
        let short = down[one] * up[two];
        product *= 1.0 + short;
        if product > LARGE_PRODUCT {
            loss += product.ln();
            product = 1.0;
        }
        let slope = short / (1.0 + short);
        slopes[one] -= slope;
        slopes[two] += slope;
    }
    ((loss + product.ln()) * tau, slopes)
}

/// The pairs of some features of a row with some others: `1 + a_i b_j` of all of them.
///
/// `exp(l / tau)` is a power of `1 + |I| / floor`, so no logarithm and no exponential are needed of single features where
/// `1 / tau` is a whole number, and one power of each where it is not.
struct Grid {
    margin: RankingMargin,
    /// `1 / tau` where it is a whole number.
    whole: Option<i32>,
    /// `exp(gamma / tau)`
    factor: f64,
    /// `exp(l / tau)` of each feature of the row.
    up: Vec<f64>,
    salient: Vec<(usize, f64)>,
    others: Vec<f64>,
    by_other: Vec<f64>,
    slopes: Vec<f64>,
}

/// The most that `1 / tau` is for powers by products.
const MOST_WHOLE: f64 = 64.0;

impl Grid {
    fn new(margin: RankingMargin) -> Self {
        let sharpness = 1.0 / margin.softness;
        let is_whole = sharpness.fract() == 0.0 && sharpness <= MOST_WHOLE;
        #[expect(clippy::cast_possible_truncation, reason = "a small whole number")]
        let whole = is_whole.then_some(sharpness as i32);
        Self {
            margin,
            whole,
            factor: (margin.margin * sharpness).exp(),
            up: Vec::new(),
            salient: Vec::new(),
            others: Vec::new(),
            by_other: Vec::new(),
            slopes: Vec::new(),
        }
    }

    /// Takes a row up, unless its products might be no numbers.
    fn fits(&mut self, row: &[f64]) -> bool {
        let sum: f64 = row.iter().map(|value| value.abs()).sum();
        let floor = sum * FLOOR / as_f64(row.len().max(1)) + LEAST_MEAN;
        let largest = row
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let exponent = ((largest / floor).ln_1p() + self.margin.margin) / self.margin.softness;
        // NaN fits nothing.
        let fits = exponent <= LARGEST_EXPONENT;
        if fits {
            let power = |value: &f64| {
                let base = 1.0 + value.abs() / floor;
                let power = match self.whole {
                    Some(whole) => base.powi(whole),
                    None => base.powf(1.0 / self.margin.softness),
                };
                if *value < 0.0 { 1.0 / power } else { power }
            };
            self.up.clear();
            self.up.extend(row.iter().map(power));
        }
        fits
    }

    /// The summed loss of the pairs, and its slope in every level.
    fn slopes<'p>(
        &mut self,
        salient: impl Iterator<Item = &'p i64>,
        others: &[i64],
    ) -> (f64, &[f64]) {
        let place = |feature: &i64| usize::try_from(*feature).unwrap_or(usize::MAX);
        let up = &self.up;
        let of = |feature: &i64| up.get(place(feature)).copied();
        self.salient.clear();
        let down = |feature: &i64| Some((place(feature), self.factor / of(feature)?));
        self.salient.extend(salient.filter_map(down));
        self.others.clear();
        self.others.extend(others.iter().filter_map(of));
        self.by_other.clear();
        self.by_other.resize(self.others.len(), 0.0);
        self.slopes.clear();
        self.slopes.resize(up.len(), 0.0);
        let loss = vectorised(GridSums {
            salient: &self.salient,
            others: &self.others,
            by_other: &mut self.by_other,
            slopes: &mut self.slopes,
        });
        for (feature, slope) in others.iter().zip(&self.by_other) {
            if let Some(to) = self.slopes.get_mut(place(feature)) {
                *to += slope;
            }
        }
        (loss * self.margin.softness, &self.slopes)
    }
}

/// The sum of `ln(1 + a_i b_j)`; the slopes of salient features, and those of the others by their place.
struct GridSums<'a> {
    salient: &'a [(usize, f64)],
    others: &'a [f64],
    by_other: &'a mut [f64],
    slopes: &'a mut [f64],
}

/// Sums that are kept side by side.
const LANES: usize = 4;

impl VectorLoop for GridSums<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut loss = 0.0;
        let mut products = [1.0_f64; LANES];
        for &(feature, down) in self.salient {
            let (mut sums, mut rest) = ([0.0; LANES], 0.0);
            let (others, others_rest) = self.others.as_chunks::<LANES>();
            let (by_other, by_other_rest) = self.by_other.as_chunks_mut::<LANES>();
            for (others, by_other) in others.iter().zip(by_other) {
                for lane in 0..LANES {
                    let short = down * others[lane];
                    products[lane] *= 1.0 + short;
                    let slope = short / (1.0 + short);
                    sums[lane] += slope;
                    by_other[lane] += slope;
                }
                if products.iter().any(|product| *product > LARGE_PRODUCT) {
                    for product in &mut products {
                        loss += product.ln();
                        *product = 1.0;
                    }
                }
            }
            for (other, by_other) in others_rest.iter().zip(by_other_rest) {
                let short = down * other;
                products[0] *= 1.0 + short;
                let slope = short / (1.0 + short);
                rest += slope;
                *by_other += slope;
                if products[0] > LARGE_PRODUCT {
                    loss += products[0].ln();
                    products[0] = 1.0;
                }
            }
            self.slopes[feature] -= (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest;
        }
        loss + products.iter().map(|product| product.ln()).sum::<f64>()
    }
}

/// The slope in each importance of a function of the levels whose slopes in those are given.
fn level_slopes<'r>(importance: &'r [f64], by_level: &'r [f64]) -> impl Iterator<Item = f64> + 'r {
    let scale = FLOOR / as_f64(importance.len().max(1));
    let sum: f64 = importance.iter().map(|value| value.abs()).sum();
    let floor = sum * scale + LEAST_MEAN;
    let sign = |value: f64| if value == 0.0 { 0.0 } else { value.signum() };
    let by_floor: f64 = importance
        .iter()
        .zip(by_level)
        .map(|(value, slope)| -slope * value / (floor * (floor + value.abs())))
        .sum();
    let each = importance.iter().zip(by_level);
    each.map(move |(value, slope)| slope / (floor + value.abs()) + by_floor * scale * sign(*value))
}

#[cfg(test)]
mod tests {
    use thickset_engine::{DType, Device};

    use super::super::reading::mean_over_rows;
    use super::*;
    use crate::toy;

    fn tensor(values: &[f64], features: usize) -> Tensor<2> {
        let size = [values.len() / features, features];
        Tensor::from_data(
            TensorData::new(values.to_vec(), size),
            (&Device::cpu(), DType::F64),
        )
    }

    fn loss(importance: &[f64], k: usize) -> f64 {
        let pairs = RankedPairs::new(importance, importance.len(), k, Pairs::All, None).unwrap();
        let margin = RankingMargin::default();
        let x = tensor(importance, importance.len());
        let by_tensor = read(pairs.mean_loss(&x, margin))[0];
        let by_operations = read(mean_over_rows(pairs.loss(&levels(&x), margin)))[0];
        toy::assert_close(&[by_tensor], &[by_operations]);
        let by_number = pairs.losses_of(importance, margin)[0];
        toy::assert_close(&[by_tensor], &[by_number]);
        by_tensor
    }

    #[test]
    fn one_row_by_hand() {
        // The mean is 2, so l is ln(1 + 4 / 0.1) = ln 41 and twice ln 11: log ratios of 4 / 2 + 0.05 to 1 / 2 + 0.05.
        let short: f64 = (0.3 - (41.0_f64 / 11.0).ln()) / 0.15;
        toy::assert_close(&[loss(&[4.0, 1.0, 1.0], 1)], &[0.15 * short.exp().ln_1p()]);
        // All alike: every pair is short by the margin.
        toy::assert_close(&[loss(&[1.0; 4], 2)], &[0.15 * 2.0_f64.exp().ln_1p()]);
    }

    #[test]
    fn a_factor_of_all_importances_changes_nothing_and_the_loss_is_never_negative() {
        let mut stream = crate::Seed::new(7).stream("importances");
        for _ in 0..50 {
            let row: Vec<f64> = (0..9).map(|_| stream.normal().abs()).collect();
            let large: Vec<f64> = row.iter().map(|value| value * 1e6).collect();
            let (one, other) = (loss(&row, 3), loss(&large, 3));
            assert!((one - other).abs() < 1e-9 && one > 0.0, "{one} {other}");
        }
        assert!(loss(&[0.0; 5], 2).is_finite());
    }

    #[test]
    fn what_speaks_against_the_class_ranks_below_all_else() {
        let row = [3.0, -3.0, 0.5];
        let got = levels_of(&row);
        assert!(got[0] > got[2] && got[2] > 0.0 && (got[0] + got[1]).abs() < 1e-12);
        toy::assert_close(&read(levels(&tensor(&row, 3))), &got);
    }

    #[test]
    fn the_gradient_is_that_of_central_differences() {
        let mut stream = crate::Seed::new(8).stream("importances");
        let row: Vec<f64> = (0..12).map(|_| stream.normal()).collect();
        let pairs = RankedPairs::new(&row, 6, 2, Pairs::All, None).unwrap();
        let margin = RankingMargin::default();
        let of = |row: &[f64]| pairs.losses_of(row, margin).iter().sum::<f64>() / 2.0;
        let x = tensor(&row, 6).autodiff().require_grad();
        let gradients = pairs.mean_loss(&x, margin).backward();
        let got = read(x.grad(&gradients).unwrap());
        for place in 0..12 {
            let mut beside = [row.clone(), row.clone()];
            beside[0][place] += 1e-6;
            beside[1][place] -= 1e-6;
            let slope = (of(&beside[0]) - of(&beside[1])) / 2e-6;
            assert!((slope - got[place]).abs() < 1e-6, "{slope} {}", got[place]);
        }
    }

    #[test]
    fn the_slope_in_plain_numbers_is_the_one_through_the_tensors() {
        let mut stream = crate::Seed::new(9).stream("importances");
        for softness in [0.25, 0.01, 0.001] {
            // None is exactly zero: there the tensors' sign has no slope, and the level has one.
            let row: Vec<f64> = (0..40).map(|_| stream.normal()).collect();
            let pairs = RankedPairs::new(&row, 20, 4, Pairs::All, None).unwrap();
            let margin = RankingMargin {
                margin: 1.0,
                softness,
            };
            let x = tensor(&row, 20).autodiff().require_grad();
            let gradients = mean_over_rows(pairs.loss(&levels(&x), margin)).backward();
            let expected = read(x.grad(&gradients).unwrap());
            let (loss, slopes) = pairs.slopes_of(&row, 20, margin);
            let slopes: Vec<f64> = slopes.iter().map(|slope| slope / 2.0).collect();
            for (slope, expected) in slopes.iter().zip(&expected) {
                assert!((slope - expected).abs() < 1e-9 * (1.0 + expected.abs()));
            }
            let by_row: f64 = pairs.losses_of(&row, margin).iter().sum();
            assert!(
                (loss - by_row).abs() < 1e-9 * (1.0 + by_row),
                "{loss} {by_row}"
            );
        }
    }

    #[test]
    fn only_features_next_to_the_boundary_are_paired_where_there_are_many() {
        let row: Vec<f64> = (0..400).map(|value| f64::from(value) + 1.0).collect();
        let pairs = RankedPairs::new(&row, 400, 100, Pairs::All, None).unwrap();
        assert_eq!(pairs.pairs, MOST_BESIDE * MOST_BESIDE);
        // Ranks 37 to 100 of the values 1 to 400, and ranks 101 to 164.
        assert!(pairs.salient.iter().all(|place| (300..364).contains(place)));
        assert!(pairs.other.iter().all(|place| (236..300).contains(place)));
    }
}
