//! Which rows of a file, or of a part of a dataset, are taken: all, the first, a sample, some by number; and which of these one
//! machine of several takes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::str::FromStr;

use crate::audit::BLOCK;
use crate::{Error, Result, Seed};

/// Which rows are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RowChoice {
    /// All of them.
    #[default]
    All,
    /// At most so many, from the first on.
    First(usize),
    /// At most so many, drawn at random by the seed, in their order.
    Sample {
        /// How many.
        count: usize,
        /// Decides the draw.
        seed: Seed,
    },
    /// Those with these numbers, counted from 1 in the whole dataset or file, in this order.
    Only(Vec<u64>),
}

/// The places of a sample of `count` among `all` rows, ascending: those whose numbers draw the lowest keys. So a row's chance does
/// not depend on the others, and a stream can be sampled while it is read.
pub(super) struct Sampler {
    count: usize,
    seed: Seed,
    /// The largest key on top.
    heap: BinaryHeap<(u64, Reverse<u64>)>,
}

impl Sampler {
    pub(super) fn new(count: usize, seed: Seed) -> Self {
        Self {
            count,
            seed,
            heap: BinaryHeap::new(),
        }
    }

    /// Offers a row; whether it is in the sample of the rows so far, and the row that left it.
    pub(super) fn offer(&mut self, row: u64) -> (bool, Option<u64>) {
        let key = self.seed.stream_at("sample of rows", row).bits();
        self.heap.push((key, Reverse(row)));
        if self.heap.len() <= self.count {
            return (true, None);
        }
        match self.heap.pop() {
            Some((_, Reverse(left))) if left == row => (false, None),
            Some((_, Reverse(left))) => (true, Some(left)),
            None => (false, None),
        }
    }

    /// The sampled rows, ascending.
    pub(super) fn rows(self) -> Vec<u64> {
        let mut rows: Vec<u64> = self.heap.into_iter().map(|(_, Reverse(row))| row).collect();
        rows.sort_unstable();
        rows
    }
}

/// One of several machines that share the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shard {
    /// Which one, counted from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl Shard {
    /// All rows on one machine.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Whether there is such a machine, among as many as there may be.
    #[must_use]
    pub fn exists(self) -> bool {
        (1..=MOST_SHARDS).contains(&self.of) && (1..=self.of).contains(&self.number)
    }

    /// Whether the rows are shared at all.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// The places of its rows among `rows`: whole blocks, as many for each as can be, so that sums over blocks do not depend on the
    /// cut.
    #[must_use]
    pub fn places(self, rows: usize) -> Range<usize> {
        let blocks = rows.div_ceil(BLOCK);
        let end = |number: usize| {
            let before = blocks.saturating_mul(number) / self.of.max(1);
            before.saturating_mul(BLOCK).min(rows)
        };
        end(self.number.saturating_sub(1))..end(self.number)
    }
}

impl Shard {
    /// Whether what it writes of `rows` follows what another machine writes: a table's first line is written by whoever has the first
    /// row. Where there are more machines than blocks of rows, that may be another one than the first.
    #[must_use]
    pub fn follows_another(self, rows: usize) -> bool {
        let places = self.places(rows);
        !self.is_whole() && (places.start > 0 || places.is_empty())
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.split_once('/').and_then(|(number, of)| {
            Some(Self {
                number: number.trim().parse().ok()?,
                of: of.trim().parse().ok()?,
            })
        });
        parsed
            .filter(|shard| shard.exists())
            .ok_or_else(|| Error::Shard {
                got: text.to_owned(),
            })
    }
}

/// The most shards.
const MOST_SHARDS: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_whole_blocks_and_every_row_is_in_one() {
        for rows in [1, 255, 256, 257, 5 * BLOCK + 9, 100 * BLOCK] {
            for of in [1, 2, 7, 64] {
                let mut next = 0;
                for number in 1..=of {
                    let places = Shard { number, of }.places(rows);
                    assert_eq!(places.start, next);
                    assert!(places.end.is_multiple_of(BLOCK) || places.end == rows);
                    next = places.end;
                }
                assert_eq!(next, rows);
                let first = (1..=of).filter(|&number| !Shard { number, of }.follows_another(rows));
                assert_eq!(first.count(), 1, "one of {of} has the first of {rows} rows");
            }
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        assert_eq!(
            "3/64".parse::<Shard>().unwrap(),
            Shard { number: 3, of: 64 }
        );
        for text in ["", "3", "0/4", "5/4", "1/0", "a/b", "1/2/3", "-1/4"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order_and_is_fair_enough() {
        let sample = |rows: &mut dyn Iterator<Item = u64>| {
            let mut sampler = Sampler::new(100, Seed::new(5));
            rows.for_each(|row| {
                sampler.offer(row);
            });
            sampler.rows()
        };
        let forward = sample(&mut (0..1000));
        assert_eq!(forward, sample(&mut (0..1000).rev()));
        assert_eq!(forward.len(), 100);
        let low = forward.iter().filter(|row| **row < 500).count();
        assert!(
            (30..=70).contains(&low),
            "{low} of 100 are of the first half"
        );
        assert_eq!(sample(&mut (0..40)).len(), 40);
    }
}
