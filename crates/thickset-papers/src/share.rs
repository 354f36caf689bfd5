//! What one of several machines does of a bench.
//!
//! The cells of one seed need one another: a method's threshold is vanilla's AUC, and what is measured is what was chosen. Those of two
//! seeds do not. So machines share the seeds of each dataset and, where they are more than seeds, the methods of a seed, each with a
//! vanilla of its own. What all of them have done is what one machine would have done.

use thickset::model::Shard;

use crate::method::VANILLA;
use crate::runner::GridEntry;
use crate::store::Store;

/// Why a method has no number on this machine.
const ELSEWHERE: &str = "another machine does it";

/// The seeds of a dataset that fall to a machine, and the methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) seeds: Vec<u64>,
    /// Which of the machines that have the same seed this one is, counted from 0.
    rank: usize,
    /// How many have it.
    of: usize,
}

impl Share {
    /// Of a dataset with so many seeds; `turn` counts the datasets of a bench, so that what does not divide falls to another machine
    /// each time.
    pub(crate) fn new(shard: Shard, seeds: u64, turn: usize) -> Self {
        let count = usize::try_from(seeds).unwrap_or(usize::MAX).max(1);
        let place = (shard.number - 1 + turn) % shard.of;
        if shard.of <= count {
            let own = (0..seeds).skip(place).step_by(shard.of);
            return Self {
                seeds: own.collect(),
                rank: 0,
                of: 1,
            };
        }
        let seed = place % count;
        Self {
            seeds: vec![seed as u64],
            rank: place / count,
            of: (shard.of - seed).div_ceil(count),
        }
    }

    /// Leaves the methods of other machines out. Vanilla, which the others are compared with, is everyone's.
    pub(crate) fn leave_out(&self, entries: &mut [GridEntry]) {
        if self.of == 1 {
            return;
        }
        // A bench may train many small grids; where each begins is drawn, so that the first machine does not do all of them.
        let what: Vec<_> = entries
            .iter()
            .map(|entry| (&entry.id, &entry.settings))
            .collect();
        let key = Store::key("share", &what);
        let start = key.bytes().fold(0_usize, |sum, byte| {
            sum.wrapping_mul(31) ^ usize::from(byte)
        });
        let shared = entries
            .iter_mut()
            .filter(|entry| entry.refusal.is_none() && entry.id != VANILLA);
        for (place, entry) in shared.enumerate() {
            if (start % self.of + place) % self.of != self.rank {
                entry.refusal = Some(ELSEWHERE.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_falls_to_a_machine_and_every_method_of_it_to_one() {
        for seeds in 1..=5_u64 {
            for of in 1..=13 {
                for turn in 0..3 {
                    let shares =
                        (1..=of).map(|number| Share::new(Shard { number, of }, seeds, turn));
                    let shares: Vec<Share> = shares.collect();
                    for seed in 0..seeds {
                        let has = |share: &&Share| share.seeds.contains(&seed);
                        let mut ranks: Vec<(usize, usize)> = shares
                            .iter()
                            .filter(has)
                            .map(|share| (share.rank, share.of))
                            .collect();
                        ranks.sort_unstable();
                        let expected: Vec<(usize, usize)> =
                            (0..ranks.len()).map(|rank| (rank, ranks.len())).collect();
                        assert!(!ranks.is_empty());
                        assert_eq!(ranks, expected, "{seeds} seeds, {of} machines, turn {turn}");
                    }
                    assert!(shares.iter().all(|share| !share.seeds.is_empty()));
                }
            }
        }
    }
}
