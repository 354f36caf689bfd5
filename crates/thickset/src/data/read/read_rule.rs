//! How a table's text is read, and which of its columns.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::number_form::NumberForm;
use super::table::{ColumnType, Values};
use super::text_encoding::TextEncoding;

/// How a text file is read. The default infers what it can.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadRule {
    /// One character; inferred if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Whether the first row names the columns; if absent, it does unless all of its fields are numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// Names for the columns of a file without a header.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Texts that stand for a missing value, beside the empty one.
    pub missing: Vec<String>,
    /// Lines at the start of the file that are no rows.
    #[serde(skip_serializing_if = "is_zero")]
    pub skip_lines: usize,
    /// Lines that start with this character are skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<char>,
    /// The second column of a name gets `.1` appended, the third `.2`; otherwise two columns of a name are an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub number_duplicates: bool,
    /// How bytes stand for letters; UTF-8, or UTF-16 as the first bytes tell, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_encoding: Option<TextEncoding>,
    /// The decimal mark of numbers like `1,234`, which could be read in two ways; decided by the rest of the file if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal: Option<char>,
    /// Whether dates like `03/04/2024` begin with the day; decided by the rest of the file if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_first: Option<bool>,
    /// How the numbers of columns are written, where that is not the way of programs.
    #[serde(rename = "form", skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<String, NumberForm>,
}

impl Wanted {
    /// An empty column of this name and type.
    pub(in crate::data) fn empty(&self, name: &str, kind: ColumnType) -> Values {
        match self.levels.get(name) {
            Some(levels) if kind == ColumnType::Text => Values::knowing(levels),
            _ => Values::new(kind),
        }
    }
}

impl Default for ReadRule {
    fn default() -> Self {
        Self {
            delimiter: None,
            header: None,
            columns: Vec::new(),
            missing: [
                "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?",
            ]
            .map(str::to_owned)
            .to_vec(),
            skip_lines: 0,
            comment: None,
            number_duplicates: false,
            text_encoding: None,
            decimal: None,
            day_first: None,
            forms: BTreeMap::new(),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde calls"
)]
fn is_zero(lines: &usize) -> bool {
    *lines == 0
}

/// Which columns are kept and as what.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only these columns are kept, if given; others cost no memory.
    pub only: Option<BTreeSet<String>>,
    /// Types that are known; the rest are inferred.
    pub types: BTreeMap<String, ColumnType>,
    /// Texts of a column that are kept however many different ones come.
    pub levels: BTreeMap<String, Vec<String>>,
    /// The last column is a target, to be kept as text.
    pub last_is_text: bool,
    /// Columns whose type is not known are numbers.
    pub only_numbers: bool,
}
