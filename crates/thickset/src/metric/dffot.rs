//! DFFOT, the decision flip fraction of tokens: the least share of features whose removal, most important first, changes
//! the predicted class.
//!
//! `min k/n such that argmax f(x without its top k) != argmax f(x)`, R2ET B.1.4. When no removal changes the class it is 1.

use crate::Result;
use crate::audit::figure::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::check::{as_f64, check_not_empty};
use crate::registry::{Direction, Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "dffot",
    label: "DFFOT",
    family: Family::Metric,
    summary: "Least share of the most important features whose removal changes the predicted class",
    formula: "min_k k/n such that argmax f(x) != argmax f(x_[\\k]); 1 if there is none",
    source: "R2ET, B.1.4",
    direction: Some(Direction::Lower),
    cost: "up to n predictions a row",
    defaults: &[Setting::in_words(
        "removal",
        "0",
        "what a removed feature is set to",
    )],
};

/// The entry of an audit's table of figures.
pub static FIGURE: Figure = Figure {
    id: "dffot",
    key: "dffot",
    label: "DFFOT",
    title: "DFFOT",
    meaning: "share of {features} to remove, the most important first, until the prediction changes",
    direction: Direction::Lower,
    unit: Unit::Share,
    of_row: OfRow::Measured(|part| part.faithful(|found| found.dffot)),
    sum: SumBy::Mean { range: [0.0, 1.0] },
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: Some(&INFO),
};

/// The share of features removed when the class first changes; in `(0, 1]`, lower is more faithful. `without[k - 1]` is
/// the class predicted without the `k` most important of the features, for k = 1 to n.
///
/// # Errors
/// When there is no feature.
pub fn score(original: usize, without: &[usize]) -> Result<f64> {
    check_not_empty("the classes of the changed inputs", without)?;
    let first = without.iter().position(|class| *class != original);
    Ok(first.map_or(1.0, |index| as_f64(index + 1) / as_f64(without.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_flip_counts_even_when_the_class_comes_back() {
        assert!((score(1, &[1, 0, 1, 0]).unwrap() - 0.5).abs() < 1e-15);
    }

    #[test]
    fn no_flip_is_one() {
        assert!((score(1, &[1, 1, 1]).unwrap() - 1.0).abs() < 1e-15);
    }
}
