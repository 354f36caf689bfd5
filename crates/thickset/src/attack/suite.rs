//! The suite: every attack, in its own direction and in that of smooth twins, random search and restarts; the worst point of
//! each row over all of them, the prediction held.
//!
//! No single attack is the worst case. On a binary `ReLU` network the gradient of the mean gap only raises the confidence, and
//! a defence may hide its gradients. So beside the papers' attacks as they are written, each is run on importances as
//! shares of their sum, from many random starts, in few steps: on such networks that finds far more for the same work.
//! The [border attack](super::border) follows the next swap on the twins; where the network has regions,
//! [region search](super::region_search) finds more than all of them together, and more still when it begins where they ended; at the end [gate search](super::gate_search)
//! looks for what is worse than anything found, or proves that nothing is.
//! A row leaves when nothing worse can be found of it: all of its set is lost, or what was found is what is proved to stay.
//! A quick suite has a shorter list where regions decide, and searches them from where its few other attacks ended.
//! Where a row can become only so many points, [all of them](super::every_point) are tried instead: what is the worst of them is then known, and of the
//! members only the first is run, whose steps are reported.
//! What the suite finds is what we call the stability of an explanation; it is never weaker than any of its members. The
//! multi-objective attack is none of them: it takes a cone program a step, and stops at the first flip.

mod checked;
mod effort;
mod found;
mod members;
mod progress;

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

pub use self::checked::CheckedSuite;
use self::checked::worse;
pub use self::effort::Effort;
pub use self::found::{MemberScore, Suite};

use super::outcome::Attacked;
use super::{AttackOption, ThreatConfig};
use crate::data::Schema;
use crate::explain::{ExplainConfig, Points};
use crate::registry::{Family, Info, Setting};
use crate::{Result, Seed, defaults};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "suite",
    label: "suite",
    family: Family::Attack,
    summary: "The worst point of each row over gradient attacks, their smooth twins, restarts, random points and regions, the prediction held",
    formula: "min over attacks and their iterates of P@k(I(x), I(x')), argmax f(x') = argmax f(x)",
    source: "thickset; in the manner of AutoAttack for predictions (Croce and Hein 2020)",
    direction: None,
    cost: "explanations and gradients a row: quick about 500 (80 where regions decide), standard 7,400, thorough 34,000; regions of a ReLU network: 12, 1,920, 4,608; parts of its gate search: 0, 300, 5,000",
    defaults: &[
        Setting::new("effort", "quick, standard or thorough"),
        Setting::new("k", "salient features"),
        Setting::new("threat", "which inputs may be reached"),
    ],
};

/// The shared options that the suite uses.
pub static OPTIONS: &[AttackOption] = &[
    AttackOption::Effort,
    AttackOption::Radii,
    AttackOption::Radius,
];

/// The suite as a configuration states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SuiteConfig {
    /// How hard it tries.
    pub effort: Effort,
    /// Salient features.
    pub k: usize,
    /// Which inputs it may reach.
    pub threat: ThreatConfig,
}

impl Default for SuiteConfig {
    fn default() -> Self {
        Self {
            effort: Effort::default(),
            k: defaults::K,
            threat: ThreatConfig::default(),
        }
    }
}

/// What several suites are run on.
#[derive(Clone, Copy, Debug)]
pub struct SuiteRows<'a> {
    /// The network.
    pub network: &'a Network,
    /// The rows.
    pub rows: Points<'a>,
    /// Training rows to go towards, row-major; there may be none.
    pub donors: &'a [f64],
    /// Decides every draw.
    pub seed: Seed,
}

/// The suite's worst points for several radii, the smallest first. What lies in a ball lies in every larger one, so each
/// radius keeps what smaller ones found, and a larger radius never scores better for the defender.
///
/// # Errors
/// As for [`SuiteConfig::check`] and [`CheckedSuite::perturb`].
pub fn over_radii(
    config: &SuiteConfig,
    radii: &[f64],
    explain: &ExplainConfig,
    schema: &Schema,
    on: &SuiteRows<'_>,
) -> Result<Vec<(f64, Vec<Attacked>)>> {
    let mut radii = radii.to_vec();
    radii.sort_by(f64::total_cmp);
    let mut found: Vec<(f64, Vec<Attacked>)> = Vec::with_capacity(radii.len());
    for radius in radii {
        let mut config = config.clone();
        config.threat.ball.radius = radius;
        let here = config
            .check(explain, schema)?
            .with_donors(on.donors)?
            .perturb(on.network, on.rows, on.seed)?
            .rows;
        let worst = match found.last() {
            Some((_, smaller)) => worse(here, smaller.clone()),
            None => here,
        };
        found.push((radius, worst));
    }
    Ok(found)
}
