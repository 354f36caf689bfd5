//! The smallest change known to move a row's top-k set, beside the radius up to which none does.
//!
//! The two are one number where the search came to its end. At most the audit's radius, which stands where no change is known.

use super::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::registry::Direction;

/// The entry of the table.
pub static FIGURE: Figure = Figure {
    id: "changed_radius",
    key: "changed_radius",
    label: "changed radius",
    title: "Nearest change",
    meaning: "median over {rows} of the smallest change found, up to the audit's own, that moves the {k} {reasons}",
    direction: Direction::Higher,
    unit: Unit::Score,
    of_row: OfRow::Certified(|certificate| certificate.changed),
    sum: SumBy::Median,
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: None,
};
