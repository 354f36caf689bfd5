//! Every point: where a row can become only so many points, all of them are tried.
//!
//! Of a table whose other columns stay, a whole number or two may be all that can move within the ball. Then a set is a list, and
//! its worst point is found by going through it: nothing is left for other attacks to find, and what holds at every point is proved.
//! A [suite](super::suite) does so for each row whose list is shorter than what its members would try.

use rayon::prelude::*;
use thickset_engine::{DType, Network};

use super::CheckedAttack;
use super::outcome::Attacked;
use super::state::{AttackState, Networks, RowStatus};
use crate::certify::{CertifiedWorstCase, Counterexample, Status};
use crate::explain::Points;
use crate::registry::{Family, Info};
use crate::{Result, Seed};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "every-point",
    label: "Every point",
    family: Family::Attack,
    summary: "Tries all that a row can become, where only whole numbers can move and their list is short",
    formula: "argmin over all x' of the threat set of P@k(I(x), I(x'))",
    source: "thickset",
    direction: None,
    cost: "one explanation a point of the set",
    defaults: &[],
};

/// How a row stands at every point of its set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnownPoints {
    /// Features that can move.
    moving: Vec<usize>,
    /// Whether the model reads single precision.
    is_single: bool,
    /// Of each point the bits of those features, one point after the other, and how the row stands there. A list is short, so it is
    /// searched from its start.
    keys: Vec<u64>,
    status: Vec<RowStatus>,
    /// Of the points that keep the predictions: the fewest features kept, and the nearest point that keeps not all.
    worst: Option<Counterexample>,
    nearest_change: Option<Counterexample>,
    k: usize,
}

impl KnownPoints {
    fn new(attack: &CheckedAttack, network: &Network, x: &[f64]) -> Self {
        Self {
            moving: attack.threat.moving(x),
            is_single: network.dtype() == DType::F32,
            keys: Vec::new(),
            status: Vec::new(),
            worst: None,
            nearest_change: None,
            k: attack.k,
        }
    }

    /// The bits of a point's features that can move.
    fn key<'p>(&'p self, point: &'p [f64]) -> impl Iterator<Item = u64> + 'p {
        self.moving.iter().map(|feature| {
            let value = point[*feature];
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the network computes in f32"
            )]
            let single = f64::from(value as f32);
            if self.is_single { single } else { value }.to_bits()
        })
    }

    /// Takes up a point; nearer ones come first.
    fn add(&mut self, point: &[f64], size: f64, status: RowStatus) {
        let key: Vec<u64> = self.key(point).collect();
        self.keys.extend(key);
        self.status.push(status);
        let RowStatus { kept, held } = status;
        let fewest = self.worst.as_ref().map_or(self.k, |worst| worst.kept);
        if held && kept < fewest {
            let found = Counterexample {
                point: point.to_vec(),
                size,
                kept,
            };
            self.nearest_change.get_or_insert_with(|| found.clone());
            self.worst = Some(found);
        }
    }

    /// Takes up what an attack found, if it is worse than all points.
    pub(super) fn add_found(&mut self, size: f64, found: &Attacked) {
        let status = RowStatus {
            kept: self.k - found.lost(self.k),
            held: found.held,
        };
        let fewest = self.worst.as_ref().map_or(self.k, |worst| worst.kept);
        if status.held && status.kept < fewest {
            self.add(&found.perturbed, size, status);
        }
    }

    /// How the row stands at a point of its set; none where the point is no such.
    pub(crate) fn at(&self, point: &[f64]) -> Option<RowStatus> {
        let key: Vec<u64> = self.key(point).collect();
        if key.is_empty() {
            return self.status.first().copied();
        }
        let place = self.keys.chunks(key.len()).position(|one| one == key)?;
        Some(self.status[place])
    }

    /// The nearest point that changes the top-k set and keeps the predictions.
    pub(crate) fn nearest_change(&self) -> Option<&Counterexample> {
        self.nearest_change.as_ref()
    }

    /// What going through all points proves.
    pub(crate) fn worst_case(&self) -> CertifiedWorstCase {
        let kept = self.worst.as_ref().map_or(self.k, |worst| worst.kept);
        CertifiedWorstCase {
            status: Status::Exact,
            kept_at_least: kept,
            kept_at_most: kept,
            counterexample: self.worst.clone(),
            nodes: self.status.len(),
        }
    }
}

/// Tries all points of the rows' lists, the nearest first. `attack` says what is explained, kept and counted.
pub(super) fn perturb(
    attack: &CheckedAttack,
    network: &Network,
    rows: Points<'_>,
    lists: &[Vec<Vec<f64>>],
    seed: Seed,
) -> Result<Vec<(Attacked, KnownPoints)>> {
    let networks = Networks::new(network, None);
    let count = networks.part_rows(rows.ids.len());
    let parts: Vec<_> = rows
        .parts(network.features(), count)
        .zip(lists.chunks(count))
        .collect();
    let found = parts.into_par_iter().map(|(part, lists)| {
        let state = AttackState::new(attack, &networks, part, seed)?;
        try_all(state, lists)
    });
    let found = found.collect::<Result<Vec<_>>>()?;
    Ok(found.into_iter().flatten().collect())
}

fn try_all(
    mut state: AttackState<'_>,
    lists: &[Vec<Vec<f64>>],
) -> Result<Vec<(Attacked, KnownPoints)>> {
    let (features, origin, attack) = (state.features(), state.origin(), state.attack);
    let rows = origin.chunks(features);
    let mut known: Vec<KnownPoints> = rows
        .map(|x| {
            let mut known = KnownPoints::new(attack, state.network, x);
            let itself = RowStatus {
                kept: attack.k,
                held: true,
            };
            known.add(x, 0.0, itself);
            known
        })
        .collect();
    let mut points = origin.to_vec();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    for step in 0..longest {
        for (row, list) in lists.iter().enumerate() {
            if let Some(point) = list.get(step) {
                let place = row * features..(row + 1) * features;
                points[place.clone()].copy_from_slice(point);
                state.round(&mut points[place]);
            }
        }
        state.evaluate(&points)?;
        for row in (0..lists.len()).filter(|row| step < lists[*row].len()) {
            let place = row * features..(row + 1) * features;
            let (x, point) = (&origin[place.clone()], &points[place]);
            let size = attack.threat.ball().size(x, point);
            known[row].add(point, size, state.status(row));
            state.keep_if_worst(row, &points);
        }
    }
    Ok(state.finish()?.into_iter().zip(known).collect())
}
