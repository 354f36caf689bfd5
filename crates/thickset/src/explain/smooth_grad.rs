//! `SmoothGrad`: another explanation, averaged over noisy copies of the input.
//!
//! `I = mean_d I_base(x + e_d)`, `e_d ~ N(0, variance)`. A row's noise comes from the row's own stream and stays the same
//! while the row moves, so that the explanation is one function of x, which an attack can follow.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Tensor};

use super::stack::{add, groups, sum};
use super::{Attribution, Binding, Explanation, ExplanationConfig, check_count};
use crate::check::as_f64;
use crate::data::InputShape;
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

impl SmoothGradConfig {
    /// Checks the settings, and gives them with everything that depends on the input filled in.
    pub(super) fn check(&self, shape: &InputShape) -> Result<Self> {
        check_count(
            "`smooth-grad.draws`",
            "in 1..=10000",
            self.draws,
            MOST_DRAWS,
        )?;
        let variance = self.variance.unwrap_or_else(|| usual_variance(shape));
        if !(variance >= 0.0 && variance.is_finite()) {
            return Err(Error::OutOfRange {
                what: "`smooth-grad.variance`",
                expected: "finite and not negative",
                got: variance,
            });
        }
        Ok(Self {
            base: Box::new(self.base.check(shape)?),
            draws: self.draws,
            variance: Some(variance),
        })
    }

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

    pub(super) fn bind(&self, network: &Network, to: Binding<'_>) -> SmoothGrad {
        let variance = self.variance.unwrap_or(TABLE_VARIANCE);
        let (features, deviation, name) = (network.features(), variance.sqrt(), self.stream());
        let mut noise = vec![vec![0.0; to.ids.len() * features]; self.draws];
        for (row, id) in to.ids.iter().enumerate() {
            let mut stream = to.seed.stream_at(&name, *id);
            for draw in &mut noise {
                for value in &mut draw[row * features..(row + 1) * features] {
                    *value = deviation * stream.normal();
                }
            }
        }
        self.with_noise(network, to, &noise)
    }

    /// With noise that is given, `[draw][row and feature]`.
    fn with_noise(&self, network: &Network, to: Binding<'_>, noise: &[Vec<f64>]) -> SmoothGrad {
        let group = |range: std::ops::Range<usize>| {
            let copies = range.len();
            let (classes, ids) = (to.classes.repeat(copies), to.ids.repeat(copies));
            let base = self.base.bind(
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
    let base = base.check(&InputShape::Table)?;
    crate::check::check_not_empty("the noise", noise)?;
    for draw in noise {
        crate::check::check_length("a draw of noise", draw, x.dims()[0] * x.dims()[1])?;
    }
    let config = SmoothGradConfig {
        base: Box::new(base),
        ..SmoothGradConfig::default()
    };
    Ok(config
        .with_noise(network, to, noise)
        .attribute(network, x)
        .value)
}

/// Some of the noisy copies, and the base bound to as many copies of the rows.
struct Group {
    noise: Tensor<2>,
    copies: usize,
    base: Box<dyn Explanation>,
}

pub(super) struct SmoothGrad {
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
    fn attribute(&self, network: &Network, x: Tensor<2>) -> Attribution {
        let value = self.mean(&x, |group, points| {
            group.base.attribute(network, points).value
        });
        Attribution {
            value,
            logits: None,
        }
    }

    fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        slope: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let u = slope(self.attribute(network, x.clone()));
        self.mean(&x, |group, points| {
            let copied = u.clone().repeat_dim(0, group.copies);
            group
                .base
                .pull_back(network, points, &mut |_| copied.clone())
        })
    }
}
