//! Features in the order of their importance, descending, ties to the lower index.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, sum_of_pairs, vectorised};

use crate::check::as_f64;

/// Orders features by importance, descending, ties to the lower index, by keys whose integer order is that of the values.
#[derive(Default)]
pub(super) struct Order(Vec<(u64, u32)>);

/// The bits of a float that is not negative are in the order of its value, those of a negative one in the reverse. The two
/// zeros are one number.
const SIGN: u64 = 1 << 63;

fn key(importance: f64) -> u64 {
    let bits = (importance + 0.0).to_bits();
    let ascending = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    u64::MAX - ascending
}

/// The importance of an entry of an order.
pub(super) fn importance(entry: (u64, u32)) -> f64 {
    let ascending = u64::MAX - entry.0;
    f64::from_bits(if ascending & SIGN == 0 {
        !ascending
    } else {
        ascending ^ SIGN
    })
}

impl Order {
    fn fill(&mut self, row: &[f64]) {
        self.0.clear();
        let keys = row.iter().zip(0_u32..);
        self.0
            .extend(keys.map(|(value, feature)| (key(*value), feature)));
    }

    /// The k first features in any order, then the rest.
    pub(super) fn split(&mut self, row: &[f64], k: usize) -> &[(u64, u32)] {
        if row.len() <= FEW {
            return self.sorted(row);
        }
        self.fill(row);
        self.0.select_nth_unstable(k - 1);
        &self.0
    }

    /// All features.
    pub(super) fn sorted(&mut self, row: &[f64]) -> &[(u64, u32)] {
        if row.len() > FEW {
            self.fill(row);
            self.0.sort_unstable();
            return &self.0;
        }
        let ranks = vectorised(Ranks(row));
        self.0.resize(row.len(), (0, 0));
        for ((value, rank), feature) in row.iter().zip(ranks).zip(0_u32..) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "ranks are whole numbers from 0"
            )]
            let rank = rank as usize;
            self.0[rank] = (key(*value), feature);
        }
        &self.0
    }
}

/// So few features are ordered faster by comparing each with all others, many at a time, than by sorting them.
pub(super) const FEW: usize = 64;

/// Features that are compared side by side.
const LANES: usize = 16;

/// The rank of each feature of a row of at most [`FEW`], from 0: how many others come before it.
pub(super) struct Ranks<'a>(pub &'a [f64]);

impl VectorLoop for Ranks<'_> {
    type Output = [f64; FEW];

    #[inline(always)]
    fn run(self) -> [f64; FEW] {
        let row = self.0;
        let mut own = [f64::NEG_INFINITY; FEW];
        own[..row.len()].copy_from_slice(row);
        let mut ranks = [0.0; FEW];
        let all = ranks.as_chunks_mut::<LANES>().0.iter_mut();
        let used = row.len().div_ceil(LANES);
        for (ranks, own) in all.zip(own.as_chunks::<LANES>().0).take(used) {
            let mut larger = [0.0; LANES];
            for other in row {
                for lane in 0..LANES {
                    larger[lane] += if *other > own[lane] { 1.0 } else { 0.0 };
                }
            }
            *ranks = larger;
        }
        // Of two features one is larger, unless they are equal; then the one with the lower index comes first.
        let pairs = as_f64(row.len() * (row.len() - 1) / 2);
        if sum_of_pairs(&ranks[..row.len()], row, |rank, _| rank) < pairs {
            for feature in 0..row.len() {
                let own = key(row[feature]);
                let before = row[..feature].iter().filter(|it| key(**it) == own);
                ranks[feature] += as_f64(before.count());
            }
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_few_features_are_those_of_a_stable_sort() {
        let mut stream = crate::Seed::new(6).stream("orders");
        for length in 1..=FEW + 1 {
            // Few values, so that there are ties, of both signs and both zeros.
            let value = |stream: &mut crate::Stream| match stream.below(8) {
                0 => -0.0,
                level => as_f64(level) - 3.0,
            };
            let row: Vec<f64> = (0..length).map(|_| value(&mut stream)).collect();
            let mut expected: Vec<usize> = (0..length).collect();
            expected.sort_by(|&a, &b| (row[b] + 0.0).total_cmp(&(row[a] + 0.0)));
            let mut order = Order::default();
            let got: Vec<usize> = order.sorted(&row).iter().map(|it| it.1 as usize).collect();
            assert_eq!(got, expected);
            let k = length.div_ceil(2);
            let split = order.split(&row, k).iter().map(|it| it.1 as usize);
            let mut salient: Vec<usize> = split.take(k).collect();
            salient.sort_unstable();
            expected.truncate(k);
            expected.sort_unstable();
            assert_eq!(salient, expected);
        }
    }

    #[test]
    fn keys_are_in_the_descending_order_of_the_values_and_give_them_back() {
        let values = [f64::MAX, 1.0, 1e-300, 0.0, -1e-300, -1.0, f64::MIN];
        assert!(values.map(key).is_sorted());
        for value in values {
            assert_eq!(importance((key(value), 0)).to_bits(), value.to_bits());
        }
    }
}
