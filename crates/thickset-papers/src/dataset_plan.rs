//! What each dataset of the papers that is no table is trained and attacked with: `datasets.toml`.

use std::sync::LazyLock;

use serde::Deserialize;
use thickset::attack::ConstraintConfig;
use thickset::explain::InlineExplain;
use thickset::model::ModelConfig;
use thickset::train::AugmentConfig;

use crate::options::BenchEffort;

/// A dataset's own settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatasetPlan {
    /// As `thickset data` knows it.
    pub(crate) name: String,
    /// The column of the paper's tables that its numbers stand beside.
    pub(crate) column: String,
    /// How it differs from the paper's data, where it does.
    #[serde(default)]
    pub(crate) note: Option<String>,
    /// Salient features.
    pub(crate) k: usize,
    /// Radius of the l2 ball, in encoded units.
    pub(crate) radius: f64,
    /// The largest change of a feature in one step of an attack.
    pub(crate) step_cap: f64,
    /// What R2ET's gap weights are multiplied by.
    #[serde(default)]
    pub(crate) gap_times: Option<f64>,
    /// How attacks keep the predictions.
    #[serde(default)]
    pub(crate) constraint: Option<ConstraintConfig>,
    /// What is ranked, where it is not the papers' choice for the kind of data.
    #[serde(default)]
    pub(crate) explain: Option<InlineExplain>,
    quick: EffortPlan,
    standard: EffortPlan,
}

/// What one effort comes to. What is left out is what tables have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EffortPlan {
    /// Seeds.
    pub(crate) seeds: u64,
    /// Settings of each method, the first ones.
    pub(crate) settings: usize,
    /// Epochs from scratch.
    pub(crate) epochs: usize,
    /// Epochs of retraining.
    #[serde(default)]
    pub(crate) retrain_epochs: Option<usize>,
    /// Rows of a step.
    pub(crate) batch: usize,
    /// Rows that an epoch draws.
    #[serde(default)]
    pub(crate) rows_per_epoch: Option<usize>,
    /// Most training rows.
    #[serde(default)]
    pub(crate) train_rows: Option<usize>,
    /// Most validation rows.
    #[serde(default)]
    pub(crate) validation_rows: Option<usize>,
    /// Most test rows that the AUC is of.
    #[serde(default)]
    pub(crate) test_rows: Option<usize>,
    /// Validation rows that are attacked after each epoch.
    #[serde(default)]
    pub(crate) probe_rows: Option<usize>,
    /// Attacked test rows.
    pub(crate) rows: usize,
    /// Height and width that images are scaled to.
    #[serde(default)]
    pub(crate) image_size: Option<(usize, usize)>,
    /// How training images are varied.
    #[serde(default)]
    pub(crate) augment: Option<AugmentConfig>,
    /// The architecture, where it is not the usual one for the shape.
    #[serde(default)]
    pub(crate) model: Option<ModelConfig>,
}

static PLANS: LazyLock<Vec<DatasetPlan>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        dataset: Vec<DatasetPlan>,
    }
    // A test reads it; the text comes with the program.
    toml::from_str::<File>(include_str!("datasets.toml"))
        .map_or_else(|_| Vec::new(), |file| file.dataset)
});

impl DatasetPlan {
    /// The plan of this dataset, if it has one.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        PLANS.iter().find(|plan| plan.name == name)
    }

    /// What an effort comes to.
    pub(crate) fn effort(&self, effort: BenchEffort) -> &EffortPlan {
        match effort {
            BenchEffort::Quick => &self.quick,
            BenchEffort::Standard => &self.standard,
        }
    }
}

/// The dataset that is run for a column of the paper: itself, or what stands in for it.
pub(crate) fn stand_in(column: &str, effort: BenchEffort) -> Option<&'static str> {
    // Two datasets stand beside ROCT: two classes to see something soon, and all four.
    let is_it = |plan: &&DatasetPlan| {
        let other = match effort {
            BenchEffort::Quick => "oct2017",
            BenchEffort::Standard => "oct2017-cnv",
        };
        plan.column == column && plan.name != other
    };
    PLANS.iter().find(is_it).map(|plan| plan.name.as_str())
}

/// The column of the paper's tables that a dataset stands beside.
pub(crate) fn column_of(dataset: &str) -> &str {
    DatasetPlan::find(dataset).map_or(dataset, |plan| plan.column.as_str())
}

#[cfg(test)]
mod tests {
    use thickset::data::KNOWN;

    use super::*;
    use crate::paper_numbers;

    #[test]
    fn every_plan_reads_and_is_of_a_known_dataset_beside_a_column_of_the_paper() {
        assert_eq!(PLANS.len(), 9, "the file is read");
        for plan in PLANS.iter() {
            assert!(
                KNOWN.iter().any(|known| known.name == plan.name),
                "{}",
                plan.name
            );
            assert!(
                paper_numbers::has_dataset("table1", &plan.column),
                "{}",
                plan.name
            );
            for effort in [BenchEffort::Quick, BenchEffort::Standard] {
                let effort = plan.effort(effort);
                assert!(effort.rows >= 2 && effort.batch > 0 && effort.epochs > 0);
                let is_retrained = plan.name == "cifar10";
                assert_eq!(
                    effort.retrain_epochs.is_some(),
                    is_retrained,
                    "{}",
                    plan.name
                );
            }
        }
    }

    #[test]
    fn every_column_of_table_1_that_is_no_table_has_a_dataset() {
        for column in ["mnist-3-8-pairs", "cifar10", "roct", "adhd", "bp"] {
            for effort in [BenchEffort::Quick, BenchEffort::Standard] {
                let name = stand_in(column, effort).unwrap();
                assert_eq!(column_of(name), column);
            }
        }
        assert_eq!(stand_in("roct", BenchEffort::Standard), Some("oct2017"));
        assert_eq!(column_of("adult"), "adult");
    }
}
