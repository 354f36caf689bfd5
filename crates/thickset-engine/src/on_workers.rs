//! A whole program on one of the threads that share its parallel work.

use rayon::ThreadPoolBuilder;

/// Bytes of each thread's stack: what the first thread of a program usually has.
const STACK_BYTES: usize = 8 << 20;

/// Does work on one of the threads that parallel work runs on, one a core unless `RAYON_NUM_THREADS` says otherwise.
///
/// What runs elsewhere is handed over to them each time something is done in parallel, and waits until they wake up: some hundred times
/// in a training step of images. To be called once by a program, before anything is done in parallel; where the system gives no threads,
/// or they are there already, the work is done here.
pub fn on_workers<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let threads = ThreadPoolBuilder::new().stack_size(STACK_BYTES);
    if threads.build_global().is_ok() {
        rayon::scope(|_| work())
    } else {
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_once_wherever_it_runs() {
        assert_eq!(on_workers(|| 7), 7);
        // The threads are there already.
        assert_eq!(on_workers(|| rayon::join(|| 1, || 2)), (1, 2));
    }
}
