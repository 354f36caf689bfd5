//! The training loop: epochs of shuffled batches, a verdict after each, and the selection at the end.

mod resume;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use thickset_engine::optimizer::{Optimizer, clip};
use thickset_engine::{DeviceKind, Network, one_hot};

use super::checkpoint::Progress;
use super::epoch_record::{EpochRecord, TOTAL, add_sums, means};
use super::few_rows::few_rows;
use super::fingerprint::Fingerprints;
use super::fit::{Fit, Reference, teacher};
use super::folder::RunFolder;
use super::observer::{Event, Observer};
use super::row_weights::RowOrder;
use super::selection::{Front, Standing};
use super::settings::RetrainConfig;
use super::sink::{InMemory, Sink};
use super::validation::{Validation, Verdict};
use super::validation_attack::ValidationAttack;
use crate::check::as_f64;
use crate::config::{CheckedRun, RunConfig};
use crate::data::{Dataset, Part};
use crate::explain::CheckedExplain;
use crate::model::binned::monotone::SignRule;
use crate::model::{Model, single_classifier};
use crate::objective::term::reading::value;
use crate::objective::{Batch, Objective, ObjectiveConfig};
use crate::{Error, Result, defaults, file};

/// A validation AUC that has fallen by more than this is told.
const FALL: f64 = 0.02;

/// A trained model and how it came about.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The selected epoch's model.
    pub model: Model,
    /// How the selected epoch did on validation rows.
    pub selected: Standing,
    /// The best validation AUC of all epochs that might have been selected.
    pub best_auc: f64,
    /// Every epoch, in order.
    pub epochs: Vec<EpochRecord>,
    /// Why training ended.
    pub reason: String,
}

/// Trains a model in memory: nothing is written.
///
/// ```
/// use thickset::config::RunConfig;
/// use thickset::{Dataset, train};
///
/// // Two classes of points: the sum of both features is above 1, or it is not.
/// let points: Vec<f32> = (0..200).map(|i| (i * 37 % 100) as f32 / 100.0).collect();
/// let labels = points.chunks(2).map(|p| usize::from(p[0] + p[1] > 1.0)).collect();
/// let data = Dataset::from_rows(points, labels, &["left", "right"])?;
///
/// let mut run = RunConfig::default();
/// run.train.epochs = 3;
/// let trained = train(&run.check()?, &data)?;
/// assert_eq!(trained.epochs.len(), 3);
/// # Ok::<(), thickset::Error>(())
/// ```
///
/// # Errors
/// If the run is a sweep, the settings do not fit the data, or training diverges.
pub fn train(run: &CheckedRun, dataset: &Dataset) -> Result<Trained> {
    let mut ignore = |_: &Event<'_>| ControlFlow::Continue(());
    let trained = train_observed(run, dataset, &mut ignore)?;
    trained.ok_or(Error::Empty {
        what: "the list of judged epochs",
    })
}

/// The same with an objective of one's own in place of the run's.
///
/// # Errors
/// As for [`train`].
pub fn train_objective(
    run: &CheckedRun,
    dataset: &Dataset,
    objective: &dyn Objective,
) -> Result<Trained> {
    objective.check()?;
    let mut ignore = |_: &Event<'_>| ControlFlow::Continue(());
    let (config, fit) = fitted(run, dataset)?;
    objective.check_k(fit.k)?;
    let training = Trainer::new(&config, dataset, fit, objective)?;
    let trained = training.train(&mut InMemory, &mut ignore)?;
    trained.ok_or(Error::Empty {
        what: "the list of judged epochs",
    })
}

/// The same with an observer, which hears of every step and may stop the training; nothing is returned if it did.
///
/// # Errors
/// As for [`train`].
pub fn train_observed(
    run: &CheckedRun,
    dataset: &Dataset,
    observer: &mut dyn Observer,
) -> Result<Option<Trained>> {
    let (config, fit) = fitted(run, dataset)?;
    let trainer = Trainer::new(&config, dataset, fit, config.objective.objective())?;
    trainer.train(&mut InMemory, observer)
}

/// Trains a run on its data into a folder. With `resume`, goes on where the folder's latest checkpoint stands, or begins if
/// there is none. Nothing is returned if the observer stopped it.
///
/// # Errors
/// As for [`train`], if the folder holds a run that is not to be resumed, or if a file cannot be read or written.
pub fn train_into(
    run: &CheckedRun,
    dataset: &Dataset,
    folder: &RunFolder,
    resume: bool,
    observer: &mut dyn Observer,
) -> Result<Option<Trained>> {
    // All that may be refused is refused before the folder is made.
    let (config, fit) = fitted(run, dataset)?;
    let mut trainer = Trainer::new(&config, dataset, fit, config.objective.objective())?;
    let _lock = folder.lock()?;
    folder.prepare(&config.to_text(), resume)?;
    if trainer.restore(folder, observer)?.is_break() {
        return Ok(None);
    }
    let trained = trainer.train(&mut folder.clone(), observer)?;
    if let (Some(trained), Some(retrain)) = (&trained, &config.retrain)
        && retrain.is_onnx()
    {
        let bytes = retrain.written_back(&trained.model, &config.data)?;
        file::write(&folder.onnx_model(), &bytes)?;
    }
    Ok(trained)
}

/// The run with everything that depends on the data filled in, and what it begins with.
fn fitted(run: &CheckedRun, dataset: &Dataset) -> Result<(RunConfig, Fit)> {
    if !run.config().sweep.is_empty() {
        return Err(Error::Sweep {
            problem: "it is many runs, and one was asked for".to_owned(),
        });
    }
    let fit = Fit::new(run.config(), dataset)?;
    let mut config = run.config().clone();
    config.k = Some(fit.k);
    if config.retrain.as_ref().is_some_and(RetrainConfig::is_onnx) {
        config.model = fit.model.description.model.clone();
    }
    // Files of before say nothing, and mean what the papers explain by.
    let handed_out = config.handed_out(&dataset.schema);
    if handed_out.explanation.behaviour().contributions().is_some() {
        config.explain = Some(handed_out.into());
    }
    Ok((config, fit))
}

struct Trainer<'r> {
    config: &'r RunConfig,
    dataset: &'r Dataset,
    objective: &'r dyn Objective,
    explain: CheckedExplain,
    k: usize,
    model: Model,
    reference: Option<(Network, Verdict)>,
    /// Ranks for the objective, where it has a teacher.
    teacher: Option<Network>,
    /// How far rows may move.
    radius: f64,
    /// Whether it was told that the AUC has fallen.
    fall_told: bool,
    optimizer: Box<dyn Optimizer>,
    /// Which signs the weights must have, where the model is monotone in some columns.
    signs: Option<SignRule>,
    attack: ValidationAttack,
    validation: Validation<'r>,
    order: RowOrder,
    progress: Progress,
    front: Front,
    fingerprints: Fingerprints,
}

impl<'r> Trainer<'r> {
    fn new(
        config: &'r RunConfig,
        dataset: &'r Dataset,
        fit: Fit,
        objective: &'r dyn Objective,
    ) -> Result<Self> {
        let Fit {
            explain,
            k,
            mut model,
            reference,
        } = fit;
        let device = config.train.device.open()?;
        model.network = model.network.on_device(&device)?;
        let teacher = match teacher(config, dataset, k)? {
            Some(teacher) => Some(teacher.on_device(&device)?),
            None => None,
        };
        let own = dataset.attack.as_ref().map(|attack| attack.epsilon);
        let own = own.unwrap_or(defaults::RADIUS);
        let (schema, seed) = (&dataset.schema, config.seed);
        let chosen_by = config.probe.explain(config, schema);
        let chosen_by = chosen_by.with_reference(dataset.encoding.as_ref())?;
        let threat = (config.threat_of(schema), own);
        let attack = config.probe.bind(&chosen_by, schema, k, threat, seed)?;
        let distinct = config.selection.distinctness_at_least.map(|_| k);
        let validation = Validation::new(dataset, &chosen_by, config.probe.rows, distinct, seed)?;
        let hash = reference.as_ref().map(|reference| &*reference.sha256);
        let fingerprints = Fingerprints::new(config, dataset, hash);
        let mut front = Front::default();
        let reference = match reference {
            None => None,
            Some(Reference { network, .. }) => {
                let network = network.on_device(&device)?;
                let verdict = validation.judge(&network, &attack)?;
                // If no epoch is better, or all drift away, the reference itself is kept.
                front.join(
                    verdict.standing(0, config.selection.by),
                    &config.selection,
                    || network.parameter_values(),
                );
                Some((network, verdict))
            }
        };
        Ok(Self {
            config,
            dataset,
            objective,
            signs: model.sign_rule(),
            explain,
            k,
            model,
            reference,
            teacher,
            radius: config.probe.epsilon.unwrap_or(own),
            fall_told: false,
            optimizer: config.train.optimizer.optimizer(),
            attack,
            validation,
            order: RowOrder::new(dataset, config.train.class_weight.as_ref())?,
            progress: Progress::default(),
            front,
            fingerprints,
        })
    }

    /// The share of all steps that are done.
    fn done(&self) -> f64 {
        let all = as_f64(self.steps_per_epoch()) * as_f64(self.config.train.epochs);
        #[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
        let done = self.progress.step as f64;
        done / all
    }

    fn steps_per_epoch(&self) -> usize {
        let rows = self.dataset.part(Part::Train).len();
        let drawn = self.config.train.rows_per_epoch.unwrap_or(rows).min(rows);
        drawn.div_ceil(self.config.train.batch)
    }

    /// Trains to the end; nothing is returned if the observer stopped it.
    fn train(
        mut self,
        sink: &mut dyn Sink,
        observer: &mut dyn Observer,
    ) -> Result<Option<Trained>> {
        if self.run(sink, observer)?.is_break() {
            return Ok(None);
        }
        self.finish(sink, observer).map(Some)
    }

    fn run(&mut self, sink: &mut dyn Sink, observer: &mut dyn Observer) -> Result<ControlFlow<()>> {
        self.model.network.track();
        if self.validation.is_of_training_rows() {
            let text = "there are no validation rows; epochs are judged on the training rows";
            if observer.on_event(&Event::Note { text }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if let Some(text) = few_rows(self.dataset)
            && observer.on_event(&Event::Note { text: &text }).is_break()
        {
            return Ok(ControlFlow::Break(()));
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
            if self.epoch(sink, observer)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn epoch(
        &mut self,
        sink: &mut dyn Sink,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>> {
        let train = self.dataset.part(Part::Train);
        let epoch = self.progress.epochs;
        let mut order = self.order.epoch(train, self.config.seed, epoch);
        if let Some(drawn) = self.config.train.rows_per_epoch {
            order.truncate(drawn);
        }
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
                self.save(sink)?;
                if observer.on_event(&Event::Checkpoint { step }).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        let record = self.judge()?;
        self.save(sink)?;
        // After the checkpoint: a line that is lost here is written again when the run is resumed.
        if let Some(line) = self.progress.records.last() {
            sink.epoch(line)?;
        }
        let step = self.progress.step;
        for event in [Event::Checkpoint { step }, Event::Epoch(&record)] {
            if observer.on_event(&event).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(self.tell_fall(&record, observer))
    }

    /// Tells once when training has left a good AUC.
    fn tell_fall(&mut self, record: &EpochRecord, observer: &mut dyn Observer) -> ControlFlow<()> {
        let best = self.front.best_auc();
        let Some(auc) = record.auc.filter(|auc| best - auc > FALL) else {
            return ControlFlow::Continue(());
        };
        if std::mem::replace(&mut self.fall_told, true) {
            return ControlFlow::Continue(());
        }
        let why = if matches!(self.config.objective, ObjectiveConfig::Vanilla(_)) {
            "fewer epochs, a smaller step or more rows to judge by would keep it"
        } else {
            "where the added terms win over the class loss, a smaller weight of them, or fewer epochs, would keep it"
        };
        let text = format!(
            "the validation AUC has fallen from {best:.3} to {auc:.3} (epoch {}): {why}",
            record.epoch
        );
        observer.on_event(&Event::Note { text: &text })
    }

    /// One step; its loss and the terms of that.
    fn step(&mut self, rows: &[usize]) -> Result<(f64, BTreeMap<&'static str, f64>)> {
        let network = &self.model.network;
        let mut values = self.dataset.gather(rows);
        if let Some(augment) = self.config.train.augment {
            let mut stream = self.config.seed.stream_at("augment", self.progress.step);
            augment.apply(self.dataset.shape(), &mut values, &mut stream);
        }
        let x = network.batch_f32(&values);
        let labels = self.dataset.gather_labels(rows);
        let batch = Batch {
            network,
            labels: one_hot(&labels, network.classes(), network.dtype(), &x.device()),
            x,
            explain: &self.explain,
            k: self.k,
            reference: match (&self.teacher, &self.reference) {
                (Some(teacher), _) => Some(teacher),
                (None, Some((reference, _))) => Some(reference),
                (None, None) => None,
            },
            perturbed: None,
            seed: self.config.seed,
            step: self.progress.step,
            done: self.done(),
            radius: self.radius,
        };
        let loss = self.objective.loss(&batch)?;
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
        let factor = self.config.train.schedule.factor(self.done());
        self.optimizer
            .set_rate(self.config.train.optimizer.rate() * factor);
        self.optimizer.step(&mut self.model.network, gradients);
        if let Some(rule) = &self.signs {
            rule.project(&mut self.model.network)?;
        }
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
        let standing = verdict.standing(record.epoch, self.config.selection.by);
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
        } else if settings
            .patience
            .is_some_and(|most| most > 0 && progress.stale >= most)
        {
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

    /// Selects the model and hands it to the sink.
    fn finish(mut self, sink: &mut dyn Sink, observer: &mut dyn Observer) -> Result<Trained> {
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
        // What comes out computes where nothing else is asked for.
        self.model.network = self.model.network.on_device(&DeviceKind::Cpu.open()?)?;
        single_classifier::fit(&mut self.model, self.dataset)?;
        let lines = self.progress.records.iter();
        let epochs = lines
            .map(|line| serde_json::from_str(line).expect("a record reads what a record wrote"))
            .collect::<Vec<EpochRecord>>();
        self.model.trained_by(self.config.clone(), epochs.clone());
        sink.model(&self.model)?;
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
        Ok(Trained {
            model: self.model,
            selected: standing,
            best_auc,
            epochs,
            reason,
        })
    }
}
