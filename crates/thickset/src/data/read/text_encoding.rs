//! Text that is not UTF-8, turned into UTF-8 as it is read: UTF-16 in both byte orders, and Windows' western alphabet, which holds
//! Latin-1.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// How the bytes of a file stand for letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextEncoding {
    /// The usual one.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Two bytes a letter, the lower first: what Excel saves as Unicode text.
    #[serde(rename = "utf-16le")]
    Utf16Le,
    /// Two bytes a letter, the higher first.
    #[serde(rename = "utf-16be")]
    Utf16Be,
    /// One byte a letter, of western Europe; Latin-1 but for the marks in 0x80 to 0x9f.
    #[serde(rename = "windows-1252")]
    Windows1252,
}

/// The letters of the bytes 0x80 to 0x9f; five of them are none.
const HIGH: [Option<char>; 32] = [
    Some('€'),
    None,
    Some('‚'),
    Some('ƒ'),
    Some('„'),
    Some('…'),
    Some('†'),
    Some('‡'),
    Some('ˆ'),
    Some('‰'),
    Some('Š'),
    Some('‹'),
    Some('Œ'),
    None,
    Some('Ž'),
    None,
    None,
    Some('‘'),
    Some('’'),
    Some('“'),
    Some('”'),
    Some('•'),
    Some('–'),
    Some('—'),
    Some('˜'),
    Some('™'),
    Some('š'),
    Some('›'),
    Some('œ'),
    None,
    Some('ž'),
    Some('Ÿ'),
];

/// Bytes that are looked at where there is no byte order mark.
const LOOKED_AT: usize = 512;

/// The encoding of a text that starts with these bytes, and how many of them are its byte order mark. Without a mark, zeros
/// in most second bytes and in few of the others mean UTF-16: no UTF-8 table has zeros.
#[must_use]
pub fn detect(head: &[u8]) -> (TextEncoding, usize) {
    match head {
        [0xef, 0xbb, 0xbf, ..] => (TextEncoding::Utf8, 3),
        [0xff, 0xfe, ..] => (TextEncoding::Utf16Le, 2),
        [0xfe, 0xff, ..] => (TextEncoding::Utf16Be, 2),
        _ => {
            let start = &head[..head.len().min(LOOKED_AT) & !1];
            let zeros = |offset: usize| {
                let zeros = start
                    .iter()
                    .skip(offset)
                    .step_by(2)
                    .filter(|&&byte| byte == 0);
                zeros.count() * 4
            };
            let pairs = start.len() / 2;
            if pairs >= 4 && zeros(1) > 2 * pairs && zeros(0) < pairs {
                (TextEncoding::Utf16Le, 0)
            } else if pairs >= 4 && zeros(0) > 2 * pairs && zeros(1) < pairs {
                (TextEncoding::Utf16Be, 0)
            } else {
                (TextEncoding::Utf8, 0)
            }
        }
    }
}

/// The error inside an `io::Error` when bytes stand for no letter.
#[derive(Debug, thiserror::Error)]
#[error("bytes that are no text in its encoding")]
pub struct NoLetter;

/// Reads the text as UTF-8, whatever it is in the file.
pub struct Utf8Reader<R> {
    inner: R,
    encoding: TextEncoding,
    /// Bytes read that are not yet a whole letter.
    rest: Vec<u8>,
    /// UTF-8 that is not yet handed out, and how much of it is.
    ready: Vec<u8>,
    given: usize,
    is_over: bool,
}

impl<R: Read> Utf8Reader<R> {
    /// A reader of text in this encoding, after its byte order mark.
    pub fn new(inner: R, encoding: TextEncoding) -> Self {
        Self {
            inner,
            encoding,
            rest: Vec::new(),
            ready: Vec::new(),
            given: 0,
            is_over: false,
        }
    }

    /// Reads and turns the next bytes.
    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        let mut buffer = [0; 8192];
        let count = self.inner.read(&mut buffer)?;
        self.is_over = count == 0;
        self.rest.extend(&buffer[..count]);
        let rest = std::mem::take(&mut self.rest);
        let pair = |bytes: &[u8]| match self.encoding {
            TextEncoding::Utf16Be => u16::from_be_bytes([bytes[0], bytes[1]]),
            _ => u16::from_le_bytes([bytes[0], bytes[1]]),
        };
        let refuse = || io::Error::new(io::ErrorKind::InvalidData, NoLetter);
        if self.encoding == TextEncoding::Windows1252 {
            for byte in rest {
                let letter = match byte {
                    0x80..=0x9f => HIGH[usize::from(byte - 0x80)].ok_or_else(refuse)?,
                    _ => char::from(byte),
                };
                self.ready
                    .extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            return Ok(());
        }
        let mut units: Vec<u16> = rest.chunks_exact(2).map(pair).collect();
        let mut kept = rest.len() % 2;
        // A letter may be cut in two by the end of what was read.
        if !self.is_over
            && units
                .last()
                .is_some_and(|unit| (0xd800..0xdc00).contains(unit))
        {
            units.pop();
            kept += 2;
        }
        if self.is_over && kept > 0 {
            return Err(refuse());
        }
        for letter in char::decode_utf16(units) {
            let letter = letter.map_err(|_| refuse())?;
            self.ready
                .extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.rest = rest[rest.len() - kept..].to_vec();
        Ok(())
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.encoding == TextEncoding::Utf8 {
            return self.inner.read(buffer);
        }
        while self.given == self.ready.len() && !self.is_over {
            self.fill()?;
        }
        let count = (self.ready.len() - self.given).min(buffer.len());
        buffer[..count].copy_from_slice(&self.ready[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    /// What a reader gives that is handed `step` bytes at a time.
    fn read(bytes: &[u8], encoding: TextEncoding, step: usize) -> io::Result<String> {
        struct Slow<'a>(&'a [u8], usize);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let count = self.1.min(buffer.len()).min(self.0.len());
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut text = String::new();
        Utf8Reader::new(Slow(bytes, step), encoding).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn both_byte_orders_come_out_alike_however_the_bytes_arrive() {
        let text = "näme,größe\n👩‍🔬,1\n";
        for (encoding, bytes) in [
            (TextEncoding::Utf16Le, utf16(text, u16::to_le_bytes)),
            (TextEncoding::Utf16Be, utf16(text, u16::to_be_bytes)),
        ] {
            assert_eq!(detect(&bytes), (encoding, 0));
            for step in [1, 2, 3, 7, 4096] {
                assert_eq!(read(&bytes, encoding, step).unwrap(), text);
            }
        }
        assert_eq!(detect(b"\xff\xfea\0"), (TextEncoding::Utf16Le, 2));
        assert_eq!(detect(b"\xfe\xff\0a"), (TextEncoding::Utf16Be, 2));
        assert_eq!(detect(b"\xef\xbb\xbfa"), (TextEncoding::Utf8, 3));
        assert_eq!(detect("näme,größe\n".as_bytes()), (TextEncoding::Utf8, 0));
    }

    #[test]
    fn half_a_letter_is_refused() {
        let lone = utf16("a\u{1f600}", u16::to_le_bytes);
        for end in [3, 4, 5] {
            assert!(
                read(&lone[..end], TextEncoding::Utf16Le, 2).is_err(),
                "{end}"
            );
        }
        assert!(read(b"a\x81", TextEncoding::Windows1252, 9).is_err());
    }

    #[test]
    fn western_letters_are_read() {
        let text = read(b"M\xfcller \x80 5", TextEncoding::Windows1252, 2).unwrap();
        assert_eq!(text, "Müller € 5");
    }
}
