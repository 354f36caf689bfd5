//! A small sweep for those who name none: `thickset train --tune`.

use toml::{Table, Value};

use super::RunConfig;
use crate::model::ModelConfig;
use crate::objective::ObjectiveConfig;
use crate::train::OptimizerConfig;
use crate::{Error, Result};

/// What the given step size, and the given weight of the gap, are multiplied by.
const FACTORS: [f64; 3] = [0.4, 1.0, 2.5];

/// The bins that are tried.
const BINS: [i64; 3] = [8, 16, 32];

impl RunConfig {
    /// The same run as a small sweep around its own settings: the weight of R2ET's gap, or the step size where the objective is
    /// another one, and the bins of a model that has them, or else the weight decay. All of it is chosen on validation rows.
    ///
    /// # Errors
    /// If the configuration has a sweep of its own.
    pub fn tuned(mut self) -> Result<Self> {
        if !self.sweep.is_empty() {
            return Err(Error::Sweep {
                problem: "the configuration has a `sweep` of its own, which `--tune` would replace"
                    .to_owned(),
            });
        }
        let around = |value: f64| {
            let values = FACTORS
                .iter()
                .map(|factor| Value::Float(rounded(value * factor)));
            Value::Array(values.collect())
        };
        let mut sweep = Table::new();
        match &self.objective {
            ObjectiveConfig::R2et(objective) if objective.gap_weight > 0.0 => {
                sweep.insert(
                    "objective.gap_weight".to_owned(),
                    around(objective.gap_weight),
                );
            }
            _ => {
                let rate = around(self.train.optimizer.rate());
                sweep.insert("train.optimizer.rate".to_owned(), rate);
            }
        }
        match (&self.model, &self.train.optimizer) {
            (ModelConfig::Binned(_), _) => {
                let bins = BINS.map(Value::Integer).to_vec();
                sweep.insert("model.bins".to_owned(), Value::Array(bins));
            }
            (_, OptimizerConfig::Adamw { decay, .. }) if *decay > 0.0 => {
                sweep.insert("train.optimizer.decay".to_owned(), around(*decay));
            }
            _ => {}
        }
        self.sweep = sweep;
        Ok(self)
    }
}

/// To three digits, so that tables and folders read well.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::BinnedConfig;

    #[test]
    fn the_default_run_tries_three_weights_and_a_binned_one_three_times_three() {
        let plain = RunConfig::default().tuned().unwrap();
        assert_eq!(plain.variants().unwrap().len(), 3);
        let run = RunConfig {
            model: BinnedConfig::default().into(),
            ..RunConfig::default()
        };
        let tuned = run.tuned().unwrap();
        let variants = tuned.variants().unwrap();
        assert_eq!(variants.len(), 9);
        let own = &variants[4].settings;
        assert_eq!(own["objective.gap_weight"].to_string(), "0.05");
        assert_eq!(own["model.bins"].to_string(), "16");
        assert!(tuned.tuned().is_err());
    }

    #[test]
    fn another_objective_tries_step_sizes() {
        let text = "objective = { kind = \"vanilla\" }\n[train]\noptimizer = { kind = \"adamw\", rate = 0.002, decay = 0.3 }\n";
        let run = RunConfig::parse(text, "run.toml").unwrap().tuned().unwrap();
        assert_eq!(run.variants().unwrap().len(), 9);
        assert!(run.to_text().contains("0.005"));
    }
}
