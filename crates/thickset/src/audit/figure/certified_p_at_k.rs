//! The P@k that is proved: every move of the threat set that keeps the prediction keeps at least this share of the top k.
//!
//! Never above the P@k under attack; where the two are one number, it is the worst case itself.

use super::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::certify::certified_worst_case;
use crate::registry::Direction;

/// The entry of the table.
pub static FIGURE: Figure = Figure {
    id: "certified_p_at_k",
    key: "certified_precision_at_k",
    label: "certified P@{k}",
    title: "Certified P@{k}",
    meaning: "share of the {k} {reasons} that stay whatever the small change, proved",
    direction: Direction::Higher,
    unit: Unit::Share,
    of_row: OfRow::Certified(|certificate| certificate.precision),
    sum: SumBy::Mean { range: [0.0, 1.0] },
    baseline: Baseline::No,
    compare: CompareBy::Rows,
    is_main: true,
    method: Some(&certified_worst_case::INFO),
};
