//! The class loss alone: `L = CE(f(x), y)`.

use serde::{Deserialize, Serialize};

use super::{Batch, Loss, Objective};
use crate::Result;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "vanilla",
    label: "Vanilla",
    family: Family::Objective,
    summary: "The class loss alone, to compare with",
    formula: "L = CE(f(x), y)",
    source: "R2ET, section 6.1",
    direction: None,
    cost: "one forward and one backward pass a step",
    defaults: &[],
};

/// Nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VanillaConfig {}

impl Objective for VanillaConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        Ok(batch.class_loss(batch.x.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn the_class_loss_of_three_quarters_by_hand() {
        let got = sample::toy_loss(VanillaConfig {}, toy::row(), None);
        toy::assert_close(&[got], &[-0.75_f64.ln()]);
    }
}
