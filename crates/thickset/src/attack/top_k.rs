//! The iterative top-k attack: lowers the importances of the salient features.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::goal::{Goal, Goals, Weighted};
use super::{Attack, AttackOption, Plan, Setup, descent};
use crate::Result;
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "top-k",
    label: "Top-k attack",
    family: Family::Attack,
    summary: "Lowers the importances of the salient features",
    formula: "min_x' sum_{i in top k at x} I_i(x')",
    source: "Ghorbani et al. 2019, section 3; IGR, appendix C (IFIA)",
    direction: None,
    cost: "one explanation and one Hessian product a step",
    defaults: descent::DEFAULTS,
};

/// It has no settings of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopKConfig {}

impl Attack for TopKConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        descent::OPTIONS
    }

    fn plan(&self, _: &Setup<'_>) -> Result<Plan> {
        Ok(Plan::Descent(Arc::new(*self)))
    }
}

impl Goals for TopKConfig {
    fn goal(&self, _: &[f64], top: &TopK) -> Box<dyn Goal> {
        Box::new(Weighted::by_salience(top, 1.0, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_the_sum_of_the_salient_importances() {
        let importance = [3.0, 0.5, 2.0, 1.0];
        let top = TopK::of(&importance, 2).unwrap();
        let mut slope = [9.0; 4];
        let value = TopKConfig {}
            .goal(&importance, &top)
            .evaluate(0, &importance, &mut slope);
        assert!((value - 5.0).abs() < 1e-15);
        assert_eq!(
            slope.map(f64::to_bits),
            [1.0, 0.0, 1.0, 0.0].map(f64::to_bits)
        );
    }
}
