//! The radius that is proved: no smaller move that keeps the prediction changes a row's top-k set. At most the audit's radius.

use super::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::certify::certified_radius;
use crate::registry::Direction;

/// The entry of the table.
pub static FIGURE: Figure = Figure {
    id: "certified_radius",
    key: "certified_radius",
    label: "certified radius",
    title: "Certified radius",
    meaning: "median over {rows} of the largest change, up to the audit's own, below which the {k} {reasons} are proved to stay",
    direction: Direction::Higher,
    unit: Unit::Score,
    of_row: OfRow::Certified(|certificate| certificate.radius),
    sum: SumBy::Median,
    baseline: Baseline::No,
    compare: CompareBy::Rows,
    is_main: false,
    method: Some(&certified_radius::INFO),
};
