//! The share of rows whose top-k set no change that was found could change.

use super::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::registry::Direction;

/// The entry of the table.
pub static FIGURE: Figure = Figure {
    id: "unchanged",
    key: "unchanged",
    label: "unchanged",
    title: "Unchanged",
    meaning: "share of {rows} whose {k} {reasons} no change that was found could change",
    direction: Direction::Higher,
    unit: Unit::Share,
    of_row: OfRow::Follows(|row| f64::from(u8::from(row.precision >= 1.0))),
    sum: SumBy::Share,
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: None,
};
