//! R2ET's loss of dense layers in plain numbers, with its slopes. Value and gradients are those of the tensors up to rounding; what
//! is saved are some fifty recorded operations, which take longer than the arithmetic.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::Slopes;
use thickset_engine::kernel::{VectorLoop, vectorised};

use super::{Gap, HessianMethod, R2etConfig};
use crate::Result;
use crate::check::as_f64;
use crate::explain::reduce::ReductionConfig;
use crate::explain::{Of, Per, predicted};
use crate::objective::term::gap::pair_weights;
use crate::objective::term::hessian_norm::{directions_of, mean_length_slopes};
use crate::objective::term::ranking::RankedPairs;
use crate::objective::{Batch, Loss};

/// The loss, where settings, explanation and network have this way.
///
/// # Errors
/// If k does not fit the features, or something is not finite.
pub(super) fn loss(config: &R2etConfig, batch: &Batch<'_>) -> Result<Option<Loss>> {
    let network = batch.network;
    let needs_second_pass =
        config.hessian_weight > 0.0 && config.hessian == HessianMethod::FiniteDifference;
    // An adaptive weight is known only after its term.
    if config.adaptive || needs_second_pass || !network.is_piecewise_linear() {
        return Ok(None);
    }
    let Some(reduction) = gradient_reduction(batch) else {
        return Ok(None);
    };
    let Some(mut step) = network.training_step(&batch.x) else {
        return Ok(None);
    };
    let class = step.cross_entropy(&batch.labels);
    let classes = predicted(step.logits(), network.classes())?;
    let gradient = step.input_gradient(&classes).to_vec();
    let mut terms = vec![("class", 1.0, class)];
    let mut slopes = Slopes::default();
    if config.gap_weight > 0.0 {
        let importance = importances(reduction, &gradient);
        let (name, weight, value, mut of_importance) = gap(config, batch, &importance)?;
        vectorised(PullBack {
            reduction,
            gradient: &gradient,
            weight,
            slopes: &mut of_importance,
        });
        slopes.gradient = of_importance;
        terms.push((name, weight, value));
    }
    if config.hessian_weight > 0.0 {
        let features = network.features();
        let product = step.hessian_product(directions_of(&gradient, features));
        let weight = config.hessian_weight;
        let (norm, of_product) = mean_length_slopes(product, features, weight);
        slopes.product = of_product;
        terms.push(("hessian", weight, norm));
    }
    let total = terms.iter().map(|(_, weight, value)| weight * value).sum();
    Ok(Some(Loss::of_whole(step.loss(total, slopes), &terms)))
}

/// How gradients of the class's probability become importances, where those are explained feature by feature.
pub(in crate::objective) fn gradient_reduction(batch: &Batch<'_>) -> Option<ReductionConfig> {
    let explain = batch.explain.config();
    let of = explain.explanation.behaviour().plain_gradient();
    let is_kept = matches!(
        explain.reduce,
        ReductionConfig::Absolute | ReductionConfig::Signed
    );
    let fits = of == Some(Of::Probability) && is_kept && explain.per == Per::Feature;
    fits.then_some(explain.reduce)
}

fn importances(reduction: ReductionConfig, gradient: &[f64]) -> Vec<f64> {
    if reduction == ReductionConfig::Signed {
        return gradient.to_vec();
    }
    gradient.iter().map(|gradient| gradient.abs()).collect()
}

/// Slopes in the importances become slopes in the gradient of `weight` times what they are slopes of. An absolute importance
/// of zero has none.
struct PullBack<'a> {
    reduction: ReductionConfig,
    gradient: &'a [f64],
    weight: f64,
    slopes: &'a mut [f64],
}

impl VectorLoop for PullBack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let is_signed = self.reduction == ReductionConfig::Signed;
        for (slope, gradient) in self.slopes.iter_mut().zip(self.gradient) {
            let sign = if is_signed || *gradient > 0.0 {
                self.weight
            } else if *gradient < 0.0 {
                -self.weight
            } else {
                0.0
            };
            *slope *= sign;
        }
    }
}

/// The gap's name, weight and value, and its slopes in the importances.
fn gap(
    config: &R2etConfig,
    batch: &Batch<'_>,
    importance: &[f64],
) -> Result<(&'static str, f64, f64, Vec<f64>)> {
    let features = batch.network.features();
    let reference = batch.reference_importances()?;
    let ranked = reference.as_deref().unwrap_or(importance);
    let (pairs, count) = (config.pairs, config.pair_count);
    Ok(match config.gap {
        Gap::Ranking => {
            let pairs = RankedPairs::new(ranked, features, batch.k, pairs, count)?;
            let (sum, mut slopes) = pairs.slopes_of(importance, features, config.ranking_margin());
            let share = 1.0 / as_f64((importance.len() / features).max(1));
            for slope in &mut slopes {
                *slope *= share;
            }
            ("ranking", config.gap_weight, sum * share, slopes)
        }
        Gap::Difference => {
            let weights = pair_weights(ranked, features, batch.k, pairs, count)?;
            let (gap, slopes) = weights.slopes_of(importance);
            ("gap", -config.gap_weight, gap, slopes)
        }
    })
}
