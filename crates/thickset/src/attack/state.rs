//! The rows of one chunk under attack: what is known of them at the start, and the worst found so far.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};
use thickset_engine::{Chain, Network, activation};

use super::CheckedAttack;
use super::kept::Kept;
use super::outcome::{Attacked, Finish, Last};
use super::threat::ball::Surface;
use crate::check::{as_f64, check_finite};
use crate::explain::{
    Binding, CheckedExplain, ModelView, Points, Probe, RowGradient, chunk_rows, predicted,
};
use crate::host::read;
use crate::metric::manipulation_epoch;
use crate::metric::ranking::{TopK, largest};
use crate::{Error, Result, Seed, Stream};

/// The network under attack and the one that directions come from, each with its chain if it is one.
pub(super) struct Networks<'a> {
    network: &'a Network,
    chain: Option<Chain>,
    twin: Option<(Network, Option<Chain>)>,
}

/// Tiles of a chunk: what a chunk costs beside its steps is shared by this many, and a small batch still has chunks for
/// several threads.
const CHUNK_TILES: usize = 2;
/// Turns of a thread, so that none waits long for another whose rows take longer.
const TURNS: usize = 4;
/// Rows that go through wide registers side by side.
const SIDE_BY_SIDE: usize = 8;

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

    /// Rows that one thread takes at a time, of so many; each thread has several turns if there are enough rows. Results do not depend on it.
    pub(super) fn part_rows(&self, rows: usize) -> usize {
        let most = match &self.chain {
            Some(chain) => CHUNK_TILES * chain.rows(),
            None => chunk_rows(self.network.features()),
        };
        let turns = TURNS * rayon::current_num_threads();
        let even = rows.div_ceil(turns).next_multiple_of(SIDE_BY_SIDE);
        most.min(even)
    }
}

/// Rows under attack.
pub struct AttackState<'a> {
    pub(super) attack: &'a CheckedAttack,
    pub(super) network: &'a Network,
    /// The network as a chain, if it is one and directions are its own.
    pub(super) own_chain: Option<&'a Chain>,
    /// Evaluates the network.
    probe: Box<dyn Probe + 'a>,
    /// Evaluates the twin, if directions come from one.
    twin_probe: Option<Box<dyn Probe + 'a>>,
    pub(super) top: Vec<TopK>,
    /// The network's importances at the start.
    pub(super) importance: Vec<f64>,
    /// Each prediction to keep as it was at the start: its probabilities, row-major, and its classes.
    start: Vec<(Vec<f64>, Vec<usize>)>,
    classes: Vec<usize>,
    rows: Points<'a>,
    seed: Seed,
    kept: &'static [Kept],
    worst: Vec<WorstPoint>,
    /// What the latest evaluation showed, of the network and of the twin.
    view: ModelView,
    twin_view: ModelView,
    status: Vec<RowStatus>,
}

/// Values become those that an `f32` can hold.
struct RoundToSingle<'a>(&'a mut [f64]);

impl VectorLoop for RoundToSingle<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for value in self.0 {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the network computes in f32"
            )]
            let single = *value as f32;
            *value = f64::from(single);
        }
    }
}

/// The worst point of a row so far.
struct WorstPoint {
    point: Vec<f64>,
    kept: usize,
    held: bool,
    /// Steps noted of the run from the row itself.
    steps: usize,
    /// The first step after which P@k was below that of tables, and below the attack's bound.
    first_change: Option<usize>,
    manipulation_epoch: Option<usize>,
    last: Option<Last>,
    finish: Option<Finish>,
}

/// How a row stands at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowStatus {
    /// Features of the top-k set that are still in it.
    pub kept: usize,
    /// Whether all predictions are as at the start.
    pub held: bool,
}

impl<'a> AttackState<'a> {
    pub(super) fn new(
        attack: &'a CheckedAttack,
        networks: &'a Networks<'a>,
        rows: Points<'a>,
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
        let twin_probe = networks.twin.as_ref().map(|(twin, chain)| {
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
        let worst = rows.values.chunks(features).map(|row| WorstPoint {
            point: row.to_vec(),
            kept: attack.k,
            held: true,
            steps: 0,
            first_change: None,
            manipulation_epoch: None,
            last: None,
            finish: None,
        });
        let kept = Kept::of(network, explain.is_pair(), attack.pair_predictions);
        let start = kept.iter().map(|kept| {
            if *kept == Kept::Whole {
                let probabilities = read(activation::softmax(logits.clone(), 1));
                return Ok((probabilities, classes.clone()));
            }
            let of = kept.network(network);
            let inputs = kept.inputs(features, rows.values, rows.values);
            let probabilities = read(of.probabilities(of.batch(&inputs)));
            let classes = predicted(&probabilities, of.classes())?;
            Ok((probabilities, classes))
        });
        Ok(Self {
            start: start.collect::<Result<_>>()?,
            worst: worst.collect(),
            attack,
            network,
            own_chain: networks.chain.as_ref().filter(|_| networks.twin.is_none()),
            probe,
            twin_probe: twin_probe.transpose()?,
            top,
            importance,
            classes,
            rows,
            seed,
            kept,
            view,
            twin_view: ModelView::default(),
            status: Vec::new(),
        })
    }

    /// The rows before the attack, row-major.
    #[must_use]
    pub fn origin(&self) -> &'a [f64] {
        self.rows.values
    }

    /// Features of a row.
    #[must_use]
    pub fn features(&self) -> usize {
        self.network.features()
    }

    /// Rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.ids.len()
    }

    /// The predictions to keep.
    pub(super) fn kept(&self) -> &'static [Kept] {
        self.kept
    }

    /// The probabilities of one of them at the start, row-major.
    pub(super) fn start(&self, place: usize) -> &[f64] {
        &self.start[place].0
    }

    /// The rows before the attack.
    pub(super) fn rows(&self) -> Points<'a> {
        self.rows
    }

    /// How the attacked predictions are explained.
    pub(super) fn explain(&self) -> &'a CheckedExplain {
        &self.attack.explain
    }

    pub(super) fn seed(&self) -> Seed {
        self.seed
    }

    /// The class that was predicted of a row.
    #[must_use]
    pub fn class(&self, row: usize) -> usize {
        self.classes[row]
    }

    /// Salient features.
    #[must_use]
    pub fn k(&self) -> usize {
        self.attack.k
    }

    /// One random stream a row.
    #[must_use]
    pub fn streams(&self, name: &str) -> Vec<Stream> {
        let ids = self.rows.ids.iter();
        ids.map(|id| self.seed.stream_at(name, *id)).collect()
    }

    /// A random point of one row's set, settled, into that row of `points`.
    pub fn draw(&self, row: usize, surface: Surface, stream: &mut Stream, points: &mut [f64]) {
        let features = self.features();
        let place = row * features..(row + 1) * features;
        let x = &self.rows.values[place.clone()];
        let drawn = self.attack.threat.draw(x, surface, stream);
        self.settle(x, &drawn, &mut points[place]);
    }

    /// Brings searching points, one a row, back into the threat sets of the rows: within the ball and every bound, with immutable
    /// columns as they were.
    pub fn project(&self, points: &mut [f64]) {
        self.attack.threat.project(self.rows.values, points);
    }

    /// The points at which the network is evaluated for searching points.
    pub fn settle(&self, x: &[f64], z: &[f64], point: &mut [f64]) {
        self.attack.threat.settle(x, z, point);
        self.round(point);
    }

    /// Makes settled points what the network reads.
    pub(super) fn round(&self, points: &mut [f64]) {
        if self.network.dtype() == thickset_engine::DType::F32 {
            vectorised(RoundToSingle(points));
        }
    }

    /// The importances at the start in the network that directions come from.
    pub(super) fn reference(&mut self) -> &[f64] {
        let Some(twin_probe) = &mut self.twin_probe else {
            return &self.importance;
        };
        twin_probe.evaluate(self.rows.values, &mut self.twin_view);
        &self.twin_view.importance
    }

    /// Evaluates the network at a point of every row. [`AttackState::status`] then says how each row stands there.
    ///
    /// # Errors
    /// When something is not finite.
    pub fn evaluate(&mut self, points: &[f64]) -> Result<()> {
        self.probe.evaluate(points, &mut self.view);
        self.update_status(points)
    }

    /// The same, and the gradient of the function of the importances whose slope is given.
    pub(super) fn gradient(
        &mut self,
        points: &[f64],
        slope: &mut RowGradient<'_>,
        gradient: &mut Vec<f64>,
    ) -> Result<()> {
        if let Some(twin_probe) = &mut self.twin_probe {
            twin_probe.gradient(points, slope, &mut self.twin_view, gradient);
            self.probe.evaluate(points, &mut self.view);
        } else {
            self.probe.gradient(points, slope, &mut self.view, gradient);
        }
        check_finite("the gradient of the attack's goal", gradient)?;
        self.update_status(points)
    }

    /// Compares what was shown with the start.
    fn update_status(&mut self, points: &[f64]) -> Result<()> {
        let ModelView { importance, logits } = &self.view;
        let width = importance.len() / self.count().max(1);
        let rows = logits.chunks(self.network.classes()).zip(&self.classes);
        self.status.clear();
        for ((top, importance), (logits, class)) in
            self.top.iter().zip(importance.chunks(width)).zip(rows)
        {
            self.status.push(RowStatus {
                kept: top.kept(importance)?,
                held: largest(logits)? == *class,
            });
        }
        for (kept, (_, classes)) in self.kept.iter().zip(&self.start).skip(1) {
            let of = kept.network(self.network);
            let inputs = kept.inputs(self.features(), self.rows.values, points);
            let now = predicted(&read(of.logits(of.batch(&inputs))), of.classes())?;
            for (status, (now, class)) in self.status.iter_mut().zip(now.iter().zip(classes)) {
                status.held &= now == class;
            }
        }
        Ok(())
    }

    /// A row's importances at the latest evaluation.
    pub(super) fn importance_of(&self, row: usize) -> &[f64] {
        let width = self.view.importance.len() / self.count().max(1);
        &self.view.importance[row * width..(row + 1) * width]
    }

    /// How a row stood at the latest evaluation.
    #[must_use]
    pub fn status(&self, row: usize) -> RowStatus {
        self.status[row]
    }

    /// Keeps the point of a row of the latest evaluation if it is the worst so far.
    pub fn keep_if_worst(&mut self, row: usize, points: &[f64]) {
        let status = self.status[row];
        let features = self.features();
        let counts = status.held || self.ignores_predictions();
        if counts && status.kept < self.worst[row].kept {
            let point = &points[row * features..(row + 1) * features];
            self.keep(row, status, point.iter().copied());
        }
    }

    /// Keeps this point of a row as the worst so far.
    pub(super) fn keep(&mut self, row: usize, status: RowStatus, point: impl Iterator<Item = f64>) {
        let worst = &mut self.worst[row];
        worst.kept = status.kept;
        worst.held = status.held;
        for (to, from) in worst.point.iter_mut().zip(point) {
            *to = from;
        }
    }

    /// How many features a row's set has kept at its worst point so far.
    pub(super) fn least_kept(&self, row: usize) -> usize {
        self.worst[row].kept
    }

    /// Notes a step of a row's run from the row itself, which is the latest evaluation.
    pub(super) fn note_step(&mut self, row: usize) {
        let RowStatus { kept, held } = self.status[row];
        self.worst[row].steps += 1;
        if held || self.ignores_predictions() {
            self.note_kept(row, self.worst[row].steps, kept);
        }
    }

    /// Notes how many features a row's set has kept after this step of the run from the row itself, counted from 1.
    pub(super) fn note_kept(&mut self, row: usize, step: usize, kept: usize) {
        let precision = as_f64(kept) / as_f64(self.attack.k);
        let worst = &mut self.worst[row];
        if worst.manipulation_epoch.is_some() {
            return;
        }
        if precision < manipulation_epoch::TABLE_BOUND {
            worst.first_change.get_or_insert(step);
        }
        if precision < self.attack.bound {
            worst.manipulation_epoch = Some(step);
        }
    }

    pub(super) fn ignores_predictions(&self) -> bool {
        self.attack.constraint.behaviour().ignores_predictions()
    }

    /// Notes where a row's first run ended.
    pub fn note_end(&mut self, row: usize, points: &[f64], status: RowStatus, stopped: bool) {
        let features = self.features();
        if self.worst[row].last.is_none() {
            let point = points[row * features..(row + 1) * features].to_vec();
            self.end_at(row, point, status, stopped);
        }
    }

    /// The row's first run ended at this point.
    pub(super) fn end_at(&mut self, row: usize, point: Vec<f64>, status: RowStatus, stopped: bool) {
        self.worst[row].last = Some(Last {
            point,
            precision: as_f64(status.kept) / as_f64(self.attack.k),
            held: status.held,
            stopped,
        });
    }

    /// Reports the point of a row of the latest evaluation, whether it is worse than another or not, and how the search
    /// ended there.
    pub(super) fn report(&mut self, row: usize, points: &[f64], finish: Finish) {
        let status = self.status[row];
        let features = self.features();
        let worst = &mut self.worst[row];
        worst.kept = status.kept;
        worst.held = status.held;
        worst.finish = Some(finish);
        worst
            .point
            .copy_from_slice(&points[row * features..(row + 1) * features]);
    }

    /// The rows after the attack.
    ///
    /// # Errors
    /// None so far; a search passes them on to its caller.
    pub fn finish(self) -> Result<Vec<Attacked>> {
        let k = as_f64(self.attack.k);
        let attack = self.attack.kind;
        let rows = self.worst.into_iter().zip(self.classes);
        let attacked = rows.map(|(worst, class)| {
            let precision = as_f64(worst.kept) / k;
            let last = worst.last.unwrap_or_else(|| Last {
                point: worst.point.clone(),
                precision,
                held: worst.held,
                stopped: false,
            });
            Attacked {
                class,
                attack,
                perturbed: worst.point,
                precision,
                held: worst.held,
                first_change: worst.first_change,
                manipulation_epoch: worst.manipulation_epoch,
                last,
                finish: worst.finish,
            }
        });
        Ok(attacked.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::AttackConfig;
    use crate::explain::ExplainConfig;
    use crate::toy;

    #[test]
    fn the_class_of_a_row_is_the_one_predicted_of_it() {
        let config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        let attack = config
            .check(&ExplainConfig::default(), &toy::schema())
            .unwrap();
        let network = toy::network();
        let networks = Networks::new(&network, None);
        // The first logit is 4, then -4; the second is 0.
        let rows = Points {
            values: &[1.0, 0.0, 0.0, -1.0, 0.0, 0.0],
            ids: &[0, 1],
        };
        let state = AttackState::new(&attack, &networks, rows, Seed::new(1)).unwrap();
        assert_eq!((state.class(0), state.class(1)), (0, 1));
    }

    /// Margin `2 relu(x0) + relu(x1) - 4 relu(-x1)`: the first feature is salient, beyond `x0 = 0` the second, and for a negative `x1` the class is the other.
    fn crossed() -> Network {
        let hidden = vec![1.0, 0.0, 0.0, 1.0, 0.0, -1.0];
        toy::one_hidden_layer(2, 3, [hidden, vec![2.0, 1.0, -4.0]])
    }

    fn attack(constraint: crate::attack::constraint::ConstraintConfig) -> CheckedAttack {
        let config = AttackConfig {
            k: 1,
            constraint,
            ..AttackConfig::default()
        };
        let schema = crate::Schema::table(&["x0", "x1"]);
        config.check(&ExplainConfig::default(), &schema).unwrap()
    }

    const ROWS: Points<'static> = Points {
        values: &[0.3, 1.0, 0.6, 2.0],
        ids: &[4, 7],
    };

    #[test]
    fn a_state_says_what_it_attacks() {
        let (network, attack) = (crossed(), attack(AttackConfig::default().constraint));
        let networks = Networks::new(&network, None);
        let state = AttackState::new(&attack, &networks, ROWS, Seed::new(1)).unwrap();
        assert_eq!((state.features(), state.count(), state.k()), (2, 2, 1));
        assert_eq!(state.origin(), ROWS.values);
        assert_eq!(state.rows().ids, ROWS.ids);
        assert_eq!(state.start(0).len(), 4);
        // Importances go as 2 to 1.
        let second = state.importance_of(1);
        assert_eq!(second.len(), 2);
        assert!((second[0] / second[1] - 2.0).abs() < 1e-12 && second[1] > 0.0);
        assert!(
            second[0] < state.importance_of(0)[0],
            "the second row is surer"
        );
        let mut streams = state.streams("name");
        let mut alone = Seed::new(1).stream_at("name", 7);
        assert_eq!(streams.len(), 2);
        assert_eq!(streams[1].uniform().to_bits(), alone.uniform().to_bits());
    }

    #[test]
    fn a_draw_is_of_its_own_row() {
        let (network, attack) = (crossed(), attack(AttackConfig::default().constraint));
        let networks = Networks::new(&network, None);
        let state = AttackState::new(&attack, &networks, ROWS, Seed::new(1)).unwrap();
        let mut points = vec![9.0; 4];
        let mut stream = Seed::new(1).stream("draw");
        state.draw(1, Surface::Sphere, &mut stream, &mut points);
        toy::assert_close(&points[..2], &[9.0, 9.0]);
        let ball = attack.threat.ball();
        assert!((ball.size(&[0.6, 2.0], &points[2..]) - ball.radius).abs() < 1e-12);
    }

    #[test]
    fn the_worst_point_of_a_row_is_kept_where_its_prediction_holds() {
        let none: crate::attack::constraint::ConstraintConfig =
            crate::attack::constraint::none::NoneConfig {}.into();
        let usual = AttackConfig::default().constraint;
        for (constraint, is_kept) in [(usual, false), (none, true)] {
            let (network, attack) = (crossed(), attack(constraint));
            let networks = Networks::new(&network, None);
            let mut state = AttackState::new(&attack, &networks, ROWS, Seed::new(1)).unwrap();
            // The first crosses its kink, the second changes its class, and its ranking with it.
            let points = [-0.1, 1.0, 0.6, -2.0];
            state.evaluate(&points).unwrap();
            let shown = [0, 1].map(|row| (state.status(row).kept, state.status(row).held));
            assert_eq!(shown, [(0, true), (0, false)]);
            for row in 0..2 {
                state.keep_if_worst(row, &points);
                state.note_step(row);
            }
            // As bad is not worse.
            let later = [-0.2, 1.0, 0.6, 2.0];
            state.evaluate(&later).unwrap();
            for row in 0..2 {
                state.keep_if_worst(row, &later);
                state.note_step(row);
            }
            let found = state.finish().unwrap();
            assert_eq!(found[0].perturbed, [-0.1, 1.0]);
            assert_eq!((found[0].precision, found[0].held), (0.0, true));
            assert_eq!(found[0].first_change, Some(1));
            assert_eq!(found[0].last.point, [-0.1, 1.0]);
            if is_kept {
                assert_eq!(found[1].perturbed, [0.6, -2.0]);
                assert_eq!((found[1].precision, found[1].held), (0.0, false));
                assert_eq!(found[1].manipulation_epoch, Some(1));
            } else {
                assert_eq!(found[1].perturbed, [0.6, 2.0]);
                assert_eq!((found[1].precision, found[1].held), (1.0, true));
                assert_eq!(found[1].manipulation_epoch, None);
            }
        }
    }

    #[test]
    fn of_a_runs_steps_those_up_to_the_first_change_are_noted() {
        let (network, attack) = (crossed(), attack(AttackConfig::default().constraint));
        let networks = Networks::new(&network, None);
        let mut state = AttackState::new(&attack, &networks, ROWS, Seed::new(1)).unwrap();
        for first in [0.3, -0.1, 0.3, -0.1] {
            state.evaluate(&[first, 1.0, 0.6, 2.0]).unwrap();
            state.note_step(0);
            state.note_step(1);
        }
        assert_eq!(state.worst[0].manipulation_epoch, Some(2));
        assert_eq!(state.worst[1].manipulation_epoch, None);
        let found = state.finish().unwrap();
        assert_eq!(
            (found[0].first_change, found[1].first_change),
            (Some(2), None)
        );
    }

    #[test]
    fn only_the_first_end_is_noted_and_a_report_replaces_what_was_worst() {
        let (network, attack) = (crossed(), attack(AttackConfig::default().constraint));
        let networks = Networks::new(&network, None);
        let mut state = AttackState::new(&attack, &networks, ROWS, Seed::new(1)).unwrap();
        let status = |kept| RowStatus { kept, held: false };
        let points = [8.0, 8.0, 0.5, 0.25];
        state.note_end(1, &points, status(1), true);
        state.note_end(1, &[0.0; 4], status(0), false);
        let reported = [0.2, 1.0, 0.6, -2.0];
        state.evaluate(&reported).unwrap();
        let finish = Finish {
            iterations: 3,
            ending: crate::attack::moo::Ending::Failed,
        };
        state.report(1, &reported, finish);
        let found = state.finish().unwrap();
        let last = &found[1].last;
        assert_eq!(last.point, [0.5, 0.25]);
        assert_eq!(
            (last.precision, last.held, last.stopped),
            (1.0, false, true)
        );
        assert_eq!(found[1].perturbed, [0.6, -2.0]);
        assert_eq!((found[1].precision, found[1].held), (0.0, false));
        assert_eq!(found[1].finish, Some(finish));
    }

    #[test]
    fn k_must_leave_out_a_feature() {
        let (network, mut attack) = (crossed(), attack(AttackConfig::default().constraint));
        let networks = Networks::new(&network, None);
        for (k, fits) in [(0, false), (1, true), (2, false), (3, false)] {
            attack.k = k;
            let state = AttackState::new(&attack, &networks, ROWS, Seed::new(1));
            assert_eq!(state.is_ok(), fits, "{k}");
            let refused = state.err();
            assert!(
                refused
                    .is_none_or(|error| matches!(error, Error::TopKOutOfRange { largest: 1, .. }))
            );
        }
    }

    #[test]
    fn directions_come_from_the_twin_where_there_is_one() {
        let (network, attack) = (crossed(), attack(AttackConfig::default().constraint));
        for (surrogate, is_own) in [(None, true), (Some(2.0), false)] {
            let networks = Networks::new(&network, surrogate);
            let mut state = AttackState::new(&attack, &networks, ROWS, Seed::new(1)).unwrap();
            let own = state.importance.clone();
            assert_eq!(state.reference() == own, is_own);
        }
    }

    #[test]
    fn a_precision_is_a_share_of_k() {
        let config = AttackConfig {
            k: 2,
            ..AttackConfig::default()
        };
        let attack = config
            .check(&ExplainConfig::default(), &toy::schema())
            .unwrap();
        let network = toy::network();
        let networks = Networks::new(&network, None);
        let row = toy::row();
        let rows = Points {
            values: &row,
            ids: &[0],
        };
        let mut state = AttackState::new(&attack, &networks, rows, Seed::new(1)).unwrap();
        assert_eq!(state.k(), 2);
        let status = RowStatus {
            kept: 1,
            held: true,
        };
        state.status = vec![status];
        state.keep_if_worst(0, &row);
        state.note_step(0);
        state.note_end(0, &row, status, false);
        assert_eq!(state.worst[0].first_change, Some(1));
        let mut points = vec![9.0; 3];
        state.project(&mut points);
        let ball = attack.threat.ball();
        assert!((ball.size(&row, &points) - ball.radius).abs() < 1e-12);
        let found = state.finish().unwrap();
        assert_eq!((found[0].precision, found[0].last.precision), (0.5, 0.5));
    }
}
