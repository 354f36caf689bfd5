//! The radius up to which random changes leave a row's top-k set as it is: a tenth of the audit's radius at a time, in a few
//! directions.

use super::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::registry::Direction;

/// The entry of the table.
pub static FIGURE: Figure = Figure {
    id: "noise_radius",
    key: "noise_radius",
    label: "noise radius",
    title: "Noise radius",
    meaning: "median over {rows} of the largest tenth of the audit's radius up to which no random change moved the {k} {reasons}",
    direction: Direction::Higher,
    unit: Unit::Score,
    of_row: OfRow::Certified(|certificate| certificate.noise),
    sum: SumBy::Median,
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: None,
};
