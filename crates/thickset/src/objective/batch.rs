//! A batch of training rows and all that an objective may look at.

use thickset_engine::{Network, Output, Pass, Tensor};

use super::loss::Loss;
use super::term::gap::{PairWeights, Pairs, pair_weights};
use super::term::reading::{constant, explanation, predicted_one_hot, values};
use crate::{Result, Seed, Stream};
use thickset_engine::kernel::cross_entropy;

/// One step's rows.
pub struct Batch<'n> {
    /// The network to be fitted, with tracked weights.
    pub network: &'n Network,
    /// `[rows, features]`.
    pub x: Tensor<2>,
    /// The true classes, one-hot.
    pub labels: Tensor<2>,
    /// Size of the salient set.
    pub k: usize,
    /// Whose ranking shall be kept: another model's when retraining. The network's own, as it is before the step, where
    /// absent.
    pub reference: Option<&'n Network>,
    /// The perturbed rows; searched for where absent.
    pub perturbed: Option<Tensor<2>>,
    /// The run's seed and the number of the step, which decide every draw.
    pub seed: Seed,
    /// Counted from 0 over the whole run.
    pub step: u64,
}

impl Batch<'_> {
    /// The class loss on `x`, with batch statistics where the network has them.
    #[must_use]
    pub fn class_loss(&self, x: Tensor<2>) -> Loss {
        let (logits, statistics) = self.fitting_logits(x);
        let mut loss = Loss::new("class", cross_entropy(logits, self.labels.clone()));
        loss.statistics = statistics;
        loss
    }

    /// Logits as the class loss sees them, and the statistics to follow.
    pub(super) fn fitting_logits(
        &self,
        x: Tensor<2>,
    ) -> (Tensor<2>, Vec<Vec<thickset_engine::layer::BatchStatistics>>) {
        if self.network.has_statistics() {
            let (logits, statistics) = self.network.logits_fitting(x);
            return (logits, vec![statistics]);
        }
        (self.network.logits(x), Vec::new())
    }

    /// The class loss that shares a pass over the batch's own rows, unless batch statistics keep them apart.
    #[must_use]
    pub fn class_loss_of(&self, pass: &Pass<'_>) -> Loss {
        if self.network.has_statistics() {
            return self.class_loss(self.x.clone());
        }
        Loss::new("class", cross_entropy(pass.logits(), self.labels.clone()))
    }

    /// The classes predicted at `x`, one-hot and constant.
    ///
    /// # Errors
    /// If a logit is not finite.
    pub fn predicted(&self, pass: &Pass<'_>) -> Result<Tensor<2>> {
        predicted_one_hot(self.network, &pass.logits())
    }

    /// The pairs of the ranking to be kept, given the network's own explanation.
    ///
    /// # Errors
    /// If k does not fit the features, or an explanation is not finite.
    pub fn pair_weights(
        &self,
        gradients: &Tensor<2>,
        pairs: Pairs,
        pair_count: Option<usize>,
    ) -> Result<PairWeights> {
        let ranked = match self.reference {
            None => values(gradients),
            Some(reference) => explanation(reference, constant(&self.x))?,
        };
        pair_weights(&ranked, self.x.dims()[1], self.k, pairs, pair_count)
    }

    /// The perturbed rows: the given ones, or those that `search` finds with the step's own draws.
    ///
    /// # Errors
    /// What `search` fails with.
    pub fn perturbed_or(
        &self,
        search: impl FnOnce(&mut Stream) -> Result<Tensor<2>>,
    ) -> Result<Tensor<2>> {
        match &self.perturbed {
            Some(perturbed) => Ok(perturbed.clone()),
            None => search(&mut self.draws("inner attack")),
        }
    }

    /// The step's stream of one purpose.
    #[must_use]
    pub fn draws(&self, purpose: &str) -> Stream {
        self.seed.stream_at(&format!("train {purpose}"), self.step)
    }

    /// The mean gap over all pairs of `weights` at other points, for the classes predicted at `x`.
    pub(super) fn gap_at(
        network: &Network,
        points: Tensor<2>,
        classes: Tensor<2>,
        weights: &PairWeights,
    ) -> Tensor<1> {
        let pass = network.pass(points);
        weights.mean_gap(pass.input_gradient(Output::Probability, classes).value())
    }
}

/// A small smooth network and a few rows, for tests of objectives.
#[cfg(test)]
pub(super) mod sample {
    use thickset_engine::{Network, one_hot};

    use super::Batch;
    use crate::Seed;
    use crate::data::InputShape;
    use crate::model::{Activation, Fresh, MlpConfig, ModelConfig};

    pub(in super::super) fn network() -> Network {
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: vec![8, 6],
            activation: Activation::Softplus { beta: 2.0 },
        });
        let mut source = Fresh::double(Seed::new(3));
        model
            .network(&InputShape::Table, 10, 3, &mut source)
            .unwrap()
    }

    pub(in super::super) fn batch(network: &Network) -> Batch<'_> {
        let mut stream = Seed::new(3).stream("rows");
        let values: Vec<f64> = (0..120).map(|_| stream.normal()).collect();
        let x = network.batch(&values);
        let classes: Vec<usize> = (0..12).map(|_| stream.below(3)).collect();
        Batch {
            network,
            labels: one_hot(&classes, 3, network.dtype(), &x.device()),
            x,
            k: 3,
            reference: None,
            perturbed: None,
            seed: Seed::new(3),
            step: 0,
        }
    }
}
