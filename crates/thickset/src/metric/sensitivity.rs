//! Sensitivity: the share of rows whose predicted class an attack has changed.
//!
//! `1/N * #{ argmax_c f_c(x) != argmax_c f_c(x') }`. The paper calls it Sen: an attack on an explanation is caught by
//! whoever compares predictions, so a low value means a stealthy attack.

use crate::Result;
use crate::check::{as_f64, check_length, check_not_empty};
use crate::registry::{Direction, Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "sensitivity",
    label: "Sen",
    family: Family::Metric,
    summary: "Share of rows whose predicted class changed under the attack",
    formula: "#{argmax f(x) != argmax f(x')} / N",
    source: "R2ET, B.1.4",
    direction: Some(Direction::Lower),
    cost: "two predictions a row",
    defaults: &[],
};

/// The share of entries that differ; in `[0, 1]`, lower means that more predictions held.
///
/// # Errors
/// When there is no row, or the lists differ in length.
pub fn score(before: &[usize], after: &[usize]) -> Result<f64> {
    check_not_empty("the classes before", before)?;
    check_length("the classes after", after, before.len())?;
    let changed = before
        .iter()
        .zip(after)
        .filter(|(before, after)| before != after)
        .count();
    Ok(as_f64(changed) / as_f64(before.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_in_three_rows_is_a_third() {
        assert_eq!(
            score(&[0, 1, 1], &[0, 1, 0]).unwrap().to_bits(),
            (1.0_f64 / 3.0).to_bits()
        );
    }

    #[test]
    fn nothing_changed_is_zero() {
        assert_eq!(
            score(&[4, 4], &[4, 4]).unwrap().to_bits(),
            0.0_f64.to_bits()
        );
    }
}
