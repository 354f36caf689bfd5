//! Scores that never fall, or never rise, with a column: by the signs of the weights.
//!
//! Every unit has a label: `+` if it may only rise with what shall raise the score, `-` if it may only fall with it, and `0` if it does not
//! depend on monotone columns at all. The unit that passes a column on has the column's sign, those of its bins, which fall as it rises, the
//! other one; the logit of the last class is `+`, that of the other `-`. A weight from a unit a to a unit b may have the sign `a b`; from `0` any; and from `+` or `-` to `0` it is zero.
//! `ReLU` and softplus rise, so by induction every unit keeps its label, and the difference of the logits is monotone: for all rows, not only
//! for those that were tried. Units of both labels in each layer are needed: those of one alone would make the score convex in the column.
//!
//! It holds in floating point too: a product with a number of fixed sign, a sum in a fixed order and a `ReLU` are monotone in each
//! argument after rounding, so the logit of the last class never falls and the other never rises, to the last bit.
//!
//! Training puts the weights back after every step ([`SignRule::project`]); [`SignRule::holds`] is the certificate: it reads the
//! signs of the weights of a finished model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, TensorData};

use super::BinnedConfig;
use crate::data::{Dataset, FeatureKind};
use crate::host::read;
use crate::{Error, Result};

/// How the score of the last class may go with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// It never falls as the column rises.
    #[serde(rename = "+")]
    Rising,
    /// It never rises as the column rises.
    #[serde(rename = "-")]
    Falling,
}

impl Direction {
    fn sign(self) -> i8 {
        match self {
            Self::Rising => 1,
            Self::Falling => -1,
        }
    }
}

/// The sign of every feature; none where no column is monotone.
///
/// # Errors
/// If there are not two classes, or a column is not there or has no number.
pub(super) fn signs(asked: &BTreeMap<String, Direction>, dataset: &Dataset) -> Result<Vec<i8>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    if dataset.classes.len() != 2 {
        return Err(Error::ModelInput {
            model: super::INFO.id,
            expected: "two classes for `monotone`",
            got: format!("{} classes", dataset.classes.len()),
        });
    }
    let features = &dataset.schema.features;
    let mut signs = vec![0; features.len()];
    for (column, direction) in asked {
        let mut is_found = false;
        for (sign, feature) in signs.iter_mut().zip(features) {
            if feature.column == *column && feature.kind == FeatureKind::Number {
                *sign = direction.sign();
                is_found = true;
            }
        }
        if !is_found {
            return Err(Error::ModelInput {
                model: super::INFO.id,
                expected: "columns of numbers in `monotone`",
                got: format!("`{column}`, which is none of the data's"),
            });
        }
    }
    Ok(signs)
}

/// Which signs the weights of each trained layer may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignRule {
    /// The label of each unit, layer by layer: of the pieces, of the hidden layers, and of the two logits.
    labels: Vec<Vec<i8>>,
}

impl SignRule {
    /// The rule of a fitted architecture; none where no column is monotone.
    #[must_use]
    pub fn new(config: &BinnedConfig) -> Option<Self> {
        if config.signs.iter().all(|sign| *sign == 0) {
            return None;
        }
        let units = config.units.iter().zip(&config.signs);
        let first: Vec<i8> = units
            .flat_map(|(&count, &sign)| {
                let bins = std::iter::repeat_n(-sign, count.saturating_sub(1));
                std::iter::once(sign).chain(bins)
            })
            .collect();
        let is_any_free = first.contains(&0);
        // Half of a layer for what does not depend on monotone columns, where there is such.
        let label = |unit: usize| match (unit % 4, is_any_free) {
            (0, _) | (2, false) => 1,
            (1, _) | (3, false) => -1,
            _ => 0,
        };
        let mut labels = vec![first];
        labels.extend(
            config
                .hidden
                .iter()
                .map(|&size| (0..size).map(label).collect()),
        );
        labels.push(vec![-1, 1]);
        Some(Self { labels })
    }

    /// Sets every weight that has a wrong sign to zero.
    ///
    /// # Errors
    /// If the network has other layers.
    pub(crate) fn project(&self, network: &mut Network) -> Result<()> {
        let is_tracked = network
            .parameters()
            .iter()
            .any(|one| one.value.is_require_grad());
        let dtype = network.dtype();
        let mut values = network.parameter_values();
        for (place, pair) in self.labels.windows(2).enumerate() {
            let Some(data) = values.get_mut(weight_at(place)) else {
                break;
            };
            let mut numbers: Vec<f64> = data.iter::<f64>().collect();
            let [from, to] = pair else { break };
            for (row, to) in numbers.chunks_mut(from.len().max(1)).zip(to) {
                for (weight, from) in row.iter_mut().zip(from) {
                    if !is_allowed(*weight, *from, *to) {
                        *weight = 0.0;
                    }
                }
            }
            *data = TensorData::new(numbers, *data.shape()).convert_dtype(dtype);
        }
        network.set_parameter_values(&values)?;
        if is_tracked {
            network.track();
        }
        Ok(())
    }

    /// Whether every weight of a network has a sign that the rule allows, and the pieces read their own feature alone, rising
    /// in the first layer, and each itself in the second. If so, the score is monotone for all rows.
    #[must_use]
    pub fn holds(&self, network: &Network, config: &BinnedConfig) -> bool {
        let parameters = network.parameters();
        if parameters.len() != 2 * (self.labels.len() + 1) {
            return false;
        }
        let weights = |place: usize| read(parameters[place].value.clone());
        let mut layers = self.labels.windows(2).enumerate();
        are_pieces(&weights(0), &weights(2), network.features(), config)
            && layers.all(|(place, pair)| {
                let numbers = weights(weight_at(place));
                let width = pair[0].len().max(1);
                numbers.len() == pair[0].len() * pair[1].len()
                    && numbers.chunks(width).zip(&pair[1]).all(|(row, to)| {
                        let mut each = row.iter().zip(&pair[0]);
                        each.all(|(weight, from)| is_allowed(*weight, *from, *to))
                    })
            })
    }
}

/// The place of a trained layer's weights among the parameters: weights and biases take turns, and those of two fixed layers come first.
fn weight_at(layer: usize) -> usize {
    2 * layer + 4
}

/// Whether the weights of the first two layers are those of pieces: up with the own feature, then on or down.
fn are_pieces(first: &[f64], second: &[f64], features: usize, config: &BinnedConfig) -> bool {
    let units: usize = config.units.iter().sum();
    if first.len() != units * features || second.len() != units * units {
        return false;
    }
    let owners = config.units.iter().enumerate();
    let owners = owners.flat_map(|(feature, &count)| (0..count).map(move |unit| (feature, unit)));
    let rows = first
        .chunks(features.max(1))
        .zip(second.chunks(units.max(1)));
    rows.zip(owners)
        .enumerate()
        .all(|(place, ((up, on), (feature, unit)))| {
            let is_up = up
                .iter()
                .enumerate()
                .all(|(from, weight)| *weight == 0.0 || (from == feature && *weight > 0.0));
            let is_on = on.iter().enumerate().all(|(from, weight)| {
                *weight == 0.0 || (from == place && (*weight > 0.0) == (unit == 0))
            });
            is_up && is_on
        })
}

fn is_allowed(weight: f64, from: i8, to: i8) -> bool {
    match (from, to) {
        (0, _) => true,
        (_, 0) => weight == 0.0,
        (from, to) => weight * f64::from(from * to) >= 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::config::RunConfig;
    use crate::model::{Model, ModelConfig};

    /// The label rises with `x` on the whole, and falls with it in the data of half of the rows.
    fn dataset() -> Dataset {
        let mut stream = Seed::new(5).stream("rows");
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..400 {
            let [x, y, z] = [(); 3].map(|()| stream.uniform());
            #[expect(clippy::cast_possible_truncation, reason = "rows are f32")]
            values.extend([x as f32, y as f32, z as f32]);
            labels.push(usize::from((8.0 * x).sin() + y - z > 0.2));
        }
        Dataset::from_rows(values, labels, &["x", "y", "z"]).unwrap()
    }

    fn trained(monotone: &[(&str, Direction)]) -> Model {
        let config = BinnedConfig {
            hidden: vec![16, 8],
            monotone: monotone
                .iter()
                .map(|(name, direction)| ((*name).to_owned(), *direction))
                .collect(),
            ..BinnedConfig::default()
        };
        let mut run = RunConfig {
            model: config.into(),
            objective: crate::objective::vanilla::VanillaConfig::default().into(),
            ..RunConfig::default()
        };
        run.train.epochs = 8;
        run.train.batch = 32;
        run.probe.rows = 0;
        crate::train(&run.check().unwrap(), &dataset())
            .unwrap()
            .model
    }

    /// Pairs of rows that differ in one feature, and in which the score goes the wrong way.
    fn violations(model: &Model, feature: usize, sign: f64) -> usize {
        let mut stream = Seed::new(6).stream("pairs");
        let mut rows = Vec::new();
        for _ in 0..2000 {
            let mut row: Vec<f64> = (0..3).map(|_| 3.0 * stream.uniform() - 1.0).collect();
            rows.extend(row.clone());
            row[feature] += stream.uniform();
            rows.extend(row);
        }
        let logits = read(model.network.logits(model.network.batch(&rows)));
        let pairs = logits.chunks(4);
        pairs
            .filter(|pair| sign * (pair[2] - pair[0]) > 0.0 || sign * (pair[3] - pair[1]) < 0.0)
            .count()
    }

    #[test]
    fn no_pair_of_rows_breaks_what_was_asked_for_and_a_free_model_does() {
        let asked = [("x", Direction::Rising), ("z", Direction::Falling)];
        let model = trained(&asked);
        assert_eq!(violations(&model, 0, 1.0), 0);
        assert_eq!(violations(&model, 2, -1.0), 0);
        let ModelConfig::Binned(config) = &model.description.model else {
            panic!("a binned model")
        };
        let rule = SignRule::new(config).unwrap();
        assert!(rule.holds(&model.network, config));
        let free = trained(&[]);
        assert!(violations(&free, 0, 1.0) > 100);
        assert!(!rule.holds(&free.network, config));
    }

    #[test]
    fn a_monotone_model_still_learns_what_is_monotone() {
        let model = trained(&[("y", Direction::Rising)]);
        let data = dataset();
        let rows = data.test();
        let predicted = model.predict(&rows).unwrap();
        let labels = data.gather_labels(data.part(crate::data::Part::Test));
        let right = predicted
            .iter()
            .zip(&labels)
            .filter(|(one, label)| one.class == **label);
        assert!(right.count() * 10 > labels.len() * 7);
    }

    #[test]
    fn one_wrong_weight_is_noticed() {
        let mut model = trained(&[("x", Direction::Rising)]);
        let ModelConfig::Binned(config) = model.description.model.clone() else {
            panic!("a binned model")
        };
        let rule = SignRule::new(&config).unwrap();
        let mut values = model.network.parameter_values();
        let mut last: Vec<f32> = values[8].iter::<f32>().collect();
        // From the first hidden unit, which is `+`, to the other class's logit.
        last[0] = 0.1;
        values[8] = TensorData::new(last, *values[8].shape());
        model.network.set_parameter_values(&values).unwrap();
        assert!(!rule.holds(&model.network, &config));
    }
}
