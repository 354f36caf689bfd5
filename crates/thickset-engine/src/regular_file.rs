//! Reading files that have an end.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Opens a file for reading that has an end. A pipe would wait for its writer, a device may never end.
///
/// # Errors
/// If it is not there, or is a folder, a pipe, a socket or a device.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Before it is opened: opening a pipe waits.
    let kind = fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::Error::new(
            ErrorKind::IsADirectory,
            "it is a folder, expected a file",
        ));
    }
    if !kind.is_file() {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is a pipe or a device, expected a regular file",
        ));
    }
    File::open(path)
}

/// The bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open_regular`], and if the file is longer.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = most.saturating_add(1);
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {most} bytes"),
        ));
    }
    Ok(bytes)
}

/// The text of such a file.
///
/// # Errors
/// As [`read_regular`], and if it is not UTF-8.
pub fn read_regular_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_no_further() {
        let path = std::env::temp_dir().join(format!("thickset-{}-limit", std::process::id()));
        fs::write(&path, b"abc").unwrap();
        assert_eq!(read_regular(&path, 3).unwrap(), b"abc");
        let refused = read_regular(&path, 2).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_regular_text(&path, 9).unwrap(), "abc");
        fs::write(&path, b"\xff").unwrap();
        let refused = read_regular_text(&path, 9).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidData);
        fs::remove_file(&path).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_device_and_a_folder_are_refused_unread() {
        for (path, problem) in [
            (
                "/dev/zero",
                "it is a pipe or a device, expected a regular file",
            ),
            ("/", "it is a folder, expected a file"),
        ] {
            let refused = open_regular(Path::new(path)).unwrap_err();
            assert_eq!(refused.to_string(), problem);
        }
    }
}
