//! An audit's progress: events for whoever watches, and the file that lets a killed audit continue.

mod key;
mod partial;

use std::ops::ControlFlow;

use serde::Serialize;

pub use key::ResumeKey;
pub use partial::ResumeFile;
pub(crate) use partial::read_signed as read_signed_lines;
pub(super) use partial::{Chunk, Partial};

/// What happens during an audit.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'e> {
    /// The audit begins, or goes on.
    Begin {
        /// Rows in all.
        rows: usize,
        /// Rows that an earlier session has done.
        done: usize,
    },
    /// There is a file of an unfinished audit that cannot be used; this one starts anew.
    Anew {
        /// The file that held it.
        path: &'e str,
        /// Why it cannot be used: it is of another audit, or its rows are not signed with this key.
        problem: &'e str,
    },
    /// The end of the file of an unfinished audit cannot be read; those rows are done again.
    Dropped {
        /// The file.
        path: &'e str,
        /// What is wrong with it.
        problem: &'e str,
    },
    /// Rows are done.
    Rows {
        /// Rows done over all sessions.
        done: usize,
        /// Rows in all.
        rows: usize,
        /// The mean P@k so far.
        precision_at_k: f64,
    },
    /// The worst rows are described in full.
    Worst {
        /// How many.
        rows: usize,
    },
    /// The linear baseline is fitted and attacked.
    Linear {
        /// Rows it is attacked on.
        rows: usize,
    },
}

/// Hears of an audit's progress and may stop it.
pub trait Observer {
    /// Called at every event. To break stops the audit at once, as if it were killed.
    fn on_event(&mut self, event: &Event<'_>) -> ControlFlow<()>;
}

impl<F: FnMut(&Event<'_>) -> ControlFlow<()>> Observer for F {
    fn on_event(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self(event)
    }
}
