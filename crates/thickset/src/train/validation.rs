//! How a model does on rows it does not train on.

use thickset_engine::{Network, Tensor};

use super::probe::Probe;
use crate::check::as_f64;
use crate::data::{Dataset, Part};
use crate::explain::Rows;
use crate::metric::precision_at_k::between;
use crate::metric::ranking::{TopK, largest};
use crate::metric::{accuracy, auc};
use crate::objective::term::reading::{explanation, values};
use crate::{Result, Seed};

/// Rows that run through the network at once.
const CHUNK: usize = 1024;

/// The validation rows, and those of them that are attacked.
pub(super) struct Validation {
    x: Vec<Tensor<2>>,
    labels: Vec<usize>,
    attacked: Vec<f64>,
    ids: Vec<u64>,
}

/// What validation says of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) auc: Option<f64>,
    pub(super) accuracy: f64,
    pub(super) precision_at_k: Option<f64>,
}

impl Validation {
    /// Takes the validation rows, and of them at most `attacked`, chosen by the seed once for the whole run.
    pub(super) fn new(network: &Network, dataset: &Dataset, attacked: usize, seed: Seed) -> Self {
        let part = dataset.part(Part::Validation);
        // A table of a few rows may have none to validate on; the training rows are then better than nothing.
        let rows = if part.is_empty() {
            dataset.part(Part::Train)
        } else {
            part
        };
        let mut chosen = rows.to_vec();
        seed.stream("validation probe").shuffle(&mut chosen);
        chosen.truncate(attacked);
        chosen.sort_unstable();
        Self {
            x: rows
                .chunks(CHUNK)
                .map(|rows| network.batch_f32(&dataset.gather(rows)))
                .collect(),
            labels: dataset.gather_labels(rows),
            attacked: dataset.gather(&chosen).into_iter().map(f64::from).collect(),
            ids: chosen.into_iter().map(|row| row as u64).collect(),
        }
    }

    /// Judges a model with constant weights.
    pub(super) fn judge(&self, network: &Network, probe: &Probe) -> Result<Verdict> {
        let mut probabilities: Vec<Vec<f64>> = Vec::with_capacity(self.labels.len());
        for x in &self.x {
            let chunk = values(&network.probabilities(x.clone()));
            probabilities.extend(chunk.chunks(network.classes()).map(<[f64]>::to_vec));
        }
        let predicted = probabilities
            .iter()
            .map(|row| largest(row))
            .collect::<Result<Vec<_>>>()?;
        Ok(Verdict {
            auc: auc::score(&probabilities, &self.labels)?.map(|auc| auc.value),
            accuracy: accuracy::score(&predicted, &self.labels)?,
            precision_at_k: match self.rows() {
                None => None,
                Some(rows) => Some(probe.precision_at_k(network, rows)?),
            },
        })
    }

    fn rows(&self) -> Option<Rows<'_>> {
        (!self.ids.is_empty()).then_some(Rows {
            values: &self.attacked,
            ids: &self.ids,
        })
    }

    /// The mean share of one model's salient features that are the other's too, without any attack; 1 where no row is
    /// looked at.
    pub(super) fn agreement(&self, first: &Network, second: &Network, k: usize) -> Result<f64> {
        let Some(rows) = self.rows() else {
            return Ok(1.0);
        };
        let sets = |network: &Network| -> Result<Vec<TopK>> {
            let explanations = explanation(network, network.batch(rows.values))?;
            let rows = explanations.chunks(network.features());
            rows.map(|row| {
                let magnitudes: Vec<f64> = row.iter().map(|value| value.abs()).collect();
                TopK::of(&magnitudes, k)
            })
            .collect()
        };
        let (first, second) = (sets(first)?, sets(second)?);
        let mut sum = 0.0;
        for (a, b) in first.iter().zip(&second) {
            sum += between(a, b)?;
        }
        Ok(sum / as_f64(first.len().max(1)))
    }
}
