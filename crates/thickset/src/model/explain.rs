//! Why a model predicts what it predicts.

use super::{Model, Origin};
use crate::explain::reduce::ReductionConfig;
use crate::explain::{ExplainConfig, Explained, ExplanationConfig, InlineExplain, Per};
use crate::metric::ranking;
use crate::{Result, Rows, Schema, Seed};

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
    pub fn config(&self, schema: &Schema, own: &ExplainConfig) -> ExplainConfig {
        let explanation = self.explanation.as_ref().unwrap_or(&own.explanation);
        // An explanation that is asked for by name comes with the form that fits it, not with that of another one.
        let is_own = explanation.kind() == own.explanation.kind();
        let asked = InlineExplain {
            explanation: explanation.clone(),
            reduce: self.reduce.or(is_own.then_some(own.reduce)),
            per: self.per.unwrap_or(own.per),
        };
        asked.resolve(&schema.shape)
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
    /// What the model's run ranked in rows of this schema, if there is a run: the explanation that it trained for and that its
    /// epochs were chosen by.
    #[must_use]
    pub fn explain(&self, schema: &Schema) -> Option<ExplainConfig> {
        let run = self.run.as_ref()?;
        Some(run.objective.explain(schema))
    }

    /// How the model's predictions are explained where the options leave something out.
    pub(super) fn explain_config(
        &self,
        rows: &Rows<'_>,
        options: &ExplainOptions,
    ) -> ExplainConfig {
        let schema = rows.schema();
        let own = self.explain(schema);
        let own = own.unwrap_or_else(|| ExplainConfig::usual(&schema.shape));
        options.config(schema, &own)
    }
}
