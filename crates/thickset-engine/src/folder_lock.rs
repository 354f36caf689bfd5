//! One process at a time in a folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file that is locked.
const NAME: &str = ".lock";

/// The most that is read of who holds a lock.
const MOST_HOLDER: u64 = 200;

/// A folder that no other process may take while this lives. The system gives it back when the process ends, however it ends.
#[derive(Debug)]
pub struct FolderLock {
    file: File,
    path: PathBuf,
}

/// Why a folder cannot be taken.
#[derive(Debug)]
pub enum LockError {
    /// Another process has it: which, where and since when, as far as it says so.
    Held(String),
    /// The file system refused.
    Io(io::Error),
}

impl FolderLock {
    /// Takes a folder, which must exist. Where the file system has no locks, nobody is kept out.
    ///
    /// # Errors
    /// If another process has it, or the lock's file cannot be made.
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join(NAME);
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(LockError::Io)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(holder(&mut file))),
                // Without locks there is no way to keep others out.
                Err(TryLockError::Error(_)) => return Ok(Self { file, path }),
                Ok(()) if is_same(&file, &path) => {
                    let text = format!(
                        "process {} on {} since {}",
                        std::process::id(),
                        host(),
                        now()
                    );
                    // Who holds it is for a message only; the lock holds without it.
                    let _ = file
                        .set_len(0)
                        .and_then(|()| file.write_all(text.as_bytes()));
                    return Ok(Self { file, path });
                }
                // Its last holder removed it between opening and locking.
                Ok(()) => {}
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While it is locked, so that nobody locks a file that is about to go.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Whether the file at this path is the one that is open.
#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(found)) => open.ino() == found.ino() && open.dev() == found.dev(),
        _ => false,
    }
}

/// An open file cannot be removed there.
#[cfg(not(unix))]
fn is_same(_file: &File, _path: &Path) -> bool {
    true
}

fn holder(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(MOST_HOLDER).read_to_end(&mut bytes));
    match String::from_utf8(bytes) {
        Ok(text) if read.is_ok() && !text.is_empty() => text,
        _ => "a process that does not say which".to_owned(),
    }
}

/// The machine's name, where the system has a file of it.
fn host() -> String {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let names = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    names
        .map(|name| name.trim().to_owned())
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "this machine".to_owned())
}

/// The time, in UTC to the second.
fn now() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC",
        second % 60
    )
}

/// Year, month and day of a number of days since the beginning of 1970. Years are counted from March, so that the leap day is
/// the last of a year, and 400 years are the same number of days.
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_and_given_back() {
        let folder = std::env::temp_dir().join(format!("thickset-{}-lock", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let lock = FolderLock::take(&folder).unwrap();
        let Err(LockError::Held(holder)) = FolderLock::take(&folder) else {
            panic!("taken twice")
        };
        let expected = format!("process {} on ", std::process::id());
        assert!(holder.starts_with(&expected), "{holder}");
        assert!(holder.ends_with(" UTC"), "{holder}");
        drop(lock);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        drop(FolderLock::take(&folder).unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_454, (2026, 1, 1)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }
}
