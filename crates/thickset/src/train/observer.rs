//! Progress as events: the library tells, the command line draws.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;

use super::epoch_record::EpochRecord;

/// What happens during a run.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'e> {
    /// Training begins, or goes on.
    Begin {
        /// Epochs in all.
        epochs: usize,
        /// Steps of an epoch.
        steps_per_epoch: usize,
        /// The first step of this session, counted from 0.
        step: u64,
    },
    /// Something a user should know.
    Note {
        /// In a sentence.
        text: &'e str,
    },
    /// A checkpoint could not be used; the one before it, if any, is tried.
    BrokenCheckpoint {
        /// The file.
        path: &'e str,
        /// What is wrong with it.
        problem: &'e str,
    },
    /// A step is done.
    Step {
        /// Steps done over the whole run.
        step: u64,
        /// The step's loss.
        loss: f64,
        /// Each of its terms before weighting.
        terms: &'e BTreeMap<&'static str, f64>,
    },
    /// An epoch is done and judged.
    Epoch(&'e EpochRecord),
    /// A checkpoint is on disk.
    Checkpoint {
        /// Steps done when it was made.
        step: u64,
    },
    /// Training is over.
    End {
        /// Why: all epochs are done, or it stopped early.
        reason: &'e str,
        /// The epoch whose weights are kept, counted from 1; 0 is the model that retraining began with.
        selected: usize,
    },
}

/// Hears of a run's progress and may stop it.
pub trait Observer {
    /// Called at every event. To break stops the run at once, without another write, as if it were killed.
    fn on_event(&mut self, event: &Event<'_>) -> ControlFlow<()>;
}

impl<F: FnMut(&Event<'_>) -> ControlFlow<()>> Observer for F {
    fn on_event(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self(event)
    }
}
