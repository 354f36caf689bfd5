//! Optimisers and schedules, as a configuration states them: `optimizer = { kind = "adam", rate = 0.001 }`.

use serde::{Deserialize, Serialize};
use thickset_engine::optimizer::{Adam, AdamW, Optimizer, Sgd};

use crate::check::{check_positive, check_weight};
use crate::name_or_table::name_or_table;
use crate::{Error, Result};

/// What moves the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum OptimizerConfig {
    /// Adam (Kingma and Ba 2015).
    Adam {
        /// Step size.
        #[serde(default = "adam_rate")]
        rate: f64,
    },
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
    Adamw {
        /// Step size.
        #[serde(default = "adam_rate")]
        rate: f64,
        /// What is taken off each weight, relative to the rate.
        #[serde(default = "adamw_decay")]
        decay: f64,
    },
    /// Gradient descent with momentum.
    Sgd {
        /// Step size.
        #[serde(default = "sgd_rate")]
        rate: f64,
        /// Share of the velocity that is kept.
        #[serde(default = "sgd_momentum")]
        momentum: f64,
    },
}

name_or_table!(OptimizerConfig);

fn adam_rate() -> f64 {
    1e-3
}

fn adamw_decay() -> f64 {
    1e-2
}

fn sgd_rate() -> f64 {
    1e-2
}

fn sgd_momentum() -> f64 {
    0.9
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self::Adam { rate: adam_rate() }
    }
}

impl OptimizerConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn check(&self) -> Result<()> {
        check_positive("`train.optimizer.rate`", self.rate())?;
        match *self {
            Self::Adam { .. } => Ok(()),
            Self::Adamw { decay, .. } => check_weight("`train.optimizer.decay`", decay),
            Self::Sgd { momentum, .. } if (0.0..1.0).contains(&momentum) => Ok(()),
            Self::Sgd { momentum, .. } => Err(Error::OutOfRange {
                what: "`train.optimizer.momentum`",
                expected: "at least 0 and below 1",
                got: momentum,
            }),
        }
    }

    /// The step size before any schedule.
    #[must_use]
    pub fn rate(&self) -> f64 {
        match *self {
            Self::Adam { rate } | Self::Adamw { rate, .. } | Self::Sgd { rate, .. } => rate,
        }
    }

    /// An optimiser that has taken no step.
    #[must_use]
    pub fn optimizer(&self) -> Box<dyn Optimizer> {
        match *self {
            Self::Adam { rate } => Box::new(Adam::new(rate)),
            Self::Adamw { rate, decay } => Box::new(AdamW::new(rate, decay)),
            Self::Sgd { rate, momentum } => Box::new(Sgd::new(rate, momentum)),
        }
    }
}

/// How the step size changes over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// It does not.
    #[default]
    Constant,
    /// Half a cosine, from the full rate to nothing.
    Cosine,
    /// The full rate for six tenths of the steps, then in a line to a fiftieth of it.
    FlatThenLinear,
}

/// Where [`Schedule::FlatThenLinear`] begins to fall, and what is left at the end.
const FLAT: f64 = 0.6;
const LEFT: f64 = 0.02;

impl Schedule {
    /// The factor of the rate when this share of the steps is done.
    #[must_use]
    pub fn factor(self, done: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine => 0.5 * (1.0 + libm::cos(std::f64::consts::PI * done)),
            Self::FlatThenLinear => {
                let fallen = ((done - FLAT) / (1.0 - FLAT)).clamp(0.0, 1.0);
                1.0 - (1.0 - LEFT) * fallen
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cosine_goes_from_one_over_a_half_to_nothing() {
        for (done, expected) in [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)] {
            assert!((Schedule::Cosine.factor(done) - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn flat_then_linear_holds_and_then_falls_to_a_fiftieth() {
        for (done, expected) in [(0.0, 1.0), (0.6, 1.0), (0.8, 0.51), (1.0, 0.02)] {
            assert!((Schedule::FlatThenLinear.factor(done) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn settings_without_sense_are_refused() {
        for text in [
            "kind = \"sgd\"\nmomentum = 1.0",
            "kind = \"adamw\"\ndecay = -1.0",
            "kind = \"adam\"\nrate = nan",
        ] {
            let config: OptimizerConfig = toml::from_str(text).unwrap();
            assert!(config.check().is_err(), "{text}");
        }
    }
}
