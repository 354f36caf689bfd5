//! Named random streams of one run's seed.
//!
//! Every random draw of a run comes from a stream that is named after its purpose and, where there is one, the row it
//! serves. So a draw does not depend on how many draws others took, on the number of threads, or on the batch size.
//! A stream is `ChaCha8` keyed by SHA-256 of (seed, name, index). The mapping from generator words to numbers is written
//! here, and the logarithm is `libm`'s, so that the numbers are the same on every platform and after every upgrade.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Separates these keys from any other use of SHA-256; a new mapping gets a new number.
const DOMAIN: &[u8] = b"thickset stream 1";

/// The seed of a run: the root of all of its streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(u64);

impl Seed {
    /// The seed with this number.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number given to [`Seed::new`].
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The stream of one purpose. Asking twice gives the same draws twice.
    #[must_use]
    pub fn stream(self, name: &str) -> Stream {
        self.keyed(name, None)
    }

    /// The stream of one purpose for one item, such as a row; independent of every other index and of [`Seed::stream`].
    #[must_use]
    pub fn stream_at(self, name: &str, index: u64) -> Stream {
        self.keyed(name, Some(index))
    }

    fn keyed(self, name: &str, index: Option<u64>) -> Stream {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(self.0.to_le_bytes());
        // The flag and the fixed width of the index keep (name, index) free of collisions with longer names.
        match index {
            None => hash.update([0]),
            Some(index) => {
                hash.update([1]);
                hash.update(index.to_le_bytes());
            }
        }
        hash.update(name.as_bytes());
        Stream {
            words: ChaCha8Rng::from_seed(hash.finalize().into()),
            spare: None,
        }
    }
}

/// A source of random numbers; two streams of different names or seeds are independent.
#[derive(Debug)]
pub struct Stream {
    words: ChaCha8Rng,
    /// The second of the two normal draws that one step of the polar method makes.
    spare: Option<f64>,
}

impl Stream {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.words.next_u64()
    }

    /// Uniform in `[0, 1)`, a multiple of 2^-53.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `[low, high)`; may round to `high` where the two are far apart.
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Normal with mean 0 and standard deviation 1, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        if let Some(value) = self.spare.take() {
            return value;
        }
        loop {
            let x = 2.0 * self.uniform() - 1.0;
            let y = 2.0 * self.uniform() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * libm::log(square) / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    /// Uniform in `0..end`, without bias; 0 when `end` is 0.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the result is below `end`, which is a usize"
    )]
    pub fn below(&mut self, end: usize) -> usize {
        // Lemire's method: the high word of a 128-bit product, with the low words that would favour some values refused.
        let end = end as u64;
        if end == 0 {
            return 0;
        }
        let refused = end.wrapping_neg() % end;
        loop {
            let product = u128::from(self.bits()) * u128::from(end);
            if product as u64 >= refused {
                return (product >> 64) as usize;
            }
        }
    }

    /// Puts the items into a uniformly random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A uniformly random order of `0..count`.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        self.shuffle(&mut order);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(mut stream: Stream) -> [u64; 4] {
        std::array::from_fn(|_| stream.bits())
    }

    #[test]
    fn the_same_seed_and_name_give_the_same_draws() {
        assert_eq!(
            bits(Seed::new(7).stream("split")),
            bits(Seed::new(7).stream("split"))
        );
        assert_eq!(
            bits(Seed::new(7).stream_at("noise", 3)),
            bits(Seed::new(7).stream_at("noise", 3))
        );
    }

    #[test]
    fn seed_name_and_index_each_make_another_stream() {
        let all = [
            bits(Seed::new(7).stream("split")),
            bits(Seed::new(8).stream("split")),
            bits(Seed::new(7).stream("split2")),
            bits(Seed::new(7).stream_at("split", 0)),
            bits(Seed::new(7).stream_at("split", 1)),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(
                all[..i].iter().all(|other| other != one),
                "stream {i} repeats an earlier one"
            );
        }
    }

    #[test]
    fn a_shuffle_keeps_every_item_once() {
        let mut order = Seed::new(1).stream("order").permutation(1000);
        assert_ne!(order, (0..1000).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn below_reaches_every_value_about_equally_often() {
        let mut stream = Seed::new(2).stream("dice");
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6)] += 1;
        }
        // Five standard deviations of a binomial(60000, 1/6) are 456.
        assert!(
            counts.iter().all(|&count| count.abs_diff(10_000) < 456),
            "{counts:?}"
        );
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn normal_draws_have_mean_zero_and_variance_one() {
        let mut stream = Seed::new(3).stream("normal");
        let draws: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 1e5;
        // Five standard errors: 5 / sqrt(1e5) and 5 * sqrt(2 / 1e5).
        assert!(mean.abs() < 0.016, "{mean}");
        assert!((variance - 1.0).abs() < 0.023, "{variance}");
        let beyond_two = draws.iter().filter(|x| x.abs() > 2.0).count();
        assert!(
            (4200..4900).contains(&beyond_two),
            "{beyond_two} of 100000 beyond two, 4550 expected"
        );
    }

    #[test]
    fn uniform_draws_stay_in_their_interval() {
        let mut stream = Seed::new(4).stream("uniform");
        assert!(
            (0..10_000)
                .map(|_| stream.uniform())
                .all(|x| (0.0..1.0).contains(&x))
        );
        assert!(
            (0..10_000)
                .map(|_| stream.uniform_in(-2.0, 3.0))
                .all(|x| (-2.0..=3.0).contains(&x))
        );
    }

    #[test]
    fn the_numbers_never_change() {
        let mut stream = Seed::new(42).stream("golden");
        assert_eq!(stream.bits(), 17_285_703_178_803_436_164);
        assert_eq!(
            stream.uniform().to_bits(),
            0.011_037_631_933_813_796_f64.to_bits()
        );
        assert_eq!(
            stream.normal().to_bits(),
            0.927_734_647_943_853_1_f64.to_bits()
        );
        assert_eq!(stream.below(1000), 454);
        assert_eq!(stream.permutation(5), [3, 0, 1, 4, 2]);
    }
}
