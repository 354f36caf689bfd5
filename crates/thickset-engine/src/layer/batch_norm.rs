//! Batch normalisation per channel.
//!
//! `y = gamma (x - mean) / sqrt(var + eps) + beta`. While the class loss is fitted, mean and
//! variance are the batch's (biased), and the running ones follow them; explanations and evaluation
//! use the running ones, so that a row's explanation does not depend on its neighbours.

use crate::tensor::Tensor;

use super::channel_affine::ScaledChannels;
use super::{Form, Layer, Linearised, single};
use crate::kernel::{channel_dot, channel_scale, channel_shift, channel_sum};
use crate::{Init, Parameter, Result, Scope};

/// Added to variances, as in PyTorch.
const EPSILON: f64 = 1e-5;
/// Weight of a new batch in the running statistics, as in PyTorch.
const MOMENTUM: f64 = 0.1;

/// Mean and unbiased variance of one batch, `[1, channels]` each.
#[derive(Clone, Debug)]
pub struct BatchStatistics {
    /// Mean per channel.
    pub mean: Tensor<2>,
    /// Unbiased variance per channel.
    pub variance: Tensor<2>,
}

/// Normalisation of each channel with a learned scale and shift.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    scale: Parameter,
    shift: Parameter,
    running_mean: Parameter,
    running_variance: Parameter,
    channels: usize,
}

impl BatchNorm {
    /// Takes `weight`, `bias`, `running_mean` and `running_var` from the scope.
    ///
    /// # Errors
    /// If the scope's source cannot provide them.
    pub fn new(channels: usize, scope: &mut Scope<'_>) -> Result<Self> {
        let (zero, one) = (Init::Constant(0.0), Init::Constant(1.0));
        Ok(Self {
            scale: scope.weight("weight", &[channels], one)?,
            shift: scope.weight("bias", &[channels], zero)?,
            running_mean: scope.statistic("running_mean", &[channels], zero)?,
            running_variance: scope.statistic("running_var", &[channels], one)?,
            channels,
        })
    }

    /// The scale and the shift of each channel by the running statistics.
    fn affine(&self) -> [Tensor<2>; 2] {
        let deviation = (self.running_variance.value.clone() + EPSILON).sqrt();
        let factor = self.scale.value.clone() / deviation;
        let shift = self.shift.value.clone() - self.running_mean.value.clone() * factor.clone();
        [factor, shift]
    }
}

impl Layer for BatchNorm {
    fn kind(&self) -> &'static str {
        "batch-norm"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::BatchNorm {
            channels: self.channels,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [features] = inputs else { return None };
        features.is_multiple_of(self.channels).then_some(*features)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearise(inputs).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let [factor, shift] = self.affine();
        let at = ScaledChannels {
            factor,
            channels: self.channels,
        };
        let scaled = channel_scale(single(inputs), at.factor.clone(), self.channels);
        (channel_shift(scaled, shift, self.channels), Box::new(at))
    }

    fn channel_affine(&self) -> Option<[Tensor<2>; 2]> {
        Some(self.affine())
    }

    fn forward_fitting(
        &self,
        inputs: &[Tensor<2>],
        statistics: &mut Vec<BatchStatistics>,
    ) -> Tensor<2> {
        let x = single(inputs);
        let [rows, features] = x.dims();
        #[expect(
            clippy::cast_precision_loss,
            reason = "batches are far below 2^53 numbers"
        )]
        let count = (rows * features / self.channels) as f64;
        // Products, not quotients: Burn's backward of a division by a scalar rounds it to `f32`.
        let share = 1.0 / count;
        let mean = channel_sum(x.clone(), self.channels) * share;
        let centred = channel_shift(x, -mean.clone(), self.channels);
        let squares = channel_dot(centred.clone(), centred.clone(), self.channels);
        statistics.push(BatchStatistics {
            mean: mean.without_autodiff(),
            // One number per channel has no spread; PyTorch refuses it, we keep the variance 0.
            variance: squares.clone().without_autodiff() / (count - 1.0).max(1.0),
        });
        let factor = self.scale.value.clone() / (squares * share + EPSILON).sqrt();
        channel_shift(
            channel_scale(centred, factor, self.channels),
            self.shift.value.clone(),
            self.channels,
        )
    }

    fn follow(&mut self, statistics: &BatchStatistics) {
        for (running, batch) in [
            (&mut self.running_mean, &statistics.mean),
            (&mut self.running_variance, &statistics.variance),
        ] {
            running.value = running.value.clone() * (1.0 - MOMENTUM) + batch.clone() * MOMENTUM;
        }
    }

    fn has_statistics(&self) -> bool {
        true
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![
            &self.scale,
            &self.shift,
            &self.running_mean,
            &self.running_variance,
        ]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![
            &mut self.scale,
            &mut self.shift,
            &mut self.running_mean,
            &mut self.running_variance,
        ]
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}
