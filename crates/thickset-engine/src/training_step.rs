//! Training steps of dense chains without a tape.
//!
//! A loss of a batch is made of few things: logits, input gradients, Hessian products. A [`TrainingStep`] gives them as plain
//! numbers and takes the loss's slopes in them back. The loss that comes out is one recorded operation whose gradients are
//! computed already, where the tensors of [`Network::pass`] would record dozens.
//!
//! ```text
//! rows ──► logits ──► input gradient ──► Hessian product      numbers, to compute a loss and its slopes from
//! weights' gradients ◄── slopes in logits, gradient, product  at once
//! ```

use crate::tensor::Tensor;

use crate::Network;
use crate::kernel::{path_step, training_step};

/// The slopes of a loss in what it was computed from; empty where it does not depend on that.
#[derive(Clone, Debug, Default)]
pub struct Slopes {
    /// In the logits.
    pub logits: Vec<f64>,
    /// In the input gradient.
    pub gradient: Vec<f64>,
    /// In the Hessian product.
    pub product: Vec<f64>,
}

/// A batch that has run through a chain of dense layers with tracked weights. All slices are row-major.
pub trait TrainingStep {
    /// `[rows, classes]`
    fn logits(&self) -> &[f64];

    /// The mean over the first rows of the cross-entropy with their `labels`, `[some rows, classes]`, which becomes a part of the
    /// loss.
    ///
    /// # Panics
    /// If there are more labels than rows, or for another number of classes.
    fn cross_entropy(&mut self, labels: &Tensor<2>) -> f64;

    /// The gradient in the input of the probability of each row's class, `[rows, features]`.
    ///
    /// # Panics
    /// If the classes do not fit the rows, or the chain is not piecewise linear.
    fn input_gradient(&mut self, classes: &[usize]) -> &[f64];

    /// The exact product of the Hessian of the same probability with each row's direction, a constant for the loss.
    ///
    /// # Panics
    /// If there was no input gradient before, or the directions do not fit the rows.
    fn hessian_product(&mut self, direction: Vec<f64>) -> &[f64];

    /// Half the sum of the squares of all weights and biases; `weight` times that becomes a part of the loss.
    fn half_squares(&mut self, weight: f64) -> f64;

    /// The loss of this value and these slopes, those of cross-entropy and squares apart, to be differentiated in the weights.
    ///
    /// # Panics
    /// If slopes do not fit what they are slopes in.
    fn loss(self: Box<Self>, value: f64, slopes: Slopes) -> Tensor<1>;
}

/// Rows on the way from zero in a piecewise linear chain of dense layers with tracked weights. All slices are row-major.
pub trait PathStep {
    /// The mean of the gradients of the logit of each row's class at the points of its path, `[rows, features]`.
    fn gradient(&self) -> &[f64];

    /// The loss of this value and these slopes in the mean gradients, to be differentiated in the weights.
    ///
    /// # Panics
    /// If slopes do not fit the gradients.
    fn loss(self: Box<Self>, value: f64, slopes: &[f64]) -> Tensor<1>;
}

impl Network {
    /// Runs a batch for a loss that is differentiated in the weights, where this network is a chain of few linear maps with
    /// ReLU or softplus, its weights are tracked and the rows are not. `None` for everything else; the caller then uses
    /// [`Network::pass`], which gives the same loss and the same gradients up to rounding.
    #[must_use]
    pub fn training_step(&self, x: &Tensor<2>) -> Option<Box<dyn TrainingStep>> {
        training_step(x, &self.tracked_chain_parts()?)
    }

    /// The same for gradients of logits on the way from zero to each row of `x`, at the middles of `steps` equal parts, which are summed
    /// before the first map sees them. `None` also where the chain is smooth or a single map.
    ///
    /// # Panics
    /// If there is not one class a row, or a class is none of the network's.
    #[must_use]
    pub fn path_step(
        &self,
        x: &Tensor<2>,
        classes: &[usize],
        steps: usize,
    ) -> Option<Box<dyn PathStep>> {
        path_step(x, &self.tracked_chain_parts()?, classes, steps)
    }
}
