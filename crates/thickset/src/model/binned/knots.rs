//! Where the pieces of a feature begin and end.
//!
//! A value that more than one in `bins` training rows have (as the zero of a capital gain) is a knot, and so are the quantiles `i / bins` of the
//! other rows: plain quantiles of such a column are nearly all that one value, and tell nothing of the rest. The least and the greatest
//! value are the outer knots. A feature of two values needs no bins: between them it is a line anyway.

use crate::data::{Dataset, FeatureKind, Part};

/// How far below the least training value a feature is still passed on, as a share of its range.
const ROOM: f64 = 0.25;

/// Bins narrower than this share of the range are joined with the next one.
const LEAST_WIDTH: f64 = 1e-4;

/// The pieces of a feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pieces {
    /// What the unit that passes the feature on adds to it.
    pub(super) offset: f64,
    /// The ends of the bins, ascending; none, or at least three.
    pub(super) knots: Vec<f64>,
}

impl Pieces {
    /// The unit that passes it on, and one a bin.
    pub(super) fn units(&self) -> usize {
        self.knots.len().max(1)
    }
}

/// The pieces of every feature, learned from the training rows; of those that are no numbers there are no bins.
pub(super) fn pieces(dataset: &Dataset, bins: usize) -> Vec<Pieces> {
    let rows = dataset.gather(dataset.part(Part::Train));
    let features = dataset.schema.features.iter().enumerate();
    features
        .map(|(place, feature)| {
            let column = rows.iter().skip(place).step_by(dataset.features());
            let mut values: Vec<f64> = column.map(|value| f64::from(*value)).collect();
            values.sort_unstable_by(f64::total_cmp);
            let is_number = feature.kind == FeatureKind::Number;
            of_sorted(&values, if is_number { bins } else { 0 })
        })
        .collect()
}

fn of_sorted(values: &[f64], bins: usize) -> Pieces {
    let (Some(&low), Some(&high)) = (values.first(), values.last()) else {
        return Pieces {
            offset: ROOM,
            knots: Vec::new(),
        };
    };
    let range = if high > low { high - low } else { 1.0 };
    Pieces {
        offset: ROOM * range - low,
        knots: knots(values, bins),
    }
}

/// Ascending, from the least to the greatest value; none where they would be these two alone.
fn knots(values: &[f64], bins: usize) -> Vec<f64> {
    if bins < 2 || values.is_empty() {
        return Vec::new();
    }
    let many = values.len() / bins;
    let (low, high) = (values[0], values[values.len() - 1]);
    let mut found = vec![low];
    let mut rest = Vec::new();
    for same in values.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
        if same.len() > many {
            found.push(same[0]);
        } else {
            rest.extend_from_slice(same);
        }
    }
    for part in 0..=bins {
        if let Some(last) = rest.len().checked_sub(1) {
            found.push(rest[last * part / bins]);
        }
    }
    found.sort_unstable_by(f64::total_cmp);
    let least = LEAST_WIDTH * (high - low);
    let mut knots: Vec<f64> = Vec::with_capacity(found.len());
    for knot in found {
        if knots.last().is_none_or(|last| knot - last > least) {
            knots.push(knot);
        }
    }
    // The greatest value itself, in place of one that is next to it.
    match knots.last_mut() {
        Some(last) if high - *last <= least => *last = high,
        _ => knots.push(high),
    }
    if knots.len() < 3 {
        knots.clear();
    }
    knots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knots_of_evenly_spread_values_are_their_quantiles() {
        let values: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(knots(&values, 4), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(knots(&values, 1), [0.0; 0]);
        assert_eq!(of_sorted(&values, 4).units(), 5);
    }

    #[test]
    fn a_value_that_most_rows_have_does_not_hide_the_others() {
        // Ninety zeros and 1 to 10: plain quarters would all be 0.
        let mut values = vec![0.0; 90];
        values.extend((1..=10).map(f64::from));
        assert_eq!(knots(&values, 4), [0.0, 1.0, 3.0, 5.0, 7.0, 10.0]);
        // In the midst of the others it is a knot itself.
        let mut values: Vec<f64> = (1..=10).map(f64::from).collect();
        values.extend(vec![5.5; 90]);
        values.sort_unstable_by(f64::total_cmp);
        assert_eq!(knots(&values, 2), [1.0, 5.0, 5.5, 10.0]);
    }

    #[test]
    fn a_constant_and_a_flag_are_passed_on_alone() {
        let constant = of_sorted(&[3.0; 9], 16);
        assert_eq!((constant.offset, constant.units()), (0.25 - 3.0, 1));
        let flag = of_sorted(&[0.0, 0.0, 1.0], 16);
        assert_eq!((flag.offset, flag.units()), (0.25, 1));
    }

    #[test]
    fn values_that_are_nearly_the_same_share_a_knot() {
        let values = [0.0, 1e-9, 0.5, 1.0 - 1e-9, 1.0];
        assert_eq!(knots(&values, 8), [0.0, 0.5, 1.0]);
    }
}
