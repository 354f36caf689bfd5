//! The operations by which results reach the disk, in one place, so that tests can let each of them fail, tear or lose what was
//! not synced: `disk::fault`. Without a test's plan they are the operating system's.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Appends bytes to a file.
///
/// # Errors
/// The file system's refusal.
pub fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    if let Some(error) = fault::next() {
        fault::tear(file, bytes);
        return Err(error);
    }
    file.write_all(bytes)?;
    fault::wrote(file);
    Ok(())
}

/// Says that a file was written by other means, such as a format's writer.
///
/// # Errors
/// None but those of a test.
pub fn written(file: &File) -> io::Result<()> {
    if let Some(error) = fault::next() {
        fault::halve(file);
        return Err(error);
    }
    fault::wrote(file);
    Ok(())
}

/// Waits until the disk has a file.
///
/// # Errors
/// The file system's refusal.
pub fn sync(file: &File) -> io::Result<()> {
    if let Some(error) = fault::next() {
        return Err(error);
    }
    file.sync_all()?;
    fault::synced(file);
    Ok(())
}

/// Gives a file another name, in the place of the file that has it.
///
/// # Errors
/// The file system's refusal.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fault::next() {
        Some(error) => Err(error),
        None => fs::rename(from, to),
    }
}

/// Removes a file.
///
/// # Errors
/// The file system's refusal.
pub fn remove(path: &Path) -> io::Result<()> {
    match fault::next() {
        Some(error) => Err(error),
        None => fs::remove_file(path),
    }
}

/// Faults for tests: a plan says which operation fails, and how.
pub mod fault {
    use std::fs::File;
    use std::io::{self, Write as _};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// What happens at the chosen operation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fault {
        /// It fails, and later ones work again, as on a disk that was full for a moment.
        Once,
        /// It and all later ones fail, as after a power cut; half of a write has reached the disk.
        Crash,
        /// The same, and what was written but not synced is half lost.
        CrashUnsynced,
        /// The same, and it is lost wholly, as where names reach the disk before what they name.
        CrashReordered,
    }

    struct Plan {
        at: u64,
        fault: Fault,
        operations: u64,
        /// Files that were written and not yet synced.
        unsynced: Vec<File>,
    }

    static ACTIVE: AtomicBool = AtomicBool::new(false);
    static PLAN: Mutex<Option<Plan>> = Mutex::new(None);
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// A plan while it holds; there is one at a time in a process.
    pub struct Planned {
        _turn: MutexGuard<'static, ()>,
    }

    impl Planned {
        /// How many operations there were.
        #[must_use]
        pub fn operations(&self) -> u64 {
            plan().as_ref().map_or(0, |plan| plan.operations)
        }
    }

    impl Drop for Planned {
        fn drop(&mut self) {
            ACTIVE.store(false, Ordering::SeqCst);
            *plan() = None;
        }
    }

    /// Lets the operation of this number, counted from 0, fail in this way.
    #[must_use]
    pub fn plan_fault(at: u64, fault: Fault) -> Planned {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        *plan() = Some(Plan {
            at,
            fault,
            operations: 0,
            unsynced: Vec::new(),
        });
        ACTIVE.store(true, Ordering::SeqCst);
        Planned { _turn: turn }
    }

    fn plan() -> MutexGuard<'static, Option<Plan>> {
        PLAN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn active() -> Option<MutexGuard<'static, Option<Plan>>> {
        ACTIVE.load(Ordering::Relaxed).then(plan)
    }

    /// Counts an operation; its error, if it is to fail.
    pub(super) fn next() -> Option<io::Error> {
        let mut plan = active()?;
        let plan = plan.as_mut()?;
        let number = plan.operations;
        plan.operations += 1;
        let fails = match plan.fault {
            Fault::Once => number == plan.at,
            Fault::Crash | Fault::CrashUnsynced | Fault::CrashReordered => number >= plan.at,
        };
        let kept = match plan.fault {
            Fault::Once | Fault::Crash => None,
            Fault::CrashUnsynced => Some(2),
            Fault::CrashReordered => Some(u64::MAX),
        };
        if let (true, Some(part)) = (number == plan.at, kept) {
            plan.unsynced.drain(..).for_each(|file| cut(&file, part));
        }
        fails.then(|| io::Error::other("a fault that a test planned"))
    }

    /// Writes half of the bytes.
    pub(super) fn tear(file: &mut File, bytes: &[u8]) {
        let is_last = active().is_some_and(|plan| {
            plan.as_ref()
                .is_some_and(|plan| plan.operations == plan.at + 1)
        });
        if is_last {
            let _ = file.write_all(&bytes[..bytes.len() / 2]);
        }
    }

    /// Cuts a file in half that is written by other means.
    pub(super) fn halve(file: &File) {
        cut(file, 2);
    }

    /// Keeps one part of so many of a file.
    fn cut(file: &File, part: u64) {
        if let Ok(found) = file.metadata() {
            let _ = file.set_len(found.len() / part);
        }
    }

    pub(super) fn wrote(file: &File) {
        if let (Some(mut plan), Ok(file)) = (active(), file.try_clone())
            && let Some(plan) = plan.as_mut()
        {
            plan.unsynced.push(file);
        }
    }

    pub(super) fn synced(file: &File) {
        if let Some(mut plan) = active()
            && let Some(plan) = plan.as_mut()
        {
            plan.unsynced.retain(|other| !is_same(file, other));
        }
    }

    #[cfg(unix)]
    fn is_same(one: &File, other: &File) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let number = |file: &File| file.metadata().ok().map(|found| (found.dev(), found.ino()));
        number(one) == number(other)
    }

    #[cfg(not(unix))]
    fn is_same(_: &File, _: &File) -> bool {
        true
    }
}
