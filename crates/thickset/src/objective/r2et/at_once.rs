//! R2ET's loss of dense layers in plain numbers, with its slopes. Value and gradients are those of the tensors up to rounding; what
//! is saved are some fifty recorded operations, which take longer than the arithmetic.

use thickset_engine::Slopes;

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
        let (name, weight, value, of_importance) = gap(config, batch, reduction, &gradient)?;
        let sloped = of_importance.iter().zip(&gradient);
        slopes.gradient = sloped
            .map(|(slope, gradient)| weight * slope * sign(reduction, *gradient))
            .collect();
        terms.push((name, weight, value));
    }
    if config.hessian_weight > 0.0 {
        let features = network.features();
        let product = step.hessian_product(&directions_of(&gradient, features));
        let (norm, of_product) = mean_length_slopes(product, features);
        let weight = config.hessian_weight;
        slopes.product = of_product.iter().map(|slope| weight * slope).collect();
        terms.push(("hessian", weight, norm));
    }
    let total = terms.iter().map(|(_, weight, value)| weight * value).sum();
    Ok(Some(Loss::of_whole(step.loss(total, slopes), &terms)))
}

/// How gradients of the class's probability become importances, where those are explained feature by feature.
fn gradient_reduction(batch: &Batch<'_>) -> Option<ReductionConfig> {
    let explain = batch.explain.config();
    let of = explain.explanation.behaviour().plain_gradient();
    let is_kept = matches!(
        explain.reduce,
        ReductionConfig::Absolute | ReductionConfig::Signed
    );
    let fits = of == Some(Of::Probability) && is_kept && explain.per == Per::Feature;
    fits.then_some(explain.reduce)
}

/// What an importance is to the gradient; 0 where an absolute one has no slope.
fn sign(reduction: ReductionConfig, gradient: f64) -> f64 {
    if reduction == ReductionConfig::Signed {
        1.0
    } else if gradient == 0.0 {
        0.0
    } else {
        1.0_f64.copysign(gradient)
    }
}

/// The gap's name, weight and value, and its slopes in the importances.
fn gap(
    config: &R2etConfig,
    batch: &Batch<'_>,
    reduction: ReductionConfig,
    gradient: &[f64],
) -> Result<(&'static str, f64, f64, Vec<f64>)> {
    let importance: Vec<f64> = gradient
        .iter()
        .map(|gradient| gradient * sign(reduction, *gradient))
        .collect();
    let features = batch.network.features();
    let reference = batch.reference_importances()?;
    let ranked = reference.as_deref().unwrap_or(&importance);
    let (pairs, count) = (config.pairs, config.pair_count);
    Ok(match config.gap {
        Gap::Ranking => {
            let pairs = RankedPairs::new(ranked, features, batch.k, pairs, count)?;
            let (sum, mut slopes) = pairs.slopes_of(&importance, features, config.ranking_margin());
            let share = 1.0 / as_f64((importance.len() / features).max(1));
            for slope in &mut slopes {
                *slope *= share;
            }
            ("ranking", config.gap_weight, sum * share, slopes)
        }
        Gap::Difference => {
            let weights = pair_weights(ranked, features, batch.k, pairs, count)?;
            let (gap, slopes) = weights.slopes_of(&importance);
            ("gap", -config.gap_weight, gap, slopes)
        }
    })
}
