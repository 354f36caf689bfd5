//! A batch of training rows and all that an objective may look at.

use thickset_engine::{Network, Pass, Slopes, Tensor, TrainingStep};

use super::loss::Loss;
use super::term::gap::{PairWeights, Pairs, pair_weights};
use super::term::ranking::RankedPairs;
use super::term::reading::{constant, predicted};
use crate::explain::{Binding, CheckedExplain, Explainer, ImportanceAt};
use crate::host::read;
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
    /// What is ranked.
    pub explain: &'n CheckedExplain,
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
    /// The share of the run's steps that are done, from 0 to 1; terms that begin later look at it.
    pub done: f64,
    /// How far rows may move, in encoded units: the data's radius, or that of the attack on validation rows.
    pub radius: f64,
}

impl Batch<'_> {
    /// The class loss on `x`, with batch statistics where the network has them.
    #[must_use]
    pub fn class_loss(&self, x: Tensor<2>) -> Loss {
        if let Some(mut step) = self.network.training_step(&x) {
            let value = step.cross_entropy(&self.labels);
            return Loss::new("class", step.loss(value, Slopes::default()));
        }
        let (logits, statistics) = self.fitting_logits(x);
        let mut loss = Loss::new("class", cross_entropy(logits, self.labels.clone()));
        loss.statistics = statistics;
        loss
    }

    /// A training step of two batches of rows, those of the second one after those of the first, where the network has such steps.
    pub(super) fn step_of_both(&self, rows: [&Tensor<2>; 2]) -> Option<Box<dyn TrainingStep>> {
        self.network.tracked_chain_parts()?;
        let both = Tensor::cat(rows.map(Tensor::clone).to_vec(), 0);
        self.network.training_step(&both)
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

    /// The explanation of the classes predicted at the batch's own rows, with noise of the step's own where it draws any.
    ///
    /// # Errors
    /// If a logit is not finite, or the explanation is of other rows.
    pub fn explainer(&self, pass: &Pass<'_>) -> Result<Explainer> {
        self.bind(pass, 1)
    }

    /// The same for `copies` of the rows, one after the other.
    ///
    /// # Errors
    /// As for [`Batch::explainer`].
    pub fn explainer_of_copies(&self, pass: &Pass<'_>, copies: usize) -> Result<Explainer> {
        self.bind(pass, copies)
    }

    fn bind(&self, pass: &Pass<'_>, copies: usize) -> Result<Explainer> {
        let classes = predicted(&pass.logits())?;
        let ids: Vec<u64> = (0..classes.len() as u64).collect();
        let binding = Binding {
            classes: &classes.repeat(copies),
            ids: &ids.repeat(copies),
            seed: self.noise(),
        };
        self.explain.bind(pass.network(), binding)
    }

    /// The seed of the noise that an explanation draws in this step; a row's stream is named by its place in the batch.
    #[must_use]
    pub fn noise(&self) -> Seed {
        Seed::new(self.draws("explanation").bits())
    }

    /// The importances that rank the features, row by row: the network's own as they are before the step, or the
    /// reference's.
    ///
    /// # Errors
    /// If a logit of the reference is not finite.
    pub fn ranked(&self, own: &ImportanceAt<'_>) -> Result<Vec<f64>> {
        let reference = self.reference_importances()?;
        Ok(reference.unwrap_or_else(|| read(own.constant())))
    }

    /// The reference's, where there is one.
    ///
    /// # Errors
    /// If a logit of the reference is not finite.
    pub(super) fn reference_importances(&self) -> Result<Option<Vec<f64>>> {
        let Some(reference) = self.reference else {
            return Ok(None);
        };
        let pass = reference.pass(constant(&self.x));
        let explainer = self.explainer(&pass)?;
        Ok(Some(read(explainer.at(&pass).constant())))
    }

    /// The pairs of the ranking to be kept, given the network's own importances.
    ///
    /// # Errors
    /// If k does not fit the features, or an explanation is not finite.
    pub fn pair_weights(
        &self,
        own: &ImportanceAt<'_>,
        pairs: Pairs,
        pair_count: Option<usize>,
    ) -> Result<PairWeights> {
        let ranked = self.ranked(own)?;
        let importances = ranked.len() / self.x.dims()[0].max(1);
        pair_weights(&ranked, importances, self.k, pairs, pair_count)
    }

    /// The same pairs for the ranking loss.
    ///
    /// # Errors
    /// If k does not fit the features, or an explanation is not finite.
    pub fn ranked_pairs(
        &self,
        own: &ImportanceAt<'_>,
        pairs: Pairs,
        pair_count: Option<usize>,
    ) -> Result<RankedPairs> {
        let ranked = self.ranked(own)?;
        let importances = ranked.len() / self.x.dims()[0].max(1);
        RankedPairs::new(&ranked, importances, self.k, pairs, pair_count)
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

    /// The mean gap over all pairs of `weights` at other points.
    pub(super) fn gap_at(
        network: &Network,
        points: Tensor<2>,
        explainer: &Explainer,
        weights: &PairWeights,
    ) -> Tensor<1> {
        weights.mean_gap(&explainer.at(&network.pass(points)))
    }
}

/// A small smooth network and a few rows, for tests of objectives.
#[cfg(test)]
pub(super) mod sample {
    use thickset_engine::{Network, one_hot};

    use super::super::ObjectiveConfig;
    use super::super::term::reading::value;
    use super::Batch;
    use crate::Seed;
    use crate::data::{InputShape, Schema};
    use crate::explain::{CheckedExplain, ExplainConfig};
    use crate::model::{Activation, Fresh, MlpConfig, ModelConfig};
    use crate::toy;

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

    /// Of ten numbers, by the absolute gradient.
    pub(in super::super) fn explain() -> CheckedExplain {
        let names: Vec<String> = (0..10).map(|feature| format!("x{feature}")).collect();
        let schema = Schema::table(&names);
        ExplainConfig::default().check(&schema).unwrap()
    }

    /// The loss of the toy network at one row of its first class, with the largest importance salient and, where an objective
    /// looks for one, this perturbed row.
    pub(in super::super) fn toy_loss(
        objective: impl Into<ObjectiveConfig>,
        x: [f64; 3],
        perturbed: Option<[f64; 3]>,
    ) -> f64 {
        let network = toy::network();
        let objective: ObjectiveConfig = objective.into();
        let explain = objective.explain(&toy::schema());
        let explain = explain.check(&toy::schema()).unwrap();
        let x = network.batch(&x);
        let batch = Batch {
            network: &network,
            labels: one_hot(&[0], 2, network.dtype(), &x.device()),
            x,
            explain: &explain,
            k: 1,
            reference: None,
            perturbed: perturbed.map(|row| network.batch(&row)),
            seed: Seed::new(3),
            step: 0,
            done: 1.0,
            radius: 0.5,
        };
        value(&objective.objective().loss(&batch).unwrap().total)
    }

    /// The cross-entropy of a row of the first class whose margin is this.
    pub(in super::super) fn cross_entropy(margin: f64) -> f64 {
        (-margin).exp().ln_1p()
    }

    pub(in super::super) fn batch<'n>(
        network: &'n Network,
        explain: &'n CheckedExplain,
    ) -> Batch<'n> {
        let mut stream = Seed::new(3).stream("rows");
        let values: Vec<f64> = (0..120).map(|_| stream.normal()).collect();
        let x = network.batch(&values);
        let classes: Vec<usize> = (0..12).map(|_| stream.below(3)).collect();
        Batch {
            network,
            labels: one_hot(&classes, 3, network.dtype(), &x.device()),
            x,
            explain,
            k: 3,
            reference: None,
            perturbed: None,
            seed: Seed::new(3),
            step: 0,
            done: 1.0,
            radius: 0.5,
        }
    }
}
