//! What the training rows taught about a column of numbers: its range, its scale and what stands in for a missing value.

use serde::{Deserialize, Serialize};

use super::feature_rule::{NumberRule, Scale};
use crate::data::read::table::Values;

/// A number's scale, as learned.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, named in the stored file"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberEncoding {
    /// The column.
    pub column: String,
    /// The feature's name.
    pub name: String,
    /// The unit of its values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<String>,
    /// The least value of the training rows, after clipping.
    #[serde(with = "crate::data::exact")]
    pub low: f64,
    /// The greatest.
    #[serde(with = "crate::data::exact")]
    pub high: f64,
    /// Values beyond `low..=high` are set to the bounds.
    pub clip: bool,
    /// Encoded = (value - `offset`) / `factor`.
    #[serde(with = "crate::data::exact")]
    pub offset: f64,
    /// See `offset`; positive.
    #[serde(with = "crate::data::exact")]
    pub factor: f64,
    /// Stands in for a missing value: the training rows' median.
    #[serde(with = "crate::data::exact")]
    pub impute: f64,
    /// Adds the feature "is missing".
    pub indicator: bool,
    /// All training values are whole numbers.
    pub integer: bool,
    /// A person cannot change it.
    pub immutable: bool,
    /// A row without a value is refused, since the model has nothing that stands in for it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub required: bool,
}

impl NumberEncoding {
    /// Learns the scale from the rows `train`, and from no others.
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
    pub(in crate::data) fn fit(rule: &NumberRule, values: &Values, train: &[usize]) -> Self {
        let mut numbers: Vec<f64> = train.iter().filter_map(|&row| values.number(row)).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        let missing = numbers.len() < train.len();
        let integer = numbers.iter().all(|value| value.fract() == 0.0);
        let impute = quantile(&numbers, 0.5);
        let (least, greatest) = (quantile(&numbers, 0.0), quantile(&numbers, 1.0));
        let mut bounds = match (rule.range, rule.clip) {
            (Some([low, high]), _) => (low, high),
            (None, Some([low, high])) => (quantile(&numbers, low), quantile(&numbers, high)),
            (None, None) => (least, greatest),
        };
        let mut clip = rule.range.is_some() || rule.clip.is_some();
        if bounds.0 >= bounds.1 {
            // All but a few values are the same: clipping would leave a constant, so nothing is clipped.
            bounds = (least, greatest);
            clip = false;
        }
        let (low, high) = bounds;
        let (offset, factor) = match rule.scale {
            Scale::MinMax => (low, high - low),
            Scale::Standard => {
                let count = numbers.len().max(1) as f64;
                let clipped = || numbers.iter().map(|value| value.clamp(low, high));
                let mean = clipped().sum::<f64>() / count;
                (
                    mean,
                    (clipped().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt(),
                )
            }
        };
        Self {
            column: rule.column.clone(),
            name: rule.name.clone().unwrap_or_else(|| rule.column.clone()),
            unit: rule.unit.clone(),
            low,
            high,
            clip,
            offset,
            factor: if factor > 0.0 && factor.is_finite() {
                factor
            } else {
                1.0
            },
            impute,
            indicator: rule.indicator.unwrap_or(missing),
            integer,
            immutable: rule.immutable,
            required: false,
        }
    }

    /// Whether values can be encoded by it.
    ///
    /// # Errors
    /// What was expected and what came.
    pub(in crate::data) fn check(&self) -> Result<(), String> {
        let Self {
            column,
            low,
            high,
            offset,
            factor,
            impute,
            ..
        } = self;
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(format!(
                "the range of `{column}` must be two ascending numbers, got [{low}, {high}]"
            ));
        }
        if !(offset.is_finite() && factor.is_finite() && *factor > 0.0) {
            return Err(format!(
                "the scale of `{column}` must be a finite offset and a positive factor, got {offset} and {factor}"
            ));
        }
        if !impute.is_finite() {
            return Err(format!(
                "what stands in for a missing `{column}` must be a number, got {impute}"
            ));
        }
        let encoded = [*low, *high, *impute].map(|value| self.encode(value));
        if encoded.iter().all(|value| value.is_finite()) {
            Ok(())
        } else {
            Err(format!(
                "the range of `{column}`, [{low}, {high}], is too wide for single precision"
            ))
        }
    }

    /// The encoded value of an original one.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are f32 by design"
    )]
    pub(in crate::data) fn encode(&self, value: f64) -> f32 {
        let value = if self.clip {
            value.clamp(self.low, self.high)
        } else {
            value
        };
        ((value - self.offset) / self.factor) as f32
    }
}

/// The q-quantile of ascending numbers, linear between neighbours; 0 for none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a position in a slice of far fewer than 2^52 numbers"
)]
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = q * last as f64;
    let below = (place.floor() as usize).min(last);
    let (a, b) = (sorted[below], sorted[(below + 1).min(last)]);
    let t = place - below as f64;
    let step = b - a;
    if !step.is_finite() {
        // So far apart that their difference is no number.
        return a * (1.0 - t) + b * t;
    }
    // From the nearer end, so that equal neighbours and the ends come out exactly.
    if t < 0.5 {
        a + step * t
    } else {
        b - step * (1.0 - t)
    }
}

#[cfg(test)]
#[expect(
    clippy::float_cmp,
    reason = "the values are exact in binary, or must be equal to the bit"
)]
mod tests {
    use super::*;

    fn fit(rule: &NumberRule, values: Vec<f64>) -> NumberEncoding {
        let train: Vec<usize> = (0..values.len()).collect();
        NumberEncoding::fit(rule, &Values::Number(values), &train)
    }

    fn rule(scale: Scale, clip: Option<[f64; 2]>) -> NumberRule {
        NumberRule {
            column: "x".to_owned(),
            name: None,
            unit: None,
            scale,
            clip,
            range: None,
            indicator: None,
            immutable: false,
        }
    }

    #[test]
    fn quantiles_are_linear_between_neighbours() {
        let numbers = [1.0, 2.0, 4.0, 8.0];
        let found = [0.0, 0.5, 0.75, 1.0].map(|q| quantile(&numbers, q));
        assert!(
            found
                .iter()
                .zip([1.0, 3.0, 5.0, 8.0])
                .all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?}"
        );
    }

    #[test]
    fn min_max_puts_the_training_range_on_zero_to_one() {
        let encoding = fit(&rule(Scale::MinMax, None), vec![10.0, 20.0, 30.0]);
        assert_eq!(
            [10.0, 25.0, 30.0, 40.0].map(|x| encoding.encode(x)),
            [0.0, 0.75, 1.0, 1.5]
        );
        assert!(encoding.integer && !encoding.indicator);
    }

    #[test]
    fn standard_gives_mean_zero_and_deviation_one() {
        let encoding = fit(&rule(Scale::Standard, None), vec![1.0, 3.0, f64::NAN]);
        assert_eq!(
            [1.0, 2.0, 3.0].map(|x| encoding.encode(x)),
            [-1.0, 0.0, 1.0]
        );
        assert!(encoding.indicator, "a training value is missing");
        assert_eq!(encoding.impute.to_bits(), 2.0_f64.to_bits());
    }

    #[test]
    fn clipping_sets_outliers_to_the_quantiles_but_never_makes_a_constant() {
        let encoding = fit(
            &rule(Scale::MinMax, Some([0.25, 0.75])),
            vec![0.0, 1.0, 2.0, 3.0, 100.0],
        );
        assert_eq!(
            [-5.0, 1.0, 2.0, 1000.0].map(|x| encoding.encode(x)),
            [0.0, 0.0, 0.5, 1.0]
        );
        let rare = fit(
            &rule(Scale::MinMax, Some([0.25, 0.75])),
            vec![0.0, 0.0, 0.0, 0.0, 5.0],
        );
        assert_eq!([0.0, 5.0].map(|x| rare.encode(x)), [0.0, 1.0]);
    }

    #[test]
    fn numbers_at_the_ends_of_double_precision_have_quantiles_between_them() {
        let ends = [-1.7e308, 1.7e308];
        assert_eq!(quantile(&ends, 0.0), ends[0]);
        assert_eq!(quantile(&ends, 0.5), 0.0);
        assert_eq!(quantile(&ends, 1.0), ends[1]);
        let encoding = fit(&rule(Scale::MinMax, Some([0.01, 0.99])), ends.to_vec());
        assert!(encoding.low < encoding.high);
        assert!(encoding.check().unwrap_err().contains("too wide"));
        let large = fit(&rule(Scale::MinMax, None), vec![-1e40, 0.0, 1e40]);
        assert_eq!([-1e40, 0.0, 1e40].map(|x| large.encode(x)), [0.0, 0.5, 1.0]);
        assert_eq!(large.check(), Ok(()));
    }

    #[test]
    fn a_constant_column_does_not_divide_by_zero() {
        assert_eq!(
            fit(&rule(Scale::MinMax, None), vec![7.0, 7.0])
                .encode(7.0)
                .to_bits(),
            0.0_f32.to_bits()
        );
        assert!(
            fit(&rule(Scale::Standard, None), vec![f64::NAN])
                .encode(7.0)
                .is_finite()
        );
    }
}
