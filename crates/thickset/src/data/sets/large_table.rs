//! Tables of which not all typed columns fit beside the encoded matrix: numbers wait in a nameless temporary file while the rows are
//! read, and come back one column at a time. What comes out is the same, to the bit, as from [`super::assemble`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use super::assemble::{Labelled, labelled};
use super::load::OpenOptions;
use super::recipe::Recipe;
use crate::data::dataset::Dataset;
use crate::data::encode::encoding::{Encoding, unseen_note};
use crate::data::encode::given::GivenValues;
use crate::data::encode::infer;
use crate::data::read::read_rule::{ReadRule, Wanted};
use crate::data::read::table::{Column, Table, Values};
use crate::data::read::table_reader::TableReader;
use crate::data::row_store::{nameless, read_at};
use crate::{Error, Result};

/// Files of more bytes than this are read this way. The matrix of as many bytes of text has about half as many.
pub const LARGE: u64 = 256 << 20;

/// Rows that are read at a time.
const ROWS: usize = 1 << 16;

/// A table whose numbers are on disk.
pub struct LargeTable {
    /// Texts, the target among them, and for the others a column without rows; in the file's order.
    table: Table,
    rows: usize,
    /// Where the numbers of each column are: offsets and how many.
    pieces: Vec<Vec<(u64, usize)>>,
    file: File,
}

fn failed(source: std::io::Error) -> Error {
    Error::io("write", std::env::temp_dir(), source)
}

/// Where a column's values begin in the file, and how many there are, piece by piece.
type Pieces = Vec<(u64, usize)>;

impl LargeTable {
    /// Reads the files.
    ///
    /// # Errors
    /// For whatever is wrong with them, and if the temporary folder is full.
    pub fn read(files: &[PathBuf], rule: &ReadRule, wanted: &Wanted) -> Result<Self> {
        let mut reader = TableReader::new(files, rule, wanted);
        let mut out = BufWriter::with_capacity(1 << 20, nameless().map_err(failed)?);
        let mut found: Option<(Table, Vec<Pieces>)> = None;
        let (mut rows, mut offset) = (0, 0);
        while let Some(mut chunk) = reader.next(ROWS)? {
            rows += chunk.rows();
            let (table, pieces) = found.get_or_insert_with(|| {
                reader.take_for_granted(&chunk);
                let empty = chunk.columns.iter().map(|column| Column {
                    name: column.name.clone(),
                    values: Values::new(column.values.kind()),
                });
                let table = Table {
                    columns: empty.collect(),
                    path: chunk.path.clone(),
                    notes: std::mem::take(&mut chunk.notes),
                    forms: chunk.forms.clone(),
                    units: chunk.units.clone(),
                    names: chunk.names.clone(),
                };
                let pieces = vec![Vec::new(); table.columns.len()];
                (table, pieces)
            });
            for (column, pieces) in table.columns.iter_mut().zip(pieces) {
                let more = &chunk.column(&column.name)?.values;
                match (&mut column.values, more) {
                    (Values::Text(texts), Values::Text(more)) => texts.append(more),
                    (Values::Number(_), Values::Number(numbers)) => {
                        for number in numbers {
                            out.write_all(&number.to_le_bytes()).map_err(failed)?;
                        }
                        pieces.push((offset, numbers.len()));
                        offset += 8 * numbers.len() as u64;
                    }
                    // Types are those of the first rows.
                    _ => return Err(chunk.unknown(&column.name)),
                }
            }
        }
        let file = out
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        let (table, pieces) = found.ok_or_else(|| Error::NoRows {
            path: files
                .first()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
        })?;
        Ok(Self {
            table,
            rows,
            pieces,
            file,
        })
    }

    /// What the table is, with all of its texts, but without its numbers.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// One column with its numbers, of the rows that are kept, as a table by itself.
    fn load(&self, place: usize, keep: Option<&[bool]>) -> Result<Table> {
        let column = &self.table.columns[place];
        let values = match &column.values {
            Values::Text(texts) => Values::Text(texts.clone()),
            Values::Number(_) => {
                let mut numbers = Vec::with_capacity(self.rows);
                let mut bytes = Vec::new();
                for &(offset, count) in &self.pieces[place] {
                    bytes.resize(8 * count, 0);
                    read_at(&self.file, &mut bytes, offset)
                        .map_err(|source| Error::io("read", std::env::temp_dir(), source))?;
                    let read = bytes.as_chunks().0.iter();
                    numbers.extend(read.map(|bytes| f64::from_le_bytes(*bytes)));
                }
                Values::Number(numbers)
            }
        };
        let mut table = Table {
            path: self.table.path.clone(),
            columns: vec![Column {
                name: column.name.clone(),
                values,
            }],
            notes: Vec::new(),
            forms: self.table.forms.clone(),
            units: self.table.units.clone(),
            names: self.table.names.clone(),
        };
        if let Some(keep) = keep {
            table.retain(keep);
        }
        Ok(table)
    }

    /// The columns that rows are chosen and labelled by, of all rows.
    fn of_choice(&self, recipe: &Recipe) -> Result<Table> {
        let mut chosen: Option<Table> = None;
        for (place, column) in self.table.columns.iter().enumerate() {
            let is_kept_by = recipe.keeps.iter().any(|keep| keep.column == column.name);
            if column.name != recipe.target.column && !is_kept_by {
                continue;
            }
            let mut loaded = self.load(place, None)?;
            match &mut chosen {
                None => chosen = Some(loaded),
                Some(chosen) => chosen.columns.append(&mut loaded.columns),
            }
        }
        chosen.ok_or_else(|| self.table.unknown(&recipe.target.column))
    }

    /// A dataset of the table, as [`super::assemble::finish_table`] makes it.
    ///
    /// # Errors
    /// As there.
    pub fn finish(self, name: &str, mut recipe: Recipe, options: &OpenOptions) -> Result<Dataset> {
        let mut choice = self.of_choice(&recipe)?;
        choice.notes.clone_from(&self.table.notes);
        let Labelled {
            labels,
            split,
            mut notes,
            keep,
            ..
        } = labelled(&mut choice, &[], &recipe, options)?;
        drop(choice);
        let keep = keep.as_deref();
        if recipe.features.is_empty() {
            self.check_names(options)?;
            for place in 0..self.table.columns.len() {
                if self.table.columns[place].name == recipe.target.column {
                    continue;
                }
                let column = self.load(place, keep)?;
                let found = infer::column(
                    &column,
                    place_of(&column)?,
                    &split.train,
                    &options.infer,
                    &mut notes,
                );
                recipe.features.extend(found);
            }
            if recipe.features.is_empty() {
                return Err(Error::NoFeatures {
                    path: self.table.path.clone(),
                    column: recipe.target.column.clone(),
                });
            }
        }
        let mut encoding = Encoding {
            read: recipe.read.clone(),
            target: recipe.target.clone(),
            missing_column: recipe.missing_column,
            columns: Vec::new(),
        };
        for rule in &recipe.features {
            let one = Recipe {
                features: vec![rule.clone()],
                ..recipe.clone()
            };
            let column = self.load(self.place(rule.column())?, keep)?;
            encoding
                .columns
                .extend(Encoding::fit(&one, &column, &split.train)?.columns);
        }
        self.encode(name, recipe, encoding, labels, split, notes, keep)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a dataset")]
    fn encode(
        &self,
        name: &str,
        recipe: Recipe,
        encoding: Encoding,
        labels: Vec<usize>,
        split: super::split::Split,
        mut notes: Vec<String>,
        keep: Option<&[bool]>,
    ) -> Result<Dataset> {
        let schema = encoding.schema();
        let (rows, width) = (labels.len(), schema.len());
        let mut values = vec![0.0_f32; rows * width];
        let (mut missing, mut unseen) = (BTreeMap::new(), BTreeMap::new());
        let mut given = GivenValues::default();
        let mut first = 0;
        for (place, column) in encoding.columns.iter().enumerate() {
            let one = Encoding {
                columns: vec![column.clone()],
                ..encoding.clone()
            };
            let table = self.load(self.place(column.name())?, keep)?;
            let encoded = one.apply(table)?;
            let narrow = encoded.values.len() / rows.max(1);
            for (row, part) in values
                .chunks_exact_mut(width)
                .zip(encoded.values.chunks_exact(narrow))
            {
                row[first..first + narrow].copy_from_slice(part);
            }
            first += narrow;
            given.add_column(&encoded.given, place);
            missing.extend(encoded.missing);
            unseen.extend(encoded.unseen);
        }
        for (column, rows) in unseen {
            notes.push(unseen_note(&column, rows));
        }
        given.sort();
        Ok(Dataset {
            given: Some(given),
            name: name.to_owned(),
            title: recipe.title.clone(),
            labels,
            classes: recipe
                .target
                .classes
                .iter()
                .map(|class| class.name.clone())
                .collect(),
            schema,
            split,
            encoding: Some(encoding),
            missing,
            notes,
            attack: recipe.attack,
            recipe: Some(recipe),
            values,
            pairs: None,
            weights: None,
        })
    }

    fn place(&self, name: &str) -> Result<usize> {
        let place = self
            .table
            .columns
            .iter()
            .position(|column| column.name == name);
        place.ok_or_else(|| self.table.unknown(name))
    }

    fn check_names(&self, options: &OpenOptions) -> Result<()> {
        for name in options.infer.drop.iter().chain(&options.infer.immutable) {
            self.table.column(name)?;
        }
        Ok(())
    }
}

/// The only column of a table.
fn place_of(table: &Table) -> Result<&Column> {
    table.columns.first().ok_or_else(|| Error::NoRows {
        path: table.path.clone(),
    })
}
