//! How a model does on rows it does not train on.

use thickset_engine::Network;

use super::selection::{Quality, Standing};
use super::validation_attack::ValidationAttack;
use crate::check::as_f64;
use crate::data::{Dataset, Part};
use crate::explain::{CheckedExplain, ExplainConfig, Points};
use crate::host::read;
use crate::metric::precision_at_k::between;
use crate::metric::ranking::{TopK, largest};
use crate::metric::{accuracy, auc, distinctness};
use crate::{Result, Seed};

/// Rows that run through the network at once.
const CHUNK: usize = 1024;

/// The most rows on which two models' rankings are compared.
const COMPARED: usize = 256;

/// The validation rows, those of them that are attacked, and those on which rankings are compared.
pub(super) struct Validation<'d> {
    dataset: &'d Dataset,
    rows: &'d [usize],
    attacked: Vec<f64>,
    ids: Vec<u64>,
    compared: Vec<usize>,
    explain: CheckedExplain,
    /// The salient features of which distinctness is told, where it is.
    distinct: Option<usize>,
    seed: Seed,
}

/// What validation says of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) auc: Option<f64>,
    pub(super) accuracy: f64,
    pub(super) precision_at_k: Option<f64>,
    /// Where the selection asks for it.
    pub(super) distinctness: Option<f64>,
}

impl Verdict {
    /// As the selection sees it.
    pub(super) fn standing(&self, epoch: usize, by: Quality) -> Standing {
        Standing {
            epoch,
            auc: by.of(self.auc, self.accuracy),
            precision_at_k: self.precision_at_k.unwrap_or(0.0),
            distinctness: self.distinctness.unwrap_or(0.0),
        }
    }
}

impl<'d> Validation<'d> {
    /// Takes the validation rows, and of them at most `attacked`, chosen by the seed once for the whole run. With `distinct`, a size of the
    /// salient set, verdicts say how distinct the rows' sets are.
    ///
    /// # Errors
    /// If the explanation does not fit the rows.
    pub(super) fn new(
        dataset: &'d Dataset,
        explain: &ExplainConfig,
        attacked: usize,
        distinct: Option<usize>,
        seed: Seed,
    ) -> Result<Self> {
        let part = dataset.part(Part::Validation);
        // A table of a few rows may have none to validate on; the training rows are then better than nothing.
        let rows = if part.is_empty() {
            dataset.part(Part::Train)
        } else {
            part
        };
        let mut shuffled = rows.to_vec();
        seed.stream("validation probe").shuffle(&mut shuffled);
        let first = |most: usize| {
            let mut chosen = shuffled[..most.min(shuffled.len())].to_vec();
            chosen.sort_unstable();
            chosen
        };
        let chosen = first(attacked);
        Ok(Self {
            dataset,
            rows,
            attacked: dataset.gather(&chosen).into_iter().map(f64::from).collect(),
            ids: chosen.into_iter().map(|row| row as u64).collect(),
            compared: first(COMPARED),
            explain: explain.check(&dataset.schema)?,
            distinct,
            seed,
        })
    }

    /// Whether there are no validation rows, so that the training rows stand in.
    pub(super) fn is_of_training_rows(&self) -> bool {
        self.dataset.part(Part::Validation).is_empty()
    }

    /// Judges a model with constant weights.
    pub(super) fn judge(&self, network: &Network, attack: &ValidationAttack) -> Result<Verdict> {
        let labels = self.dataset.gather_labels(self.rows);
        let mut probabilities: Vec<Vec<f64>> = Vec::with_capacity(labels.len());
        // Chunk by chunk: all rows of pairs at once would not fit in memory.
        for rows in self.rows.chunks(CHUNK) {
            let x = network.batch_f32(&self.dataset.gather(rows));
            let chunk = read(network.probabilities(x));
            probabilities.extend(chunk.chunks(network.classes()).map(<[f64]>::to_vec));
        }
        let predicted = probabilities
            .iter()
            .map(|row| largest(row))
            .collect::<Result<Vec<_>>>()?;
        Ok(Verdict {
            auc: auc::score(&probabilities, &labels)?.map(|auc| auc.value),
            accuracy: accuracy::score(&predicted, &labels)?,
            precision_at_k: match self.attacked() {
                None => None,
                Some(rows) => Some(attack.precision_at_k(network, rows)?),
            },
            distinctness: match self.distinct {
                None => None,
                Some(k) => distinctness::score(&self.sets(network, k)?)?,
            },
        })
    }

    fn attacked(&self) -> Option<Points<'_>> {
        (!self.ids.is_empty()).then_some(Points {
            values: &self.attacked,
            ids: &self.ids,
        })
    }

    /// The mean share of one model's salient features that are the other's too, without any attack.
    pub(super) fn agreement(&self, first: &Network, second: &Network, k: usize) -> Result<f64> {
        let (first, second) = (self.sets(first, k)?, self.sets(second, k)?);
        let mut sum = 0.0;
        for (a, b) in first.iter().zip(&second) {
            sum += between(a, b)?;
        }
        Ok(sum / as_f64(first.len().max(1)))
    }

    /// The salient sets of the compared rows.
    fn sets(&self, network: &Network, k: usize) -> Result<Vec<TopK>> {
        let values = self.dataset.gather(&self.compared);
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let ids: Vec<u64> = self.compared.iter().map(|row| *row as u64).collect();
        let rows = Points {
            values: &values,
            ids: &ids,
        };
        let explained = self.explain.attribute(network, rows, self.seed)?;
        let rows = explained.iter();
        rows.map(|row| TopK::of(&row.importance, k)).collect()
    }
}
