//! Where a training's results go as they come: a run's folder, or nowhere but the caller's memory.

use super::folder::RunFolder;
use crate::Result;
use crate::model::Model;

/// Keeps what a training makes. Every method may be left out.
pub trait Sink {
    /// Keeps all that the next step depends on. `bytes` makes the checkpoint's file, and costs nothing if it is not called.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn checkpoint(&mut self, _bytes: &dyn Fn() -> Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// Keeps the record of an epoch, one line of JSON.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn epoch(&mut self, _line: &str) -> Result<()> {
        Ok(())
    }

    /// Keeps the selected model.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn model(&mut self, _model: &Model) -> Result<()> {
        Ok(())
    }
}

/// Keeps nothing: the caller gets the model.
pub(super) struct InMemory;

impl Sink for InMemory {}

/// Writes `checkpoint/`, `metrics.jsonl` and `model.safetensors`.
impl Sink for RunFolder {
    fn checkpoint(&mut self, bytes: &dyn Fn() -> Vec<u8>) -> Result<()> {
        self.write_checkpoint(&bytes())
    }

    fn epoch(&mut self, line: &str) -> Result<()> {
        self.append_metrics(line)
    }

    fn model(&mut self, model: &Model) -> Result<()> {
        model.save(&RunFolder::model(self))
    }
}
