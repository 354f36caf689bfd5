//! Work that can be stopped from another thread, wherever it stands.
//!
//! A program that embeds this crate (a Python process with its Ctrl-C) must be able to stop a search of minutes within a moment.
//! [`Interrupt::run`] gives work a pool of threads of its own, which watch a flag: every run of a network looks at it
//! ([`check`]), and unwinds to [`Interrupt::run`] when it is set. So no function between needs to pass an error for it. Threads
//! outside of such a pool watch nothing. A pool lives for one piece of work, so a process that forked finds no dead threads.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::ThreadPoolBuilder;

use crate::{Error, Result};

thread_local! {
    /// The flag that this thread watches.
    static WATCHED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What unwinds; it never leaves this module.
struct Stopped;

/// Stops the work that runs under it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Asks the work to stop; it does at its next run of a network.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Does work on threads of its own, one a core unless `RAYON_NUM_THREADS` says otherwise. Nothing is returned if it was stopped.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<Option<T>> {
        let flag = Arc::clone(&self.0);
        let watch = move |_| WATCHED.set(Some(Arc::clone(&flag)));
        let pool = ThreadPoolBuilder::new()
            .thread_name(|number| format!("thickset {number}"))
            .start_handler(watch)
            .build()
            .map_err(|error| Error::Threads {
                problem: error.to_string(),
            })?;
        // What the work held is dropped on the way, and nothing of it is used again.
        match catch_unwind(AssertUnwindSafe(|| pool.install(work))) {
            Ok(done) => Ok(Some(done)),
            Err(panic) if panic.is::<Stopped>() => Ok(None),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Stops here if this thread's work was asked to: unwinds to [`Interrupt::run`] without a message.
pub fn check() {
    let is_stopped = WATCHED.with_borrow(|watched| {
        let flag = watched.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    });
    if is_stopped {
        resume_unwind(Box::new(Stopped));
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn work_that_nobody_stops_gives_its_result() {
        let sum = |_| {
            check();
            1
        };
        let done = Interrupt::default().run(|| (0..100).into_par_iter().map(sum).sum::<i32>());
        assert_eq!(done.unwrap(), Some(100));
    }

    #[test]
    fn stopped_work_ends_at_its_next_look_and_outside_of_it_nothing_is_watched() {
        let interrupt = Interrupt::default();
        let inside = interrupt.clone();
        let endless = move || {
            inside.stop();
            loop {
                (0..8).into_par_iter().for_each(|_| check());
            }
        };
        assert_eq!(interrupt.run::<()>(endless).unwrap(), None);
        check();
    }

    #[test]
    fn a_failure_of_the_work_itself_is_not_taken_for_a_stop() {
        let failed = catch_unwind(|| Interrupt::default().run(|| resume_unwind(Box::new(7_u8))));
        let reason = failed.map(|_: Result<Option<()>>| ()).unwrap_err();
        assert_eq!(reason.downcast_ref::<u8>(), Some(&7));
    }
}
