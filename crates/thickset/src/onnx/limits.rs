//! How much a file claims to hold, counted on its bytes before anything is allocated for it.
//!
//! A message of two bytes takes hundreds in memory, so a small file could ask for gigabytes. The walk follows only the messages
//! that [`super::proto`] names; strings and numbers are skipped.

use super::problem::{OnnxError, Result};

/// The most messages and texts of a file, a message counting as [`MESSAGE`] texts: a network of a thousand layers has some ten
/// thousand messages, a table's categories may be a hundred thousand texts.
const MOST_PARTS: usize = 1 << 19;

/// What a message takes in memory, in texts.
const MESSAGE: usize = 4;

/// The most bytes of numbers that are packed in fewer bytes than they take in memory.
const MOST_PACKED: usize = 1 << 27;

/// Graphs within graphs; control flow is refused later, so few are enough.
const MOST_DEPTH: usize = 60;

#[derive(Clone, Copy)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    /// Its parts are few and small.
    Leaf,
}

impl Kind {
    /// What a field of this message holds, if it is a message.
    fn child(self, field: u64) -> Option<Self> {
        match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Some(Self::Graph),
            (Self::Model, 8 | 14 | 25) | (Self::Graph, 11..=13) | (Self::Tensor, 13) => {
                Some(Self::Leaf)
            }
            (Self::Graph, 1) => Some(Self::Node),
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) => Some(Self::Tensor),
            (Self::Node, 5) => Some(Self::Attribute),
            _ => None,
        }
    }

    /// Whether a field holds whole numbers one after the other, in as few as one byte each.
    fn is_packed(self, field: u64) -> bool {
        matches!(
            (self, field),
            (Self::Tensor, 1 | 5 | 7 | 11) | (Self::Attribute, 8)
        )
    }
}

#[derive(Default)]
struct Count {
    parts: usize,
    packed: usize,
}

/// Refuses a file that holds more parts than any model.
///
/// # Errors
/// If there are too many, or the bytes are no messages.
pub(super) fn check(bytes: &[u8]) -> Result<()> {
    Count::default().walk(bytes, Kind::Model, 0)
}

fn cut_off() -> OnnxError {
    OnnxError::NotOnnx {
        reason: "a field is cut off or no field at all".to_owned(),
    }
}

impl Count {
    fn walk(&mut self, mut bytes: &[u8], kind: Kind, depth: usize) -> Result<()> {
        if depth > MOST_DEPTH {
            return Err(OnnxError::NotOnnx {
                reason: format!("messages are nested deeper than {MOST_DEPTH}"),
            });
        }
        while !bytes.is_empty() {
            let tag = number(&mut bytes)?;
            let field = tag >> 3;
            let skip = match tag & 7 {
                0 => {
                    number(&mut bytes)?;
                    0
                }
                1 => 8,
                5 => 4,
                2 => {
                    let length = usize::try_from(number(&mut bytes)?).map_err(|_| cut_off())?;
                    let inner = bytes.get(..length).ok_or_else(cut_off)?;
                    self.add(inner, kind, field)?;
                    if let Some(child) = kind.child(field) {
                        self.walk(inner, child, depth + 1)?;
                    }
                    length
                }
                _ => return Err(cut_off()),
            };
            bytes = bytes.get(skip..).ok_or_else(cut_off)?;
        }
        Ok(())
    }

    fn add(&mut self, inner: &[u8], kind: Kind, field: u64) -> Result<()> {
        self.parts += kind.child(field).map_or(1, |_| MESSAGE);
        if kind.is_packed(field) {
            self.packed += inner.len();
        }
        let (what, most, got) = if self.parts > MOST_PARTS {
            (
                "texts, where a message counts as four",
                MOST_PARTS,
                self.parts,
            )
        } else if self.packed > MOST_PACKED {
            ("bytes of packed numbers", MOST_PACKED, self.packed)
        } else {
            return Ok(());
        };
        Err(OnnxError::NotOnnx {
            reason: format!("more than {most} {what}, at least {got}"),
        })
    }
}

/// A whole number of seven bits a byte.
fn number(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for place in 0..10 {
        let (&byte, rest) = bytes.split_first().ok_or_else(cut_off)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * place).min(63);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(cut_off())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of bytes.
    fn field(number: u8, inner: &[u8]) -> Vec<u8> {
        let mut bytes = vec![(number << 3) | 2];
        let mut length = inner.len();
        while length >= 0x80 {
            bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        bytes.push(u8::try_from(length).unwrap());
        bytes.extend_from_slice(inner);
        bytes
    }

    #[test]
    fn two_million_empty_nodes_are_refused_before_they_are_made() {
        let nodes = field(1, &[]).repeat(2 << 20);
        let refused = check(&field(7, &nodes)).unwrap_err().to_string();
        assert!(refused.contains("more than 524288 texts"), "{refused}");
        assert!(check(&field(7, &field(1, &[]).repeat(1000))).is_ok());
    }

    #[test]
    fn graphs_within_graphs_end_somewhere() {
        let mut graph = Vec::new();
        for _ in 0..100 {
            graph = field(1, &field(5, &field(6, &graph)));
        }
        assert!(check(&field(7, &graph)).is_err());
    }

    #[test]
    fn lengths_beyond_the_end_are_refused() {
        assert!(check(&[0x3a, 0x7f, 0]).is_err());
        assert!(check(b"hello, this is text\n").is_err());
        assert!(check(&[0xff; 12]).is_err());
    }
}
