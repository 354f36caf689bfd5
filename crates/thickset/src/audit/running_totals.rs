//! What is summed over the rows while they are audited; everything else is made from the rows in brief at the end.
//!
//! Numbers are summed in blocks of [`BLOCK`] rows, each from zero, and the blocks are added in their order. So the bits
//! depend neither on where one chunk of rows ends nor on who summed which block.

use serde::{Deserialize, Serialize};

use super::measure::Measured;
use super::result::AttackScore;
use crate::Result;
use crate::check::as_f64;
use crate::statistics::mean;

/// Rows of a block.
pub(crate) const BLOCK: usize = 256;

/// Sums over the rows so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunningTotals {
    /// Rows so far.
    rows: usize,
    /// Of each importance.
    importance: BlockSums,
    /// Of the largest importance, the second largest, and so on.
    magnitudes: BlockSums,
    /// Of each member of the suite.
    members: Vec<MemberTotals>,
    /// Each block by itself, where they are kept: for one machine's part of the rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    blocks: Option<Vec<BlockTotals>>,
}

/// The sums over one block of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BlockTotals {
    rows: usize,
    importance: Vec<f64>,
    magnitudes: Vec<f64>,
}

/// Sums of several numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct BlockSums {
    /// Over the blocks that are whole.
    whole: Vec<f64>,
    /// Over the rows of the block that has begun.
    begun: Vec<f64>,
}

impl BlockSums {
    /// Takes up the values of one row.
    fn add(&mut self, values: &[f64]) {
        add(&mut self.begun, values);
    }

    /// Ends a block; its sums.
    fn end_block(&mut self) -> Vec<f64> {
        let block = std::mem::take(&mut self.begun);
        add(&mut self.whole, &block);
        block
    }

    /// Over all rows.
    fn total(&self) -> Vec<f64> {
        let mut total = self.whole.clone();
        add(&mut total, &self.begun);
        total
    }
}

/// What one member of the suite found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MemberTotals {
    attack: String,
    surrogate: Option<f64>,
    shares: bool,
    /// How many rows kept 0, 1, …, k of their top-k features.
    kept: Vec<usize>,
}

impl MemberTotals {
    /// Takes up what the same member found at other rows.
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, more) in self.kept.iter_mut().zip(&other.kept) {
            *sum += more;
        }
    }
}

impl RunningTotals {
    /// Takes up the next rows.
    pub(super) fn add(&mut self, measured: &Measured, k: usize) {
        for importance in &measured.importance {
            let mut sorted = importance.clone();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            self.importance.add(importance);
            self.magnitudes.add(&sorted);
            self.rows += 1;
            if self.rows.is_multiple_of(BLOCK) {
                self.end_block(BLOCK);
            }
        }
        if self.members.is_empty() {
            self.members = measured
                .members
                .iter()
                .map(|member| MemberTotals {
                    attack: member.attack.to_owned(),
                    surrogate: member.surrogate,
                    shares: member.shares,
                    kept: vec![0; k + 1],
                })
                .collect();
        }
        for (sum, member) in self.members.iter_mut().zip(&measured.members) {
            for precision in member.precision.iter().flatten() {
                sum.kept[kept(*precision, k)] += 1;
            }
        }
    }

    fn end_block(&mut self, rows: usize) {
        let block = BlockTotals {
            rows,
            importance: self.importance.end_block(),
            magnitudes: self.magnitudes.end_block(),
        };
        if let Some(blocks) = &mut self.blocks {
            blocks.push(block);
        }
    }

    /// Keeps each block by itself from now on, as long as no row came.
    pub(super) fn keep_blocks(&mut self) {
        self.blocks.get_or_insert_default();
    }

    /// The blocks that ended since this was asked last; none where they are not kept.
    pub(super) fn drain_blocks(&mut self) -> Vec<BlockTotals> {
        self.blocks.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The last block, if it is not full, and the members.
    pub(super) fn into_parts(mut self) -> (Vec<BlockTotals>, Vec<MemberTotals>) {
        let rest = self.rows % BLOCK;
        if rest > 0 {
            self.end_block(rest);
        }
        (self.drain_blocks(), self.members)
    }

    /// The totals of blocks that were summed elsewhere, in their order.
    pub(super) fn of_parts(blocks: &[BlockTotals], members: Vec<MemberTotals>) -> Self {
        let mut totals = Self {
            members,
            ..Self::default()
        };
        for block in blocks {
            totals.rows += block.rows;
            add(&mut totals.importance.whole, &block.importance);
            add(&mut totals.magnitudes.whole, &block.magnitudes);
        }
        totals
    }

    /// Of each importance.
    pub(super) fn importance(&self) -> Vec<f64> {
        self.importance.total()
    }

    /// Of the largest importance, the second largest, and so on.
    pub(super) fn magnitudes(&self) -> Vec<f64> {
        self.magnitudes.total()
    }

    /// The members' scores.
    pub(super) fn attacks(&self, k: usize) -> Result<Vec<AttackScore>> {
        let score = |member: &MemberTotals| {
            let counts = member.kept.iter().enumerate();
            let counts: Vec<(f64, usize)> = counts
                .map(|(kept, rows)| (as_f64(kept) / as_f64(k), *rows))
                .collect();
            Ok(AttackScore {
                attack: member.attack.clone(),
                surrogate: member.surrogate,
                shares: member.shares,
                precision_at_k: mean::of_counts(&counts)?.of_share(),
            })
        };
        // One that was run on no row has none.
        let run = |member: &&MemberTotals| member.kept.iter().any(|rows| *rows > 0);
        self.members.iter().filter(run).map(score).collect()
    }
}

fn add(sums: &mut Vec<f64>, values: &[f64]) {
    sums.resize(values.len().max(sums.len()), 0.0);
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// How many of `k` features a P@k stands for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a P@k lies in 0..=1"
)]
fn kept(precision: f64, k: usize) -> usize {
    ((precision * as_f64(k)).round() as usize).min(k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    /// Importances of so many rows.
    fn importances(rows: usize) -> Vec<Vec<f64>> {
        let mut stream = Seed::new(3).stream("importances");
        (0..rows)
            .map(|_| vec![stream.uniform(), 1e3 * stream.normal()])
            .collect()
    }

    /// The totals of rows that come in chunks of this size.
    fn in_chunks(rows: &[Vec<f64>], chunk: usize) -> RunningTotals {
        let mut totals = RunningTotals::default();
        for rows in rows.chunks(chunk) {
            let measured = Measured {
                rows: Vec::new(),
                importance: rows.to_vec(),
                members: Vec::new(),
            };
            totals.add(&measured, 1);
        }
        totals
    }

    #[test]
    fn the_cut_into_chunks_changes_no_bit() {
        let rows = importances(3 * BLOCK + 17);
        let whole = in_chunks(&rows, rows.len());
        for chunk in [1, 100, BLOCK, 300] {
            assert_eq!(in_chunks(&rows, chunk), whole, "{chunk}");
        }
    }

    #[test]
    fn blocks_that_others_summed_add_up_to_the_same_bits() {
        let rows = importances(5 * BLOCK + 9);
        let mut total = vec![0.0; 2];
        for block in rows.chunks(BLOCK) {
            // Whoever sums a block sees none of the others.
            add(&mut total, &in_chunks(block, 50).importance());
        }
        assert_eq!(total, in_chunks(&rows, rows.len()).importance());
    }

    #[test]
    fn three_rows_by_hand() {
        let rows = [vec![1.0, 5.0], vec![4.0, 2.0], vec![0.5, 0.5]];
        let totals = in_chunks(&rows, 2);
        assert_eq!(totals.importance(), [5.5, 7.5]);
        assert_eq!(totals.magnitudes(), [9.5, 3.5]);
    }

    fn measured(importance: Vec<Vec<f64>>, precision: Vec<f64>) -> Measured {
        Measured {
            rows: Vec::new(),
            importance,
            members: vec![crate::attack::suite::MemberScore {
                attack: "random",
                surrogate: None,
                shares: false,
                precision: precision.into_iter().map(Some).collect(),
            }],
        }
    }

    #[test]
    fn rows_of_a_member_are_counted_by_what_they_kept() {
        let mut totals = RunningTotals::default();
        totals.add(&measured(vec![vec![1.0]; 3], vec![0.0, 0.75, 0.75]), 4);
        totals.add(&measured(vec![vec![1.0]], vec![1.0]), 4);
        assert_eq!(totals.members[0].kept, [1, 0, 0, 2, 1]);
        let attacks = totals.attacks(4).unwrap();
        assert_eq!(
            (attacks[0].attack.as_str(), attacks[0].precision_at_k.count),
            ("random", 4)
        );
        assert!((attacks[0].precision_at_k.value - 0.625).abs() < 1e-12);
        let mut sum = totals.members[0].clone();
        sum.add(&totals.members[0]);
        assert_eq!(sum.kept, [2, 0, 0, 4, 2]);
    }

    #[test]
    fn a_member_that_was_run_on_no_row_has_no_score() {
        let mut totals = RunningTotals::default();
        let mut some = measured(vec![vec![1.0]; 2], vec![0.5, 1.0]);
        some.members.push(some.members[0].clone());
        some.members[0].precision = vec![None; 2];
        some.members[1].precision[0] = None;
        totals.add(&some, 2);
        let attacks = totals.attacks(2).unwrap();
        assert_eq!((attacks.len(), attacks[0].precision_at_k.count), (1, 1));
        assert!((attacks[0].precision_at_k.value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn blocks_are_kept_where_that_is_asked_the_last_one_begun() {
        let rows = importances(2 * BLOCK + 5);
        let mut totals = RunningTotals::default();
        totals.keep_blocks();
        totals.add(&measured(rows.clone(), vec![1.0; rows.len()]), 1);
        assert_eq!(totals.blocks.as_ref().map(Vec::len), Some(2));
        let (blocks, members) = totals.clone().into_parts();
        assert_eq!(
            blocks.iter().map(|block| block.rows).collect::<Vec<_>>(),
            [BLOCK, BLOCK, 5]
        );
        let again = RunningTotals::of_parts(&blocks, members);
        assert_eq!(again.rows, rows.len());
        assert_eq!(again.importance(), totals.importance());
        assert_eq!(again.magnitudes(), totals.magnitudes());
        assert_eq!(totals.drain_blocks().len(), 2);
        assert!(totals.drain_blocks().is_empty());
        // A whole number of blocks leaves no rest.
        let mut even = RunningTotals::default();
        even.keep_blocks();
        even.add(&measured(rows[..BLOCK].to_vec(), vec![1.0; BLOCK]), 1);
        assert_eq!(even.into_parts().0.len(), 1);
    }
}
