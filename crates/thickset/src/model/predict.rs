//! What a model predicts.

use serde::Serialize;

use super::Model;
use crate::explain::chunk_rows;
use crate::host::read;
use crate::metric::ranking::largest;
use crate::{Result, Rows};

/// A row's prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The class with the highest probability, an index into [`Model::classes`]; the lower one of equals.
    pub class: usize,
    /// Of all classes.
    pub probabilities: Vec<f64>,
}

impl Model {
    /// The logits of every row, row-major: probabilities are their softmax.
    ///
    /// # Errors
    /// When rows do not fit the model.
    pub fn logits(&self, rows: &Rows<'_>) -> Result<Vec<f64>> {
        let network = &self.network;
        rows.check(network)?;
        let mut logits = Vec::with_capacity(rows.len() * network.classes());
        for part in rows.parts(chunk_rows(network.features())) {
            logits.extend(read(network.logits(part.tensor(network))));
        }
        Ok(logits)
    }

    /// Predicts the class of every row.
    ///
    /// # Errors
    /// When rows do not fit the model, or something is not finite.
    pub fn predict(&self, rows: &Rows<'_>) -> Result<Vec<Prediction>> {
        let network = &self.network;
        rows.check(network)?;
        let mut predictions = Vec::with_capacity(rows.len());
        for part in rows.parts(chunk_rows(network.features())) {
            let probabilities = read(network.probabilities(part.tensor(network)));
            for row in probabilities.chunks(network.classes()) {
                predictions.push(Prediction {
                    class: largest(row)?,
                    probabilities: row.to_vec(),
                });
            }
        }
        Ok(predictions)
    }
}
