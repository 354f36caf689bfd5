//! `SmoothGrad`: another explanation, averaged over noisy copies of the input.
//!
//! `I = mean_d I_base(x + e_d)`, `e_d ~ N(0, variance)`. A row's noise comes from the row's own stream and stays the same
//! while the row moves, so that the explanation is one function of x, which an attack can follow.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Pass, Tensor};

use super::stack::{add, groups, sum};
use super::{
    Attribution, Binding, Explain, Explanation, ExplanationAt, ExplanationConfig, check_count,
};
use crate::check::as_f64;
use crate::data::{InputShape, Schema};
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "smooth-grad",
    label: "SmoothGrad",
    family: Family::Explanation,
    summary: "Another explanation averaged over noisy copies of the input",
    formula: "I(x) = mean_d I_base(x + e_d), e_d ~ N(0, variance)",
    source: "R2ET, B.1.3; Smilkov et al. 2017",
    direction: None,
    cost: "`draws` times the base's",
    defaults: &[
        Setting::new("base", "the explanation that is averaged"),
        Setting::new("draws", "noisy copies"),
        Setting::in_words(
            "variance",
            "by input",
            "of the noise in encoded units; 0.5 for tables, 0.01 for images and graphs when left out",
        ),
    ],
};

const MOST_DRAWS: usize = 10_000;

/// Its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmoothGradConfig {
    /// What is averaged.
    pub base: Box<ExplanationConfig>,
    /// Noisy copies.
    pub draws: usize,
    /// Of the noise, in encoded units; what the paper takes for the kind of input if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
}

/// For tables of standardised numbers.
const TABLE_VARIANCE: f64 = 0.5;

/// For graphs, and for pixels in 0..1: 25.5 of 255, squared.
const IMAGE_VARIANCE: f64 = 0.01;

fn usual_variance(shape: &InputShape) -> f64 {
    match shape {
        InputShape::Table => TABLE_VARIANCE,
        InputShape::Image { .. } | InputShape::Graph { .. } => IMAGE_VARIANCE,
        InputShape::Pair { of } => usual_variance(of),
    }
}

impl Default for SmoothGradConfig {
    fn default() -> Self {
        Self {
            base: Box::default(),
            draws: 50,
            variance: None,
        }
    }
}

impl Explain for SmoothGradConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn is_of_units(&self) -> bool {
        self.base.behaviour().is_of_units()
    }

    fn check(&self, schema: &Schema) -> Result<ExplanationConfig> {
        check_count(
            "`smooth-grad.draws`",
            "in 1..=10000",
            self.draws,
            MOST_DRAWS,
        )?;
        let variance = self
            .variance
            .unwrap_or_else(|| usual_variance(&schema.shape));
        if !(variance >= 0.0 && variance.is_finite()) {
            return Err(Error::OutOfRange {
                what: "`smooth-grad.variance`",
                expected: "finite and not negative",
                got: variance,
            });
        }
        let checked = Self {
            base: Box::new(self.base.behaviour().check(schema)?),
            draws: self.draws,
            variance: Some(variance),
        };
        Ok(checked.into())
    }

    fn bind(&self, network: &Network, to: Binding<'_>) -> Box<dyn Explanation> {
        let noise = self.noise(network.features(), to);
        Box::new(self.with_noise(network, to, &noise))
    }
}

impl SmoothGradConfig {
    /// The name of its streams: one inside another draws noise of its own.
    fn stream(&self) -> String {
        let mut inside = 0;
        let mut base = &*self.base;
        while let ExplanationConfig::SmoothGrad(config) = base {
            inside += 1;
            base = &config.base;
        }
        match inside {
            0 => INFO.id.to_owned(),
            _ => format!("{} around {inside}", INFO.id),
        }
    }

    /// The noise of rows of so many features, `[draw][row and feature]`.
    #[must_use]
    pub fn noise(&self, features: usize, to: Binding<'_>) -> Vec<Vec<f64>> {
        let variance = self.variance.unwrap_or(TABLE_VARIANCE);
        let (deviation, name) = (variance.sqrt(), self.stream());
        let mut noise = vec![vec![0.0; to.ids.len() * features]; self.draws];
        for (row, id) in to.ids.iter().enumerate() {
            let mut stream = to.seed.stream_at(&name, *id);
            for draw in &mut noise {
                for value in &mut draw[row * features..(row + 1) * features] {
                    *value = deviation * stream.normal();
                }
            }
        }
        noise
    }

    /// With noise that is given, `[draw][row and feature]`.
    fn with_noise(&self, network: &Network, to: Binding<'_>, noise: &[Vec<f64>]) -> SmoothGrad {
        let group = |range: std::ops::Range<usize>| {
            let copies = range.len();
            let (classes, ids) = (to.classes.repeat(copies), to.ids.repeat(copies));
            let base = self.base.behaviour().bind(
                network,
                Binding {
                    classes: &classes,
                    ids: &ids,
                    seed: to.seed,
                },
            );
            Group {
                noise: network.batch(&noise[range].concat()),
                copies,
                base,
            }
        };
        SmoothGrad {
            share: 1.0 / as_f64(noise.len()),
            groups: groups(noise.len()).map(group).collect(),
        }
    }
}

/// The explanation of a network whose noise is given instead of drawn: `noise[draw]` is one row-major batch.
///
/// # Errors
/// When there is no draw, or a draw does not fit the batch.
pub fn attribute_with_noise(
    base: &ExplanationConfig,
    network: &Network,
    x: Tensor<2>,
    to: Binding<'_>,
    noise: &[Vec<f64>],
) -> Result<Tensor<2>> {
    let base = base
        .behaviour()
        .check(&Schema::of_shape(&InputShape::Table, network.features()))?;
    crate::check::check_not_empty("the noise", noise)?;
    for draw in noise {
        crate::check::check_length("a draw of noise", draw, x.dims()[0] * x.dims()[1])?;
    }
    let config = SmoothGradConfig {
        base: Box::new(base),
        ..SmoothGradConfig::default()
    };
    let smooth = config.with_noise(network, to, noise);
    Ok(smooth.at(&network.pass(x)).value())
}

/// Some of the noisy copies, and the base bound to as many copies of the rows.
struct Group {
    noise: Tensor<2>,
    copies: usize,
    base: Box<dyn Explanation>,
}

struct SmoothGrad {
    groups: Vec<Group>,
    share: f64,
}

impl SmoothGrad {
    fn mean(&self, x: &Tensor<2>, mut of: impl FnMut(&Group, Tensor<2>) -> Tensor<2>) -> Tensor<2> {
        let mut total = None;
        for group in &self.groups {
            let points = x.clone().repeat_dim(0, group.copies) + group.noise.clone();
            add(&mut total, sum(&of(group, points), group.copies));
        }
        total.unwrap_or_else(|| x.zeros_like()) * self.share
    }
}

impl Explanation for SmoothGrad {
    fn at<'p>(&'p self, pass: &'p Pass<'p>) -> Box<dyn ExplanationAt + 'p> {
        let value = self.mean(&pass.input(), |group, points| {
            group.base.at(&pass.network().pass(points)).value()
        });
        Box::new(SmoothGradAt {
            explanation: self,
            pass,
            value,
        })
    }

    fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        gradient: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let pass = network.pass(x.clone());
        let u = gradient(Attribution {
            value: self.at(&pass).value(),
            logits: pass.logits(),
        });
        drop(pass);
        self.mean(&x, |group, points| {
            let copied = u.clone().repeat_dim(0, group.copies);
            group
                .base
                .pull_back(network, points, &mut |_| copied.clone())
        })
    }
}

struct SmoothGradAt<'p> {
    explanation: &'p SmoothGrad,
    pass: &'p Pass<'p>,
    value: Tensor<2>,
}

impl SmoothGradAt<'_> {
    /// The mean over the copies of what `of` makes of the base there and of a copy of `batch`.
    fn mean(
        &self,
        batch: &Tensor<2>,
        of: impl Fn(&dyn ExplanationAt, Tensor<2>) -> Tensor<2>,
    ) -> Tensor<2> {
        let network = self.pass.network();
        self.explanation.mean(&self.pass.input(), |group, points| {
            let copied = batch.clone().repeat_dim(0, group.copies);
            let pass = network.pass(points);
            of(&*group.base.at(&pass), copied)
        })
    }
}

impl ExplanationAt for SmoothGradAt<'_> {
    fn value(&self) -> Tensor<2> {
        self.value.clone()
    }

    fn tangent(&self, direction: Tensor<2>) -> Tensor<2> {
        self.mean(&direction, |base, direction| base.tangent(direction))
    }

    fn pull_back(&self, weights: Tensor<2>) -> Tensor<2> {
        self.mean(&weights, |base, weights| base.pull_back(weights))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::explained;
    use super::*;
    use crate::toy;

    #[test]
    fn the_mean_of_two_gradients_by_hand() {
        // Without noise the margin is ln 3, with it 0, where p (1 - p) is 4/16.
        let network = toy::network();
        let x = toy::row();
        let noise = [vec![0.0; 3], vec![-x[0], 0.0, 0.0]];
        let to = Binding {
            classes: &[0],
            ids: &[0],
            seed: crate::Seed::new(1),
        };
        let base = ExplanationConfig::default();
        let smooth = attribute_with_noise(&base, &network, network.batch(&x), to, &noise).unwrap();
        let mean = toy::WEIGHTS.map(|weight| weight * 3.5 / 16.0);
        toy::assert_close(&crate::host::read(smooth), &mean);
    }

    #[test]
    fn without_variance_it_is_its_base() {
        let config = SmoothGradConfig {
            draws: 12,
            variance: Some(0.0),
            ..SmoothGradConfig::default()
        };
        let smooth = explained(config, toy::row(), [1.0, 0.0, 0.0]);
        let base = explained(ExplanationConfig::default(), toy::row(), [1.0, 0.0, 0.0]);
        for (smooth, base) in smooth.iter().zip(&base) {
            toy::assert_close(smooth, base);
        }
    }
}
