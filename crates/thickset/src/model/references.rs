//! Reference rows for a model that was trained elsewhere.

use super::Model;
use crate::data::References;
use crate::metric::ranking::largest;
use crate::{Result, Rows};

impl Model {
    /// The same model with the typical row of these, row-major and encoded, and the mean row of each class that it predicts for them.
    /// Contributions and reasons compare with those; a model that is trained here learns them from its training rows. Inputs that
    /// are no tables have none, and nothing changes.
    ///
    /// # Errors
    /// If the rows do not fit the model.
    pub fn with_references_of(mut self, values: &[f32]) -> Result<Self> {
        let rows = Rows::new(values, self.schema())?;
        let predicted = self.predict(&rows)?;
        let labels = predicted
            .iter()
            .map(|one| largest(&one.probabilities))
            .collect::<Result<Vec<usize>>>()?;
        let all: Vec<usize> = (0..labels.len()).collect();
        self.description.references =
            References::learn(self.schema(), self.classes(), values, &labels, &all);
        Ok(Self::from_parts(
            self.description,
            self.network,
            self.source,
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::explain::ExplanationConfig;
    use crate::model::{ExplainOptions, LinearConfig, Model, ModelConfig};
    use crate::{Rows, Seed, data::InputShape};

    #[test]
    fn the_typical_row_contributes_nothing() {
        let classes = ["no", "yes"].map(str::to_owned).to_vec();
        let linear = ModelConfig::Linear(LinearConfig::default());
        let model =
            Model::fresh(linear, InputShape::Table, 2, classes, None, Seed::new(0)).unwrap();
        // Medians of the columns: 2 and 5.
        let rows = [1.0_f32, 5.0, 2.0, 4.0, 9.0, 8.0];
        let model = model.with_references_of(&rows).unwrap();
        let typical = [2.0_f32, 5.0];
        let rows = Rows::new(&typical, model.schema()).unwrap();
        let found = model.explain(&rows, &ExplainOptions::default()).unwrap();
        assert!(matches!(
            found.config.explanation,
            ExplanationConfig::Contributions(_)
        ));
        assert!(found.rows[0].importance.iter().all(|&one| one == 0.0));
        // They are part of the file.
        let copy = Model::from_bytes(&model.to_bytes(), None).unwrap();
        assert_eq!(copy.description.references, model.description.references);
    }
}
