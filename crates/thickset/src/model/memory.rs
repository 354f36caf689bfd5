//! Models without a file: from bytes and back, and rows from columns in memory.

use std::path::Path;

use thickset_engine::StoredModel;

use super::stored::ModelSource;
use super::{Model, Origin};
use crate::data::{Column, ColumnEncoding, Encoded, Table, Values, table_of};
use crate::{Error, Result};

/// What messages call bytes that come from no file.
const NAME: &str = "the model's bytes";

impl Model {
    /// Reads a model from the bytes of its file, as [`Model::to_bytes`] gives them. `origin` is what [`Model::origin`] said of the
    /// model that they were written from, so that audits and explanations of the copy are those of the original.
    ///
    /// ```
    /// use thickset::model::{LinearConfig, Model, ModelConfig};
    /// use thickset::{Seed, data::InputShape};
    ///
    /// let classes = ["no", "yes"].map(str::to_owned).to_vec();
    /// let linear = ModelConfig::Linear(LinearConfig::default());
    /// let model = Model::fresh(linear, InputShape::Table, 3, classes, None, Seed::new(0))?;
    /// let copy = Model::from_bytes(&model.to_bytes(), Some(model.origin()?))?;
    /// assert_eq!(copy.to_bytes(), model.to_bytes());
    /// assert_eq!(copy.origin()?, model.origin()?);
    /// # Ok::<(), thickset::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are no model's, or do not fit the architecture that they state.
    pub fn from_bytes(bytes: &[u8], origin: Option<Origin>) -> Result<Self> {
        let path = Path::new(NAME);
        let stored = StoredModel::parse(bytes).map_err(|source| Error::ModelFile {
            path: NAME.to_owned(),
            source,
        })?;
        let source = origin.map_or(ModelSource::Unknown, |origin| {
            ModelSource::Bytes(Box::new(origin))
        });
        Self::of_stored(stored, path, source)
    }

    /// The same model with what its file's folder says of it now, so that the file may go away.
    ///
    /// # Errors
    /// If a file of the run's folder cannot be read.
    pub fn detached(mut self) -> Result<Self> {
        self.source = ModelSource::Bytes(Box::new(self.origin()?));
        Ok(self)
    }

    /// Rows of columns as the model's network reads them, by the encoding that its training learned; `name` is for messages.
    /// Columns that it does not know are left out.
    ///
    /// # Errors
    /// If the model has no encoding, columns differ in length, one that it needs is not there, or a value cannot be encoded.
    pub fn encode(&self, name: &str, columns: Vec<Column>) -> Result<Encoded> {
        let Some(encoding) = &self.description.encoding else {
            return Err(Error::ModelInput {
                model: self.description.model.kind(),
                expected: "numbers as they are, since it has no encoding of columns",
                got: "named columns".to_owned(),
            });
        };
        let columns = columns.into_iter().filter(|column| {
            let known = encoding.columns.iter();
            known.into_iter().any(|one| one.name() == column.name)
        });
        let table = table_of(name, columns.collect())?;
        for column in &encoding.columns {
            if let ColumnEncoding::Number(number) = column {
                check_numbers(&table, &number.column)?;
            }
        }
        encoding.apply(table)
    }
}

/// Refuses a text in a column that held numbers when the model was trained.
fn check_numbers(table: &Table, name: &str) -> Result<()> {
    let column = table.columns.iter().find(|column| column.name == name);
    let Some(Values::Text(texts)) = column.map(|column| &column.values) else {
        return Ok(());
    };
    for row in 0..table.rows() {
        let value = texts.get(row).unwrap_or_default();
        let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
        if !texts.is_missing(row) && !is_number {
            return Err(Error::NotANumber {
                path: table.path.clone(),
                line: row as u64 + 1,
                column: name.to_owned(),
                value: value.to_owned(),
            });
        }
    }
    Ok(())
}
