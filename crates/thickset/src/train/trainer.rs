//! The training loop: epochs of shuffled batches, a verdict after each, and the selection at the end.

mod resume;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;
use thickset_engine::optimizer::{Optimizer, clip};
use thickset_engine::{Network, one_hot};

use super::checkpoint::Progress;
use super::epoch_record::{EpochRecord, TOTAL, add_sums, means};
use super::fingerprint::fingerprint;
use super::fit::{Fit, Reference};
use super::folder::RunFolder;
use super::observer::{Event, Observer};
use super::selection::{Front, Standing};
use super::validation::{Validation, Verdict};
use super::validation_attack::ValidationAttack;
use crate::check::as_f64;
use crate::config::{CheckedRun, RunConfig};
use crate::data::{Dataset, Part};
use crate::model::Model;
use crate::objective::Batch;
use crate::objective::term::reading::value;
use crate::{Error, Result};

/// The ball's radius where neither the run nor the dataset has one.
const USUAL_EPSILON: f64 = 0.5;

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The selected model is on disk.
    Done {
        /// How the selected epoch did on validation rows.
        selected: Standing,
        /// The best validation AUC of all epochs that might have been selected.
        best_auc: f64,
        /// Epochs done.
        epochs: usize,
        /// Why it ended.
        reason: String,
    },
    /// The observer stopped it.
    Stopped,
}

/// Trains a run on its data into a folder. With `resume`, goes on where the folder's latest checkpoint stands, or begins if
/// there is none.
///
/// # Errors
/// If the run is a sweep, the folder holds a run that is not to be resumed, the settings do not fit the data, a file cannot be read or
/// written, or training diverges.
pub fn train(
    run: &CheckedRun,
    dataset: &Dataset,
    folder: &RunFolder,
    resume: bool,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    if !run.config().sweep.is_empty() {
        return Err(Error::Sweep {
            problem: "it is many runs, and one was asked for".to_owned(),
        });
    }
    // All that may be refused is refused before the folder is made.
    let fit = Fit::new(run.config(), dataset)?;
    let mut config = run.config().clone();
    config.k = Some(fit.k);
    let mut trainer = Trainer::new(&config, dataset, fit)?;
    let _lock = folder.lock()?;
    folder.prepare(&config.to_text(), resume)?;
    if trainer.restore(folder, observer)?.is_break() {
        return Ok(Outcome::Stopped);
    }
    let flow = trainer.run(folder, observer)?;
    if flow.is_break() {
        return Ok(Outcome::Stopped);
    }
    trainer.finish(folder, observer)
}

struct Trainer<'r> {
    config: &'r RunConfig,
    dataset: &'r Dataset,
    k: usize,
    model: Model,
    reference: Option<(Network, Verdict)>,
    optimizer: Box<dyn Optimizer>,
    attack: ValidationAttack,
    validation: Validation<'r>,
    progress: Progress,
    front: Front,
    fingerprint: String,
}

impl<'r> Trainer<'r> {
    fn new(config: &'r RunConfig, dataset: &'r Dataset, fit: Fit) -> Result<Self> {
        let Fit {
            k,
            model,
            reference,
        } = fit;
        let own = dataset.attack.as_ref().map(|attack| attack.epsilon);
        let own = own.unwrap_or(USUAL_EPSILON);
        let attack = config.probe.bind(&dataset.schema, k, own, config.seed)?;
        let validation = Validation::new(dataset, config.probe.rows, config.seed);
        let hash = reference.as_ref().map(|reference| &*reference.sha256);
        let fingerprint = fingerprint(dataset, hash);
        let mut front = Front::default();
        let reference = match reference {
            None => None,
            Some(Reference { network, .. }) => {
                let verdict = validation.judge(&network, &attack)?;
                // If no epoch is better, or all drift away, the reference itself is kept.
                front.join(verdict.standing(0), &config.selection, || {
                    network.parameter_values()
                });
                Some((network, verdict))
            }
        };
        Ok(Self {
            config,
            dataset,
            k,
            model,
            reference,
            optimizer: config.train.optimizer.optimizer(),
            attack,
            validation,
            progress: Progress::default(),
            front,
            fingerprint,
        })
    }

    fn steps_per_epoch(&self) -> usize {
        let rows = self.dataset.part(Part::Train).len();
        rows.div_ceil(self.config.train.batch)
    }

    fn run(&mut self, folder: &RunFolder, observer: &mut dyn Observer) -> Result<ControlFlow<()>> {
        self.model.network.track();
        if self.validation.is_of_training_rows() {
            let text = "there are no validation rows; epochs are judged on the training rows";
            if observer.on_event(&Event::Note { text }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let begin = Event::Begin {
            epochs: self.config.train.epochs,
            steps_per_epoch: self.steps_per_epoch(),
            step: self.progress.step,
        };
        if observer.on_event(&begin).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        while self.progress.ended.is_none() {
            if self.epoch(folder, observer)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn epoch(
        &mut self,
        folder: &RunFolder,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>> {
        let train = self.dataset.part(Part::Train);
        let epoch = self.progress.epochs;
        let mut order = train.to_vec();
        self.config
            .seed
            .stream_at("train order", epoch as u64)
            .shuffle(&mut order);
        let batch = self.config.train.batch;
        let done = self.progress.batches;
        for rows in order.chunks(batch).skip(done) {
            let (loss, terms) = self.step(rows)?;
            let step = self.progress.step;
            let event = Event::Step {
                step,
                loss,
                terms: &terms,
            };
            if observer.on_event(&event).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let due = self.config.train.checkpoint_steps;
            let last = self.progress.batches == self.steps_per_epoch();
            if !last && due.is_some_and(|due| step.is_multiple_of(due)) {
                self.save(folder)?;
                if observer.on_event(&Event::Checkpoint { step }).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        let record = self.judge()?;
        self.save(folder)?;
        // After the checkpoint: a line that is lost here is written again when the run is resumed.
        if let Some(line) = self.progress.records.last() {
            folder.append_metrics(line)?;
        }
        let step = self.progress.step;
        for event in [Event::Checkpoint { step }, Event::Epoch(&record)] {
            if observer.on_event(&event).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// One step; its loss and the terms of that.
    fn step(&mut self, rows: &[usize]) -> Result<(f64, BTreeMap<&'static str, f64>)> {
        let network = &self.model.network;
        let x = network.batch_f32(&self.dataset.gather(rows));
        let labels = self.dataset.gather_labels(rows);
        let batch = Batch {
            network,
            labels: one_hot(&labels, network.classes(), network.dtype(), &x.device()),
            x,
            k: self.k,
            reference: self.reference.as_ref().map(|(network, _)| network),
            perturbed: None,
            seed: self.config.seed,
            step: self.progress.step,
        };
        let loss = self.config.objective.objective().loss(&batch)?;
        drop(batch);
        let total = value(&loss.total);
        if !total.is_finite() {
            return Err(Error::Diverged {
                step: self.progress.step,
                loss: total,
            });
        }
        let terms = add_sums(&mut self.progress, &loss, total, rows.len());
        let mut gradients = loss.total.backward();
        if let Some(most) = self.config.train.clip {
            clip(network, &mut gradients, most);
        }
        let all = as_f64(self.steps_per_epoch()) * as_f64(self.config.train.epochs);
        #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
        let share = self.progress.step as f64 / all;
        let factor = self.config.train.schedule.factor(share);
        self.optimizer
            .set_rate(self.config.train.optimizer.rate() * factor);
        self.optimizer.step(&mut self.model.network, gradients);
        for statistics in &loss.statistics {
            self.model.network.follow(statistics);
        }
        self.progress.step += 1;
        self.progress.batches += 1;
        Ok((total, terms))
    }

    /// Judges the epoch that has just ended and decides whether it was the last.
    fn judge(&mut self) -> Result<EpochRecord> {
        let mut network = self.model.network.clone();
        network.untrack();
        let verdict = self.validation.judge(&network, &self.attack)?;
        let agreement = match &self.reference {
            None => None,
            Some((reference, _)) => Some(self.validation.agreement(reference, &network, self.k)?),
        };
        let progress = &mut self.progress;
        progress.epochs += 1;
        progress.batches = 0;
        let mut terms = means(&mut progress.sums);
        let record = EpochRecord {
            epoch: progress.epochs,
            step: progress.step,
            loss: terms.remove(TOTAL).unwrap_or(0.0),
            terms,
            weights: means(&mut progress.weights),
            auc: verdict.auc,
            accuracy: verdict.accuracy,
            precision_at_k: verdict.precision_at_k,
            agreement,
        };
        progress
            .records
            .push(serde_json::to_string(&record).expect("a record is plain data"));
        let drifted = self.drifted(verdict, agreement);
        let standing = verdict.standing(record.epoch);
        let rule = &self.config.selection;
        // An epoch that has drifted too far from the reference is not to be selected.
        let better = drifted.is_none()
            && self
                .front
                .join(standing, rule, || network.parameter_values());
        let progress = &mut self.progress;
        progress.stale = if better { 0 } else { progress.stale + 1 };
        let settings = &self.config.train;
        progress.ended = if drifted.is_some() {
            drifted
        } else if progress.epochs >= settings.epochs {
            Some("all epochs are done".to_owned())
        } else if settings.patience.is_some_and(|most| progress.stale >= most) {
            Some(format!("{} epochs improved nothing", progress.stale))
        } else {
            None
        };
        Ok(record)
    }

    /// Why retraining must stop, if it must.
    fn drifted(&self, now: Verdict, agreement: Option<f64>) -> Option<String> {
        let retrain = self.config.retrain.as_ref()?;
        let (_, reference) = self.reference.as_ref()?;
        if agreement? < retrain.least_agreement {
            return Some("the ranking drifted from the reference's".to_owned());
        }
        let (what, drop) = match (reference.auc, now.auc) {
            (Some(before), Some(now)) => ("AUC", before - now),
            // Rows of one class have no AUC.
            _ => ("accuracy", reference.accuracy - now.accuracy),
        };
        (drop > retrain.most_auc_drop).then(|| format!("the {what} fell below the reference's"))
    }

    /// Writes the selected model.
    fn finish(mut self, folder: &RunFolder, observer: &mut dyn Observer) -> Result<Outcome> {
        let selected = self
            .front
            .selected(&self.config.selection)
            .ok_or(Error::Empty {
                what: "the list of judged epochs",
            })?;
        let standing = selected.standing;
        self.model
            .network
            .set_parameter_values(&selected.parameters)?;
        self.model.save(&folder.model())?;
        let best_auc = self.front.best_auc();
        if let Some(least) = self.config.selection.auc_at_least
            && standing.auc < least
        {
            let text = format!(
                "no epoch reached the AUC of `selection.auc_at_least`, {least}; the best is kept"
            );
            let _ = observer.on_event(&Event::Note { text: &text });
        }
        let reason = self.progress.ended.unwrap_or_default();
        let event = Event::End {
            reason: &reason,
            selected: standing.epoch,
        };
        // The run is over; there is nothing left to stop.
        let _ = observer.on_event(&event);
        Ok(Outcome::Done {
            selected: standing,
            best_auc,
            epochs: self.progress.epochs,
            reason,
        })
    }
}
