//! Reasons a person can be given for a decision: the columns whose own values push towards the adverse class, in order.
//!
//! A reason is a [contribution](crate::explain::contributions) above zero of a column to the score of the adverse class, with the
//! person's value, what it is compared with, a code and a sentence, and how far it holds: the largest change of the declared
//! kind under which it was still among the reasons when the suite attacked them.

mod codes;
mod column_value;
mod template;
mod write;

pub(crate) use codes::plain_text;
pub use codes::{Codes, ReasonRule, When};
pub use column_value::ColumnValue;
pub(crate) use column_value::{column_values, number_text, shown};
pub use template::template;
pub use write::{ReasonsWriter, columns, json, lines};

use serde::{Deserialize, Serialize};

/// Why rows were decided against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reasons {
    /// The adverse class.
    pub adverse: String,
    /// From this probability on rows are decided against; the most probable class decides where absent.
    pub cutoff: Option<f64>,
    /// The most reasons of a row.
    pub k: usize,
    /// What rows are compared with: `median`, a class's mean or a file.
    pub reference: String,
    /// That row, column by column.
    pub reference_values: Vec<ColumnValue>,
    /// The adverse probability of that row.
    pub reference_probability: f64,
    /// What rows were changed by to see how far reasons hold, in words; absent where that was not asked.
    pub change: Option<String>,
    /// Each decided row, in order; or only those decided against.
    pub rows: Vec<RowReasons>,
}

/// Why one row was decided against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowReasons {
    /// Its number in the file or dataset, counted from 1.
    pub row: u64,
    /// Whether it is decided against.
    pub is_adverse: bool,
    /// The probability of the adverse class.
    pub probability: f64,
    /// The score of the adverse class: with two classes its log-odds.
    pub score: f64,
    /// The score of the row that it is compared with.
    pub reference_score: f64,
    /// What all columns contribute together; the difference of both scores.
    pub sum: f64,
    /// How far the sum is off that difference.
    pub gap: f64,
    /// The reasons, the strongest first.
    pub reasons: Vec<Reason>,
    /// The largest share of the declared change under which no attack found other reasons; absent where it was not asked, or there
    /// is nothing to attack.
    pub holds: Option<f64>,
    /// The smallest share of it at which one did.
    pub changes: Option<f64>,
    /// The largest move in encoded units under which the reasons are proved to stay, where there is a proof.
    pub certified: Option<f64>,
    /// What each column contributes.
    pub contributions: Vec<f64>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The column.
    pub column: String,
    /// The row's own value.
    pub value: String,
    /// What it is compared with.
    pub reference: String,
    /// How both compare.
    pub when: When,
    /// What the value adds to the score of the adverse class; positive.
    pub contribution: f64,
    /// Its code, where there are codes and one fits.
    pub code: Option<String>,
    /// In a sentence.
    pub text: String,
    /// The largest share of the declared change under which it was still among the reasons.
    pub holds: Option<f64>,
    /// From where to where the value of its column may move alone, in its own unit, while the reasons are proved to stay the same;
    /// absent where there is no proof.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tolerance: Option<String>,
}
