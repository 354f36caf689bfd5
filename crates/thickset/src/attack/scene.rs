//! The rows of one chunk under attack: what is known of them at the start, and the worst found so far.

use thickset_engine::{Network, Tensor};

use super::CheckedAttack;
use super::constraint::ConstraintConfig;
use super::outcome::{Attacked, Last};
use super::threat::ball::Surface;
use crate::check::{as_f64, check_finite};
use crate::explain::{Attribution, Binding, Explainer, Rows, predicted};
use crate::host::read;
use crate::metric::ranking::TopK;
use crate::{Error, Result, Seed, Stream};

/// Which features of a row have moved in a prediction that is to be kept. A pair's predictions are those of both inputs
/// moved, the left one, and the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    All,
    Left,
    Right,
}

impl View {
    const ONE: [Self; 1] = [Self::All];
    const THREE: [Self; 3] = [Self::All, Self::Left, Self::Right];

    /// Whether this feature has moved.
    pub(super) fn moves(self, feature: usize, features: usize) -> bool {
        match self {
            Self::All => true,
            Self::Left => feature < features / 2,
            Self::Right => feature >= features / 2,
        }
    }
}

pub(super) struct Scene<'a> {
    pub(super) attack: &'a CheckedAttack,
    pub(super) network: &'a Network,
    pub(super) twin: Option<&'a Network>,
    pub(super) explainer: Explainer,
    pub(super) top: Vec<TopK>,
    /// The network's importances at the start.
    pub(super) importance: Vec<f64>,
    /// The network's probabilities at the start.
    pub(super) probabilities: Vec<f64>,
    classes: Vec<usize>,
    rows: Rows<'a>,
    seed: Seed,
    views: &'static [View],
    found: Vec<Found>,
    scratch: Vec<usize>,
}

/// The worst point of a row so far.
struct Found {
    worst: Vec<f64>,
    kept: usize,
    held: bool,
    first_change: Option<usize>,
    last: Option<Last>,
}

/// What the network says of a point of every row.
pub(super) struct Seen {
    /// Features of the top-k set that are still in it.
    pub(super) kept: Vec<usize>,
    /// Whether all predictions are as at the start.
    pub(super) held: Vec<bool>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        attack: &'a CheckedAttack,
        network: &'a Network,
        twin: Option<&'a Network>,
        rows: Rows<'a>,
        seed: Seed,
    ) -> Result<Self> {
        let x = network.batch(rows.values);
        let classes = predicted(&read(network.logits(x.clone())), network.classes())?;
        let binding = Binding {
            classes: &classes,
            ids: rows.ids,
            seed,
        };
        let explainer = attack.explain.bind(network, binding)?;
        let importance = explainer.importance(network, x.clone());
        let width = importance.dims()[1];
        if attack.k == 0 || attack.k >= width {
            return Err(Error::TopKOutOfRange {
                k: attack.k,
                largest: width.saturating_sub(1),
            });
        }
        let importance = read(importance);
        check_finite("the explanation", &importance)?;
        let top = importance
            .chunks(width)
            .map(|row| TopK::of(row, attack.k))
            .collect::<Result<Vec<_>>>()?;
        let features = network.features();
        let found = rows.values.chunks(features).map(|row| Found {
            worst: row.to_vec(),
            kept: attack.k,
            held: true,
            first_change: None,
            last: None,
        });
        Ok(Self {
            probabilities: read(network.probabilities(x)),
            found: found.collect(),
            attack,
            network,
            twin,
            explainer,
            top,
            importance,
            classes,
            rows,
            seed,
            views: if attack.is_pair {
                &View::THREE
            } else {
                &View::ONE
            },
            scratch: Vec::new(),
        })
    }

    /// The rows before the attack.
    pub(super) fn origin(&self) -> &'a [f64] {
        self.rows.values
    }

    pub(super) fn features(&self) -> usize {
        self.network.features()
    }

    pub(super) fn count(&self) -> usize {
        self.rows.ids.len()
    }

    pub(super) fn views(&self) -> &'static [View] {
        self.views
    }

    /// One random stream a row.
    pub(super) fn streams(&self, name: &str) -> Vec<Stream> {
        let ids = self.rows.ids.iter();
        ids.map(|id| self.seed.stream_at(name, *id)).collect()
    }

    /// A random point of one row's set, settled, into that row of `points`.
    pub(super) fn draw(
        &self,
        row: usize,
        surface: Surface,
        stream: &mut Stream,
        points: &mut [f64],
    ) {
        let features = self.features();
        let place = row * features..(row + 1) * features;
        let x = &self.rows.values[place.clone()];
        let drawn = self.attack.threat.draw(x, surface, stream);
        self.settle(x, &drawn, &mut points[place]);
    }

    /// The point that the network is asked about for a searching point.
    pub(super) fn settle(&self, x: &[f64], z: &[f64], point: &mut [f64]) {
        self.attack.threat.settle(x, z, point);
        if self.network.dtype() == thickset_engine::DType::F32 {
            for value in point {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the network computes in f32"
                )]
                let single = *value as f32;
                *value = f64::from(single);
            }
        }
    }

    /// What the network says of these points.
    pub(super) fn look(&mut self, points: &[f64]) -> Result<Seen> {
        let attribution = self
            .explainer
            .attribution(self.network, self.network.batch(points));
        let importance = read(attribution.value);
        self.judge(points, &importance, attribution.logits)
    }

    /// The same where the importances are known already.
    pub(super) fn judge(
        &mut self,
        points: &[f64],
        importance: &[f64],
        logits: Option<Tensor<2>>,
    ) -> Result<Seen> {
        let width = importance.len() / self.count().max(1);
        let mut kept = Vec::with_capacity(self.count());
        for (top, importance) in self.top.iter().zip(importance.chunks(width)) {
            kept.push(top.kept(importance, &mut self.scratch)?);
        }
        let mut held = vec![true; self.count()];
        let mut logits = logits;
        for view in self.views {
            let logits = match (view, logits.take()) {
                (View::All, Some(logits)) => logits,
                _ => self.network.logits(self.viewed(*view, points)),
            };
            let now = predicted(&read(logits), self.network.classes())?;
            for (held, (now, class)) in held.iter_mut().zip(now.iter().zip(&self.classes)) {
                *held &= now == class;
            }
        }
        Ok(Seen { kept, held })
    }

    /// The points as one of the predictions sees them.
    pub(super) fn viewed(&self, view: View, points: &[f64]) -> Tensor<2> {
        if view == View::All {
            return self.network.batch(points);
        }
        let features = self.features();
        let mut mixed = self.rows.values.to_vec();
        for (place, (mixed, moved)) in mixed.iter_mut().zip(points).enumerate() {
            if view.moves(place % features, features) {
                *mixed = *moved;
            }
        }
        self.network.batch(&mixed)
    }

    /// Keeps a row's point if it is the worst so far.
    pub(super) fn score(&mut self, row: usize, step: usize, points: &[f64], seen: &Seen) {
        let ignores = self.attack.constraint == ConstraintConfig::None;
        let (kept, held) = (seen.kept[row], seen.held[row]);
        let features = self.features();
        let found = &mut self.found[row];
        if !held && !ignores {
            return;
        }
        if kept < self.attack.k && step > 0 {
            let first = found.first_change.map_or(step, |first| first.min(step));
            found.first_change = Some(first);
        }
        if kept < found.kept {
            found.kept = kept;
            found.held = held;
            found
                .worst
                .copy_from_slice(&points[row * features..(row + 1) * features]);
        }
    }

    /// Notes where the rows are when a random search ends.
    pub(super) fn end_of_step(&mut self, points: &[f64], seen: &Seen, is_last: bool) {
        if is_last {
            for row in 0..self.count() {
                self.end(row, points, (seen.kept[row], seen.held[row]), false);
            }
        }
    }

    /// Notes where a row's first run ended.
    pub(super) fn end(&mut self, row: usize, points: &[f64], seen: (usize, bool), stopped: bool) {
        let (features, k) = (self.features(), self.attack.k);
        let found = &mut self.found[row];
        if found.last.is_none() {
            found.last = Some(Last {
                point: points[row * features..(row + 1) * features].to_vec(),
                precision: as_f64(seen.0) / as_f64(k),
                held: seen.1,
                stopped,
            });
        }
    }

    /// The rows after the attack.
    pub(super) fn finish(self) -> Vec<Attacked> {
        let k = as_f64(self.attack.k);
        let attack = self.attack.kind;
        let rows = self.found.into_iter().zip(self.classes);
        rows.map(|(found, class)| {
            let precision = as_f64(found.kept) / k;
            let last = found.last.unwrap_or_else(|| Last {
                point: found.worst.clone(),
                precision,
                held: found.held,
                stopped: false,
            });
            Attacked {
                class,
                attack,
                perturbed: found.worst,
                precision,
                held: found.held,
                first_change: found.first_change,
                last,
            }
        })
        .collect()
    }

    /// Shows a network's explanation to `slope` and pulls its answer back to the inputs.
    pub(super) fn pull_back(
        &self,
        network: &Network,
        points: &[f64],
        slope: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Vec<f64> {
        let x = self.network.batch(points);
        read(self.explainer.pull_back(network, x, slope))
    }
}
