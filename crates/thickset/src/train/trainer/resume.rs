//! Where a run stands, on disk: written after steps and epochs, taken up when it is resumed.

use std::ops::ControlFlow;
use std::path::Path;

use super::super::checkpoint;
use super::super::folder::RunFolder;
use super::super::observer::{Event, Observer};
use super::super::sink::Sink;
use super::Trainer;
use crate::{Error, Result};

impl Trainer<'_> {
    /// Takes up where the latest whole checkpoint stands.
    pub(super) fn restore(
        &mut self,
        folder: &RunFolder,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>> {
        for path in [folder.latest(), folder.previous()] {
            if !path.exists() {
                continue;
            }
            match self.take_up(&path) {
                Ok(()) => break,
                Err(Error::Checkpoint {
                    path: named,
                    problem,
                }) => {
                    let event = Event::BrokenCheckpoint {
                        path: &named,
                        problem: &problem,
                    };
                    if observer.on_event(&event).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    if path == folder.latest() {
                        folder.discard_latest()?;
                    }
                }
                Err(other) => return Err(other),
            }
        }
        folder.write_metrics(&self.progress.records)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Takes up where one checkpoint stands.
    fn take_up(&mut self, path: &Path) -> Result<()> {
        let restored = checkpoint::read(path, &self.model.network, &self.fingerprints)?;
        let mut optimizer = self.config.train.optimizer.optimizer();
        optimizer
            .restore(restored.optimizer)
            .map_err(|error| Error::Checkpoint {
                path: path.display().to_string(),
                problem: error.to_string(),
            })?;
        self.model
            .network
            .set_parameter_values(&restored.parameters)?;
        self.optimizer = optimizer;
        self.progress = restored.progress;
        self.front = restored.front;
        Ok(())
    }

    /// Hands a checkpoint to the sink.
    pub(super) fn save(&self, sink: &mut dyn Sink) -> Result<()> {
        sink.checkpoint(&|| {
            checkpoint::to_bytes(
                &self.model.network,
                &*self.optimizer,
                &self.progress,
                &self.front,
                &self.fingerprints,
            )
        })
    }
}
