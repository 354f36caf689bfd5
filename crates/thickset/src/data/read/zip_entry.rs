//! One entry of a zip file, stored or deflated. Zip64 and encryption are refused.

use std::io::Read as _;

use flate2::Crc;
use flate2::read::DeflateDecoder;

/// What the end of a zip file, an entry of its directory and an entry itself begin with.
const END: &[u8] = b"PK\x05\x06";
const LISTED: &[u8] = b"PK\x01\x02";
const ENTRY: &[u8] = b"PK\x03\x04";

/// The sizes of these parts without names and comments.
const END_SIZE: usize = 22;
const LISTED_SIZE: usize = 46;
const ENTRY_SIZE: usize = 30;

/// The longest comment at the end of a file.
const LONGEST_COMMENT: usize = 0xffff;

/// The content of the entry with this name, or its first `most + 1` bytes if it is longer than `most`.
///
/// # Errors
/// In words, if the file is no such zip file, has no such entry, or the entry is not what its checksum says.
pub(super) fn read(bytes: &[u8], name: &str, most: u64) -> Result<Vec<u8>, String> {
    let listed = find(bytes, name)?;
    if number(listed, 8, 2)? & 1 == 1 {
        return Err("it is encrypted".to_owned());
    }
    let packed = number(listed, 20, 4)?;
    let at = number(listed, 42, 4)?;
    let entry = begins(bytes, at, ENTRY)?;
    let data = ENTRY_SIZE + number(entry, 26, 2)? + number(entry, 28, 2)?;
    let data = entry
        .get(data..)
        .and_then(|rest| rest.get(..packed))
        .ok_or("it reaches beyond the end of the file")?;
    let mut content = Vec::new();
    let limit = most.saturating_add(1);
    match number(listed, 10, 2)? {
        0 => data.take(limit).read_to_end(&mut content),
        8 => DeflateDecoder::new(data)
            .take(limit)
            .read_to_end(&mut content),
        method => {
            return Err(format!(
                "expected it stored or deflated, got the method {method}"
            ));
        }
    }
    .map_err(|error| error.to_string())?;
    if content.len() as u64 <= most {
        let mut sum = Crc::new();
        sum.update(&content);
        if sum.sum() as usize != number(listed, 16, 4)? {
            return Err("its checksum is another".to_owned());
        }
    }
    Ok(content)
}

/// The entry of the directory with this name.
fn find<'a>(bytes: &'a [u8], name: &str) -> Result<&'a [u8], String> {
    let from = bytes.len().saturating_sub(END_SIZE + LONGEST_COMMENT);
    // A comment may hold what looks like an end; the end's own comment reaches to the last byte.
    let is_end = |end: &&[u8]| {
        let comment = number(end, 20, 2);
        end.starts_with(END) && comment.is_ok_and(|length| END_SIZE + length == end.len())
    };
    let mut ends = (from..bytes.len()).rev().map(|at| &bytes[at..]);
    let end = ends.find(is_end).ok_or("the file is not a zip file")?;
    let mut at = number(end, 16, 4)?;
    for _ in 0..number(end, 10, 2)? {
        let listed = begins(bytes, at, LISTED)?;
        let length = number(listed, 28, 2)?;
        let found = listed.get(LISTED_SIZE..LISTED_SIZE + length);
        if found == Some(name.as_bytes()) {
            return Ok(listed);
        }
        let size = LISTED_SIZE + length + number(listed, 30, 2)? + number(listed, 32, 2)?;
        at = at.saturating_add(size);
    }
    Err("the file has no such entry".to_owned())
}

/// What stands at a place, if it begins like that part.
fn begins<'a>(bytes: &'a [u8], at: usize, part: &[u8]) -> Result<&'a [u8], String> {
    let found = bytes.get(at..).filter(|found| found.starts_with(part));
    found.ok_or_else(|| "the file's directory is broken".to_owned())
}

/// The number of so many bytes, the lowest first.
fn number(bytes: &[u8], at: usize, size: usize) -> Result<usize, String> {
    let digits = bytes.get(at..at + size).ok_or("the file is cut short")?;
    let add = |number: usize, digit: &u8| number << 8 | usize::from(*digit);
    Ok(digits.iter().rev().fold(0, add))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;

    /// Two entries, `a/one` of a thousand letters and `two` of three.
    fn file(method: CompressionMethod) -> Vec<u8> {
        let options = SimpleFileOptions::default().compression_method(method);
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in [("a/one", &[b'x'; 1000][..]), ("two", b"abc")] {
            writer.start_file(name, options).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.set_comment("PK\x05\x06, not the end").unwrap();
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn entries_are_read_stored_and_deflated() {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let file = file(method);
            assert_eq!(read(&file, "a/one", 1000).unwrap(), [b'x'; 1000]);
            assert_eq!(read(&file, "two", 1000).unwrap(), b"abc");
            assert_eq!(read(&file, "a/one", 10).unwrap(), [b'x'; 11]);
            assert_eq!(
                read(&file, "three", 10).unwrap_err(),
                "the file has no such entry"
            );
        }
    }

    #[test]
    fn a_file_cut_or_changed_is_refused_or_read_the_same() {
        let file = file(CompressionMethod::Deflated);
        for length in 0..file.len() {
            assert!(read(&file[..length], "two", 1000).is_err(), "{length}");
        }
        for place in 0..file.len() {
            let mut changed = file.clone();
            changed[place] ^= 0x41;
            if let Ok(content) = read(&changed, "two", 1000) {
                assert_eq!(content, b"abc", "{place}");
            }
        }
    }
}
