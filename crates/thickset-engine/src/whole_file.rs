//! Writing a file so that nobody ever sees half of it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::disk;

/// How the name of a file ends that is being written.
const ENDING: &str = ".part";

/// Letters of the random part of its name.
const RANDOM: usize = 16;

/// How often another random name is tried.
const TRIES: usize = 100;

/// Writes a whole file: beside it, under a name that nobody else has, to the disk, then renamed. On failure the old content, if
/// any, stays, and nothing is left beside. What a killed process left beside is removed.
///
/// # Errors
/// What `write` returns, or the file system's refusal.
pub fn write_whole<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let (beside, mut file) = create_beside(path)?;
    let written = write(&mut file).and_then(|()| {
        disk::written(&file)?;
        disk::sync(&file)?;
        disk::rename(&beside, path)?;
        Ok(())
    });
    if written.is_err() {
        // The failure that matters is the first one.
        let _ = disk::remove(&beside);
        return written;
    }
    let folder = folder_of(path);
    sync_folder(folder);
    remove_abandoned(folder, path);
    written
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// A new file beside the one to be written, locked for as long as it is open, so that others see that it is not abandoned.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let random = RandomState::new();
    for number in 0..TRIES {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{:016x}{ENDING}", random.hash_one(number)));
        let beside = PathBuf::from(beside);
        // Never an existing file, and never through a link.
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)
        {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                // Where the file system has no locks, nothing is ever taken as abandoned either.
                let _ = file.lock();
                // Another process may have taken it as abandoned before it was locked.
                if fs::symlink_metadata(&beside).is_ok() {
                    return Ok((beside, file));
                }
            }
        }
    }
    Err(io::Error::new(
        ErrorKind::AlreadyExists,
        "no name is free for the file to be written beside it",
    ))
}

/// Makes the renaming last, where the system can. The file is whole either way.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Removes what processes that were killed have left beside a file. Whatever cannot be removed stays.
fn remove_abandoned(folder: &Path, path: &Path) {
    let (Some(name), Ok(entries)) = (path.file_name(), fs::read_dir(folder)) else {
        return;
    };
    for entry in entries.flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !is_beside(&entry.file_name(), name) {
            continue;
        }
        // Its writer holds a lock while it lives.
        let locked = OpenOptions::new().write(true).open(entry.path());
        if let Ok(file) = locked
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether `found` is a name that [`create_beside`] gives to what becomes `name`.
fn is_beside(found: &OsStr, name: &OsStr) -> bool {
    let (found, name): (&[u8], &[u8]) = (found.as_encoded_bytes(), name.as_encoded_bytes());
    let random = found
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(b"."))
        .and_then(|rest| rest.strip_suffix(ENDING.as_bytes()));
    random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::thread;

    use super::*;

    /// A folder of this process's own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("thickset-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_failure_keeps_the_old_file_and_leaves_nothing_beside() {
        let folder = Folder::new("whole-file");
        let path = folder.0.join("a.txt");
        write_whole(&path, |file| file.write_all(b"old")).unwrap();
        let failed = write_whole(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(folder.names(), ["a.txt"]);
    }

    #[test]
    fn a_folder_in_the_way_leaves_nothing_beside() {
        let folder = Folder::new("in-the-way");
        let path = folder.0.join("taken");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("content"), b"").unwrap();
        assert!(write_whole(&path, |file| file.write_all(b"new")).is_err());
        assert_eq!(folder.names(), ["taken"]);
    }

    #[test]
    fn writers_of_one_file_do_not_tear_each_others() {
        let folder = Folder::new("many-writers");
        let path = folder.0.join("a.txt");
        write_whole(&path, |file| file.write_all(&[b'0'; 4096])).unwrap();
        thread::scope(|scope| {
            for writer in b'1'..=b'4' {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..25 {
                        write_whole(path, |file| {
                            // In pieces, so that another's would show between them.
                            (0..8).try_for_each(|_| file.write_all(&[writer; 512]))
                        })
                        .unwrap();
                        let mut found = Vec::new();
                        File::open(path).unwrap().read_to_end(&mut found).unwrap();
                        assert_eq!(found.len(), 4096);
                        assert!(found.iter().all(|byte| *byte == found[0]), "a torn file");
                    }
                });
            }
        });
        assert_eq!(folder.names(), ["a.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_old_place_of_the_part_is_not_followed() {
        let folder = Folder::new("link");
        let victim = folder.0.join("victim");
        fs::write(&victim, b"precious").unwrap();
        let path = folder.0.join("a.txt");
        std::os::unix::fs::symlink(&victim, folder.0.join("a.txt.part")).unwrap();
        write_whole(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not() {
        let folder = Folder::new("abandoned");
        let path = folder.0.join("a.txt");
        let abandoned = folder.0.join("a.txt.0123456789abcdef.part");
        fs::write(&abandoned, b"half").unwrap();
        let others = [
            "b.txt.0123456789abcdef.part",
            "a.txt.part",
            "a.txt.user.part",
        ];
        for other in others {
            fs::write(folder.0.join(other), b"not ours").unwrap();
        }
        let (living, file) = create_beside(&path).unwrap();
        write_whole(&path, |file| file.write_all(b"new")).unwrap();
        assert!(!abandoned.exists());
        assert!(living.exists());
        assert!(others.iter().all(|other| folder.0.join(other).exists()));
        drop(file);
        write_whole(&path, |file| file.write_all(b"newer")).unwrap();
        assert!(!living.exists());
    }
}
