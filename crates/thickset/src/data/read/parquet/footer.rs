//! What a Parquet file's footer claims, checked before it is decoded.

use std::fs::File;
use std::io::{BufReader, Seek as _, SeekFrom};

use super::thrift::{Event, Kind, Record, Walk};
use super::{MAGIC, MOST_COLUMNS};
use crate::{Error, Result};

/// The length of the footer and the magic bytes, at the end of the file.
const TAIL: usize = 8;

/// The deepest nesting of columns; what is nested is left out anyway.
const MOST_DEPTH: usize = 64;

/// The most bytes that the columns' full names may take, per byte of the footer: each repeats the names of the groups above it.
const MOST_NAME_RATIO: u64 = 16;

/// A footer may always have this many.
const FREE_NAME_BYTES: u64 = 1 << 20;

static EMPTY: Record = Record {
    name: "union's member",
    fields: &[],
};
static DECIMAL: Record = Record {
    name: "DecimalType",
    fields: &[(1, Kind::Number), (2, Kind::Number)],
};
static UNIT: Record = Record {
    name: "TimeUnit",
    fields: &[
        (1, Kind::Struct(&EMPTY)),
        (2, Kind::Struct(&EMPTY)),
        (3, Kind::Struct(&EMPTY)),
    ],
};
static TIME: Record = Record {
    name: "TimeType",
    fields: &[(1, Kind::Flag), (2, Kind::Struct(&UNIT))],
};
static INTEGER: Record = Record {
    name: "IntType",
    fields: &[(1, Kind::Byte), (2, Kind::Flag)],
};
static VARIANT: Record = Record {
    name: "VariantType",
    fields: &[(1, Kind::Byte)],
};
static GEOMETRY: Record = Record {
    name: "GeographyType",
    fields: &[(1, Kind::Bytes), (2, Kind::Number)],
};
static LOGICAL: Record = Record {
    name: "LogicalType",
    fields: &[
        (1, Kind::Struct(&EMPTY)),
        (2, Kind::Struct(&EMPTY)),
        (3, Kind::Struct(&EMPTY)),
        (4, Kind::Struct(&EMPTY)),
        (5, Kind::Struct(&DECIMAL)),
        (6, Kind::Struct(&EMPTY)),
        (7, Kind::Struct(&TIME)),
        (8, Kind::Struct(&TIME)),
        (10, Kind::Struct(&INTEGER)),
        (11, Kind::Struct(&EMPTY)),
        (12, Kind::Struct(&EMPTY)),
        (13, Kind::Struct(&EMPTY)),
        (14, Kind::Struct(&EMPTY)),
        (15, Kind::Struct(&EMPTY)),
        (16, Kind::Struct(&VARIANT)),
        (17, Kind::Struct(&GEOMETRY)),
        (18, Kind::Struct(&GEOMETRY)),
        (19, Kind::Struct(&EMPTY)),
    ],
};
static ELEMENT: Record = Record {
    name: "SchemaElement",
    fields: &[
        (1, Kind::Number),
        (2, Kind::Number),
        (3, Kind::Number),
        (4, Kind::Bytes),
        (5, Kind::Number),
        (6, Kind::Number),
        (7, Kind::Number),
        (8, Kind::Number),
        (9, Kind::Number),
        (10, Kind::Struct(&LOGICAL)),
    ],
};
pub(super) static STATISTICS: Record = Record {
    name: "Statistics",
    fields: &[
        (1, Kind::Bytes),
        (2, Kind::Bytes),
        (3, Kind::Number),
        (4, Kind::Number),
        (5, Kind::Bytes),
        (6, Kind::Bytes),
        (7, Kind::Flag),
        (8, Kind::Flag),
        (9, Kind::Number),
    ],
};
static PAIR: Record = Record {
    name: "KeyValue",
    fields: &[(1, Kind::Bytes), (2, Kind::Bytes)],
};
static ENCODING_COUNT: Record = Record {
    name: "PageEncodingStats",
    fields: &[(1, Kind::Number), (2, Kind::Number), (3, Kind::Number)],
};
static SIZES: Record = Record {
    name: "SizeStatistics",
    fields: &[
        (1, Kind::Number),
        (2, Kind::List(&Kind::Number)),
        (3, Kind::List(&Kind::Number)),
    ],
};
static BOX: Record = Record {
    name: "BoundingBox",
    fields: &[
        (1, Kind::Double),
        (2, Kind::Double),
        (3, Kind::Double),
        (4, Kind::Double),
        (5, Kind::Double),
        (6, Kind::Double),
        (7, Kind::Double),
        (8, Kind::Double),
    ],
};
static PLACES: Record = Record {
    name: "GeospatialStatistics",
    fields: &[(1, Kind::Struct(&BOX)), (2, Kind::List(&Kind::Number))],
};
static COLUMN: Record = Record {
    name: "ColumnMetaData",
    fields: &[
        (1, Kind::Number),
        (2, Kind::List(&Kind::Number)),
        (3, Kind::List(&Kind::Bytes)),
        (4, Kind::Number),
        (5, Kind::Number),
        (6, Kind::Number),
        (7, Kind::Number),
        (8, Kind::List(&Kind::Struct(&PAIR))),
        (9, Kind::Number),
        (10, Kind::Number),
        (11, Kind::Number),
        (12, Kind::Struct(&STATISTICS)),
        (13, Kind::List(&Kind::Struct(&ENCODING_COUNT))),
        (14, Kind::Number),
        (15, Kind::Number),
        (16, Kind::Struct(&SIZES)),
        (17, Kind::Struct(&PLACES)),
    ],
};
static CHUNK: Record = Record {
    name: "ColumnChunk",
    fields: &[
        (1, Kind::Bytes),
        (2, Kind::Number),
        (3, Kind::Struct(&COLUMN)),
        (4, Kind::Number),
        (5, Kind::Number),
        (6, Kind::Number),
        (7, Kind::Number),
    ],
};
static SORTING: Record = Record {
    name: "SortingColumn",
    fields: &[(1, Kind::Number), (2, Kind::Flag), (3, Kind::Flag)],
};
static GROUP: Record = Record {
    name: "RowGroup",
    fields: &[
        (1, Kind::List(&Kind::Struct(&CHUNK))),
        (2, Kind::Number),
        (3, Kind::Number),
        (4, Kind::List(&Kind::Struct(&SORTING))),
        (5, Kind::Number),
        (6, Kind::Number),
        (7, Kind::Number),
    ],
};
static ORDER: Record = Record {
    name: "ColumnOrder",
    fields: &[(1, Kind::Struct(&EMPTY)), (2, Kind::Struct(&EMPTY))],
};
static METADATA: Record = Record {
    name: "FileMetaData",
    fields: &[
        (1, Kind::Number),
        (2, Kind::List(&Kind::Struct(&ELEMENT))),
        (3, Kind::Number),
        (4, Kind::List(&Kind::Struct(&GROUP))),
        (5, Kind::List(&Kind::Struct(&PAIR))),
        (6, Kind::Bytes),
        (7, Kind::List(&Kind::Struct(&ORDER))),
    ],
};

/// One entry of the list that a tree of columns is flattened to.
#[derive(Clone, Copy, Default)]
struct Element {
    name: u64,
    children: i64,
}

/// Refuses a footer that claims more than the file can hold, or a tree of columns that decoding would not survive; where the footer
/// begins.
///
/// # Errors
/// If it does, or the file cannot be read.
pub(super) fn check(file: &File, size: u64, path: &str) -> Result<u64> {
    let io = |source| Error::io("read", path, source);
    let mut reader = BufReader::new(file);
    let too_short = || Error::Truncated {
        path: path.to_owned(),
        expected: (MAGIC.len() + TAIL) as u64,
        found: size,
    };
    let tail_at = size.checked_sub(TAIL as u64).ok_or_else(too_short)?;
    reader.seek(SeekFrom::Start(tail_at)).map_err(io)?;
    let mut tail = [0; TAIL];
    std::io::Read::read_exact(&mut reader, &mut tail).map_err(io)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic != MAGIC {
        return Err(malformed(path, "it does not end like a Parquet file"));
    }
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let start = tail_at
        .checked_sub(length)
        .filter(|start| *start >= MAGIC.len() as u64)
        .ok_or_else(|| {
            malformed(
                path,
                format!("its footer claims {length} of the file's {size} bytes"),
            )
        })?;
    reader.seek(SeekFrom::Start(start)).map_err(io)?;

    let mut elements = Vec::new();
    let mut element = Element::default();
    Walk::new(reader, length, path).record(&METADATA, &mut |name, field, event| {
        if name == ELEMENT.name {
            match (field, event) {
                (4, Event::Bytes(length)) => element.name = length,
                (5, Event::Number(children)) => element.children = children,
                (_, Event::End) => {
                    elements.push(std::mem::take(&mut element));
                    if elements.len() > MOST_COLUMNS {
                        return Err(Error::TooLarge {
                            path: path.to_owned(),
                            what: "the number of its columns".to_owned(),
                            limit: MOST_COLUMNS.to_string(),
                        });
                    }
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    check_tree(&elements, length, path)?;
    Ok(start)
}

/// Refuses a tree of columns that is too deep, has too long names, or claims more children than there are.
fn check_tree(elements: &[Element], footer: u64, path: &str) -> Result<()> {
    let most_names = footer.saturating_mul(MOST_NAME_RATIO).max(FREE_NAME_BYTES);
    // Of each open group: the children to come, and the length of its name and those above.
    let mut open: Vec<(i64, u64)> = Vec::new();
    let mut names = 0_u64;
    for (at, element) in elements.iter().enumerate() {
        while open.last().is_some_and(|(children, _)| *children == 0) {
            open.pop();
        }
        let above = open.last().map_or(0, |(_, name)| *name);
        if let Some((children, _)) = open.last_mut() {
            *children -= 1;
        }
        let name = above.saturating_add(element.name);
        let rest = i64::try_from(elements.len() - at - 1).unwrap_or(i64::MAX);
        if !(0..=rest).contains(&element.children) {
            return Err(malformed(
                path,
                format!("a group claims {} columns, {rest} follow", element.children),
            ));
        }
        if element.children > 0 {
            open.push((element.children, name));
        } else {
            names = names.saturating_add(name);
        }
        if open.len() > MOST_DEPTH {
            return Err(too_large(
                path,
                "the nesting of its columns",
                MOST_DEPTH as u64,
            ));
        }
        if names > most_names {
            return Err(too_large(
                path,
                "the length of all columns' names",
                most_names,
            ));
        }
    }
    Ok(())
}

fn malformed(path: &str, problem: impl Into<String>) -> Error {
    Error::Malformed {
        path: path.to_owned(),
        line: None,
        problem: problem.into(),
    }
}

fn too_large(path: &str, what: &str, limit: u64) -> Error {
    Error::TooLarge {
        path: path.to_owned(),
        what: what.to_owned(),
        limit: limit.to_string(),
    }
}
