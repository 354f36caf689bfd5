//! Which setting of a method is measured (R2ET, B.1.2): of those whose validation AUC is at least a threshold, the one with
//! the highest validation P@k.
//!
//! The threshold is vanilla's best validation AUC less 0.01, for the same rows and seed, as the paper reports methods only
//! where their AUC is at most 0.01 below vanilla's.

use thickset::train::{SelectionConfig, Standing};

use crate::training_cell::{AUC_WITHIN, TrainedCell};

/// The place of the setting to measure, of those that are as distinct as asked for where there are some, and whether it reaches the threshold; `None` where all have failed.
pub(crate) fn chosen(
    settings: &[TrainedCell],
    threshold: f64,
    distinctness_at_least: Option<f64>,
) -> Option<(usize, bool)> {
    let (places, standings): (Vec<usize>, Vec<Standing>) = settings
        .iter()
        .enumerate()
        .filter_map(|(place, trained)| Some((place, trained.selected?)))
        .unzip();
    let rule = SelectionConfig {
        auc_within: AUC_WITHIN,
        auc_at_least: Some(threshold),
        distinctness_at_least,
        ..SelectionConfig::default()
    };
    let best = rule.choose(&standings)?;
    Some((places[best], standings[best].auc >= threshold))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thickset::objective::ObjectiveConfig;

    fn trained(auc: f64, precision_at_k: f64) -> TrainedCell {
        TrainedCell {
            key: String::new(),
            objective: ObjectiveConfig::default(),
            selected: (auc > 0.0).then_some(Standing {
                epoch: 1,
                auc,
                precision_at_k,
                distinctness: 0.0,
            }),
            best_auc: auc,
            ending: String::new(),
            model_sha256: None,
        }
    }

    #[test]
    fn of_those_above_the_threshold_the_steadiest_wins_and_failures_never_do() {
        let settings = [
            trained(0.0, 0.0),
            trained(0.90, 0.5),
            trained(0.88, 0.7),
            trained(0.80, 1.0),
        ];
        assert_eq!(chosen(&settings, 0.87, None), Some((2, true)));
        assert_eq!(chosen(&settings, 0.89, None), Some((1, true)));
        assert_eq!(chosen(&settings, 0.95, None), Some((1, false)));
        assert_eq!(chosen(&settings[..1], 0.5, None), None);
        // Of equals the first.
        let equals = [trained(0.9, 0.5), trained(0.9, 0.5)];
        assert_eq!(chosen(&equals, 0.5, None), Some((0, true)));
    }
}
