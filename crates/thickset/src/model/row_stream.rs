//! Rows that a model is asked about, some at a time: those of a table's files are read, encoded and forgotten, so that memory does
//! not grow with them.

use std::ops::ControlFlow;

use super::Model;
use super::opened_rows::{OpenedRows, RowsConfig, Selection};
use super::row_choice::RowChoice;
use crate::data::{EncodedReader, Schema};
use crate::{Error, Result, Rows};

/// Rows that fit a model, to be gone through once.
pub struct RowStream {
    data: String,
    source: Source,
    follows_another: bool,
}

enum Source {
    /// What is in memory anyway: a part of a dataset, images, graphs, a sample.
    Opened(Box<OpenedRows>),
    Files {
        reader: Box<EncodedReader>,
        schema: Schema,
        /// Rows to read in all.
        left: u64,
    },
}

impl Model {
    /// Opens rows to explain or attack as [`Model::open_selected`] does, but to be gone through once: all rows of a table's files,
    /// and the first of them, are read as they are wanted.
    ///
    /// # Errors
    /// For whatever is missing or wrong, and if the rows do not fit the model.
    pub fn stream_rows(&self, config: &RowsConfig, selection: &Selection) -> Result<RowStream> {
        let data = config.data.clone();
        let most = match selection.choice {
            RowChoice::All => u64::MAX,
            RowChoice::First(count) => count as u64,
            RowChoice::Sample { .. } | RowChoice::Only(_) => 0,
        };
        let files = if most == 0 || config.chooses_part() {
            None
        } else {
            self.table_files(config)?
        };
        let Some((files, encoding)) = files else {
            let opened = self.open_selected(config, selection)?;
            return Ok(RowStream {
                data,
                follows_another: opened.follows_another(),
                source: Source::Opened(Box::new(opened)),
            });
        };
        let schema = encoding.schema();
        self.check_schema(&data, &schema)?;
        let mut reader = EncodedReader::new(&files, encoding, false);
        let mut follows_another = false;
        let left = if selection.shard.is_whole() {
            most
        } else {
            let all = EncodedReader::new(&files, encoding, false).count(most)?;
            let all = usize::try_from(all).unwrap_or(usize::MAX);
            let places = selection.shard.places(all);
            follows_another = selection.shard.follows_another(all);
            if !places.is_empty() {
                reader.skip(places.start as u64)?;
            }
            places.len() as u64
        };
        let source = Source::Files {
            reader: Box::new(reader),
            schema,
            left,
        };
        Ok(RowStream {
            data,
            source,
            follows_another,
        })
    }
}

impl RowStream {
    /// Whether what is written of the rows follows what another machine writes.
    #[must_use]
    pub fn follows_another(&self) -> bool {
        self.follows_another
    }

    /// Calls `visit` with at most `most` rows at a time, in their order, until there are none or it breaks; what a person should
    /// know of the rows, in sentences.
    ///
    /// # Errors
    /// For whatever is wrong with the rows, and what `visit` returns.
    pub fn for_each<E: From<Error>>(
        self,
        most: usize,
        visit: &mut dyn FnMut(&Rows<'_>) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<Vec<String>, E> {
        let most = most.max(1);
        match self.source {
            Source::Opened(opened) => {
                for part in opened.rows().parts(most) {
                    if visit(&part)?.is_break() {
                        break;
                    }
                }
                Ok(opened.notes)
            }
            Source::Files {
                mut reader,
                schema,
                mut left,
            } => {
                let mut is_empty = true;
                while left > 0 {
                    let next = usize::try_from(left).unwrap_or(usize::MAX).min(most);
                    let Some(rows) = reader.next(next)? else {
                        break;
                    };
                    is_empty = false;
                    left -= rows.labels.len() as u64;
                    let given = &rows.given;
                    let rows = Rows::new(&rows.values, &schema)?.numbered(&rows.ids)?;
                    let rows = rows.with_given(given);
                    if visit(&rows)?.is_break() {
                        break;
                    }
                }
                if is_empty && left == u64::MAX {
                    return Err(Error::EmptyPart { data: self.data }.into());
                }
                Ok(reader.notes())
            }
        }
    }
}
