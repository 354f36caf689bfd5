//! Long work beside a Python interpreter that stays responsive.
//!
//! Work runs on threads of its own ([`Interrupt`]) with the interpreter released. The calling thread waits, looks for signals
//! every 50 ms, and calls the progress function. Ctrl-C, or an exception of the progress function, stops the work at its next run
//! of a network and is raised. Threads live for one call, so nothing is dead after a `fork`.

use std::any::Any;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use thickset_engine::interrupt::Interrupt;

use crate::errors;

/// How often signals are looked for.
const POLL: Duration = Duration::from_millis(50);

/// How far some work is.
pub struct Step {
    pub done: usize,
    pub total: usize,
    /// What stands beside the bar.
    pub text: String,
}

/// Tells the calling thread how far the work is.
#[derive(Clone)]
pub struct Reporter {
    sender: Sender<Step>,
    is_heard: bool,
}

impl Reporter {
    /// Says so, if anybody listens.
    pub fn say(&self, done: usize, total: usize, text: impl FnOnce() -> String) {
        if self.is_heard {
            // Nobody is left to hear it once the call was stopped.
            let _ = self.sender.send(Step {
                done,
                total,
                text: text(),
            });
        }
    }
}

/// Does work with the interpreter released. `progress` is called with (done, total, text) from the calling thread.
///
/// # Errors
/// What the work fails with, what a signal handler or `progress` raises, and a failure of ours.
pub fn supervise<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Reporter) -> thickset::Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let interrupt = Interrupt::default();
        let (sender, receiver) = mpsc::channel();
        let reporter = Reporter {
            sender,
            is_heard: progress.is_some(),
        };
        thread::scope(|scope| {
            let watched = interrupt.clone();
            // The reporter goes with the work, so that the channel closes when it ends.
            let handle = scope.spawn(move || {
                let reporter = reporter;
                watched.run(|| work(&reporter))
            });
            let mut raised: Option<PyErr> = None;
            let mut looked = Instant::now();
            loop {
                let heard = receiver.recv_timeout(POLL);
                if let Err(RecvTimeoutError::Disconnected) = heard {
                    break;
                }
                if raised.is_some() {
                    continue;
                }
                let answer = Python::attach(|py| {
                    if let (Ok(step), Some(progress)) = (heard, progress) {
                        progress.call1(py, (step.done, step.total, step.text))?;
                    }
                    if looked.elapsed() >= POLL {
                        looked = Instant::now();
                        py.check_signals()?;
                    }
                    Ok(())
                });
                if let Err(error) = answer {
                    interrupt.stop();
                    raised = Some(error);
                }
            }
            let ended = handle.join();
            if let Some(error) = raised {
                return Err(error);
            }
            match ended {
                Ok(Ok(Some(done))) => done.map_err(|error| errors::exception(&error)),
                Ok(Ok(None)) => Err(errors::failure("the work was stopped")),
                Ok(Err(error)) => Err(errors::exception(&error.into())),
                Err(panic) => Err(match panic.downcast::<PyErr>() {
                    // A network that Python computes failed there.
                    Ok(error) => *error,
                    Err(panic) => errors::failure(&format!(
                        "an internal error, please report it: {}",
                        message(panic.as_ref())
                    )),
                }),
            }
        })
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
