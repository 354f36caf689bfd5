//! The class loss and the thickness itself: `L = CE - w mean over x', t and pairs of the gap at x + t (x' - x)` (R2ET,
//! Eq. 4 as it stands).
//!
//! The salient set and the class are those at x. Draws and interpolations all run as one batch.

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use super::term::gap::Pairs;
use super::{Batch, EXPLAIN, Loss, Objective, ObjectiveConfig};
use crate::check::{as_f64, check_positive, check_weight};
use crate::explain::InlineExplain;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry; the metric has the plain name `thickness`.
pub static INFO: Info = Info {
    id: "max-thickness",
    label: "Thickness",
    family: Family::Objective,
    summary: "The class loss and the ranking's thickness in a neighbourhood",
    formula: "L = CE - w mean over x' ~ D, t in [0,1] and pairs of (I_i - I_j)(x + t (x' - x))",
    source: "R2ET, Eq. 4; the weight is R2ET's of the mean gap, draws and deviation are ours, chosen for their cost",
    direction: None,
    cost: "draws * interpolations input gradients a step",
    defaults: &[
        Setting::new("weight", "w, the weight of the thickness"),
        Setting::new("draws", "M1, neighbours of each row"),
        Setting::new("interpolations", "M2, points on the way to each"),
        Setting::new(
            "deviation",
            "standard deviation of the neighbours, in encoded units",
        ),
        Setting::new("adaptive", "weigh relative to the class loss"),
        EXPLAIN,
    ],
};

/// The thickness's weight and neighbourhood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaxThicknessConfig {
    /// The weight of the thickness.
    pub weight: f64,
    /// Neighbours of each row.
    pub draws: usize,
    /// Points on the way to each.
    pub interpolations: usize,
    /// Standard deviation of the neighbours.
    pub deviation: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
    /// What is ranked; the papers' explanation for the kind of data if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
}

impl Default for MaxThicknessConfig {
    fn default() -> Self {
        Self {
            weight: 0.1,
            draws: 2,
            interpolations: 5,
            deviation: 0.1,
            adaptive: false,
            explain: None,
        }
    }
}

impl Objective for MaxThicknessConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`max-thickness.weight`", self.weight)?;
        check_positive("`max-thickness.deviation`", self.deviation)?;
        for (what, got) in [
            ("`max-thickness.draws`", self.draws),
            ("`max-thickness.interpolations`", self.interpolations),
        ] {
            if got == 0 {
                return Err(Error::OutOfRange {
                    what,
                    expected: "at least 1",
                    got: 0.0,
                });
            }
        }
        Ok(())
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let loss = batch.class_loss(batch.x.clone());
        if self.weight == 0.0 {
            return Ok(loss);
        }
        let size = batch.x.dims();
        let mut draws = batch.draws("neighbours");
        let neighbours: Vec<Tensor<2>> = (0..self.draws)
            .map(|_| {
                let shift = (0..size[0] * size[1])
                    .map(|_| draws.normal() * self.deviation)
                    .collect();
                batch.x.clone() + batch.network.tensor(shift, size)
            })
            .collect();
        let thickness = thickness(batch, &neighbours, self.interpolations)?;
        Ok(loss.plus("thickness", -self.weight, thickness, self.adaptive))
    }

    fn explain(&self) -> Option<&InlineExplain> {
        self.explain.as_ref()
    }

    fn with_explain(&self, explain: &InlineExplain) -> Option<ObjectiveConfig> {
        let explain = Some(explain.clone());
        Some(
            Self {
                explain,
                ..self.clone()
            }
            .into(),
        )
    }
}

/// The mean over rows, neighbours, pairs and points `t = (j + 1/2) / interpolations` of the gap.
///
/// # Errors
/// If k does not fit the features, or the model has diverged.
pub fn thickness(
    batch: &Batch<'_>,
    neighbours: &[Tensor<2>],
    interpolations: usize,
) -> Result<Tensor<1>> {
    let pass = batch.network.pass(batch.x.clone());
    let explainer = batch.explainer(&pass)?;
    let weights = batch.pair_weights(&explainer.at(&pass), Pairs::All, None)?;
    let mut points = Vec::with_capacity(neighbours.len() * interpolations);
    for neighbour in neighbours {
        let path = neighbour.clone() - batch.x.clone();
        for point in 0..interpolations {
            let t = (as_f64(point) + 0.5) / as_f64(interpolations);
            points.push(batch.x.clone() + path.clone() * t);
        }
    }
    let copies = points.len();
    Ok(Batch::gap_at(
        batch.network,
        Tensor::cat(points, 0),
        &batch.explainer_of_copies(&pass, copies)?,
        &weights.repeated(copies),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn the_thickness_towards_one_neighbour_by_hand() {
        // Half way to a neighbour the margin is 0, where I is (16, 8, 4) / 16.
        let network = toy::network();
        let explain = crate::explain::ExplainConfig::default();
        let explain = explain.check(&toy::schema()).unwrap();
        let x = toy::row();
        let rows = network.batch(&x);
        let batch = Batch {
            network: &network,
            labels: thickset_engine::one_hot(&[0], 2, network.dtype(), &rows.device()),
            x: rows,
            explain: &explain,
            k: 1,
            reference: None,
            perturbed: None,
            seed: crate::Seed::new(1),
            step: 0,
            done: 1.0,
            radius: 0.5,
        };
        let neighbour = network.batch(&[-x[0], 1.0, 2.0]);
        let found = thickness(&batch, &[neighbour], 1).unwrap();
        let expected = f64::midpoint(8.0 / 16.0, 12.0 / 16.0);
        toy::assert_close(&crate::host::read(found), &[expected]);
    }
}
