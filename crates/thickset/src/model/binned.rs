//! Fully connected layers behind fixed pieces of every number, for tables.
//!
//! `z = W_L a(... a(W_1 v + b_1) ...) + b_L`, where v has for every feature one unit that passes it on, `x - low + a quarter of its
//! range`, and for a number one more a bin between two knots, `1 - clamp((x - left) / (right - left), 0, 1)`. That is the piecewise linear
//! encoding of Gorishniy et al. (2022), each piece taken from 1. A piece is two `ReLU`s, `max(0, 1 - max(0, (x - left) / (right - left)))`, so v comes from
//! two dense layers with `ReLU` that are not trained. Knots are learned from the training rows ([`knots`]).
//!
//! Since the pieces are layers and not an encoding, a row is still one number a column: threats move the column, contributions are of the
//! column, and the network is a chain of dense layers with `ReLU`, which has exact contributions and certificates.
//!
//! Below `low` minus a quarter of the range a feature counts as if it were there.
//!
//! With `monotone` the score cannot fall (`"+"`) or rise (`"-"`) with a column, by the signs of the weights ([`monotone`]).

mod knots;
pub mod monotone;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thickset_engine::layer::{Linear, Relu};
use thickset_engine::{Network, NetworkBuilder, Source, TensorData};

use self::knots::{Pieces, pieces};
pub use self::monotone::Direction;
use super::{Activation, Architecture, ModelConfig, check_size, dense};
use crate::data::{Dataset, InputShape};
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "binned",
    label: "Binned DNN",
    family: Family::Model,
    summary: "Fully connected layers behind fixed pieces of every number, for tables; may be monotone in some columns",
    formula: "z = W_L a(... a(W_1 v + b_1) ...) + b_L, v = x and 1 - clamp((x - left) / (right - left), 0, 1) for each bin",
    source: "Gorishniy et al. 2022, On Embeddings for Numerical Features (piecewise linear encoding), as a layer",
    direction: None,
    cost: "as `mlp`, with `bins` more inputs a column of numbers",
    defaults: &[
        Setting::new("hidden", "sizes of the hidden layers"),
        Setting::new("activation", "or { softplus = { beta = 1.0 } }"),
        Setting::new("bins", "the most quantiles of a number that become knots"),
        Setting::in_words(
            "monotone",
            "none",
            "columns with which the last class's score never falls (\"+\") or never rises (\"-\")",
        ),
    ],
};

/// The most knots of a feature that may be asked for.
const MOST_BINS: usize = 1024;

/// The most units of a fixed layer; the second has as many weights as the square of this.
const MOST_UNITS: usize = 4096;

/// Sizes, knots and monotone columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BinnedConfig {
    /// Sizes of the hidden layers.
    pub hidden: Vec<usize>,
    /// Between the layers that are trained.
    pub activation: Activation,
    /// The most quantiles of a number that become knots.
    pub bins: usize,
    /// How the score of the last of two classes may go with a column of numbers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub monotone: BTreeMap<String, Direction>,
    /// The units of each feature, filled in from the data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<usize>,
    /// Of each feature 1, -1 or, where it is free, 0; filled in from the data where there are monotone columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<i8>,
}

impl Default for BinnedConfig {
    fn default() -> Self {
        Self {
            hidden: vec![64, 32],
            activation: Activation::Relu,
            bins: 16,
            monotone: BTreeMap::new(),
            units: Vec::new(),
            signs: Vec::new(),
        }
    }
}

/// The numbers of the two layers that are not trained.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FixedLayers {
    features: Vec<Pieces>,
}

impl FixedLayers {
    /// Gives them to a fresh network.
    ///
    /// # Errors
    /// If the network's first layers have other sizes.
    pub(super) fn write(self, network: &mut Network) -> Result<()> {
        let width = self.features.len();
        let units: usize = self.features.iter().map(Pieces::units).sum();
        let (mut weight, mut bias) = (vec![0.0; units * width], vec![0.0; units]);
        let (mut second, mut second_bias) = (vec![0.0; units * units], vec![0.0; units]);
        let mut unit = 0;
        for (feature, pieces) in self.features.iter().enumerate() {
            // Passed on as it is.
            weight[unit * width + feature] = 1.0;
            bias[unit] = pieces.offset;
            second[unit * units + unit] = 1.0;
            unit += 1;
            for bin in pieces.knots.windows(2) {
                let slope = 1.0 / (bin[1] - bin[0]);
                weight[unit * width + feature] = slope;
                bias[unit] = -slope * bin[0];
                second[unit * units + unit] = -1.0;
                second_bias[unit] = 1.0;
                unit += 1;
            }
        }
        let dtype = network.dtype();
        let mut values = network.parameter_values();
        let fixed = [
            (weight, [units, width]),
            (bias, [1, units]),
            (second, [units, units]),
            (second_bias, [1, units]),
        ];
        for (value, (numbers, size)) in values.iter_mut().zip(fixed) {
            *value = TensorData::new(numbers, size).convert_dtype(dtype);
        }
        Ok(network.set_parameter_values(&values)?)
    }
}

impl BinnedConfig {
    /// The same with the units and signs of a table's features, and the layers that are not trained.
    ///
    /// # Errors
    /// If the rows are no table, a monotone column is none of its numbers, or a setting is out of range.
    pub(super) fn fit(&self, dataset: &Dataset) -> Result<(Self, FixedLayers)> {
        self.check(dataset.shape())?;
        let features = pieces(dataset, self.bins);
        check_units(features.iter().map(Pieces::units).sum())?;
        let signs = monotone::signs(&self.monotone, dataset)?;
        let config = Self {
            units: features.iter().map(Pieces::units).collect(),
            signs,
            ..self.clone()
        };
        Ok((config, FixedLayers { features }))
    }

    fn check(&self, input: &InputShape) -> Result<()> {
        if *input != InputShape::Table {
            return Err(Error::ModelInput {
                model: INFO.id,
                expected: "tables",
                got: input.to_string(),
            });
        }
        if self.bins > MOST_BINS {
            return Err(Error::ModelSize {
                name: "bins",
                expected: "at most 1024",
                got: self.bins,
            });
        }
        Ok(())
    }

    /// The units of each of so many features.
    fn units_of(&self, features: usize) -> Result<Vec<usize>> {
        if self.units.is_empty() {
            return Ok(vec![1; features]);
        }
        let sum = self
            .units
            .iter()
            .fold(0_usize, |sum, &one| sum.saturating_add(one));
        check_units(sum)?;
        for (name, given) in [("units", self.units.len()), ("signs", self.signs.len())] {
            if given != features && !(name == "signs" && given == 0) {
                return Err(Error::ModelSize {
                    name,
                    expected: "as many as features",
                    got: given,
                });
            }
        }
        Ok(self.units.clone())
    }
}

fn check_units(units: usize) -> Result<()> {
    if units > MOST_UNITS {
        return Err(Error::ModelSize {
            name: "units",
            expected: "at most 4096; give fewer `bins`, or take `kind = \"mlp\"`",
            got: units,
        });
    }
    check_size("units", units)
}

impl Architecture for BinnedConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn build(
        &self,
        input: &InputShape,
        classes: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()> {
        self.check(input)?;
        let features = network.features(Source::Input);
        let units: usize = self.units_of(features)?.iter().sum();
        for inputs in [features, units] {
            network.then(|scope| Linear::fixed(inputs, units, scope))?;
            network.then(|_| Ok(Relu))?;
        }
        dense(&self.hidden, classes, self.activation, network)
    }

    fn with_activation(&self, activation: Activation) -> ModelConfig {
        Self {
            activation,
            ..self.clone()
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::host::read;
    use crate::model::Model;

    fn dataset() -> Dataset {
        let mut stream = Seed::new(4).stream("rows");
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for row in 0..200 {
            let x = stream.uniform();
            #[expect(clippy::cast_possible_truncation, reason = "rows are f32")]
            values.extend([x as f32, f32::from(u8::from(row % 2 == 0))]);
            labels.push(usize::from((x - 0.5).abs() < 0.2));
        }
        Dataset::from_rows(values, labels, &["x", "flag"]).unwrap()
    }

    fn model(config: BinnedConfig) -> Model {
        Model::for_dataset(config.into(), &dataset(), Seed::new(1)).unwrap()
    }

    #[test]
    fn a_number_has_a_unit_a_bin_and_what_has_two_values_one_unit() {
        let fitted = model(BinnedConfig {
            bins: 4,
            ..BinnedConfig::default()
        });
        let ModelConfig::Binned(config) = &fitted.description.model else {
            panic!("a binned model")
        };
        assert_eq!(config.units, [5, 1]);
        // The fixed layers alone: a network that ends behind them.
        let parameters = fitted.network.parameter_values();
        let [first, bias, second, offset] =
            [0, 1, 2, 3].map(|place: usize| parameters[place].iter::<f64>().collect::<Vec<f64>>());
        let units = |x: [f64; 2]| {
            let one: Vec<f64> = (0..6)
                .map(|unit| {
                    (first[2 * unit] * x[0] + first[2 * unit + 1] * x[1] + bias[unit]).max(0.0)
                })
                .collect();
            let two = |unit: usize| {
                let sum: f64 = (0..6)
                    .map(|below| second[6 * unit + below] * one[below])
                    .sum();
                (sum + offset[unit]).max(0.0)
            };
            (0..6).map(two).collect::<Vec<f64>>()
        };
        // Far below all bins every piece is whole, far beyond them none is left; the flag is passed on.
        let (below, beyond) = (units([-9.0, 1.0]), units([9.0, 0.0]));
        assert_eq!(below[1..5], [1.0; 4]);
        assert_eq!(beyond[1..5], [0.0; 4]);
        assert!((below[5] - beyond[5] - 1.0).abs() < 1e-6);
        // Half of the values lie below the second knot, so near the median two pieces are gone.
        let middle: f64 = units([0.5, 0.0])[1..5].iter().sum();
        assert!((middle - 2.0).abs() < 0.5, "{middle}");
    }

    #[test]
    fn the_fixed_layers_are_not_trained_and_the_network_is_a_chain() {
        let mut fitted = model(BinnedConfig::default());
        assert!(fitted.network.chain().is_some());
        assert!(crate::certify::DenseNetwork::of(&fitted.network).is_ok());
        let roles: Vec<bool> = fitted
            .network
            .parameters()
            .iter()
            .map(|one| one.role == thickset_engine::Role::Weight)
            .collect();
        assert_eq!(roles[..6], [false, false, false, false, true, true]);
        let again = Model::from_bytes(&fitted.to_bytes(), None).unwrap();
        let x = again.network.batch(&[0.3, 1.0]);
        let theirs = read(again.network.logits(x.clone()));
        fitted.network.untrack();
        assert_eq!(theirs, read(fitted.network.logits(x)));
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let refusal = |config: BinnedConfig| {
            let made = Model::for_dataset(config.into(), &dataset(), Seed::new(1));
            made.map(drop).unwrap_err().to_string()
        };
        let bins = BinnedConfig {
            bins: 5000,
            ..BinnedConfig::default()
        };
        assert!(refusal(bins).contains("bins"));
        let unknown = BinnedConfig {
            monotone: BTreeMap::from([("income".to_owned(), Direction::Falling)]),
            ..BinnedConfig::default()
        };
        assert!(refusal(unknown).contains("income"));
        let units = BinnedConfig {
            units: vec![1; 3],
            ..BinnedConfig::default()
        };
        let mut fresh = crate::model::Fresh::new(Seed::new(0));
        let made = ModelConfig::from(units).network(&InputShape::Table, 2, 2, &mut fresh);
        assert!(made.unwrap_err().to_string().contains("units"));
    }
}
