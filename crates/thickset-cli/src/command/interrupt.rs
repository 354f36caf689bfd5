//! Ctrl-C: the work stops at the next safe place, and says what is kept and how to go on.

use std::ops::ControlFlow;

use thickset_engine::signal;

/// A command that was stopped by its user; the message says what is kept.
#[derive(Debug)]
pub struct Interrupted(pub String);

impl std::fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Interrupted {}

/// Notices Ctrl-C from now on.
pub fn notice() {
    signal::notice_interrupts();
}

/// Breaks once the user wants to stop.
pub fn flow() -> ControlFlow<()> {
    if signal::is_interrupted() {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// The same as a yes or no.
pub fn is_stopped() -> bool {
    signal::is_interrupted()
}
