//! How far a ball around each row moves the pre-activations of a dense chain.

use thickset_engine::layer::{Layer as _, Part, Softplus};
use thickset_engine::{Network, Tensor};

use crate::{Error, Result};

/// The pre-activations of one hidden layer, `[rows, neurons]`: within `reach` of `center` anywhere in the ball.
pub struct PreActivations {
    /// The middle.
    pub center: Tensor<2>,
    /// How far from it; one row where it is the same for all.
    pub reach: Tensor<2>,
    /// Sharpness of the softplus behind it; a `ReLU` where absent.
    pub beta: Option<f64>,
}

/// Those of every hidden layer: exact in the first, by intervals in later ones.
///
/// # Errors
/// Where the network is no chain of dense layers with `ReLU` or softplus.
pub fn pre_activations(
    network: &Network,
    x: &Tensor<2>,
    radius: f64,
) -> Result<Vec<PreActivations>> {
    let parts = network.tracked_chain_parts().ok_or_else(not_a_chain)?;
    of_parts(&parts, x, radius)
}

/// The same of the parts of a chain.
///
/// # Errors
/// As for [`pre_activations`].
pub fn of_parts(parts: &[Part<'_>], x: &Tensor<2>, radius: f64) -> Result<Vec<PreActivations>> {
    let (mut center, mut reach) = (x.clone(), None::<Tensor<2>>);
    let mut layers = Vec::new();
    for part in parts {
        let beta = match part {
            Part::Linear { weight, bias } => {
                let across = (*weight).clone().transpose();
                center = center.matmul(across.clone()) + (*bias).clone();
                reach = Some(match reach {
                    // The ball itself.
                    None => (across.clone() * across).sum_dim(0).sqrt() * radius,
                    Some(reach) => reach.matmul(across.abs()),
                });
                continue;
            }
            Part::Relu => None,
            Part::Softplus { beta } => Some(*beta),
        };
        let Some(around) = reach.take() else {
            return Err(not_a_chain());
        };
        let low = activated(beta, center.clone() - around.clone())?;
        let high = activated(beta, center.clone() + around.clone())?;
        layers.push(PreActivations {
            center,
            reach: around,
            beta,
        });
        center = (low.clone() + high.clone()) * 0.5;
        reach = Some((high - low) * 0.5);
    }
    Ok(layers)
}

/// Behind a softplus of this sharpness, or a `ReLU`.
fn activated(beta: Option<f64>, z: Tensor<2>) -> Result<Tensor<2>> {
    Ok(match beta {
        Some(beta) => Softplus::new(beta)?.forward(&[z]),
        None => z.clamp_min(0.0),
    })
}

/// How far a ball reaches beyond the kink, as a share: 0 where it does not reach it, 1 at the kink itself.
#[must_use]
pub fn doubt(center: &Tensor<2>, reach: &Tensor<2>) -> Tensor<2> {
    // A neuron that does not move has nothing to doubt: the ratio is large.
    let ratio = center.clone().abs() / (reach.clone() + f64::from(f32::MIN_POSITIVE));
    (ratio.neg() + 1.0).clamp_min(0.0)
}

pub(in crate::objective) fn not_a_chain() -> Error {
    Error::CertifyInput {
        expected: "a chain of dense layers with ReLU or softplus",
        got: "a network of another kind".to_owned(),
    }
}
