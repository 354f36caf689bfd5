//! The rows of a suite while its members run: the worst of each so far, and which of them could still get worse.
//!
//! A row leaves when nothing of its set is left in it, or when what was found is what is proved to stay. No attack finds worse there,
//! so leaving changes nothing of the result.

use thickset_engine::Network;

use super::super::CheckedAttack;
use super::super::outcome::Attacked;
use super::super::start_points::StartPoints;
use crate::certify::CertifiedWorstCase;
use crate::explain::Points;
use crate::{Result, Seed};

/// The rows of a suite while its members run.
pub(super) struct Progress<'a> {
    network: &'a Network,
    rows: Points<'a>,
    /// What is proved of each row, where something was asked.
    proved: Option<&'a [CertifiedWorstCase]>,
    worst: Vec<Option<Attacked>>,
}

impl<'a> Progress<'a> {
    /// Before the first member.
    pub(super) fn new(
        network: &'a Network,
        rows: Points<'a>,
        proved: Option<&'a [CertifiedWorstCase]>,
    ) -> Self {
        Self {
            network,
            rows,
            proved,
            worst: vec![None; rows.ids.len()],
        }
    }

    /// A row before the attacks.
    pub(super) fn row(&self, row: usize) -> &'a [f64] {
        let width = self.network.features();
        &self.rows.values[row * width..(row + 1) * width]
    }

    /// What an attack finds of the rows that could get worse, with their places.
    pub(super) fn attack_with(
        &self,
        attack: &CheckedAttack,
        seed: Seed,
    ) -> Result<Vec<(usize, Attacked)>> {
        let left: Vec<usize> = (0..self.worst.len())
            .filter(|row| !self.is_finished(*row, attack.k))
            .collect();
        if left.is_empty() {
            return Ok(Vec::new());
        }
        let (values, ids) = self.rows.at(self.network.features(), &left);
        let rows = Points {
            values: &values,
            ids: &ids,
        };
        let found = attack.perturb(self.network, rows, seed)?;
        Ok(left.into_iter().zip(found).collect())
    }

    /// Keeps what was found of a row if it is the worst so far.
    pub(super) fn add(&mut self, row: usize, found: Attacked) {
        let worst = &mut self.worst[row];
        *worst = Some(match worst.take() {
            None => found,
            Some(worst) => worst.worse(found),
        });
    }

    /// Attacks the rows that could get worse, and keeps what is.
    pub(super) fn go_on_with(&mut self, attack: &CheckedAttack, seed: Seed) -> Result<()> {
        for (row, found) in self.attack_with(attack, seed)? {
            self.add(row, found);
        }
        Ok(())
    }

    /// The worst points so far, to search on from.
    pub(super) fn start_points(&self) -> StartPoints {
        let worst = self.worst.iter().enumerate();
        StartPoints::new(worst.filter_map(|(row, worst)| {
            let point = worst.as_ref()?.perturbed.as_slice();
            Some((self.rows.ids[row], self.row(row), point))
        }))
    }

    /// The worst of each row.
    pub(super) fn into_worst(self) -> Vec<Attacked> {
        self.worst.into_iter().flatten().collect()
    }

    /// Whether nothing worse than what was found of a row can be found.
    fn is_finished(&self, row: usize, k: usize) -> bool {
        let Some(worst) = &self.worst[row] else {
            return false;
        };
        let kept = self.proved.map_or(0, |proved| proved[row].kept_at_least);
        k - worst.lost(k) <= kept
    }
}
