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
            per: self.per.or(is_own.then_some(own.per)),
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
        self.explain_as(rows, None, options)
    }

    /// Why the model would predict these classes, one a row.
    ///
    /// # Errors
    /// As for [`Model::explain`], and when there is not one class a row or a class does not exist.
    pub fn explain_classes(
        &self,
        rows: &Rows<'_>,
        classes: &[usize],
        options: &ExplainOptions,
    ) -> Result<Explanations> {
        self.explain_as(rows, Some(classes), options)
    }

    fn explain_as(
        &self,
        rows: &Rows<'_>,
        classes: Option<&[usize]>,
        options: &ExplainOptions,
    ) -> Result<Explanations> {
        let config = self.explain_config(&self.origin()?, options)?;
        let explain = config.check(rows.schema())?;
        let explained = match classes {
            None => explain.attribute_rows(&self.network, rows, options.seed)?,
            Some(classes) => {
                explain.attribute_rows_of(&self.network, rows, classes, options.seed)?
            }
        };
        let width = explained.first().map_or(0, |row| row.importance.len());
        Ok(Explanations {
            names: explain.names(width),
            config: explain.config().clone(),
            rows: explained,
        })
    }
}

impl Origin {
    /// What the model's run hands out for rows of this schema, if there is a run.
    #[must_use]
    pub fn explain(&self, schema: &Schema) -> Option<ExplainConfig> {
        let run = self.run.as_ref()?;
        Some(run.handed_out(schema))
    }
}

impl Model {
    /// How the model's predictions are explained where the options leave something out. What rows are compared with is the model's
    /// own, whatever rows it is asked about.
    pub(super) fn explain_config(
        &self,
        origin: &Origin,
        options: &ExplainOptions,
    ) -> Result<ExplainConfig> {
        let schema = self.schema();
        let own = origin.explain(schema);
        let own = own.unwrap_or_else(|| ExplainConfig::for_schema(schema));
        let config = options
            .config(schema, &own)
            .with_reference(self.description.encoding.as_ref())?;
        self.with_own_reference(config)
    }

    /// The same with the row that this model compares others with.
    pub(super) fn with_own_reference(&self, config: ExplainConfig) -> Result<ExplainConfig> {
        let (mut config, schema) = (config.without_learned_row(), self.schema());
        let is_known = schema.references.is_some();
        if is_known && config.explanation.behaviour().contributions().is_some() {
            config.explanation = config.explanation.behaviour().check(schema)?;
        }
        Ok(config)
    }
}
