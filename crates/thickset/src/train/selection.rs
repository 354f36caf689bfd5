//! Which epoch's weights are kept (R2ET, B.1.2): among those whose validation AUC is at least a threshold, the one with the
//! highest validation P@k under attack. With `distinctness_at_least` only epochs count whose rows are explained so differently, so that methods
//! can be compared at equal distinctness: to tell everyone the same is a cheap way to a high P@k.
//!
//! The threshold is a number, or lies a little below the best epoch's AUC. That one is known only at the end, so the
//! weights of every epoch that may still be selected are held: those that reach the threshold so far, which only rises, and
//! that no other epoch equals or beats in AUC, P@k and, up to what is asked for, distinctness.

use serde::{Deserialize, Serialize};
use thickset_engine::TensorData;

use crate::check::check_weight;
use crate::data::exact;
use crate::{Error, Result};

/// The threshold of the AUC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectionConfig {
    /// Epochs count whose AUC lies at most this below the best epoch's.
    pub auc_within: f64,
    /// Epochs count whose AUC is at least this, instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc_at_least: Option<f64>,
    /// Of the epochs with a good AUC those count whose distinctness on validation rows is at least this; where none is, the most distinct one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinctness_at_least: Option<f64>,
    /// What stands for the AUC in both.
    #[serde(skip_serializing_if = "Quality::is_auc")]
    pub by: Quality,
}

/// How good an epoch's predictions are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// The AUC, as the paper has it; of rows of one class, the accuracy.
    #[default]
    Auc,
    /// The mean of AUC and accuracy, for those who take the predicted class. On small and easy data an epoch may rank all rows
    /// right and still call most of them wrongly.
    AucAndAccuracy,
}

impl Quality {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes the field by reference"
    )]
    fn is_auc(&self) -> bool {
        *self == Self::Auc
    }

    /// The quality of predictions of this AUC, if they have one, and accuracy.
    pub(super) fn of(self, auc: Option<f64>, accuracy: f64) -> f64 {
        let auc = auc.unwrap_or(accuracy);
        match self {
            Self::Auc => auc,
            Self::AucAndAccuracy => f64::midpoint(auc, accuracy),
        }
    }
}

impl Default for SelectionConfig {
    fn default() -> Self {
        Self {
            auc_within: 0.01,
            auc_at_least: None,
            distinctness_at_least: None,
            by: Quality::Auc,
        }
    }
}

impl SelectionConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn check(&self) -> Result<()> {
        check_weight("`selection.auc_within`", self.auc_within)?;
        for (what, given) in [
            ("`selection.auc_at_least`", self.auc_at_least),
            (
                "`selection.distinctness_at_least`",
                self.distinctness_at_least,
            ),
        ] {
            if let Some(got) = given.filter(|got| !(0.0..=1.0).contains(got)) {
                return Err(Error::OutOfRange {
                    what,
                    expected: "from 0 to 1",
                    got,
                });
            }
        }
        Ok(())
    }

    /// What distinctness counts as: nothing where it is not asked for, and no more than is asked for.
    fn counted(&self, standing: &Standing) -> f64 {
        let wanted = self.distinctness_at_least.unwrap_or(0.0);
        standing.distinctness.min(wanted)
    }

    /// The least AUC that may be selected where the best is this.
    pub(super) fn threshold(&self, best: f64) -> f64 {
        self.auc_at_least
            .unwrap_or(best - self.auc_within)
            .min(best)
    }

    /// The place of the standing that the rule keeps: the highest P@k among those whose AUC reaches the threshold and whose distinctness is what is
    /// asked for, or comes nearest to it; of equals the higher AUC, then the first. Where none reaches it, the best AUC. None where there are no standings.
    #[must_use]
    pub fn choose(&self, standings: &[Standing]) -> Option<usize> {
        let best = standings
            .iter()
            .map(|held| held.auc)
            .max_by(f64::total_cmp)?;
        let threshold = self.threshold(best);
        let mut chosen: Option<usize> = None;
        for (place, standing) in standings.iter().enumerate() {
            let is_better = |than: &Standing| {
                self.counted(standing)
                    .total_cmp(&self.counted(than))
                    .then(standing.precision_at_k.total_cmp(&than.precision_at_k))
                    .then(standing.auc.total_cmp(&than.auc))
                    .is_gt()
            };
            let is_good = standing.auc >= threshold;
            if is_good && chosen.is_none_or(|than| is_better(&standings[than])) {
                chosen = Some(place);
            }
        }
        chosen
    }
}

/// How an epoch did on validation rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Counted from 1; 0 is the model that retraining began with.
    pub epoch: usize,
    /// The AUC, or the accuracy where there is none.
    #[serde(with = "exact")]
    pub auc: f64,
    /// P@k under the quick attack; 0 where none was made.
    #[serde(with = "exact")]
    pub precision_at_k: f64,
    /// One minus the mean top-k overlap of two rows; 0 where the rule does not ask for it.
    #[serde(with = "exact", default)]
    pub distinctness: f64,
}

impl Standing {
    fn covers(&self, other: &Self, rule: &SelectionConfig) -> bool {
        self.auc >= other.auc
            && self.precision_at_k >= other.precision_at_k
            && rule.counted(self) >= rule.counted(other)
    }
}

/// An epoch that may be selected, with its parameters.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) standing: Standing,
    pub(super) parameters: Vec<TensorData>,
}

/// The epochs that may still be selected, in the order of epochs.
#[derive(Clone, Debug, Default)]
pub(super) struct Front(pub(super) Vec<Candidate>);

impl Front {
    /// Whether the epoch may be selected and is better than all before it in some way; if so it joins. Of equals the first
    /// stays.
    pub(super) fn join(
        &mut self,
        standing: Standing,
        rule: &SelectionConfig,
        parameters: impl FnOnce() -> Vec<TensorData>,
    ) -> bool {
        let threshold = rule.threshold(self.best_auc().max(standing.auc));
        let mut held = self.0.iter();
        if standing.auc < threshold || held.any(|held| held.standing.covers(&standing, rule)) {
            return false;
        }
        self.0.retain(|held| {
            held.standing.auc >= threshold && !standing.covers(&held.standing, rule)
        });
        self.0.push(Candidate {
            standing,
            parameters: parameters(),
        });
        true
    }

    /// The best AUC of all epochs that joined.
    pub(super) fn best_auc(&self) -> f64 {
        let held = self.0.iter().map(|held| held.standing.auc);
        held.fold(0.0, f64::max)
    }

    /// The epoch to keep.
    pub(super) fn selected(&self, config: &SelectionConfig) -> Option<&Candidate> {
        let standings: Vec<Standing> = self.0.iter().map(|held| held.standing).collect();
        config.choose(&standings).map(|place| &self.0[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(config: &SelectionConfig, epochs: &[(f64, f64)]) -> usize {
        let mut front = Front::default();
        for (index, &(auc, precision_at_k)) in epochs.iter().enumerate() {
            let standing = Standing {
                epoch: index + 1,
                auc,
                precision_at_k,
                distinctness: 0.0,
            };
            front.join(standing, config, Vec::new);
        }
        front.selected(config).unwrap().standing.epoch
    }

    #[test]
    fn among_good_aucs_the_highest_p_at_k_wins() {
        let epochs = [(0.80, 0.99), (0.90, 0.70), (0.895, 0.85), (0.89, 0.80)];
        let config = SelectionConfig::default();
        assert_eq!(select(&config, &epochs), 3);
        let strict = SelectionConfig {
            auc_within: 0.0,
            ..SelectionConfig::default()
        };
        assert_eq!(select(&strict, &epochs), 2);
        let fixed = SelectionConfig {
            auc_at_least: Some(0.5),
            ..SelectionConfig::default()
        };
        assert_eq!(select(&fixed, &epochs), 1);
    }

    #[test]
    fn a_threshold_that_no_epoch_reaches_leaves_the_best_auc() {
        let config = SelectionConfig {
            auc_at_least: Some(0.95),
            ..SelectionConfig::default()
        };
        assert_eq!(select(&config, &[(0.8, 0.9), (0.9, 0.1)]), 2);
    }

    #[test]
    fn epochs_that_can_no_longer_be_selected_are_let_go() {
        let within = SelectionConfig::default();
        let fixed = SelectionConfig {
            auc_at_least: Some(0.85),
            ..SelectionConfig::default()
        };
        let epochs = [(0.70, 0.99), (0.86, 0.90), (0.90, 0.80), (0.895, 0.85)];
        for (rule, expected) in [(within, vec![3, 4]), (fixed, vec![2, 3, 4])] {
            let mut front = Front::default();
            for (index, &(auc, precision_at_k)) in epochs.iter().enumerate() {
                let standing = Standing {
                    epoch: index + 1,
                    auc,
                    precision_at_k,
                    distinctness: 0.0,
                };
                assert!(front.join(standing, &rule, Vec::new));
            }
            // Worse than the first of the list, which was let go, and still no improvement.
            let late = Standing {
                epoch: 9,
                auc: 0.69,
                precision_at_k: 0.98,
                distinctness: 0.0,
            };
            assert!(!front.join(late, &rule, Vec::new));
            let held: Vec<usize> = front.0.iter().map(|held| held.standing.epoch).collect();
            assert_eq!(held, expected);
        }
    }

    #[test]
    fn an_epoch_that_ranks_well_and_calls_wrongly_is_good_by_its_auc_alone() {
        let (auc, both) = (Quality::Auc, Quality::AucAndAccuracy);
        assert!(auc.of(Some(0.99), 0.4) > auc.of(Some(0.97), 0.9));
        assert!(both.of(Some(0.99), 0.4) < both.of(Some(0.97), 0.9));
        // A majority that is always right has no AUC to speak of.
        assert!(both.of(Some(0.5), 0.95) < both.of(Some(0.8), 0.95));
        assert!((both.of(None, 0.7) - 0.7).abs() < 1e-12);
        let text = toml::to_string(&SelectionConfig::default()).unwrap();
        assert_eq!(text, "auc_within = 0.01\n");
    }

    #[test]
    fn distinctness_that_is_asked_for_comes_before_p_at_k() {
        // AUC, P@k, distinctness.
        let epochs = [
            (0.90, 0.95, 0.1),
            (0.90, 0.80, 0.3),
            (0.90, 0.85, 0.25),
            (0.80, 1.0, 0.9),
        ];
        let selected = |wanted| {
            let rule = SelectionConfig {
                distinctness_at_least: wanted,
                ..SelectionConfig::default()
            };
            let mut front = Front::default();
            for (place, (auc, precision_at_k, distinctness)) in epochs.into_iter().enumerate() {
                let standing = Standing {
                    epoch: place + 1,
                    auc,
                    precision_at_k,
                    distinctness,
                };
                front.join(standing, &rule, Vec::new);
            }
            front.selected(&rule).unwrap().standing.epoch
        };
        assert_eq!(selected(None), 1);
        assert_eq!(selected(Some(0.2)), 3);
        // None is as distinct, so the most distinct of those with a good AUC.
        assert_eq!(selected(Some(0.5)), 2);
        let beyond = SelectionConfig {
            distinctness_at_least: Some(1.5),
            ..SelectionConfig::default()
        };
        assert!(beyond.check().is_err());
    }

    #[test]
    fn of_equal_epochs_the_first_stays() {
        assert_eq!(
            select(&SelectionConfig::default(), &[(0.9, 0.5), (0.9, 0.5)]),
            1
        );
    }

    #[test]
    fn the_choice_is_that_of_a_search_over_all_epochs() {
        let mut stream = crate::Seed::new(4).stream("epochs");
        for _ in 0..200 {
            let draw = |stream: &mut crate::Stream| (stream.uniform() * 20.0).round() / 20.0;
            let epochs: Vec<(f64, f64)> = (0..12)
                .map(|_| (draw(&mut stream), draw(&mut stream)))
                .collect();
            let config = SelectionConfig {
                auc_within: 0.2,
                ..SelectionConfig::default()
            };
            let best = epochs.iter().map(|epoch| epoch.0).fold(0.0, f64::max);
            let good = epochs.iter().filter(|epoch| epoch.0 >= best - 0.2);
            let most = good.map(|epoch| epoch.1).fold(0.0, f64::max);
            let chosen = epochs[select(&config, &epochs) - 1];
            assert!(chosen.0 >= best - 0.2);
            assert!((chosen.1 - most).abs() < 1e-12);
        }
    }
}
