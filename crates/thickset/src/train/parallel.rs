//! Several runs at once, each on cores of its own; its bytes are those it has alone.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::folder::RunFolder;
use super::observer::Event;
use super::settings::RetrainConfig;
use super::trainer::{Trained, train_into};
use crate::config::{CheckedRun, DataConfig};
use crate::data::Dataset;
use crate::{Result, Seed, workers};

/// A run and where its files go.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is trained.
    pub run: CheckedRun,
    /// Its folder, which no other job has.
    pub folder: RunFolder,
}

/// Hears of the progress of several runs, the number of the run first, counted from 0. To break stops all of them at once.
pub type JobObserver<'o> = dyn FnMut(usize, &Event<'_>) -> ControlFlow<()> + Send + 'o;

/// Trains the jobs, as many at a time as there are `threads`, or cores where absent. The results are in the order of the
/// jobs; one that fails does not stop the others. Data that several jobs have in common is opened once.
pub fn train_all(
    jobs: &[Job],
    resume: bool,
    threads: Option<NonZero<usize>>,
    observer: &mut JobObserver<'_>,
) -> Vec<Result<Option<Trained>>> {
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.map_or_else(cores, NonZero::get);
    let work = Work {
        resume,
        stopped: AtomicBool::new(false),
        observer: Mutex::new(observer),
        data: Mutex::new(Shelf::new(jobs)),
    };
    workers::run(jobs, threads, |number, job| work.train(number, job))
}

struct Work<'w, 'o> {
    resume: bool,
    stopped: AtomicBool,
    observer: Mutex<&'w mut JobObserver<'o>>,
    data: Mutex<Shelf>,
}

impl Work<'_, '_> {
    fn train(&self, number: usize, job: &Job) -> Result<Option<Trained>> {
        if self.stopped.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let dataset = locked(&self.data).take(&job.run)?;
        let mut observer = |event: &Event<'_>| {
            if self.stopped.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            let flow = locked(&self.observer)(number, event);
            if flow.is_break() {
                self.stopped.store(true, Ordering::Relaxed);
            }
            flow
        };
        train_into(&job.run, &dataset, &job.folder, self.resume, &mut observer)
    }
}

/// What a worker that panicked left behind is whole: nothing is changed in two steps.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Datasets that jobs have in common, each opened by the first job that needs it and let go by the last.
pub(super) struct Shelf(Vec<Held>);

struct Held {
    data: DataConfig,
    seed: Seed,
    retrain: Option<RetrainConfig>,
    jobs: usize,
    dataset: Option<Arc<Dataset>>,
}

impl Shelf {
    pub(super) fn new(jobs: &[Job]) -> Self {
        let mut shelf = Self(Vec::new());
        for job in jobs {
            let config = job.run.config();
            match shelf.place(&job.run) {
                Some(place) => shelf.0[place].jobs += 1,
                None => shelf.0.push(Held {
                    data: config.data.clone(),
                    seed: config.seed,
                    retrain: config.retrain.clone(),
                    jobs: 1,
                    dataset: None,
                }),
            }
        }
        shelf
    }

    fn place(&self, run: &CheckedRun) -> Option<usize> {
        let config = run.config();
        let mut held = self.0.iter();
        held.position(|held| {
            (&held.data, held.seed, &held.retrain) == (&config.data, config.seed, &config.retrain)
        })
    }

    pub(super) fn take(&mut self, run: &CheckedRun) -> Result<Arc<Dataset>> {
        let config = run.config();
        let open = || config.open_data().map(Arc::new);
        let Some(place) = self.place(run) else {
            return open();
        };
        let held = &mut self.0[place];
        let dataset = match held.dataset.take() {
            Some(dataset) => dataset,
            None => open()?,
        };
        held.jobs = held.jobs.saturating_sub(1);
        if held.jobs > 0 {
            held.dataset = Some(Arc::clone(&dataset));
        }
        Ok(dataset)
    }
}
