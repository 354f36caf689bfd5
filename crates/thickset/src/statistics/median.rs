//! The median with an interval that assumes nothing about the distribution.
//!
//! Between the l-th value from below and from above, with the largest l for which fewer than l of n fair coins show heads
//! with probability 0.025 at most. It covers at least 95%, and exists from six rows on.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::{CONFIDENCE, Estimate, Interval, check};
use crate::Result;

/// The median of the rows' values; of an even number of them, the mean of the middle two.
///
/// # Errors
/// When there is no value, or one is not finite.
pub fn estimate(values: &[f64]) -> Result<Estimate> {
    check("the values", values)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    let value = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
    let outside = values_outside(count);
    let interval = (outside > 0).then(|| Interval {
        low: sorted[outside - 1],
        high: sorted[count - outside],
    });
    Ok(Estimate {
        value,
        interval,
        count,
    })
}

/// The largest l with P(heads < l) at most half of what the interval may miss; 0 when there is none.
fn values_outside(count: usize) -> usize {
    let Ok(coins) = Binomial::new(0.5, count as u64) else {
        return 0;
    };
    let tail = (1.0 - CONFIDENCE) / 2.0;
    // The condition holds up to some l and fails from there on; below half of the coins, it is sure to fail at the end.
    let (mut holds, mut fails) = (0, count / 2 + 1);
    while fails - holds > 1 {
        let middle = usize::midpoint(holds, fails);
        if coins.cdf(middle as u64 - 1) <= tail {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_ranks() {
        // Tables of the sign test's critical values: l = 1 for 6 to 8, 2 for 9 to 11, 3 for 12 to 14, 40 for 100.
        for (count, expected) in [(5, 0), (6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (100, 40)] {
            assert_eq!(values_outside(count), expected, "{count}");
        }
    }

    #[test]
    fn ten_values_lie_between_the_second_and_the_ninth() {
        let values: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        let found = estimate(&values).unwrap();
        assert!((found.value - 5.5).abs() < 1e-15);
        assert_eq!(
            found.interval,
            Some(Interval {
                low: 2.0,
                high: 9.0
            })
        );
    }

    #[test]
    fn five_values_are_too_few_for_an_interval() {
        let found = estimate(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!(
            found,
            Estimate {
                value: 3.0,
                interval: None,
                count: 5
            }
        );
    }

    #[test]
    fn a_single_value_is_its_own_median() {
        assert_eq!(
            estimate(&[0.25]).unwrap(),
            Estimate {
                value: 0.25,
                interval: None,
                count: 1
            }
        );
    }
}
