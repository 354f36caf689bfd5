//! The rows of a table's files that a model is asked about: which of them are read, and reading those and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use super::opened_rows::Selection;
use super::row_choice::{RowChoice, Sampler};
use crate::data::row_store::{RowStore, RowStoreWriter};
use crate::data::{EncodedReader, Encoding, Given, GivenValues};
use crate::{Error, Result};

/// Rows that are read at a time.
const READ_ROWS: usize = 8192;

/// Rows between two that are wanted from which on they are passed over: fewer are sooner read than passed over.
const GAP: u64 = 256;

/// Which rows of the files are read.
pub(super) enum FilePlan {
    /// Neighbours.
    Range {
        rows: Range<u64>,
        /// At most so many are wanted by all machines together.
        most: u64,
        /// How many there are, at most so many, where they were counted.
        counted: Option<u64>,
    },
    /// Those of these numbers, counted from 0, in this order.
    Some {
        ids: Vec<u64>,
        /// How many all machines read together.
        selected: usize,
        /// How many rows there are.
        all: u64,
    },
}

/// Rows that were read.
pub(super) struct ReadRows {
    pub(super) rows: FileRows,
    /// What a person should know of them, in sentences.
    pub(super) notes: Vec<String>,
    /// How many rows the files have.
    pub(super) all: usize,
    /// How many of these were asked for, before they were shared among machines.
    pub(super) selected: usize,
}

/// The rows themselves.
pub(super) enum FileRows {
    /// Neighbours, and the number of the first.
    Stored { store: RowStore, first: u64 },
    /// Rows with their numbers.
    Some(SomeRows),
}

/// Some rows of files.
#[derive(Default)]
pub(super) struct SomeRows {
    pub(super) values: Vec<f32>,
    pub(super) labels: Vec<Option<usize>>,
    pub(super) ids: Vec<u64>,
    pub(super) given: GivenValues,
}

/// A row of a file while it is kept.
struct KeptRow {
    values: Vec<f32>,
    label: Option<usize>,
    given: Vec<(usize, Given)>,
}

impl FilePlan {
    /// Which rows a selection is; the rows are counted where it depends on their number.
    pub(super) fn new(
        data: &str,
        files: &[PathBuf],
        encoding: &Encoding,
        selection: &Selection,
    ) -> Result<Self> {
        let Selection { choice, shard } = selection;
        let count = |most: u64| EncodedReader::new(files, encoding, false).count(most);
        let neighbours = |most: u64| {
            if shard.is_whole() {
                return Ok(Self::Range {
                    rows: 0..most,
                    most,
                    counted: None,
                });
            }
            let all = count(most)?;
            let places = shard.places(usize::try_from(all).unwrap_or(usize::MAX));
            Ok(Self::Range {
                rows: places.start as u64..places.end as u64,
                most,
                counted: Some(all),
            })
        };
        let some = |ids: &[u64], all: u64| Self::Some {
            ids: ids[shard.places(ids.len())].to_vec(),
            selected: ids.len(),
            all,
        };
        match choice {
            RowChoice::All => neighbours(u64::MAX),
            RowChoice::First(count) => neighbours(*count as u64),
            RowChoice::Sample { count: most, seed } => {
                let all = count(u64::MAX)?;
                let mut sampler = Sampler::new(*most, *seed);
                for id in 0..all {
                    sampler.offer(id);
                }
                Ok(some(&sampler.rows(), all))
            }
            RowChoice::Only(numbers) => {
                let all = count(u64::MAX)?;
                let id = |number: &u64| {
                    let id = number.checked_sub(1).filter(|id| *id < all);
                    id.ok_or_else(|| Error::NoSuchRow {
                        data: data.to_owned(),
                        rows: usize::try_from(all).unwrap_or(usize::MAX),
                        number: *number,
                    })
                };
                let ids: Vec<u64> = numbers.iter().map(id).collect::<Result<_>>()?;
                Ok(some(&ids, all))
            }
        }
    }

    /// The rows that are read, as neighbours, in their order.
    pub(super) fn ranges(&self) -> Vec<Range<u64>> {
        match self {
            Self::Range { rows, .. } => vec![rows.clone()],
            Self::Some { ids, .. } => windows(&ids.iter().copied().collect()),
        }
    }

    /// Reads the rows.
    pub(super) fn read(
        self,
        files: &[PathBuf],
        encoding: &Encoding,
        with_labels: bool,
    ) -> Result<ReadRows> {
        let mut reader = EncodedReader::new(files, encoding, with_labels);
        let width = encoding.schema().len();
        let bounded = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let (rows, all, selected) = match self {
            Self::Range {
                rows,
                most,
                counted,
            } => {
                let (store, next) = stored(&mut reader, width, &rows)?;
                let all = match counted {
                    Some(all) => all,
                    None => next + reader.skip(u64::MAX)?,
                };
                let first = rows.start;
                let rows = FileRows::Stored { store, first };
                (rows, bounded(all), bounded(all.min(most)))
            }
            Self::Some { ids, selected, all } => {
                let some = some_of(&mut reader, width, &ids)?;
                (FileRows::Some(some), bounded(all), selected)
            }
        };
        Ok(ReadRows {
            rows,
            notes: reader.notes(),
            all,
            selected,
        })
    }
}

/// Neighbouring rows, and the number of the row after them.
fn stored(reader: &mut EncodedReader, width: usize, rows: &Range<u64>) -> Result<(RowStore, u64)> {
    let mut store = RowStoreWriter::new(width);
    let mut next = rows.start;
    if !rows.is_empty() {
        next = reader.skip(rows.start)?;
    }
    while next < rows.end {
        let most = usize::try_from(rows.end - next).unwrap_or(usize::MAX);
        let Some(read) = reader.next(most.min(READ_ROWS))? else {
            break;
        };
        store.note(&read.given)?;
        store.push(&read.values, &read.labels)?;
        next += read.ids.len() as u64;
    }
    Ok((store.finish()?, next))
}

/// What is read for rows of these numbers: between two rows that lie far apart, nothing is.
fn windows(ids: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let mut windows: Vec<Range<u64>> = Vec::new();
    for &id in ids {
        match windows.last_mut() {
            Some(last) if id - last.start < READ_ROWS as u64 && id - last.end < GAP => {
                last.end = id + 1;
            }
            _ => windows.push(id..id + 1),
        }
    }
    windows
}

/// The rows of these numbers, in this order.
fn some_of(reader: &mut EncodedReader, width: usize, ids: &[u64]) -> Result<SomeRows> {
    let wanted: BTreeSet<u64> = ids.iter().copied().collect();
    let mut kept: BTreeMap<u64, KeptRow> = BTreeMap::new();
    let mut next = 0;
    for window in windows(&wanted) {
        next += reader.skip(window.start - next)?;
        while next < window.end {
            let most = usize::try_from(window.end - next).unwrap_or(usize::MAX);
            let Some(rows) = reader.next_of(most, |id| wanted.contains(&id))? else {
                break;
            };
            next = rows.end;
            let found = rows.values.chunks(width.max(1)).zip(rows.labels);
            for (place, (id, (values, label))) in rows.ids.iter().zip(found).enumerate() {
                let row = KeptRow {
                    values: values.to_vec(),
                    label,
                    given: rows.given.row(place),
                };
                kept.insert(*id, row);
            }
        }
    }
    let mut some = SomeRows {
        values: Vec::with_capacity(ids.len() * width),
        ..SomeRows::default()
    };
    for id in ids {
        if let Some(row) = kept.get(id) {
            some.given.push_row(some.ids.len(), row.given.clone());
            some.values.extend(&row.values);
            some.labels.push(row.label);
            some.ids.push(*id);
        }
    }
    Ok(some)
}
