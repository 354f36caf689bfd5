//! The share of rows whose whole top-k set is proved to stay.

use super::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit, certified_p_at_k};
use crate::audit::result::RowRecord;
use crate::registry::Direction;

/// The entry of the table.
pub static FIGURE: Figure = Figure {
    id: "certified",
    key: "certified",
    label: "certified",
    title: "Certified",
    meaning: "share of {rows} whose {k} {reasons} are proved to stay whatever the small change",
    direction: Direction::Higher,
    unit: Unit::Share,
    of_row: OfRow::MayFollow(of),
    sum: SumBy::Share,
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: None,
};

fn of(row: &RowRecord) -> Option<f64> {
    let precision = certified_p_at_k::FIGURE.of_row(row)?;
    Some(f64::from(u8::from(precision >= 1.0)))
}
