//! Writing a file so that nobody ever sees half of it.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Writes a whole file: beside it (`.part`), to the disk, then renamed. On failure the old content, if any, stays, and
/// nothing is left beside.
///
/// # Errors
/// What `write` returns, or the file system's refusal.
pub fn write_whole<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let mut file = File::create(&beside)?;
    let written = write(&mut file).and_then(|()| {
        file.sync_all()?;
        fs::rename(&beside, path)?;
        Ok(())
    });
    if written.is_err() {
        // The failure that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A folder of this process's own, removed at the end.
    struct Folder(std::path::PathBuf);

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
}
