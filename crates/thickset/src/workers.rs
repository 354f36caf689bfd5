//! Jobs side by side, each computing on threads of its own, so that none waits for the work of another as it might in a
//! common pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rayon::ThreadPoolBuilder;

use crate::{Error, Result};

/// More threads than this help nobody, and a system may not have them.
const MOST_THREADS: usize = 256;

/// Does every job, as many at once as there are `threads`, which they share out among them. `work` is given the job's number,
/// counted from 0, and the job; the results come in the order of the jobs.
pub fn run<J: Sync, T: Send>(
    jobs: &[J],
    threads: usize,
    work: impl Fn(usize, &J) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let threads = threads.min(MOST_THREADS);
    let workers = threads.min(jobs.len()).max(1);
    let next = AtomicUsize::new(0);
    let labour = || {
        let pool = ThreadPoolBuilder::new()
            .num_threads((threads / workers).max(1))
            .build();
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(number) else {
                return done;
            };
            let result = match &pool {
                Ok(pool) => pool.install(|| work(number, job)),
                Err(problem) => Err(Error::Threads {
                    problem: problem.to_string(),
                }),
            };
            done.push((number, result));
        }
    };
    let mut results: Vec<(usize, Result<T>)> = thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(labour)).collect();
        let ended = handles.into_iter().flat_map(|handle| {
            handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.collect()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_jobs_and_a_failure_stops_no_other() {
        let jobs: Vec<usize> = (0..20).collect();
        for threads in [0, 1, 3, 50] {
            let results = run(&jobs, threads, |number, job| match job {
                3 => Err(Error::Empty { what: "job three" }),
                _ => Ok(number * job),
            });
            let squares = results.iter().map(|result| result.as_ref().ok().copied());
            let expected = jobs.iter().map(|job| (*job != 3).then_some(job * job));
            assert!(squares.eq(expected), "{threads} threads");
        }
        assert!(run(&[] as &[usize], 2, |_, _| Ok(())).is_empty());
    }

    #[test]
    fn jobs_share_the_threads() {
        let threads = |jobs: &[()]| -> Vec<usize> {
            let results = run(jobs, 4, |_, ()| Ok(rayon::current_num_threads()));
            results.into_iter().map(Result::unwrap).collect()
        };
        assert_eq!(threads(&[()]), [4]);
        assert_eq!(threads(&[(); 2]), [2, 2]);
        assert_eq!(threads(&[(); 5]), [1; 5]);
    }
}
