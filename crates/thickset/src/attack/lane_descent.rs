//! The search of [`descent`](super::descent) with rows side by side in registers, where a search is simple enough.
//!
//! It is the same search: every sum has the same order, so that a row's points and counts have the same bits. It serves
//! piecewise linear networks of two classes, explained by their gradient g or its sizes, goals that weigh importances by
//! fixed weights w, and Euclidean balls with bounds of single features or without. Then the goal's gradient is a multiple
//! of g: with `u = w sign(g)` for sizes, else `u = w`, it is `(f'' / f'^2) <g, u> g`, f the output as a function of the margin.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{LANES, LaneLoop, Lanes, Register, by_lanes, sum_of_lanes};
use thickset_engine::{DType, MarginTile, Output};

use super::goal::Goal;
use super::state::{AttackState, RowStatus};
use crate::Result;
use crate::check::{as_f64, check_finite};
use crate::metric::ranking::{KeptByLanes, TopK, TopKByLanes};

/// The search of some rows.
pub(super) struct LaneDescent<'a> {
    tile: Box<dyn MarginTile + 'a>,
    /// The most rows of a tile.
    tile_rows: usize,
    of: Output,
    is_absolute: bool,
    /// The goal's, side by side.
    weights: Vec<Lanes>,
    bounds: Option<[Vec<Lanes>; 2]>,
    rounds_to_single: bool,
}

impl<'a> LaneDescent<'a> {
    /// `None` where the rows, their goals or the attack ask for more than this search does.
    pub(super) fn new(state: &AttackState<'a>, goals: &[Box<dyn Goal>]) -> Result<Option<Self>> {
        let attack = state.attack;
        let rules = attack.constraint.behaviour().multipliers(1)?;
        let fits = rules.is_none()
            && attack.step_cap.is_none()
            && attack.threat.is_ball_with_bounds()
            && state.kept().len() == 1
            && TopKByLanes::new(&state.top[..1]).is_some();
        let (Some((of, is_absolute)), Some(chain), true) =
            (attack.explain.plain_gradient(), state.own_chain, fits)
        else {
            return Ok(None);
        };
        let weights: Option<Vec<&[f64]>> = goals.iter().map(|goal| goal.weights()).collect();
        let (Some(tile), Some(weights)) = (chain.margin_tile(), weights) else {
            return Ok(None);
        };
        let features = state.features();
        let bounds = attack.threat.is_bounded().then(|| {
            let x = state.origin().iter().enumerate();
            let bounds = x.map(|(place, &x)| attack.threat.bounds(place % features, x));
            let (low, high): (Vec<f64>, Vec<f64>) = bounds.unzip();
            [low, high].map(|bounds| side_by_side(&bounds, features))
        });
        Ok(Some(Self {
            tile,
            tile_rows: chain.rows(),
            of,
            is_absolute,
            weights: side_by_side(&weights.concat(), features),
            bounds,
            rounds_to_single: state.network.dtype() == DType::F32,
        }))
    }

    /// One run from searching points, which may be the rows themselves.
    pub(super) fn descend(
        &mut self,
        state: &mut AttackState<'_>,
        start: &[f64],
        from_row: bool,
    ) -> Result<()> {
        // The sets are looked at while the state changes.
        let top = std::mem::take(&mut state.top);
        let mut firsts = (0..state.count()).step_by(self.tile_rows);
        let found = firsts.try_for_each(|first| {
            let rows = first..state.count().min(first + self.tile_rows);
            self.descend_tile(state, &top[rows.clone()], rows, start, from_row)
        });
        state.top = top;
        found
    }

    fn descend_tile(
        &mut self,
        state: &mut AttackState<'_>,
        top: &[TopK],
        rows: std::ops::Range<usize>,
        start: &[f64],
        from_row: bool,
    ) -> Result<()> {
        let (attack, features) = (state.attack, state.features());
        let (first, count) = (rows.start, rows.len());
        // A tile is a multiple of eight rows, so its numbers begin with a whole register.
        let place = first / LANES * features..rows.end.div_ceil(LANES) * features;
        let numbers = first * features..rows.end * features;
        let x = side_by_side(&state.origin()[numbers.clone()], features);
        let classes: Vec<f64> = rows.clone().map(|row| as_f64(state.class(row))).collect();
        let classes = side_by_side(&classes, 1);
        let (stops, ignores) = (
            attack.constraint.behaviour().stops_at_change(),
            state.ignores_predictions(),
        );
        let mut z = side_by_side(&start[numbers], features);
        let mut before = x.clone();
        let Some(mut sets) = TopKByLanes::new(top) else {
            unreachable!("as many as were counted at the start")
        };
        // How the rows stand, and how they stood one step before.
        let mut found = Vec::new();
        let mut found_before = vec![KeptByLanes::all(attack.k); classes.len()];
        let least: Vec<f64> = rows.map(|row| as_f64(state.least_kept(row))).collect();
        let mut least = side_by_side(&least, 1);
        let mut searching = side_by_side(&vec![1.0; count], 1);
        let mut news = vec![[0.0; LANES]; classes.len()];
        let mut left = count;
        for step in 0..=attack.steps {
            self.tile.run(&z, self.of, &classes);
            sets.count(self.tile.gradient(), self.is_absolute, &mut found)?;
            let logits = self.tile.logits();
            by_lanes(Watch {
                found: &found,
                logits,
                classes: &classes,
                searching: &searching,
                least: &least,
                stops,
                news: &mut news,
            });
            for row in 0..count {
                let (eight, lane) = (row / LANES, row % LANES);
                if news[eight][lane] < 0.5 || searching[eight][lane] < 0.5 {
                    continue;
                }
                self.check_row(row, features)?;
                let held = is_held(logits, &classes, row);
                if stops && !held {
                    searching[eight][lane] = 0.0;
                    left -= 1;
                    if from_row {
                        // The row itself is no point that the search took it to.
                        let single = self.rounds_to_single && step > 0;
                        let here = point(&before, row, features, single).collect();
                        let status = status(found_before[eight].kept[lane], true);
                        state.end_at(first + row, here, status, true);
                    }
                } else if (held || ignores) && found[eight].kept[lane] < least[eight][lane] {
                    least[eight][lane] = found[eight].kept[lane];
                    let status = status(found[eight].kept[lane], held);
                    let at = point(&z, row, features, self.rounds_to_single);
                    state.keep(first + row, status, at);
                    // A P@k is the first below a bound only where it is the least so far.
                    if from_row && step > 0 {
                        state.note_kept(first + row, step, status.kept);
                    }
                }
            }
            if step == attack.steps || left == 0 {
                break;
            }
            by_lanes(Step {
                features,
                length: attack.step_size,
                radius: attack.threat.ball().radius,
                is_absolute: self.is_absolute,
                gradient: self.tile.gradient(),
                curvature: self.tile.curvature(),
                weights: &self.weights[place.clone()],
                x: &x,
                z: &z,
                bounds: self
                    .bounds
                    .as_ref()
                    .map(|bounds| [0, 1].map(|end| &bounds[end][place.clone()])),
                next: &mut before,
            });
            std::mem::swap(&mut z, &mut before);
            std::mem::swap(&mut found, &mut found_before);
        }
        if from_row {
            for row in 0..count {
                let (eight, lane) = (row / LANES, row % LANES);
                if searching[eight][lane] > 0.5 {
                    let here = point(&z, row, features, self.rounds_to_single).collect();
                    let held = is_held(self.tile.logits(), &classes, row);
                    let status = status(found[eight].kept[lane], held);
                    state.end_at(first + row, here, status, false);
                }
            }
        }
        Ok(())
    }

    /// Refuses a row whose numbers at the latest evaluation are not finite.
    fn check_row(&self, row: usize, features: usize) -> Result<()> {
        let of_row =
            |lanes: &[Lanes], width| -> Vec<f64> { point(lanes, row, width, false).collect() };
        check_finite("the explanation", &of_row(self.tile.gradient(), features))?;
        check_finite("the values", &of_row(self.tile.logits(), 2))
    }
}

/// Rows of so many numbers, eight side by side; zeros beyond the last.
fn side_by_side(rows: &[f64], width: usize) -> Vec<Lanes> {
    let count = rows.len() / width;
    let mut lanes = vec![[0.0; LANES]; count.div_ceil(LANES) * width];
    for (rows, lanes) in rows.chunks(LANES * width).zip(lanes.chunks_mut(width)) {
        for (lane, row) in rows.chunks(width).enumerate() {
            for (lanes, number) in lanes.iter_mut().zip(row) {
                lanes[lane] = *number;
            }
        }
    }
    lanes
}

/// One of these rows; with the numbers that an `f32` can hold, if asked for.
fn point(
    lanes: &[Lanes],
    row: usize,
    width: usize,
    rounds_to_single: bool,
) -> impl Iterator<Item = f64> {
    let numbers = &lanes[row / LANES * width..][..width];
    numbers.iter().map(move |numbers| {
        let number = numbers[row % LANES];
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the network computes in f32"
        )]
        let single = number as f32;
        if rounds_to_single {
            f64::from(single)
        } else {
            number
        }
    })
}

/// Whether a row's class is the one that its logits say.
fn is_held(logits: &[Lanes], classes: &[Lanes], row: usize) -> bool {
    let (eight, lane) = (row / LANES, row % LANES);
    let is_second = logits[2 * eight + 1][lane] > logits[2 * eight][lane];
    is_second == (classes[eight][lane] > 0.5)
}

fn status(kept: f64, held: bool) -> RowStatus {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count"
    )]
    let kept = kept as usize;
    RowStatus { kept, held }
}

/// Finds the rows of which there is news: 1 where a row that still moves keeps fewer features than ever, or has another
/// class, if that stops it, or may have a number that is not finite; else 0.
struct Watch<'a> {
    found: &'a [KeptByLanes],
    logits: &'a [Lanes],
    classes: &'a [Lanes],
    searching: &'a [Lanes],
    least: &'a [Lanes],
    stops: bool,
    news: &'a mut [Lanes],
}

impl LaneLoop for Watch<'_> {
    #[inline(always)]
    fn run<R: Register>(self) {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let (half, stops) = (R::splat(0.5), R::splat(f64::from(u8::from(self.stops))));
        for eight in 0..self.news.len() {
            let found = &self.found[eight];
            let first = R::load(&self.logits[2 * eight]);
            let second = R::load(&self.logits[2 * eight + 1]);
            let is_second = second.if_greater(first, one, zero);
            let changed = (is_second - R::load(&self.classes[eight])).abs() * stops;
            let least = R::load(&self.least[eight]);
            let fewer = least.if_greater(R::load(&found.kept), one, zero);
            // Of what is finite, zero.
            let odd = (R::load(&found.size) + first + second) * zero;
            let news = (changed + fewer + odd) * R::load(&self.searching[eight]);
            // What is no number is not less than a half either.
            half.if_greater(news, zero, one)
                .store(&mut self.news[eight]);
        }
    }
}

/// From searching points to the next ones, within the set.
struct Step<'a> {
    features: usize,
    length: f64,
    radius: f64,
    is_absolute: bool,
    gradient: &'a [Lanes],
    curvature: &'a [Lanes],
    weights: &'a [Lanes],
    x: &'a [Lanes],
    z: &'a [Lanes],
    /// The least and the greatest values of every number, where it has some.
    bounds: Option<[&'a [Lanes]; 2]>,
    next: &'a mut [Lanes],
}

impl LaneLoop for Step<'_> {
    #[inline(always)]
    fn run<R: Register>(self) {
        let (zero, length, radius) = (R::splat(0.0), R::splat(self.length), R::splat(self.radius));
        // Plain counters: what an iterator calls may be compiled apart, for no instruction set in particular.
        for (eight, curvature) in self.curvature.iter().enumerate() {
            let (first, features) = (eight * self.features, self.features);
            let (gradient, weights) = (
                &self.gradient[first..][..features],
                &self.weights[first..][..features],
            );
            let (x, z) = (&self.x[first..][..features], &self.z[first..][..features]);
            let next = &mut self.next[first..][..features];
            // Of sizes, w sign(g) g is w |g|.
            let along = if self.is_absolute {
                sum_of_lanes(gradient, weights, |g: R, w| g.abs() * w)
            } else {
                sum_of_lanes(gradient, weights, |g: R, w| g * w)
            };
            let factor = along * R::load(curvature);
            let slope = sum_of_lanes(gradient, gradient, |g: R, _| {
                let product = factor * g;
                product * product
            });
            let slope = slope.sqrt();
            let pace = slope.if_greater(zero, length / slope, zero);
            for i in 0..features {
                let step = pace * (factor * R::load(&gradient[i]));
                (R::load(&z[i]) - step).store(&mut next[i]);
            }
            if let Some([low, high]) = self.bounds {
                let (low, high) = (&low[first..][..features], &high[first..][..features]);
                for i in 0..features {
                    let (low, high, z) = (R::load(&low[i]), R::load(&high[i]), R::load(&next[i]));
                    let z = low.if_greater(z, low, z);
                    z.if_greater(high, high, z).store(&mut next[i]);
                }
            }
            let size = sum_of_lanes(x, next, |x: R, z| (z - x) * (z - x)).sqrt();
            let shrink = radius / size;
            for i in 0..features {
                let (z, x) = (R::load(&next[i]), R::load(&x[i]));
                let shrunk = x + (z - x) * shrink;
                size.if_greater(radius, shrunk, z).store(&mut next[i]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::attack::constraint::no_update::NoUpdateConfig;
    use crate::attack::constraint::none::NoneConfig;
    use crate::attack::mse_attack::MseAttackConfig;
    use crate::attack::state::Networks;
    use crate::attack::threat::{BallConfig, Norm};
    use crate::attack::top_k::TopKConfig;
    use crate::attack::{AttackConfig, Attacked, CheckedAttack, Plan, ThreatConfig};
    use crate::data::{InputShape, Schema};
    use crate::explain::grad::GradConfig;
    use crate::explain::reduce::ReductionConfig;
    use crate::explain::{ExplainConfig, Of, Points};
    use crate::model::{Activation, Fresh, MlpConfig, ModelConfig};
    use thickset_engine::Network;

    fn network(features: usize, hidden: &[usize], double: bool, seed: u64) -> Network {
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: hidden.to_vec(),
            ..MlpConfig::default()
        });
        let mut source = if double {
            Fresh::double(Seed::new(seed))
        } else {
            Fresh::new(Seed::new(seed))
        };
        model
            .network(&InputShape::Table, features, 2, &mut source)
            .unwrap()
    }

    fn schema(features: usize) -> Schema {
        let names: Vec<String> = (0..features).map(|index| format!("x{index}")).collect();
        Schema::table(&names)
    }

    fn rows(count: usize, features: usize, seed: u64) -> Vec<f64> {
        let mut stream = Seed::new(seed).stream("rows");
        (0..count * features).map(|_| stream.uniform()).collect()
    }

    fn ball(radius: f64) -> ThreatConfig {
        ThreatConfig {
            ball: BallConfig {
                norm: Norm::L2,
                radius,
            },
            ..ThreatConfig::papers()
        }
    }

    /// Whether the rows go side by side.
    fn goes_by_lanes(attack: &CheckedAttack, network: &Network, values: &[f64]) -> bool {
        let networks = Networks::new(network, attack.surrogate);
        let points = Points { values, ids: &[0] };
        let state = AttackState::new(attack, &networks, points, Seed::new(1)).unwrap();
        let Plan::Descent(of) = &attack.plan else {
            panic!("it steps down a gradient")
        };
        let goals = [of.goal(&state.importance, &state.top[0])];
        LaneDescent::new(&state, &goals).unwrap().is_some()
    }

    /// Attacks rows side by side, and by the general search, which alone keeps a trace. Every number must be the same.
    fn check_same(attack: &CheckedAttack, network: &Network, values: &[f64]) -> Vec<Attacked> {
        let features = network.features();
        assert!(goes_by_lanes(attack, network, &values[..features]));
        let ids: Vec<u64> = (0..values.len() / features).map(|row| row as u64).collect();
        let points = Points { values, ids: &ids };
        let found = attack.perturb(network, points, Seed::new(3)).unwrap();
        let (expected, _) = attack
            .perturb_traced(network, points, Seed::new(3))
            .unwrap();
        assert_eq!(found, expected);
        found
    }

    #[test]
    fn rows_side_by_side_go_where_they_go_one_by_one() {
        let explain = |of: Of, reduce: ReductionConfig| ExplainConfig {
            explanation: GradConfig { of }.into(),
            reduce,
            ..ExplainConfig::default()
        };
        let explains = [
            explain(Of::Probability, ReductionConfig::Absolute),
            explain(Of::Probability, ReductionConfig::Signed),
            explain(Of::Loss, ReductionConfig::Absolute),
            explain(Of::Logit, ReductionConfig::Absolute),
        ];
        let (mut stopped, mut lost, mut cases) = (0, 0, 0);
        for (features, hidden, count) in [
            (2, &[3][..], 1),
            (5, &[7, 4], 33),
            (28, &[64, 32], 67),
            (13, &[], 9),
        ] {
            for (double, restarts, is_free) in
                [(false, 1, false), (true, 3, false), (false, 2, true)]
            {
                let network = network(features, hidden, double, 5);
                let values = rows(count, features, 7);
                for explain in &explains {
                    for (k, radius, bounded) in [
                        (1, 0.5, false),
                        (features - 1, 0.3, true),
                        (features / 2, 6.0, false),
                    ] {
                        let mut threat = ball(radius);
                        threat.r#box = bounded;
                        let mut config = AttackConfig {
                            k,
                            threat,
                            steps: 12,
                            restarts,
                            ..AttackConfig::default()
                        };
                        if is_free {
                            config.constraint = NoneConfig {}.into();
                            config.method = TopKConfig {}.into();
                        }
                        let attack = config.check(explain, &schema(features)).unwrap();
                        let found = check_same(&attack, &network, &values);
                        stopped += found.iter().filter(|one| one.last.stopped).count();
                        lost += found.iter().filter(|one| one.precision < 1.0).count();
                        cases += found.len();
                    }
                }
            }
        }
        assert!(stopped > 0, "none of {cases} stopped");
        assert!(lost > cases / 10, "{lost} of {cases} lost a feature");
    }

    #[test]
    fn a_row_does_not_depend_on_those_beside_it() {
        let (network, values) = (network(28, &[64, 32], false, 1), rows(41, 28, 2));
        let config = AttackConfig {
            k: 8,
            threat: ball(2.0),
            steps: 20,
            restarts: 2,
            ..AttackConfig::default()
        };
        let attack = config
            .check(&ExplainConfig::default(), &schema(28))
            .unwrap();
        let all = check_same(&attack, &network, &values);
        for row in [0, 7, 8, 31, 32, 40] {
            let points = Points {
                values: &values[row * 28..][..28],
                ids: &[row as u64],
            };
            let alone = attack.perturb(&network, points, Seed::new(3)).unwrap();
            assert_eq!(alone[0], all[row]);
        }
    }

    #[test]
    fn rows_without_a_slope_stay_and_ties_go_to_the_lower_index() {
        // Behind the kink of both features nothing depends on them; on the way there, one gradient is zero.
        let network = crate::toy::kinked_network();
        let values = [-1.0, -1.0, 0.1, 1.0, 0.1, -1.0, 0.3, 0.2];
        let config = AttackConfig {
            k: 1,
            threat: ball(0.5),
            steps: 10,
            ..AttackConfig::default()
        };
        let attack = config.check(&ExplainConfig::default(), &schema(2)).unwrap();
        let found = check_same(&attack, &network, &values);
        assert_eq!(found[0].last.point, [-1.0, -1.0]);
        assert!((found[0].precision - 1.0).abs() < 1e-15);
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let network = crate::toy::one_hidden_layer(2, 1, [vec![1e200, 0.0], vec![1e200]]);
        let config = AttackConfig {
            k: 1,
            threat: ball(0.5),
            steps: 3,
            ..AttackConfig::default()
        };
        let attack = config.check(&ExplainConfig::default(), &schema(2)).unwrap();
        let points = Points {
            values: &[-1e-3, 1.0],
            ids: &[0],
        };
        // At the row the unit is off; a random start would find it on, with a logit that overflows.
        assert!(attack.perturb(&network, points, Seed::new(1)).is_ok());
        let restarted = CheckedAttack {
            restarts: 8,
            ..attack
        };
        let refused = restarted.perturb(&network, points, Seed::new(1));
        assert!(matches!(refused, Err(crate::Error::NotFinite { .. })));
    }

    #[test]
    fn what_this_search_does_not_do_goes_the_general_way() {
        let (relu, values) = (network(4, &[6], false, 1), rows(1, 4, 2));
        let usual = AttackConfig {
            k: 2,
            threat: ThreatConfig::papers(),
            ..AttackConfig::default()
        };
        let goes = |config: AttackConfig, network: &Network, explain: &ExplainConfig| {
            let attack = config.check(explain, &schema(4)).unwrap();
            goes_by_lanes(&attack, network, &values)
        };
        let explain = ExplainConfig::default();
        assert!(goes(usual.clone(), &relu, &explain));
        let cube = BallConfig {
            norm: Norm::Linf,
            radius: 0.5,
        };
        for other in [
            AttackConfig {
                surrogate: Some(4.0),
                ..usual.clone()
            },
            AttackConfig {
                step_cap: Some(0.01),
                ..usual.clone()
            },
            AttackConfig {
                constraint: NoUpdateConfig {}.into(),
                ..usual.clone()
            },
            AttackConfig {
                method: MseAttackConfig::default().into(),
                ..usual.clone()
            },
            AttackConfig {
                threat: ThreatConfig {
                    ball: cube,
                    ..ThreatConfig::papers()
                },
                ..usual.clone()
            },
        ] {
            assert!(!goes(other, &relu, &explain));
        }
        let summed = ExplainConfig {
            reduce: ReductionConfig::NormalisedAbsolute,
            ..ExplainConfig::default()
        };
        assert!(!goes(usual.clone(), &relu, &summed));
        let smooth = ModelConfig::Mlp(MlpConfig {
            hidden: vec![6],
            activation: Activation::Softplus { beta: 2.0 },
        });
        let of = |model: &ModelConfig, classes: usize| {
            model
                .network(
                    &InputShape::Table,
                    4,
                    classes,
                    &mut Fresh::new(Seed::new(1)),
                )
                .unwrap()
        };
        assert!(!goes(usual.clone(), &of(&smooth, 2), &explain));
        let three = of(&ModelConfig::Mlp(MlpConfig::default()), 3);
        assert!(!goes(usual, &three, &explain));
    }
}
