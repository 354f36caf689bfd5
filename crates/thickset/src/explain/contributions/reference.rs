//! What rows are compared with.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::check::check_finite;
use crate::data::{Encoding, InputShape, Schema, read_encoded};
use crate::explain::{ExplainConfig, ExplanationConfig};
use crate::{Error, Result};

/// A reference as a configuration states it: `"median"`, `"mean-of-class:repaid"` or the path of a file with one row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Reference {
    /// The typical training row: medians, and most frequent categories.
    #[default]
    Median,
    /// The mean of the training rows of the class with this name.
    MeanOfClass(String),
    /// The row of a file, in the columns that the model reads.
    File(PathBuf),
}

/// What stands before a class's name.
const OF_CLASS: &str = "mean-of-class:";

impl FromStr for Reference {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(match (text, text.strip_prefix(OF_CLASS)) {
            ("median", _) => Self::Median,
            (_, Some(class)) => Self::MeanOfClass(class.to_owned()),
            (file, None) => Self::File(file.into()),
        })
    }
}

impl From<String> for Reference {
    fn from(text: String) -> Self {
        let Ok(reference) = text.parse();
        reference
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.to_string()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Median => formatter.write_str("median"),
            Self::MeanOfClass(class) => write!(formatter, "{OF_CLASS}{class}"),
            Self::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

impl Reference {
    /// The row, encoded: the given one, or what is known of rows of this schema.
    ///
    /// # Errors
    /// If the rows are no table, nothing is known of them, there is no such class, or a file has not been read.
    pub(super) fn row(&self, given: Option<&[f64]>, schema: &Schema) -> Result<Vec<f64>> {
        if schema.shape != InputShape::Table {
            return Err(Error::Contributions {
                expected: "a table",
                got: schema.shape.to_string(),
            });
        }
        if let Some(row) = given {
            if row.len() != schema.len() {
                return Err(Error::RowWidth {
                    expected: schema.len(),
                    got: row.len(),
                });
            }
            check_finite("the reference row", row)?;
            return Ok(row.to_vec());
        }
        let unknown = || Error::Contributions {
            expected: "a reference row, which a model learns when it is trained",
            got: "rows of which none is known".to_owned(),
        };
        let known = schema.references.as_ref();
        let row = match self {
            Self::Median => &known.ok_or_else(unknown)?.typical,
            Self::MeanOfClass(name) => {
                let means = &known.ok_or_else(unknown)?.class_means;
                means.get(name).ok_or_else(|| Error::NoSuchClass {
                    name: name.clone(),
                    known: means.keys().cloned().collect(),
                })?
            }
            Self::File(path) => {
                return Err(Error::Contributions {
                    expected: "`median`, `mean-of-class:NAME`, or a file that a model or a run reads by its encoding",
                    got: format!("`{}`", path.display()),
                });
            }
        };
        Ok(row.iter().copied().map(f64::from).collect())
    }
}

impl ExplainConfig {
    /// The same without a reference row that can be learned again: a record says which one it is, and a model knows its own.
    pub(crate) fn without_learned_row(mut self) -> Self {
        if let ExplanationConfig::Contributions(config) = &mut self.explanation
            && !matches!(config.reference, Reference::File(_))
        {
            config.row = None;
        }
        self
    }

    /// The same with the reference row read, where it is that of a file.
    ///
    /// # Errors
    /// If the file cannot be read by the encoding, does not hold one row, or there is no encoding to read it by.
    pub(crate) fn with_reference(mut self, encoding: Option<&Encoding>) -> Result<Self> {
        let ExplanationConfig::Contributions(config) = &mut self.explanation else {
            return Ok(self);
        };
        let (Reference::File(path), None) = (&config.reference, &config.row) else {
            return Ok(self);
        };
        let expected = "a file with one row of the columns that the model reads, `median` or `mean-of-class:NAME`";
        let refused = |got: String| Error::Contributions { expected, got };
        let encoding = encoding.ok_or_else(|| {
            refused(format!(
                "`{}` for rows that come from no table's file",
                path.display()
            ))
        })?;
        if !path.is_file() {
            return Err(refused(format!("`{}`, which is no file", path.display())));
        }
        let encoded = read_encoded(path, encoding)?;
        let width = encoding.schema().len();
        if encoded.values.len() != width {
            let rows = encoded.values.len() / width.max(1);
            return Err(refused(format!("`{}` with {rows} rows", path.display())));
        }
        config.row = Some(encoded.values.into_iter().map(f64::from).collect());
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::References;

    #[test]
    fn every_reference_is_read_as_it_is_written() {
        for (text, expected) in [
            ("median", Reference::Median),
            (
                "mean-of-class:paid: in full",
                Reference::MeanOfClass("paid: in full".to_owned()),
            ),
            ("typical.csv", Reference::File("typical.csv".into())),
        ] {
            let read = Reference::from(text.to_owned());
            assert_eq!(read, expected);
            assert_eq!(String::from(read), text);
        }
    }

    #[test]
    fn a_reference_that_is_not_known_is_refused_with_what_is() {
        let mut schema = Schema::table(&["a", "b"]);
        let error = Reference::Median.row(None, &schema).unwrap_err();
        assert!(error.to_string().contains("a reference row"), "{error}");
        schema.references = Some(References {
            typical: vec![1.0, 2.0],
            class_means: [("repaid".to_owned(), vec![0.5, 0.25])].into(),
        });
        assert_eq!(Reference::Median.row(None, &schema).unwrap(), [1.0, 2.0]);
        let of = |name: &str| Reference::MeanOfClass(name.to_owned()).row(None, &schema);
        assert_eq!(of("repaid").unwrap(), [0.5, 0.25]);
        let error = of("repayed").unwrap_err().to_string();
        assert!(
            error.contains("repayed") && error.contains("repaid"),
            "{error}"
        );
        assert!(Reference::Median.row(Some(&[1.0]), &schema).is_err());
        assert!(
            Reference::Median
                .row(None, &Schema::image(1, 1, 2, 255.0))
                .is_err()
        );
    }
}
