//! A model that predicts what is decided.

use std::ops::Deref;

use super::{Model, Origin};
use crate::Result;
use crate::audit::Audit;
use crate::decision::{Decision, DecisionConfig};

/// A model whose most probable class is the decision.
pub(super) struct DecidingModel {
    model: Model,
    decision: Option<Decision>,
}

impl Deref for DecidingModel {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

impl Origin {
    /// What is given of a decision, and the rest as the model's run says.
    #[must_use]
    pub fn decision(&self, given: &DecisionConfig) -> DecisionConfig {
        match &self.run {
            Some(run) => given.or(&run.decision),
            None => given.clone(),
        }
    }
}

impl Model {
    /// The model that predicts the decision; itself where no cut-off is given.
    pub(super) fn deciding(
        &self,
        origin: &Origin,
        given: &DecisionConfig,
    ) -> Result<DecidingModel> {
        let config = origin.decision(given);
        let mut model = self.clone();
        if config.cutoff.is_none() {
            return Ok(DecidingModel {
                model,
                decision: None,
            });
        }
        let decision = config.of(self.classes())?;
        model.network = decision.network(&self.network)?;
        Ok(DecidingModel {
            model,
            decision: Some(decision),
        })
    }
}

impl DecidingModel {
    /// The probabilities that the model itself gives, of those that this one gives.
    pub(super) fn own_probabilities(&self, shifted: &[f64]) -> Vec<f64> {
        match &self.decision {
            Some(decision) => decision.own_probabilities(shifted),
            None => shifted.to_vec(),
        }
    }

    /// Puts the model's own probabilities into an audit.
    pub(super) fn restore_probabilities(&self, audit: &mut Audit) {
        if let Some(decision) = &self.decision {
            audit.restore_probabilities(decision);
        }
    }
}
