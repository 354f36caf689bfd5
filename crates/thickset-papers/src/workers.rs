//! Cells side by side, until one fails.

use std::sync::atomic::{AtomicBool, Ordering};

use thickset::{Result, workers};

/// Does every job; the first failure, in the order of jobs, is the answer if there is one. No job begins after a failure.
pub(crate) fn run<J: Sync, T: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let has_failed = AtomicBool::new(false);
    let results = workers::run(jobs, rayon::current_num_threads(), |_, job| {
        if has_failed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let result = work(job);
        if result.is_err() {
            has_failed.store(true, Ordering::Relaxed);
        }
        result.map(Some)
    });
    let results = results.into_iter().filter_map(Result::transpose);
    results.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use thickset::Error;

    #[test]
    fn all_results_come_or_the_first_failure() {
        let jobs: Vec<usize> = (0..20).collect();
        let squares = run(&jobs, |job| Ok(job * job)).unwrap();
        assert_eq!(
            squares,
            jobs.iter().map(|job| job * job).collect::<Vec<_>>()
        );
        let begun = AtomicUsize::new(0);
        let work = |job: &usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            match job {
                3 => Err(Error::Empty { what: "job three" }),
                _ => Ok(()),
            }
        };
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let refused = alone.unwrap().install(|| run(&jobs, work)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            Error::Empty { what: "job three" }.to_string()
        );
        assert_eq!(begun.into_inner(), 4, "none begins after a failure");
    }
}
