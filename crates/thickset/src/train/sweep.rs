//! A sweep: all combinations of some settings, trained in parallel, and the one that the selection rule chooses.
//!
//! Each combination is a run of its own in `sweep/1/`, `sweep/2/`, …, trained as it would be alone. The rule that chooses among
//! the epochs of a run chooses among the runs: of those whose validation AUC is good enough, beside the best epoch of all
//! runs, the one with the highest validation P@k. Its files are then the run's own.

use std::collections::BTreeMap;
use std::num::NonZero;

use serde::Serialize;

use super::fit::Fit;
use super::folder::RunFolder;
use super::parallel::{Job, JobObserver, Shelf, train_all};
use super::selection::{SelectionConfig, Standing};
use super::trainer::Trained;
use crate::config::{CheckedRun, Variant};
use crate::model::Shard;
use crate::{Error, Result, file};

/// What came of a sweep; the content of `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The rule that chose.
    pub selection: SelectionConfig,
    /// The number of the chosen run.
    pub selected: usize,
    /// In the order of their numbers.
    pub runs: Vec<SweepRun>,
}

/// One combination and how it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepRun {
    /// Counted from 1; the name of its folder.
    pub number: usize,
    /// What it sets.
    pub settings: BTreeMap<String, toml::Value>,
    /// How its selected epoch did on validation rows; absent where it diverged.
    pub standing: Option<Standing>,
    /// The best validation AUC of its epochs.
    pub best_auc: Option<f64>,
    /// Why it ended, or what went wrong.
    pub reason: String,
}

impl Sweep {
    /// The chosen run.
    #[must_use]
    pub fn winner(&self) -> Option<&SweepRun> {
        self.runs.iter().find(|run| run.number == self.selected)
    }
}

/// Trains every combination of a run that is a sweep and puts the chosen one's files into the folder, as many at a time as
/// there are `threads`, or cores where absent. With `resume`, goes on where an interrupted sweep stands; finished runs are
/// kept. Nothing is returned if the observer stopped it.
///
/// # Errors
/// If the run is no sweep, a combination does not fit its data, the folder holds another run or one that is not to be
/// resumed, a run fails for another reason than that it diverges, or all of them diverge.
///
/// # Panics
/// Never: a sweep is plain data.
pub fn sweep(
    run: &CheckedRun,
    folder: &RunFolder,
    resume: bool,
    threads: Option<NonZero<usize>>,
    observer: &mut JobObserver<'_>,
) -> Result<Option<Sweep>> {
    let config = run.config();
    let Begun { variants, jobs } = begin(run, folder)?;
    let _lock = folder.lock()?;
    folder.prepare_sweep(&config.to_text(), resume)?;
    // The folder is this sweep's own, so whatever a run's folder holds is to be resumed.
    let outcomes = train_all(&jobs, true, threads, observer);
    let mut runs = Vec::with_capacity(variants.len());
    for ((variant, outcome), number) in variants.into_iter().zip(outcomes).zip(1..) {
        let (standing, best_auc, reason) = match outcome {
            Ok(Some(Trained {
                selected,
                best_auc,
                reason,
                ..
            })) => (Some(selected), Some(best_auc), reason),
            Ok(None) => return Ok(None),
            Err(error @ (Error::Diverged { .. } | Error::NotFinite { .. })) => {
                (None, None, error.to_string())
            }
            Err(other) => return Err(other),
        };
        runs.push(SweepRun {
            number,
            settings: variant.settings,
            standing,
            best_auc,
            reason,
        });
    }
    let selected = chosen(&runs, &config.selection).ok_or_else(|| Error::Sweep {
        problem: format!("all {} runs diverged: {}", runs.len(), runs[0].reason),
    })?;
    adopt(folder, &folder.of_sweep(selected))?;
    let result = Sweep {
        selection: config.selection.clone(),
        selected,
        runs,
    };
    let text = serde_json::to_string_pretty(&result).expect("a sweep is plain data");
    file::write(&folder.sweep_result(), text.as_bytes())?;
    Ok(Some(result))
}

/// Trains the combinations of a sweep that fall to one of several machines, every `shard.of`-th from the `shard.number`-th on, and chooses none. Once the
/// folders `sweep/1/`, `sweep/2/`, … of all machines lie in one run folder, [`sweep`] with `resume` chooses among them, as if one machine had
/// trained them all. Gives how many combinations are trained; nothing if the observer stopped it.
///
/// # Errors
/// As for [`sweep`], but that runs which diverge are left to it.
pub fn sweep_share(
    run: &CheckedRun,
    folder: &RunFolder,
    shard: Shard,
    resume: bool,
    threads: Option<NonZero<usize>>,
    observer: &mut JobObserver<'_>,
) -> Result<Option<usize>> {
    let jobs = begin(run, folder)?.jobs;
    let _lock = folder.lock()?;
    folder.prepare_sweep(&run.config().to_text(), resume)?;
    let own = jobs.into_iter().skip(shard.number - 1).step_by(shard.of);
    let own: Vec<Job> = own.collect();
    let mut trained = 0;
    for outcome in train_all(&own, true, threads, observer) {
        match outcome {
            Ok(Some(_)) => trained += 1,
            Ok(None) => return Ok(None),
            Err(Error::Diverged { .. } | Error::NotFinite { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(Some(trained))
}

/// A sweep whose combinations fit their data.
struct Begun {
    variants: Vec<Variant>,
    /// One a combination.
    jobs: Vec<Job>,
}

fn begin(run: &CheckedRun, folder: &RunFolder) -> Result<Begun> {
    let variants = run.config().variants()?;
    if variants.is_empty() {
        return Err(Error::Sweep {
            problem: "the configuration has no `sweep`".to_owned(),
        });
    }
    let jobs: Vec<Job> = variants
        .iter()
        .zip(1..)
        .map(|(variant, number)| Job {
            run: variant.run.clone(),
            folder: folder.of_sweep(number),
        })
        .collect();
    // Every combination fits its data, or none is begun.
    let mut shelf = Shelf::new(&jobs);
    for job in &jobs {
        Fit::new(job.run.config(), &*shelf.take(&job.run)?)?;
    }
    Ok(Begun { variants, jobs })
}

/// The number of the run that the rule chooses. The threshold is that of one run with all the epochs: taken from selected
/// epochs, each of which may lie below its run's best, the slack would count twice.
fn chosen(runs: &[SweepRun], rule: &SelectionConfig) -> Option<usize> {
    let ended: Vec<(usize, Standing)> = runs
        .iter()
        .filter_map(|run| Some((run.number, run.standing?)))
        .collect();
    let standings: Vec<Standing> = ended.iter().map(|(_, standing)| *standing).collect();
    let best = runs
        .iter()
        .filter_map(|run| run.best_auc)
        .fold(0.0, f64::max);
    let rule = SelectionConfig {
        auc_at_least: Some(rule.threshold(best)),
        ..rule.clone()
    };
    rule.choose(&standings).map(|place| ended[place].0)
}

/// Makes the files of one run those of another folder.
fn adopt(folder: &RunFolder, from: &RunFolder) -> Result<()> {
    for (from, to) in [
        (from.model(), folder.model()),
        (from.metrics(), folder.metrics()),
        (from.config(), folder.config()),
    ] {
        let bytes = file::read(&from)?;
        file::write(&to, &bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(standings: &[Option<(f64, f64)>]) -> Vec<SweepRun> {
        standings
            .iter()
            .zip(1..)
            .map(|(standing, number)| SweepRun {
                number,
                settings: BTreeMap::new(),
                standing: standing.map(|(auc, precision_at_k)| Standing {
                    epoch: 1,
                    auc,
                    precision_at_k,
                    distinctness: 0.0,
                }),
                best_auc: standing.map(|(auc, _)| auc),
                reason: String::new(),
            })
            .collect()
    }

    #[test]
    fn the_rule_chooses_by_p_at_k_among_good_aucs_and_passes_over_what_diverged() {
        let rule = SelectionConfig::default();
        let list = [
            None,
            Some((0.900, 0.60)),
            Some((0.880, 0.99)), // its AUC is 0.02 below the best
            Some((0.895, 0.80)),
            Some((0.892, 0.80)), // the same P@k at a lower AUC
        ];
        assert_eq!(chosen(&runs(&list), &rule), Some(4));
        assert_eq!(chosen(&runs(&[None, None]), &rule), None);
        // Of equals the first.
        assert_eq!(
            chosen(&runs(&[Some((0.9, 0.5)), Some((0.9, 0.5))]), &rule),
            Some(1)
        );
    }

    #[test]
    fn the_slack_counts_from_the_best_epoch_of_all_runs_once() {
        let mut list = runs(&[Some((0.905, 0.7)), Some((0.896, 0.9))]);
        let rule = SelectionConfig::default();
        assert_eq!(chosen(&list, &rule), Some(2));
        // The first run's best epoch lies above the one it selected, and above what the second may be compared with.
        list[0].best_auc = Some(0.914);
        assert_eq!(chosen(&list, &rule), Some(1));
    }
}
