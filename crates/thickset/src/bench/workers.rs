//! Cells side by side: as many at once as there are threads, each computing on threads of its own.
//!
//! A cell never waits for another one's work, as it might if all shared one pool, and results come in the order of the jobs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPoolBuilder;

use crate::{Error, Result};

/// Does every job; the first failure, in the order of jobs, is the answer if there is one. No job begins after a failure.
pub(super) fn run<J: Sync, T: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = rayon::current_num_threads().max(1);
    let workers = threads.min(jobs.len()).max(1);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    let labour = || -> Result<()> {
        let pool = ThreadPoolBuilder::new()
            .num_threads((threads / workers).max(1))
            .build()
            .map_err(|problem| Error::Threads {
                problem: problem.to_string(),
            })?;
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                return Ok(());
            };
            let result = pool.install(|| work(job));
            if result.is_err() {
                next.store(jobs.len(), Ordering::Relaxed);
            }
            done.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push((index, result));
        }
    };
    let started: Vec<Result<()>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(labour)).collect();
        let ended = handles.into_iter().map(|handle| {
            handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.collect()
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    let results = done
        .into_iter()
        .map(|(_, result)| result)
        .collect::<Result<Vec<T>>>()?;
    started.into_iter().collect::<Result<()>>()?;
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_jobs_and_the_first_failure_is_told() {
        let jobs: Vec<usize> = (0..20).collect();
        let squares = run(&jobs, |job| Ok(job * job)).unwrap();
        assert_eq!(
            squares,
            jobs.iter().map(|job| job * job).collect::<Vec<_>>()
        );
        let refused = run(&jobs, |job| match job {
            3 => Err(Error::Empty { what: "job three" }),
            _ => Ok(()),
        });
        assert_eq!(
            refused.unwrap_err().to_string(),
            Error::Empty { what: "job three" }.to_string()
        );
        assert!(run(&[] as &[usize], |_| Ok(())).unwrap().is_empty());
    }
}
