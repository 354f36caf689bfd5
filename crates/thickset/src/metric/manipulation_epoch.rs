//! Manipulation epoch: how many steps an attack needs before the ranking gives way.
//!
//! The first step, counted from 1, after which P@k lies below a bound: 1 for tables, 0.8 for images and graphs, whose
//! many features always exchange a few places at once (R2ET B.2.1).

use crate::Result;
use crate::check::{check_finite, check_not_empty};
use crate::data::InputShape;
use crate::registry::{Direction, Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "manipulation-epoch",
    label: "Manipulation epoch",
    family: Family::Metric,
    summary: "First attack step after which P@k lies below a bound",
    formula: "min {t : P@k(I(x), I(x_t)) < bound}",
    source: "R2ET, B.2.1",
    direction: Some(Direction::Higher),
    cost: "one explanation a step",
    defaults: &[Setting::in_words(
        "bound",
        "1.0",
        "P@k that counts as manipulated when undercut; 0.8 for images and graphs",
    )],
};

/// The bound for tables: any change of the top-k set counts.
pub const TABLE_BOUND: f64 = 1.0;

/// The bound for images and graphs.
pub const IMAGE_BOUND: f64 = 0.8;

/// The bound for inputs of this shape.
#[must_use]
pub fn bound(shape: &InputShape) -> f64 {
    match shape {
        InputShape::Table => TABLE_BOUND,
        InputShape::Image { .. } | InputShape::Graph { .. } => IMAGE_BOUND,
        InputShape::Pair { of } => bound(of),
    }
}

/// The first step, counted from 1, whose P@k lies below `bound`; `None` when the attack never got there.
/// `precisions[t]` is P@k after step `t + 1`. Later is more stable.
///
/// # Errors
/// When there is no step, or a value is not finite.
pub fn score(precisions: &[f64], bound: f64) -> Result<Option<usize>> {
    check_not_empty("the steps' P@k", precisions)?;
    check_finite("the steps' P@k", precisions)?;
    check_finite("the bound", &[bound])?;
    Ok(precisions
        .iter()
        .position(|precision| *precision < bound)
        .map(|index| index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_below_the_bound_counts_even_when_the_ranking_recovers() {
        assert_eq!(
            score(&[1.0, 0.875, 1.0, 0.5], TABLE_BOUND).unwrap(),
            Some(2)
        );
        assert_eq!(
            score(&[1.0, 0.875, 1.0, 0.5], IMAGE_BOUND).unwrap(),
            Some(4)
        );
    }

    #[test]
    fn a_ranking_that_holds_has_no_epoch() {
        assert_eq!(score(&[1.0, 1.0], TABLE_BOUND).unwrap(), None);
        assert_eq!(score(&[0.8], IMAGE_BOUND).unwrap(), None);
    }

    #[test]
    fn nan_is_refused() {
        assert!(score(&[f64::NAN], 1.0).is_err());
        assert!(score(&[1.0], f64::NAN).is_err());
        assert!(score(&[], 1.0).is_err());
    }

    #[test]
    fn a_pair_has_the_bound_of_what_it_is_a_pair_of() {
        let image = InputShape::Image {
            channels: 1,
            height: 8,
            width: 8,
        };
        let pair = |of: &InputShape| InputShape::Pair {
            of: Box::new(of.clone()),
        };
        for (shape, expected) in [
            (InputShape::Table, TABLE_BOUND),
            (InputShape::Graph { nodes: 4 }, IMAGE_BOUND),
            (pair(&InputShape::Table), TABLE_BOUND),
            (pair(&image), IMAGE_BOUND),
            (image, IMAGE_BOUND),
        ] {
            assert!((bound(&shape) - expected).abs() < 1e-15, "{shape:?}");
        }
    }
}
