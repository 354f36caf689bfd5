//! MSE attack: raises the squared change of the explanation.
//!
//! `max_x' ||I(x') - I(x)||^2` (R2ET section 6). At x itself the change and its gradient are zero, so the first step follows
//! `I(x') - I(x) + nudge` instead.

use serde::{Deserialize, Serialize};

use super::goal::Goal;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "mse-attack",
    label: "MSE attack",
    family: Family::Attack,
    summary: "Raises the squared change of the explanation",
    formula: "max_x' ||I(x') - I(x)||_2^2",
    source: "R2ET, section 6; Dombrowski et al. 2019",
    direction: None,
    cost: "one explanation and one Hessian product a step",
    defaults: &[Setting::new(
        "nudge",
        "added to every change in the first step, whose gradient is zero else",
    )],
};

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MseAttackConfig {
    /// Added to every change in the first step.
    pub nudge: f64,
}

impl Default for MseAttackConfig {
    fn default() -> Self {
        Self { nudge: 0.01 }
    }
}

impl MseAttackConfig {
    pub(super) fn check(self) -> Result<Self> {
        if self.nudge.is_finite() {
            return Ok(self);
        }
        Err(Error::OutOfRange {
            what: "`mse-attack.nudge`",
            expected: "finite",
            got: self.nudge,
        })
    }
}

pub(super) struct Distance {
    reference: Vec<f64>,
    nudge: f64,
}

pub(super) fn goal(config: MseAttackConfig, reference: &[f64]) -> Distance {
    Distance {
        reference: reference.to_vec(),
        nudge: config.nudge,
    }
}

impl Goal for Distance {
    fn evaluate(&mut self, step: usize, importance: &[f64], slope: &mut [f64]) -> f64 {
        let nudge = if step == 0 { self.nudge } else { 0.0 };
        let mut value = 0.0;
        let pairs = importance.iter().zip(&self.reference);
        for ((importance, reference), slope) in pairs.zip(slope) {
            let change = importance - reference + nudge;
            value -= change * change;
            *slope = -2.0 * change;
        }
        value
    }
}
