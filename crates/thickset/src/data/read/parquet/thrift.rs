//! Walking bytes of Thrift's compact protocol, which Parquet's footer and page headers are written in, without keeping any.
//!
//! The reader that decodes them takes claims on trust: a list's length, a text's length, how deep things are nested. So they
//! are walked first. Every length must fit into the bytes that are left, every field that the decoder knows must have the type
//! that it expects (it would otherwise read on at another place than we do), and no field may come twice.

use std::io::{self, Read};

use crate::{Error, Result};

/// The deepest nesting of structs and lists; Parquet's own have five levels.
const MOST_DEPTH: u32 = 32;

/// The most bytes of a whole number.
const MOST_VARINT: u32 = 10;

/// What a field, or an element of a list, is.
pub(super) enum Kind {
    /// A truth value, which lies in the type of the field itself.
    Flag,
    /// One byte.
    Byte,
    /// A whole number of any width.
    Number,
    /// Eight bytes.
    Double,
    /// A text or bytes.
    Bytes,
    /// Elements of one kind.
    List(&'static Kind),
    /// Fields by their ids.
    Struct(&'static Record),
}

/// A struct that the decoder knows; fields that are not listed may have any type.
pub(super) struct Record {
    /// Which struct it is.
    pub(super) name: &'static str,
    /// The fields' ids and kinds.
    pub(super) fields: &'static [(i16, Kind)],
}

/// What a walk comes by, in order.
pub(super) enum Event {
    /// A whole number.
    Number(i64),
    /// A text or bytes of this length.
    Bytes(u64),
    /// A struct ends.
    End,
}

/// Wire types.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Bytes that are walked.
pub(super) struct Walk<'a, R> {
    input: R,
    left: u64,
    path: &'a str,
}

impl<'a, R: Read> Walk<'a, R> {
    /// At most `length` bytes of `input`; `path` is for messages.
    pub(super) fn new(input: R, length: u64, path: &'a str) -> Self {
        Self {
            input,
            left: length,
            path,
        }
    }

    /// Bytes that were not walked.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Walks one struct. `visit` is told of the numbers, texts and ends of known structs, with the struct's name and the field's
    /// id (0 at an end).
    ///
    /// # Errors
    /// If the bytes are not such a struct, or claim more than there is.
    pub(super) fn record(
        &mut self,
        record: &'static Record,
        visit: &mut dyn FnMut(&'static str, i16, Event) -> Result<()>,
    ) -> Result<()> {
        self.fields(Some(record), 0, visit)
    }

    fn problem(&self, problem: impl Into<String>) -> Error {
        Error::Malformed {
            path: self.path.to_owned(),
            line: None,
            problem: problem.into(),
        }
    }

    fn take(&mut self, count: u64) -> Result<()> {
        self.left = self
            .left
            .checked_sub(count)
            .ok_or_else(|| self.problem("its metadata claim more bytes than there are"))?;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8> {
        self.take(1)?;
        let mut byte = [0];
        self.input
            .read_exact(&mut byte)
            .map_err(|source| Error::io("read", self.path, source))?;
        Ok(byte[0])
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.take(count)?;
        let skipped = io::copy(&mut self.input.by_ref().take(count), &mut io::sink())
            .map_err(|source| Error::io("read", self.path, source))?;
        if skipped == count {
            Ok(())
        } else {
            Err(self.problem("it ends inside its metadata"))
        }
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for place in 0..MOST_VARINT {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.problem("its metadata have a number of more than 64 bits"))
    }

    fn number(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A count of things that take a byte each at least.
    fn count(&mut self) -> Result<u64> {
        let count = self.varint()?;
        if count > self.left {
            return Err(self.problem(format!(
                "its metadata claim {count} elements in {} bytes",
                self.left
            )));
        }
        Ok(count)
    }

    fn fields(
        &mut self,
        record: Option<&'static Record>,
        depth: u32,
        visit: &mut dyn FnMut(&'static str, i16, Event) -> Result<()>,
    ) -> Result<()> {
        let mut last = 0_i16;
        // Known ids are below 64.
        let mut seen = 0_u64;
        loop {
            let head = self.byte()?;
            let wire = head & 0x0f;
            if wire == 0 {
                break;
            }
            let id = match i16::from(head >> 4) {
                0 => i16::try_from(self.number()?).ok(),
                step => last.checked_add(step),
            };
            let Some(id) = id else {
                return Err(self.problem("its metadata have a field of an impossible number"));
            };
            last = id;
            let known = record.and_then(|record| {
                let field = record.fields.iter().find(|(known, _)| *known == id)?;
                Some((record.name, &field.1))
            });
            if known.is_some() {
                let bit = 1_u64 << id;
                if seen & bit != 0 {
                    return Err(self.problem(format!("its metadata have the field {id} twice")));
                }
                seen |= bit;
            }
            match known {
                Some((name, kind)) => self.known(name, id, kind, wire, depth + 1, visit)?,
                None => self.unknown(wire, depth + 1)?,
            }
        }
        match record {
            Some(record) => visit(record.name, 0, Event::End),
            None => Ok(()),
        }
    }

    fn known(
        &mut self,
        name: &'static str,
        id: i16,
        kind: &'static Kind,
        wire: u8,
        depth: u32,
        visit: &mut dyn FnMut(&'static str, i16, Event) -> Result<()>,
    ) -> Result<()> {
        if depth > MOST_DEPTH {
            return Err(self.problem("its metadata are nested too deeply"));
        }
        match (kind, wire) {
            (Kind::Flag, TRUE | FALSE) => Ok(()),
            (Kind::Byte, BYTE) => self.skip(1),
            (Kind::Number, I16..=I64) => {
                let value = self.number()?;
                visit(name, id, Event::Number(value))
            }
            (Kind::Double, DOUBLE) => self.skip(8),
            (Kind::Bytes, BINARY) => {
                let length = self.count()?;
                self.skip(length)?;
                visit(name, id, Event::Bytes(length))
            }
            (Kind::Struct(record), STRUCT) => self.fields(Some(record), depth, visit),
            (Kind::List(kind), LIST) => {
                let (count, wire) = self.list()?;
                for _ in 0..count {
                    self.known(name, id, kind, wire, depth + 1, visit)?;
                }
                Ok(())
            }
            _ => Err(self.problem(format!(
                "its metadata have the field {id} of a {name} with another type than the format's"
            ))),
        }
    }

    /// The number of a list's elements and their type.
    fn list(&mut self) -> Result<(u64, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.count()?,
            few => u64::from(few),
        };
        Ok((count, head & 0x0f))
    }

    fn unknown(&mut self, wire: u8, depth: u32) -> Result<()> {
        if depth > MOST_DEPTH {
            return Err(self.problem("its metadata are nested too deeply"));
        }
        match wire {
            TRUE | FALSE => Ok(()),
            BYTE => self.skip(1),
            I16..=I64 => self.varint().map(|_| ()),
            DOUBLE => self.skip(8),
            BINARY => {
                let length = self.count()?;
                self.skip(length)
            }
            STRUCT => self.fields(None, depth, &mut |_, _, _| Ok(())),
            LIST | SET => {
                let (count, wire) = self.list()?;
                self.elements(count, wire, depth)
            }
            MAP => {
                let count = self.count()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                for _ in 0..count {
                    self.elements(1, kinds >> 4, depth)?;
                    self.elements(1, kinds & 0x0f, depth)?;
                }
                Ok(())
            }
            UUID => self.skip(16),
            other => Err(self.problem(format!("its metadata have a field of the type {other}"))),
        }
    }

    /// Elements of an unknown list. Truth values are refused: decoders disagree on how long they are.
    fn elements(&mut self, count: u64, wire: u8, depth: u32) -> Result<()> {
        if count > 0 && matches!(wire, TRUE | FALSE) {
            return Err(self.problem("its metadata have a list of truth values"));
        }
        for _ in 0..count {
            self.unknown(wire, depth + 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    static INNER: Record = Record {
        name: "Inner",
        fields: &[(1, Kind::Bytes)],
    };
    static OUTER: Record = Record {
        name: "Outer",
        fields: &[
            (1, Kind::Number),
            (2, Kind::List(&Kind::Struct(&INNER))),
            (3, Kind::Flag),
        ],
    };

    fn walk(bytes: &[u8]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut walk = Walk::new(bytes, bytes.len() as u64, "a");
        walk.record(&OUTER, &mut |name, id, event| {
            found.push(match event {
                Event::Number(value) => format!("{name}.{id} = {value}"),
                Event::Bytes(length) => format!("{name}.{id} of {length}"),
                Event::End => format!("{name} ends"),
            });
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn fields_come_in_order_and_unknown_ones_are_passed_over() {
        let bytes = [
            0x15, 0x05, // 1: -3
            0x19, 0x2c, // 2: a list of two structs
            0x18, 0x02, b'a', b'b', 0x00, // "ab"
            0x18, 0x00, 0x00, // ""
            0x11, // 3: true
            0x38, 0x01, 0xff, // 6, unknown: one byte
            0x00,
        ];
        let expected = [
            "Outer.1 = -3",
            "Inner.1 of 2",
            "Inner ends",
            "Inner.1 of 0",
            "Inner ends",
            "Outer ends",
        ];
        assert_eq!(walk(&bytes).unwrap(), expected);
    }

    #[test]
    fn claims_beyond_the_bytes_and_other_types_are_refused() {
        for (bytes, problem) in [
            (
                &[0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07][..],
                "claim 2147483647 elements in 0 bytes",
            ),
            (&[0x18, 0x01, 0x00, 0x00], "another type than the format's"),
            (&[0x15, 0x02, 0x05, 0x02, 0x02, 0x00], "the field 1 twice"),
            (&[0x15, 0x02], "claim more bytes than there are"),
            (&[0x98, 0x7f, 0x00], "claim 127 elements in 1 bytes"),
            (&[0x99, 0x21, 0x01, 0x01, 0x00], "a list of truth values"),
            (
                &[
                    0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
                ],
                "more than 64 bits",
            ),
            (&[0x9c; 40], "nested too deeply"),
        ] {
            let refused = walk(bytes).unwrap_err().to_string();
            assert!(
                refused.contains(problem),
                "`{problem}` is not in: {refused}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_walk_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = walk(&bytes);
        }
    }
}
