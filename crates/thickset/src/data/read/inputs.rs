//! Images and graphs as their readers give them, before a split.

use crate::data::schema::Schema;
use crate::{Error, Result};

/// Images or graphs as they come from a reader.
#[derive(Debug)]
pub struct Inputs {
    /// Row-major, one input a row.
    pub values: Vec<f32>,
    /// The class of each input.
    pub labels: Vec<usize>,
    /// What the features are.
    pub schema: Schema,
}

impl Inputs {
    /// Adds the inputs of another file.
    pub fn append(&mut self, other: Self, path: &str) -> Result<()> {
        if self.schema != other.schema {
            return Err(Error::Malformed {
                path: path.to_owned(),
                line: None,
                problem: "its inputs have another shape than those of the file before it"
                    .to_owned(),
            });
        }
        self.values.extend(other.values);
        self.labels.extend(other.labels);
        Ok(())
    }
}
