//! What the importances of a row add up from.

use super::Model;
use crate::explain::reduce::ReductionConfig;
use crate::explain::{ExplainConfig, ExplanationConfig, Of};
use crate::host::read;

impl Model {
    /// The value that the importances of a row of each class add up from: the reference row's score for contributions, the output at
    /// the baseline for integrated gradients. `config` is that of [`super::Explanations`]. None for explanations that do not add up, and
    /// for importances without a sign.
    ///
    /// ```
    /// use thickset::model::{ExplainOptions, LinearConfig, Model, ModelConfig};
    /// use thickset::{Rows, Seed, data::InputShape};
    ///
    /// let classes = ["no", "yes"].map(str::to_owned).to_vec();
    /// let linear = ModelConfig::Linear(LinearConfig::default());
    /// let model = Model::fresh(linear, InputShape::Table, 3, classes, None, Seed::new(0))?;
    /// let options = ExplainOptions {
    ///     explanation: Some("integrated-gradients".parse()?),
    ///     reduce: Some(thickset::explain::reduce::ReductionConfig::Signed),
    ///     ..ExplainOptions::default()
    /// };
    /// let found = model.explain(&Rows::new(&[0.5, -1.0, 2.0], model.schema())?, &options)?;
    /// let row = &found.rows[0];
    /// let base = model.base_values(&found.config).unwrap()[row.class];
    /// let sum: f64 = row.importance.iter().sum();
    /// assert!((base + sum - row.probabilities[row.class]).abs() < 1e-4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn base_values(&self, config: &ExplainConfig) -> Option<Vec<f64>> {
        if config.reduce != ReductionConfig::Signed {
            return None;
        }
        let classes = 0..self.classes().len();
        match &config.explanation {
            ExplanationConfig::Contributions(own) => {
                let row = own.row.as_deref()?;
                let score = |class| self.scores(row, class).first().copied();
                classes.map(score).collect()
            }
            ExplanationConfig::IntegratedGradients(own) => {
                let network = &self.network;
                let at = network.batch(&vec![own.baseline; network.features()]);
                Some(match own.of {
                    Of::Logit => read(network.logits(at)),
                    Of::Probability => read(network.probabilities(at)),
                    Of::Loss => read(network.probabilities(at))
                        .into_iter()
                        .map(|probability| -probability.ln())
                        .collect(),
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{ExplainOptions, LinearConfig, Model, ModelConfig};
    use crate::{Rows, Seed, data::InputShape};

    fn model() -> Model {
        let classes = ["no", "yes"].map(str::to_owned).to_vec();
        let linear = ModelConfig::Linear(LinearConfig::default());
        Model::fresh(linear, InputShape::Table, 3, classes, None, Seed::new(0)).unwrap()
    }

    #[test]
    fn contributions_add_up_from_the_score_of_the_reference() {
        let rows = [0.0_f32, 0.0, 1.0, 1.0, 3.0, -1.0, 2.0, 5.0, 0.5];
        let model = model().with_references_of(&rows).unwrap();
        let given = Rows::new(&rows, model.schema()).unwrap();
        let found = model.explain(&given, &ExplainOptions::default()).unwrap();
        let base = model.base_values(&found.config).unwrap();
        // With two classes the score is the log-odds, so that of one class is minus that of the other.
        assert!((base[0] + base[1]).abs() < 1e-9);
        for row in &found.rows {
            let [own, other] = [row.class, 1 - row.class].map(|class| row.probabilities[class]);
            let sum: f64 = row.importance.iter().sum();
            assert!((base[row.class] + sum - (own / other).ln()).abs() < 1e-5);
        }
    }

    #[test]
    fn what_does_not_add_up_has_no_base() {
        let model = model();
        let row = [1.0_f32, 2.0, 3.0];
        let rows = Rows::new(&row, model.schema()).unwrap();
        let options = ExplainOptions {
            explanation: Some("integrated-gradients".parse().unwrap()),
            ..ExplainOptions::default()
        };
        for options in [options, ExplainOptions::default()] {
            let found = model.explain(&rows, &options).unwrap();
            assert!(model.base_values(&found.config).is_none());
        }
    }
}
