//! The training loop: epochs of shuffled batches, a verdict after each, and the selection at the end.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thickset_engine::optimizer::{Optimizer, clip};
use thickset_engine::{Network, one_hot};

use super::checkpoint::{self, Progress, Sum};
use super::folder::RunFolder;
use super::observer::{Event, Observer};
use super::probe::Probe;
use super::selection::{Front, Standing};
use super::settings::salient_features;
use super::validation::{Validation, Verdict};
use crate::check::as_f64;
use crate::config::{CheckedRun, RunConfig};
use crate::data::{Dataset, Part};
use crate::model::Model;
use crate::objective::term::reading::value;
use crate::objective::{Batch, Loss};
use crate::{Error, Result};

/// The ball's radius where neither the run nor the dataset has one.
const USUAL_EPSILON: f64 = 0.5;

/// One line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// Steps done at its end.
    pub step: u64,
    /// The mean loss over its rows.
    pub loss: f64,
    /// The mean of each term before weighting.
    pub terms: BTreeMap<String, f64>,
    /// Validation AUC; absent where all rows are of one class.
    pub auc: Option<f64>,
    /// Validation accuracy.
    pub accuracy: f64,
    /// Validation P@k under the quick attack.
    pub precision_at_k: Option<f64>,
    /// When retraining, the share of the reference's salient features that are still salient.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agreement: Option<f64>,
}

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The selected model is on disk.
    Done {
        /// How the selected epoch did on validation rows.
        selected: Standing,
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
    let k = salient_features(run.config().k, dataset)?;
    let mut config = run.config().clone();
    config.k = Some(k);
    let mut trainer = Trainer::new(&config, dataset, k)?;
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
    probe: Probe,
    validation: Validation,
    progress: Progress,
    front: Front,
    fingerprint: String,
}

impl<'r> Trainer<'r> {
    fn new(config: &'r RunConfig, dataset: &'r Dataset, k: usize) -> Result<Self> {
        if dataset.part(Part::Train).is_empty() {
            return Err(Error::Empty {
                what: "the training rows",
            });
        }
        let mut model = Model::fresh(
            config.model.clone(),
            dataset.shape().clone(),
            dataset.features(),
            dataset.classes.clone(),
            dataset.encoding.clone(),
            config.seed,
        )?;
        let own = dataset.attack.as_ref().map(|attack| attack.epsilon);
        let own = own.unwrap_or(USUAL_EPSILON);
        let probe = config.probe.probe(&dataset.schema, k, own, config.seed)?;
        let validation = Validation::new(&model.network, dataset, config.probe.rows, config.seed);
        let mut reference = None;
        if let Some(retrain) = &config.retrain {
            let from = Model::load(&retrain.from)?;
            model
                .network
                .set_parameter_values(&fitting(&from, &model)?)?;
            let verdict = validation.judge(&from.network, &probe)?;
            reference = Some((from.network, verdict));
        }
        Ok(Self {
            config,
            dataset,
            k,
            model,
            reference,
            optimizer: config.train.optimizer.optimizer(),
            probe,
            validation,
            progress: Progress::default(),
            front: Front::default(),
            fingerprint: fingerprint(dataset),
        })
    }

    fn steps_per_epoch(&self) -> usize {
        let rows = self.dataset.part(Part::Train).len();
        rows.div_ceil(self.config.train.batch)
    }

    /// Takes up where the latest whole checkpoint stands.
    fn restore(
        &mut self,
        folder: &RunFolder,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>> {
        for path in [folder.latest(), folder.previous()] {
            if !path.exists() {
                continue;
            }
            match checkpoint::read(&path, &self.model.network, &self.fingerprint) {
                Ok(restored) => {
                    self.model
                        .network
                        .set_parameter_values(&restored.parameters)?;
                    self.optimizer.restore(restored.optimizer)?;
                    self.progress = restored.progress;
                    self.front = restored.front;
                    break;
                }
                Err(Error::Checkpoint { path, problem }) => {
                    let event = Event::BrokenCheckpoint {
                        path: &path,
                        problem: &problem,
                    };
                    if observer.on_event(&event).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Err(other) => return Err(other),
            }
        }
        folder.write_metrics(&self.progress.records)?;
        Ok(ControlFlow::Continue(()))
    }

    fn run(&mut self, folder: &RunFolder, observer: &mut dyn Observer) -> Result<ControlFlow<()>> {
        self.model.network.track();
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
            let loss = self.step(rows)?;
            let step = self.progress.step;
            if observer.on_event(&Event::Step { step, loss }).is_break() {
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

    /// One step; its loss.
    fn step(&mut self, rows: &[usize]) -> Result<f64> {
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
        add_sums(&mut self.progress.sums, &loss, total, rows.len());
        let mut gradients = loss.total.backward();
        if let Some(most) = self.config.train.clip {
            clip(network, &mut gradients, most);
        }
        let all = self.steps_per_epoch() * self.config.train.epochs;
        #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
        let share = self.progress.step as f64 / as_f64(all);
        let factor = self.config.train.schedule.factor(share);
        self.optimizer
            .set_rate(self.config.train.optimizer.rate() * factor);
        self.optimizer.step(&mut self.model.network, gradients);
        for statistics in &loss.statistics {
            self.model.network.follow(statistics);
        }
        self.progress.step += 1;
        self.progress.batches += 1;
        Ok(total)
    }

    /// Judges the epoch that has just ended and decides whether it was the last.
    fn judge(&mut self) -> Result<EpochRecord> {
        let mut network = self.model.network.clone();
        network.untrack();
        let verdict = self.validation.judge(&network, &self.probe)?;
        let agreement = match &self.reference {
            None => None,
            Some((reference, _)) => Some(self.validation.agreement(reference, &network, self.k)?),
        };
        let progress = &mut self.progress;
        progress.epochs += 1;
        progress.batches = 0;
        let mut means: BTreeMap<String, f64> = progress
            .sums
            .drain(..)
            .map(|sum| (sum.name, sum.total / as_f64(sum.rows.max(1))))
            .collect();
        let record = EpochRecord {
            epoch: progress.epochs,
            step: progress.step,
            loss: means.remove(TOTAL).unwrap_or(0.0),
            terms: means,
            auc: verdict.auc,
            accuracy: verdict.accuracy,
            precision_at_k: verdict.precision_at_k,
            agreement,
        };
        progress
            .records
            .push(serde_json::to_string(&record).expect("a record is plain data"));
        let standing = Standing {
            epoch: record.epoch,
            auc: record.auc.unwrap_or(record.accuracy),
            precision_at_k: record.precision_at_k.unwrap_or(0.0),
        };
        let drifted = self.drifted(&record);
        // An epoch that has drifted too far from the reference is not to be selected, unless there is no other.
        let better = if drifted.is_some() && !self.front.0.is_empty() {
            false
        } else {
            self.front.join(standing, || network.parameter_values())
        };
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
    fn drifted(&self, record: &EpochRecord) -> Option<String> {
        let retrain = self.config.retrain.as_ref()?;
        let (_, reference) = self.reference.as_ref()?;
        if record.agreement? < retrain.least_agreement {
            return Some("the ranking drifted from the reference's".to_owned());
        }
        let drop = reference.auc? - record.auc?;
        (drop > retrain.most_auc_drop).then(|| "the AUC fell below the reference's".to_owned())
    }

    fn save(&self, folder: &RunFolder) -> Result<()> {
        let bytes = checkpoint::to_bytes(
            &self.model.network,
            &*self.optimizer,
            &self.progress,
            &self.front,
            &self.fingerprint,
        );
        folder.write_checkpoint(&bytes)
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
        let reason = self.progress.ended.unwrap_or_default();
        let event = Event::End {
            reason: &reason,
            selected: standing.epoch,
        };
        // The run is over; there is nothing left to stop.
        let _ = observer.on_event(&event);
        Ok(Outcome::Done {
            selected: standing,
            epochs: self.progress.epochs,
            reason,
        })
    }
}

/// The name under which the whole loss is summed; no term is called so.
const TOTAL: &str = "total";

fn add_sums(sums: &mut Vec<Sum>, loss: &Loss, total: f64, rows: usize) {
    let terms = loss
        .terms
        .iter()
        .map(|term| (term.name, value(&term.value)));
    for (name, mean) in terms.chain([(TOTAL, total)]) {
        let place = sums.iter().position(|sum| sum.name == name);
        let place = place.unwrap_or_else(|| {
            sums.push(Sum {
                name: name.to_owned(),
                total: 0.0,
                rows: 0,
            });
            sums.len() - 1
        });
        sums[place].total += mean * as_f64(rows);
        sums[place].rows += rows;
    }
}

/// The reference's parameters, if it is of the same architecture and data.
fn fitting(from: &Model, model: &Model) -> Result<Vec<thickset_engine::TensorData>> {
    let (theirs, ours) = (&from.description, &model.description);
    if theirs.model != ours.model || theirs.features != ours.features {
        return Err(Error::ModelInput {
            model: ours.model.kind(),
            expected: "a reference of its own architecture, settings and number of features",
            got: format!("`{}` of {} features", theirs.model.kind(), theirs.features),
        });
    }
    if theirs.classes != ours.classes {
        return Err(Error::ModelInput {
            model: ours.model.kind(),
            expected: "a reference of the same classes",
            got: theirs.classes.join(", "),
        });
    }
    Ok(from.network.parameter_values())
}

/// Tells other training data from the one a checkpoint was made with.
fn fingerprint(dataset: &Dataset) -> String {
    let mut hash = Sha256::new();
    let rows = dataset.part(Part::Train);
    let mut row_values = vec![0.0_f32; dataset.features()];
    for &row in rows {
        dataset.copy_row(row, &mut row_values);
        for value in &row_values {
            hash.update(value.to_le_bytes());
        }
        hash.update((dataset.labels[row] as u64).to_le_bytes());
    }
    crate::data::hexadecimal(&hash.finalize())
}
