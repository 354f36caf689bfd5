//! The class loss and the largest eigenvalue of its input Hessian, to the Gauss-Newton approximation:
//! `L = CE + w max eigenvalue of J' (diag p - p p') J`, J the Jacobian of the logits.
//!
//! With `B = diag(sqrt p) - p sqrt(p)'`, `B B' = diag p - p p'`, so the eigenvalues are those of `B' J J' B`, a matrix of
//! classes by classes. Its eigenvector u gives the input's eigenvector `v = J' B u`, a constant for the gradient, and the
//! eigenvalue is the variance of `q = J v` under p: `sum p q^2 - (sum p q)^2`. One tangent gives q.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Pass, Tensor};

use super::term::largest_eigenvector::largest_eigenvector;
use super::term::reading::{constant, mean_over_rows};
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::{check_finite, check_weight};
use crate::host::read;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "ssr",
    label: "SSR",
    family: Family::Objective,
    summary: "The class loss and the largest eigenvalue of its input Hessian",
    formula: "L = CE + w max eigenvalue of J' (diag p - p p') J",
    source: "IGR, Eq. 45, after Wang et al. 2020; R2ET, section 6.1 (SSR); the weight is ours, that of Est-H",
    direction: None,
    cost: "one input gradient a class, without a tape, and one tangent",
    defaults: &[
        Setting::new("weight", "w, the weight of the eigenvalue"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// The eigenvalue's weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SsrConfig {
    /// The weight of the eigenvalue.
    pub weight: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
}

impl Default for SsrConfig {
    fn default() -> Self {
        Self {
            weight: 0.01,
            adaptive: false,
        }
    }
}

impl Objective for SsrConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`ssr.weight`", self.weight)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        if self.weight == 0.0 {
            return Ok(batch.class_loss(batch.x.clone()));
        }
        let pass = batch.network.pass(batch.x.clone());
        let loss = batch.class_loss_of(&pass);
        let direction = eigenvectors(batch.network, &batch.x)?;
        let eigenvalue = mean_over_rows(eigenvalues(&pass, &direction));
        Ok(loss.plus("eigenvalue", self.weight, eigenvalue, self.adaptive))
    }
}

/// The variance of the logits' change along the directions, `[rows, 1]`.
fn eigenvalues(pass: &Pass<'_>, directions: &Tensor<2>) -> Tensor<2> {
    let p = pass.probabilities();
    let q = pass.logit_tangent(directions);
    let weighted = p * q.clone();
    let mean = weighted.clone().sum_dim(1);
    (weighted * q).sum_dim(1) - mean.clone() * mean
}

/// The unit eigenvector of each row, a constant.
fn eigenvectors(network: &Network, x: &Tensor<2>) -> Result<Tensor<2>> {
    let mut frozen = network.clone();
    frozen.untrack();
    let pass = frozen.pass(constant(x));
    let (p, jacobian) = (read(pass.probabilities()), read(pass.logit_jacobian()));
    check_finite("the input gradient", &jacobian)?;
    let [rows, features] = x.dims();
    let classes = network.classes();
    let mut directions = Vec::with_capacity(rows * features);
    for (p, jacobian) in p.chunks(classes).zip(jacobian.chunks(classes * features)) {
        // Row a of B' J: sqrt(p_a) (J_a - sum_c p_c J_c).
        let mut mean = vec![0.0; features];
        for (p, gradient) in p.iter().zip(jacobian.chunks(features)) {
            add_scaled(&mut mean, *p, gradient);
        }
        let mut factor = jacobian.to_vec();
        for (p, row) in p.iter().zip(factor.chunks_mut(features)) {
            add_scaled(row, -1.0, &mean);
            for entry in row.iter_mut() {
                *entry *= p.sqrt();
            }
        }
        let rows_of_factor: Vec<&[f64]> = factor.chunks(features).collect();
        let mut gram = Vec::with_capacity(classes * classes);
        for a in &rows_of_factor {
            for b in &rows_of_factor {
                gram.push(a.iter().zip(*b).map(|(a, b)| a * b).sum());
            }
        }
        let mut direction = vec![0.0; features];
        for (u, row) in largest_eigenvector(gram, classes)
            .iter()
            .zip(&rows_of_factor)
        {
            add_scaled(&mut direction, *u, row);
        }
        let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        directions.extend(direction.iter().map(|v| v * scale));
    }
    Ok(network.tensor(directions, [rows, features]))
}

fn add_scaled(target: &mut [f64], factor: f64, source: &[f64]) {
    for (target, source) in target.iter_mut().zip(source) {
        *target += factor * source;
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn the_eigenvalue_of_two_classes_by_hand() {
        // J' (diag p - p p') J = p (1 - p) w w', whose eigenvalue is 3/16 of the square of w's length, 21.
        let config = SsrConfig {
            weight: 0.1,
            ..SsrConfig::default()
        };
        let expected = -0.75_f64.ln() + 0.1 * 3.0 / 16.0 * 21.0;
        toy::assert_close(&[sample::toy_loss(config, toy::row(), None)], &[expected]);
    }
}
