//! The rows of one chunk under attack: what is known of them at the start, and the worst found so far.

use thickset_engine::{Chain, Network, Tensor, activation};

use super::CheckedAttack;
use super::constraint::ConstraintConfig;
use super::outcome::{Attacked, Last};
use super::threat::ball::Surface;
use crate::check::{as_f64, check_finite};
use crate::explain::{Binding, ModelView, Probe, RowGradient, Rows, chunk_rows, predicted};
use crate::host::read;
use crate::metric::manipulation_epoch;
use crate::metric::ranking::{TopK, largest};
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
    /// The predictions to keep of a row, or of a pair.
    pub(super) fn of(is_pair: bool) -> &'static [Self] {
        if is_pair {
            &[Self::All, Self::Left, Self::Right]
        } else {
            &[Self::All]
        }
    }

    /// Whether this feature has moved.
    pub(super) fn moves(self, feature: usize, features: usize) -> bool {
        match self {
            Self::All => true,
            Self::Left => feature < features / 2,
            Self::Right => feature >= features / 2,
        }
    }
}

/// The network under attack and the one that directions come from, each with its chain if it is one.
pub(super) struct Networks<'a> {
    network: &'a Network,
    chain: Option<Chain>,
    twin: Option<(Network, Option<Chain>)>,
}

/// Tiles of a chunk: what a chunk costs beside its steps is shared by this many, and a small batch still has chunks for
/// several threads.
const CHUNK_TILES: usize = 2;

impl<'a> Networks<'a> {
    /// With a twin of that sharpness, if directions come from one.
    pub(super) fn new(network: &'a Network, surrogate: Option<f64>) -> Self {
        let with_chain = |network: Network| {
            let chain = Chain::new(&network);
            (network, chain)
        };
        Self {
            chain: Chain::new(network),
            twin: surrogate.map(|beta| with_chain(network.smooth_twin(beta))),
            network,
        }
    }

    /// Rows that one thread takes at a time. Results do not depend on it.
    pub(super) fn chunk_rows(&self) -> usize {
        match &self.chain {
            Some(chain) => CHUNK_TILES * chain.rows(),
            None => chunk_rows(self.network.features()),
        }
    }
}

pub(super) struct Scene<'a> {
    pub(super) attack: &'a CheckedAttack,
    pub(super) network: &'a Network,
    /// How the network is seen.
    probe: Box<dyn Probe + 'a>,
    /// How the twin is seen, if directions come from one.
    guide: Option<Box<dyn Probe + 'a>>,
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
    /// What the latest look showed, of the network and of the twin.
    view: ModelView,
    guide_view: ModelView,
    seen: Vec<Seen>,
}

/// The worst point of a row so far.
struct Found {
    worst: Vec<f64>,
    kept: usize,
    held: bool,
    /// P@k after each step of the run from the row itself, 1 where the prediction changed; up to the first below the bound.
    path: Vec<f64>,
    last: Option<Last>,
}

/// What the network says of a row's point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Features of the top-k set that are still in it.
    pub(super) kept: usize,
    /// Whether all predictions are as at the start.
    pub(super) held: bool,
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        attack: &'a CheckedAttack,
        networks: &'a Networks<'a>,
        rows: Rows<'a>,
        seed: Seed,
    ) -> Result<Self> {
        let network = networks.network;
        let logits = network.logits(network.batch(rows.values));
        let classes = predicted(&read(logits.clone()), network.classes())?;
        let binding = Binding {
            classes: &classes,
            ids: rows.ids,
            seed,
        };
        let explain = &attack.explain;
        let mut probe = explain.probe(network, networks.chain.as_ref(), binding)?;
        let guide = networks.twin.as_ref().map(|(twin, chain)| {
            let chain = chain.as_ref();
            explain.probe(twin, chain, binding)
        });
        let mut view = ModelView::default();
        probe.evaluate(rows.values, &mut view);
        let importance = view.importance.clone();
        let width = importance.len() / rows.ids.len().max(1);
        if attack.k == 0 || attack.k >= width {
            return Err(Error::TopKOutOfRange {
                k: attack.k,
                largest: width.saturating_sub(1),
            });
        }
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
            path: Vec::new(),
            last: None,
        });
        Ok(Self {
            probabilities: read(activation::softmax(logits, 1)),
            found: found.collect(),
            attack,
            network,
            probe,
            guide: guide.transpose()?,
            top,
            importance,
            classes,
            rows,
            seed,
            views: View::of(attack.explain.is_pair()),
            view,
            guide_view: ModelView::default(),
            seen: Vec::new(),
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

    /// The points that the network is asked about for searching points.
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

    /// The importances at the start in the network that directions come from.
    pub(super) fn reference(&mut self) -> &[f64] {
        let Some(guide) = &mut self.guide else {
            return &self.importance;
        };
        guide.evaluate(self.rows.values, &mut self.guide_view);
        &self.guide_view.importance
    }

    /// What the network says of these points.
    pub(super) fn look(&mut self, points: &[f64]) -> Result<()> {
        self.probe.evaluate(points, &mut self.view);
        self.judge(points)
    }

    /// The same, and the gradient of the function of the importances whose slope is given.
    pub(super) fn follow(
        &mut self,
        points: &[f64],
        slope: &mut RowGradient<'_>,
        gradient: &mut Vec<f64>,
    ) -> Result<()> {
        if let Some(guide) = &mut self.guide {
            guide.gradient(points, slope, &mut self.guide_view, gradient);
            self.probe.evaluate(points, &mut self.view);
        } else {
            self.probe.gradient(points, slope, &mut self.view, gradient);
        }
        check_finite("the gradient of the attack's goal", gradient)?;
        self.judge(points)
    }

    /// Scores what was shown.
    fn judge(&mut self, points: &[f64]) -> Result<()> {
        let ModelView { importance, logits } = &self.view;
        let width = importance.len() / self.count().max(1);
        let rows = logits.chunks(self.network.classes()).zip(&self.classes);
        self.seen.clear();
        for ((top, importance), (logits, class)) in
            self.top.iter().zip(importance.chunks(width)).zip(rows)
        {
            self.seen.push(Seen {
                kept: top.kept(importance)?,
                held: largest(logits)? == *class,
            });
        }
        for view in self.views.iter().filter(|view| **view != View::All) {
            let logits = self.network.logits(self.viewed(*view, points));
            let now = predicted(&read(logits), self.network.classes())?;
            for (seen, (now, class)) in self.seen.iter_mut().zip(now.iter().zip(&self.classes)) {
                seen.held &= now == class;
            }
        }
        Ok(())
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

    /// What the latest look saw of a row.
    pub(super) fn seen(&self, row: usize) -> Seen {
        self.seen[row]
    }

    /// Keeps the point of a row that the latest look saw if it is the worst so far.
    pub(super) fn score(&mut self, row: usize, points: &[f64]) {
        let Seen { kept, held } = self.seen[row];
        let features = self.features();
        let counts = held || self.ignores_predictions();
        let found = &mut self.found[row];
        if counts && kept < found.kept {
            found.kept = kept;
            found.held = held;
            found
                .worst
                .copy_from_slice(&points[row * features..(row + 1) * features]);
        }
    }

    /// Notes a step of a row's run from the row itself, which the latest look saw.
    pub(super) fn step(&mut self, row: usize) {
        let Seen { kept, held } = self.seen[row];
        let is_over = |path: &[f64]| path.last().is_some_and(|last| *last < self.attack.bound);
        let counts = held || self.ignores_predictions();
        let precision = if counts {
            as_f64(kept) / as_f64(self.attack.k)
        } else {
            1.0
        };
        if !is_over(&self.found[row].path) {
            self.found[row].path.push(precision);
        }
    }

    fn ignores_predictions(&self) -> bool {
        self.attack.constraint == ConstraintConfig::None
    }

    /// Notes where a row's first run ended.
    pub(super) fn end(&mut self, row: usize, points: &[f64], seen: Seen, stopped: bool) {
        let (features, k) = (self.features(), self.attack.k);
        let found = &mut self.found[row];
        if found.last.is_none() {
            found.last = Some(Last {
                point: points[row * features..(row + 1) * features].to_vec(),
                precision: as_f64(seen.kept) / as_f64(k),
                held: seen.held,
                stopped,
            });
        }
    }

    /// The rows after the attack.
    ///
    /// # Errors
    /// Only for values that are not finite, which a count never is.
    pub(super) fn finish(self) -> Result<Vec<Attacked>> {
        let k = as_f64(self.attack.k);
        let attack = self.attack.kind;
        let bound = self.attack.bound;
        let first_below = |path: &[f64], bound: f64| {
            if path.is_empty() {
                return Ok(None);
            }
            manipulation_epoch::score(path, bound)
        };
        let rows = self.found.into_iter().zip(self.classes);
        rows.map(|(found, class)| {
            let precision = as_f64(found.kept) / k;
            let last = found.last.unwrap_or_else(|| Last {
                point: found.worst.clone(),
                precision,
                held: found.held,
                stopped: false,
            });
            Ok(Attacked {
                class,
                attack,
                perturbed: found.worst,
                precision,
                held: found.held,
                first_change: first_below(&found.path, manipulation_epoch::TABLE_BOUND)?,
                manipulation_epoch: first_below(&found.path, bound)?,
                last,
            })
        })
        .collect()
    }
}
