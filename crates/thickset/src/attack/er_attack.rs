//! `ERAttack`: lowers the gaps between the salient features and the rest.
//!
//! `min_x' mean over i <= k < j of I_i(x') - I_j(x')`, with the ranking at x (R2ET section 6). The mean gap is a weighted sum
//! of importances, `1/k` for the salient ones and `-1/(n-k)` for the rest.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::goal::{Goal, Goals, Weighted};
use super::{Attack, AttackOption, Plan, Setup, descent};
use crate::Result;
use crate::check::as_f64;
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "er-attack",
    label: "ERAttack",
    family: Family::Attack,
    summary: "Lowers the mean gap between the salient features and the rest",
    formula: "min_x' mean_{i <= k < j} I_i(x') - I_j(x')",
    source: "R2ET, section 6",
    direction: None,
    cost: "one explanation and one Hessian product a step",
    defaults: descent::DEFAULTS,
};

/// It has no settings of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErAttackConfig {}

impl Attack for ErAttackConfig {
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

impl Goals for ErAttackConfig {
    /// The paper's objective is the sum of gaps over the k(n-k) pairs, the goal here their mean.
    fn objective_factor(&self, top: &TopK) -> f64 {
        as_f64(top.k() * (top.features() - top.k()))
    }

    fn goal(&self, _: &[f64], top: &TopK) -> Box<dyn Goal> {
        Box::new(mean_gap(top))
    }
}

fn mean_gap(top: &TopK) -> Weighted {
    let (k, n) = (as_f64(top.k()), as_f64(top.features()));
    Weighted::by_salience(top, 1.0 / k, -1.0 / (n - k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_the_mean_gap_of_all_pairs() {
        let top = TopK::of(&[3.0, 0.0, 2.0, 1.0], 2).unwrap();
        let mut slope = [0.0; 4];
        // (5-1) + (5-2) + (4-1) + (4-2), over 4.
        let value = mean_gap(&top).evaluate(0, &[5.0, 1.0, 4.0, 2.0], &mut slope);
        assert!((value - 3.0).abs() < 1e-15);
        let expected = [0.5, -0.5, 0.5, -0.5];
        assert!(
            slope
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-15)
        );
    }

    #[test]
    fn the_papers_objective_has_a_gap_for_every_pair() {
        let top = TopK::of(&[3.0, 0.0, 2.0, 1.0, 0.5], 2).unwrap();
        let factor = ErAttackConfig {}.objective_factor(&top);
        assert!((factor - 6.0).abs() < 1e-15);
    }
}
