//! What is summed over the rows while they are audited; everything else is made from the rows in brief at the end.
//!
//! Sums run over the rows in their order, so they do not depend on where one chunk ends and the next begins.

use serde::{Deserialize, Serialize};

use super::measure::Measured;
use super::result::AttackScore;
use crate::Result;
use crate::check::as_f64;
use crate::statistics::mean;

/// Sums over the rows so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunningTotals {
    /// Of each importance.
    pub(super) importance: Vec<f64>,
    /// Of the largest importance, the second largest, and so on.
    pub(super) magnitudes: Vec<f64>,
    /// Of each member of the suite.
    pub(super) members: Vec<MemberTotals>,
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

impl RunningTotals {
    /// Takes up the next rows.
    pub(super) fn add(&mut self, measured: &Measured, k: usize) {
        for importance in &measured.importance {
            let mut sorted = importance.clone();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            add(&mut self.importance, importance);
            add(&mut self.magnitudes, &sorted);
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
            for precision in &member.precision {
                sum.kept[kept(*precision, k)] += 1;
            }
        }
    }

    /// Whether it has the sizes of an audit with so many importances, after so many rows.
    pub(super) fn fits(&self, importances: usize, k: usize, rows: usize) -> bool {
        self.importance.len() == importances
            && self.magnitudes.len() == importances
            && !self.members.is_empty()
            && self.members.iter().all(|member| {
                member.kept.len() == k + 1 && member.kept.iter().sum::<usize>() == rows
            })
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
        self.members.iter().map(score).collect()
    }
}

fn add(sums: &mut Vec<f64>, values: &[f64]) {
    sums.resize(values.len(), 0.0);
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
