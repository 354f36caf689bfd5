//! The share of rows that have an explanation: importances that are not all equal.
//!
//! A constant or saturated model gives every feature the importance 0. Then there is no ranking, the top k are the first k
//! by index, and nothing can change them. Such a row counts as not explained, and as not stable: its P@k, noise floor,
//! thickness and rank correlation are 0.

use super::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::Result;
use crate::audit::measure::MeasuredRows;
use crate::registry::Direction;

/// The entry of the table.
pub static FIGURE: Figure = Figure {
    id: "explained",
    key: "explained",
    label: "explained",
    title: "Explained",
    meaning: "share of {rows} whose {features} are not all equally important, so that there are {reasons}",
    direction: Direction::Higher,
    unit: Unit::Share,
    of_row: OfRow::Measured(measure),
    sum: SumBy::Share,
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: None,
};

#[expect(clippy::unnecessary_wraps, reason = "as the table has it")]
fn measure(part: &MeasuredRows<'_>) -> Result<Vec<f64>> {
    Ok(part.zero_without_ranking(vec![1.0; part.explained.len()]))
}

/// Whether importances rank features at all.
pub(in super::super) fn has_ranking(importance: &[f64]) -> bool {
    #[expect(
        clippy::float_cmp,
        reason = "equal importances have no order, and only they"
    )]
    importance.windows(2).any(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn importances_that_are_all_equal_rank_nothing() {
        assert!(!has_ranking(&[0.0, 0.0, -0.0]));
        assert!(!has_ranking(&[0.25; 4]));
        assert!(has_ranking(&[0.0, 0.0, 1e-300]));
    }
}
