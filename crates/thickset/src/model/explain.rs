//! Why a model predicts what it predicts.

use super::{Model, Origin};
use crate::explain::reduce::ReductionConfig;
use crate::explain::{ExplainConfig, Explained, ExplanationConfig, Per};
use crate::metric::ranking;
use crate::{Result, Rows, Schema, Seed, defaults};

/// How predictions are explained. What is left out is the model's own: the explanation it was trained for, and the form that
/// fits its input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainOptions {
    /// The method.
    pub explanation: Option<ExplanationConfig>,
    /// How its attributions become importances.
    pub reduce: Option<ReductionConfig>,
    /// What an importance stands for.
    pub per: Option<Per>,
    /// Decides every draw.
    pub seed: Seed,
}

impl ExplainOptions {
    /// The settings for rows of this schema, given those that a model was trained for.
    #[must_use]
    pub fn config(&self, schema: &Schema, own: Option<&ExplainConfig>) -> ExplainConfig {
        // An explanation that is asked for by name comes with the forms that fit it, not with those of another one.
        let own = own.filter(|own| {
            let asked = self.explanation.as_ref();
            asked.is_none_or(|asked| asked.kind() == own.explanation.kind())
        });
        let explanation = self.explanation.clone();
        let explanation = explanation
            .or(own.map(|own| own.explanation.clone()))
            .unwrap_or_default();
        let usual = || defaults::reduction(schema, explanation.is_of_units());
        let reduce = self.reduce.or(own.map(|own| own.reduce));
        ExplainConfig {
            reduce: reduce.unwrap_or_else(usual),
            per: self.per.or(own.map(|own| own.per)).unwrap_or_default(),
            explanation,
        }
    }
}

/// The explanations of some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanations {
    /// How the rows were explained.
    pub config: ExplainConfig,
    /// What the importances are of.
    pub names: Vec<String>,
    /// One a row.
    pub rows: Vec<Explained>,
}

impl Explanations {
    /// The names of a row's `k` most important features, the most important first.
    ///
    /// # Errors
    /// When an importance is not a number.
    pub fn top(&self, row: usize, k: usize) -> Result<Vec<&str>> {
        let order = ranking::descending(&self.rows[row].importance)?;
        Ok(order
            .into_iter()
            .take(k)
            .map(|feature| self.names[feature].as_str())
            .collect())
    }
}

impl Model {
    /// Explains the predicted class of every row.
    ///
    /// # Errors
    /// When rows do not fit the model, the explanation does not fit the rows, or something is not finite.
    pub fn explain(&self, rows: &Rows<'_>, options: &ExplainOptions) -> Result<Explanations> {
        let config = self.origin()?.explain_config(rows, options);
        let explain = config.check(rows.schema())?;
        let explained = explain.attribute_rows(&self.network, rows, options.seed)?;
        let width = explained.first().map_or(0, |row| row.importance.len());
        Ok(Explanations {
            names: explain.names(width),
            config: explain.config().clone(),
            rows: explained,
        })
    }
}

impl Origin {
    /// The explanation that the model's run trained for, if there is a run.
    #[must_use]
    pub fn explain(&self) -> Option<ExplainConfig> {
        None
    }

    /// How the model's predictions are explained where the options leave something out.
    pub(super) fn explain_config(
        &self,
        rows: &Rows<'_>,
        options: &ExplainOptions,
    ) -> ExplainConfig {
        options.config(rows.schema(), self.explain().as_ref())
    }
}
