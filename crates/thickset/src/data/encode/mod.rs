//! From a table's columns to numbers: what each column is, how it is scaled, and what the training rows taught.

pub(super) mod cells;
pub(super) mod encoding;
pub(super) mod feature_rule;
pub(super) mod given;
mod identifier;
pub(super) mod infer;
pub(super) mod number_encoding;
