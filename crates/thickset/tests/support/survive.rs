//! Trying every operation of the file layer, for the tests of faults here and in `thickset-papers`.

use std::fs;
use std::path::Path;

use thickset::Result;
use thickset_engine::disk::fault::{Fault, plan_fault};

const FAULTS: [Fault; 4] = [
    Fault::Once,
    Fault::Crash,
    Fault::CrashUnsynced,
    Fault::CrashReordered,
];

/// The fewest operations of work that is watched.
const FEWEST: u64 = 4;

/// Runs `work` in a folder for every fault at every operation, or at each `every`-th unless `THICKSET_FAULTS` is `all`, then again
/// without; the results must be those of an undisturbed run. Prints how many faults there were.
pub fn survive(
    what: &str,
    work: &dyn Fn(&Path, bool) -> Result<()>,
    results: &[&str],
    every: usize,
) {
    let read = |folder: &Path| -> Vec<Vec<u8>> {
        results
            .iter()
            .map(|name| fs::read(folder.join(name)).unwrap())
            .collect()
    };
    let is_full = std::env::var("THICKSET_FAULTS").is_ok_and(|asked| asked == "all");
    let every = if is_full { 1 } else { every };
    let whole = tempfile::tempdir().unwrap();
    let operations = {
        let planned = plan_fault(u64::MAX, Fault::Crash);
        work(whole.path(), false).unwrap();
        planned.operations()
    };
    assert!(operations >= FEWEST, "the file layer is not watched");
    let expected = read(whole.path());
    let mut faults = 0;
    for (place, fault) in FAULTS.into_iter().enumerate() {
        // Where operations are left out, every kind of fault leaves out others.
        for at in (0..operations).skip(place % every).step_by(every) {
            let folder = tempfile::tempdir().unwrap();
            {
                let _planned = plan_fault(at, fault);
                // It may end well: some operations only tidy up.
                let _ = work(folder.path(), false);
            }
            let _planned = plan_fault(u64::MAX, Fault::Crash);
            let again = work(folder.path(), true);
            assert!(
                again.is_ok(),
                "{what}, {fault:?} at {at} of {operations}: {again:?}"
            );
            assert!(
                read(folder.path()) == expected,
                "{what}, {fault:?} at {at} of {operations}"
            );
            faults += 1;
        }
    }
    println!("{what}: {faults} faults at {operations} operations, the same bytes after each");
}
