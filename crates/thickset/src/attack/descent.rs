//! The search that most attacks share: steps down a gradient, each projected back into the set.
//!
//! `z <- project(z - step g / ||g||)`, where g is the gradient of the goal, or of its weighted sum with the divergences of the
//! predictions from those at the start (R2ET Eq. 57). One evaluation of the network a step serves both the score of the point and
//! the gradient there.

use thickset_engine::Output;

use super::AttackOption;
use super::constraint::{Multipliers, Observation};
use super::goal::{Goal, Goals, OfShares, shares};
use super::lane_descent::LaneDescent;
use super::outcome::Attacked;
use super::state::{AttackState, RowStatus};
use super::threat::ball::Surface;
use crate::Result;
use crate::check::check_not_empty;
use crate::host::read;
use crate::registry::Setting;

/// The settings that all of these attacks have.
pub(super) static DEFAULTS: &[Setting] = &[
    Setting::new("k", "salient features"),
    Setting::new("steps", "steps of each run"),
    Setting::in_words(
        "step_size",
        "2.5 radius / steps",
        "length of a step in encoded units",
    ),
    Setting::in_words(
        "step_cap",
        "none",
        "largest change of a feature in one step, in encoded units (R2ET, B.1.2: 5 of 255 for images, 0.2 for graphs)",
    ),
    Setting::new("restarts", "runs; all but the first start at random"),
    Setting::in_words(
        "surrogate",
        "none",
        "sharpness of the softplus twin that directions come from",
    ),
    Setting::new(
        "shares",
        "follow importances as shares of their sum, so that confidence plays no part",
    ),
    Setting::new("constraint", "how the prediction is kept"),
    Setting::in_words(
        "pair_predictions",
        "single",
        "kept beside a pair's own: those of each input by f^CL (single), or of the pair with one moved (halves)",
    ),
];

/// The shared options that all of these attacks use.
pub(super) static OPTIONS: &[AttackOption] = &[
    AttackOption::Constraint,
    AttackOption::PairPredictions,
    AttackOption::Radius,
    AttackOption::Restarts,
    AttackOption::Shares,
    AttackOption::StepCap,
    AttackOption::StepSize,
    AttackOption::Steps,
    AttackOption::Surrogate,
];

/// Every iterate of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The rows after each step, row-major, the rows before the first step first.
    pub points: Vec<Vec<f64>>,
    /// The goal's value of each row before each step.
    pub values: Vec<Vec<f64>>,
    /// The gradient that each step followed, row-major.
    pub gradients: Vec<Vec<f64>>,
}

pub(super) struct Descent<'a> {
    state: AttackState<'a>,
    of: &'a dyn Goals,
    goals: Vec<Box<dyn Goal>>,
    rules: Option<Vec<Box<dyn Multipliers>>>,
    /// Of the goals in the inputs, at the latest evaluation.
    gradient: Vec<f64>,
    /// The goals' values there, where somebody asks for them.
    values: Vec<f64>,
}

impl<'a> Descent<'a> {
    pub(super) fn new(of: &'a dyn Goals, mut state: AttackState<'a>) -> Result<Self> {
        check_not_empty("the rows", state.origin())?;
        let attack = state.attack;
        let count = state.count();
        let reference = state.reference().to_vec();
        let width = reference.len() / count;
        of.check_width(width)?;
        let goals = reference.chunks(width).zip(&state.top);
        let goals = goals.map(|(reference, top)| -> Box<dyn Goal> {
            if attack.shares {
                Box::new(OfShares::new(of.goal(&shares(reference), top)))
            } else {
                of.goal(reference, top)
            }
        });
        Ok(Self {
            goals: goals.collect(),
            rules: None,
            gradient: Vec::new(),
            values: vec![0.0; count],
            of,
            state,
        })
    }

    pub(super) fn run(mut self, mut trace: Option<&mut Trace>) -> Result<Vec<Attacked>> {
        // Other attacks start elsewhere, so that together they see more.
        let attack = self.state.attack;
        let twin = attack
            .surrogate
            .map_or_else(String::new, |beta| format!(" {beta}"));
        let shares = if attack.shares { " shares" } else { "" };
        // Only random starts draw.
        let mut streams = if attack.restarts > 1 {
            self.state
                .streams(&format!("attack start {}{shares}{twin}", attack.kind))
        } else {
            Vec::new()
        };
        let mut by_lanes = match trace {
            None => LaneDescent::new(&self.state, &self.goals)?,
            Some(_) => None,
        };
        for run in 0..self.state.attack.restarts {
            let mut start = self.state.origin().to_vec();
            if run > 0 {
                let features = self.state.features();
                for ((stream, x), z) in streams
                    .iter_mut()
                    .zip(self.state.origin().chunks(features))
                    .zip(start.chunks_mut(features))
                {
                    z.copy_from_slice(&self.state.attack.threat.draw(x, Surface::Ball, stream));
                }
            }
            if let Some(by_lanes) = &mut by_lanes {
                by_lanes.descend(&mut self.state, &start, run == 0)?;
                continue;
            }
            let parts = self.state.kept().len();
            let rules = (0..self.state.count())
                .map(|_| self.state.attack.constraint.behaviour().multipliers(parts))
                .collect::<Result<Option<Vec<_>>>>();
            self.rules = rules?;
            self.descend(start, run == 0, trace.take())?;
        }
        self.state.finish()
    }

    /// One run from a searching point, which may be the row itself.
    fn descend(
        &mut self,
        mut z: Vec<f64>,
        from_row: bool,
        mut trace: Option<&mut Trace>,
    ) -> Result<()> {
        let attack = self.state.attack;
        let (features, count) = (self.state.features(), self.state.count());
        let origin = self.state.origin();
        let stops = attack.constraint.behaviour().stops_at_change();
        // Where a row is, and where the search tries to take it.
        let mut here = origin.to_vec();
        let mut trial = vec![0.0; here.len()];
        let start = RowStatus {
            kept: attack.k,
            held: true,
        };
        let mut now = vec![start; count];
        let mut stopped = vec![false; count];
        for step in 0..=attack.steps {
            self.state.settle(origin, &z, &mut trial);
            let is_last = step == attack.steps;
            if is_last {
                self.state.evaluate(&trial)?;
            } else {
                self.gradient_at(&trial, step, trace.is_some())?;
            }
            for row in 0..count {
                let status = self.state.status(row);
                stopped[row] |= stops && !status.held;
                if stopped[row] {
                    continue;
                }
                let place = row * features..(row + 1) * features;
                here[place.clone()].copy_from_slice(&trial[place]);
                now[row] = status;
                self.state.keep_if_worst(row, &trial);
                if from_row && step > 0 {
                    self.state.note_step(row);
                }
            }
            if let Some(trace) = trace.as_deref_mut() {
                trace.points.push(here.clone());
                if !is_last {
                    trace.values.push(self.values.clone());
                    trace.gradients.push(self.gradient.clone());
                }
            }
            if is_last || stopped.iter().all(|stopped| *stopped) && trace.is_none() {
                break;
            }
            let ball = attack.threat.ball();
            if let Some(cap) = attack.step_cap {
                let before = z.clone();
                ball.step(features, &mut z, &self.gradient, attack.step_size);
                for (z, before) in z.iter_mut().zip(before) {
                    *z = z.clamp(before - cap, before + cap);
                }
            } else {
                ball.step(features, &mut z, &self.gradient, attack.step_size);
            }
            attack.threat.project(origin, &mut z);
        }
        for (row, now) in now.into_iter().enumerate() {
            self.state.note_end(row, &here, now, stopped[row]);
        }
        Ok(())
    }

    /// Scores the points and finds the gradient to follow from there.
    fn gradient_at(&mut self, points: &[f64], step: usize, is_traced: bool) -> Result<()> {
        let wants_values = is_traced || self.rules.is_some();
        let (goals, values) = (&mut self.goals, &mut self.values);
        let mut slope = |row: usize, importance: &[f64], slope: &mut [f64]| {
            if wants_values {
                values[row] = goals[row].evaluate(step, importance, slope);
            } else {
                goals[row].slope(step, importance, slope);
            }
        };
        self.state
            .gradient(points, &mut slope, &mut self.gradient)?;
        if self.rules.is_some() {
            self.weigh(points)?;
        }
        Ok(())
    }

    /// Turns the goal's gradient into that of the weighted sum with the predictions' divergences.
    fn weigh(&mut self, points: &[f64]) -> Result<()> {
        let features = self.state.features();
        let (values, gradient) = (&self.values, &mut self.gradient);
        let kept: Vec<Divergence> = self
            .state
            .kept()
            .iter()
            .enumerate()
            .map(|(place, _)| divergence(&self.state, place, points))
            .collect();
        for (row, rule) in self.rules.iter_mut().flatten().enumerate() {
            let place = row * features..(row + 1) * features;
            let factor = self.of.objective_factor(&self.state.top[row]);
            let all_values: Vec<f64> = std::iter::once(factor * values[row])
                .chain(kept.iter().map(|one| one.values[row]))
                .collect();
            let objective = gradient[place.clone()].iter().map(|slope| factor * slope);
            let gradients: Vec<Vec<f64>> = std::iter::once(objective.collect())
                .chain(kept.iter().map(|one| one.gradient[place.clone()].to_vec()))
                .collect();
            rule.update(Observation {
                values: &all_values,
                gradients: &gradients,
            })?;
            for (feature, total) in gradient[place].iter_mut().enumerate() {
                *total = rule
                    .weights()
                    .iter()
                    .zip(&gradients)
                    .map(|(weight, gradient)| weight * gradient[feature])
                    .sum();
            }
        }
        Ok(())
    }
}

/// `KL(f(x_0) || f(x))` of each row for the prediction to keep at this place, and its gradient. The gradient of the
/// cross-entropy with the probabilities at the start as labels is the same.
pub(super) fn divergence(state: &AttackState<'_>, place: usize, points: &[f64]) -> Divergence {
    let (kept, features) = (state.kept()[place], state.features());
    let network = kept.network(state.network);
    let (start, classes) = (state.start(place), network.classes());
    let labels = network.tensor(start.to_vec(), [state.count(), classes]);
    let inputs = kept.inputs(features, state.origin(), points);
    let pass = network.pass(network.batch(&inputs));
    let gradient = read(pass.input_gradient(Output::Loss, labels).value());
    let gradient = kept.spread(features, gradient);
    let now = read(thickset_engine::activation::log_softmax(pass.logits(), 1));
    let values = start.chunks(classes).zip(now.chunks(classes));
    let values = values.map(|(start, now)| {
        let terms = start.iter().zip(now);
        // 0 log 0 is 0.
        terms
            .filter(|(start, _)| **start > 0.0)
            .map(|(start, now)| start * (start.ln() - now))
            .sum::<f64>()
            .max(0.0)
    });
    Divergence {
        values: values.collect(),
        gradient,
    }
}

/// Of each row.
pub(super) struct Divergence {
    values: Vec<f64>,
    /// Row-major.
    pub(super) gradient: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use thickset_engine::{DType, Init, ParameterSource, Role, Tensor};

    use crate::Seed;
    use crate::attack::constraint::no_update::NoUpdateConfig;
    use crate::attack::constraint::none::NoneConfig;
    use crate::attack::kept::Kept;
    use crate::attack::mse_attack::MseAttackConfig;
    use crate::attack::state::Networks;
    use crate::attack::threat::{BallConfig, Norm};
    use crate::attack::{AttackConfig, CheckedAttack, PairPredictions, Plan, ThreatConfig};
    use crate::data::Schema;
    use crate::explain::{ExplainConfig, Points, predicted};
    use crate::model::{Activation, Fresh, GcnConfig, ModelConfig, SiameseConfig, siamese};
    use crate::toy::{KINKED_ROW, kinked_network};

    const HALF: usize = 10;
    const WIDTH: usize = 2 * HALF;

    /// A smooth Siamese network of graphs in double precision, steep enough for slopes that count, with or without a classifier of single
    /// inputs.
    fn pair(seed: u64, has_single: bool) -> (thickset_engine::Network, Schema) {
        let model = ModelConfig::Siamese(SiameseConfig {
            embedding: siamese::Embedding::Gcn(GcnConfig {
                hidden: 6,
                embedding: 4,
                activation: Activation::Softplus { beta: 3.0 },
            }),
            ..SiameseConfig::default()
        });
        let schema = Schema::pair(&Schema::graph(5, -1.0, 1.0));
        let mut source = Steep(Fresh::double(Seed::new(seed)));
        let mut network = model.network(&schema.shape, WIDTH, 2, &mut source).unwrap();
        if has_single {
            network.attach_single_classifier(3, &mut source).unwrap();
        }
        (network, schema)
    }

    /// Weights five times those of a fresh network and no biases, and a head three times as steep: fresh embeddings of graphs hardly differ.
    struct Steep(Fresh);

    impl ParameterSource for Steep {
        fn values(
            &mut self,
            name: &str,
            shape: &[usize],
            init: Init,
            role: Role,
        ) -> thickset_engine::Result<Tensor<2>> {
            let factor = match init {
                Init::LastApart { .. } => 3.0,
                _ if shape.len() == 1 => 0.0,
                _ => 5.0,
            };
            Ok(self.0.values(name, shape, init, role)? * factor)
        }

        fn dtype(&self) -> DType {
            self.0.dtype()
        }
    }

    fn row(name: &str) -> Vec<f64> {
        let mut stream = Seed::new(4).stream(name);
        (0..WIDTH).map(|_| stream.uniform_in(-1.0, 1.0)).collect()
    }

    /// The central differences of a function.
    fn differences(x: &[f64], of: &mut dyn FnMut(&[f64]) -> f64) -> Vec<f64> {
        const STEP: f64 = 1e-5;
        (0..x.len())
            .map(|feature| {
                let mut at = |step: f64| {
                    let mut moved = x.to_vec();
                    moved[feature] += step;
                    of(&moved)
                };
                (at(STEP) - at(-STEP)) / (2.0 * STEP)
            })
            .collect()
    }

    fn close(got: &[f64], expected: &[f64]) {
        let scale = expected
            .iter()
            .fold(0.0_f64, |most, one| most.max(one.abs()));
        assert!(scale > 1e-3, "there is something to compare: {expected:?}");
        for (got, expected) in got.iter().zip(expected) {
            assert!(
                (got - expected).abs() < 1e-5 * scale + 1e-10,
                "{got}, {expected}"
            );
        }
    }

    #[test]
    fn divergences_of_all_three_predictions_of_a_pair_have_the_slopes_of_central_differences() {
        let seed = seed_with_slopes();
        for (has_single, beside, expected) in KEPT {
            let (network, schema) = pair(seed, has_single);
            let attack = attack_keeping(beside, &schema);
            let Plan::Descent(goals) = &attack.plan else {
                panic!("it steps down a gradient")
            };
            let goals = goals.as_ref();
            let networks = Networks::new(&network, None);
            let (x, z) = (row("x"), row("z"));
            let rows = Points {
                values: &x,
                ids: &[0],
            };
            let state = AttackState::new(&attack, &networks, rows, Seed::new(1)).unwrap();
            assert_eq!(state.kept(), expected);
            for place in 0..3 {
                let found = divergence(&state, place, &z);
                assert!(found.values[0] > 1e-3, "{:?}", found.values);
                let expected = differences(&z, &mut |z| divergence(&state, place, z).values[0]);
                close(&found.gradient, &expected);
            }

            // And the search follows their sum with the goal, in equal parts.
            let mut sum = |z: &[f64]| {
                let mut descent = Descent::new(
                    goals,
                    AttackState::new(&attack, &networks, rows, Seed::new(1)).unwrap(),
                )
                .unwrap();
                let slopes = descent.gradient_at(z, 1, true);
                slopes.unwrap();
                let kept: f64 = (0..3)
                    .map(|place| divergence(&descent.state, place, z).values[0])
                    .sum();
                (descent.values[0] + kept) / 4.0
            };
            let expected = differences(&z, &mut sum);
            let mut descent = Descent::new(goals, state).unwrap();
            descent.rules = Some(vec![
                attack
                    .constraint
                    .behaviour()
                    .multipliers(3)
                    .unwrap()
                    .unwrap(),
            ]);
            descent.gradient_at(&z, 1, false).unwrap();
            close(&descent.gradient, &expected);
        }
    }

    fn attack_keeping(beside: PairPredictions, schema: &Schema) -> CheckedAttack {
        let config = AttackConfig {
            method: MseAttackConfig::default().into(),
            k: 4,
            constraint: NoUpdateConfig {}.into(),
            pair_predictions: beside,
            ..AttackConfig::default()
        };
        config.check(&ExplainConfig::default(), schema).unwrap()
    }

    /// The first network all of whose predictions differ between the two points: most fresh ones are sure of some of them.
    fn seed_with_slopes() -> u64 {
        let (x, z) = (row("x"), row("z"));
        let rows = Points {
            values: &x,
            ids: &[0],
        };
        let counts = |seed: &u64| {
            KEPT.iter().all(|(has_single, beside, _)| {
                let (network, schema) = pair(*seed, *has_single);
                let attack = attack_keeping(*beside, &schema);
                let networks = Networks::new(&network, None);
                let state = AttackState::new(&attack, &networks, rows, Seed::new(1)).unwrap();
                (0..3).all(|place| divergence(&state, place, &z).values[0] > 1e-2)
            })
        };
        (0..100).find(counts).unwrap()
    }

    /// Whether the network has a classifier of single inputs, what is asked for, and what is kept.
    const KEPT: [(bool, PairPredictions, [Kept; 3]); 3] = [
        (
            true,
            PairPredictions::Single,
            [Kept::Whole, Kept::SingleLeft, Kept::SingleRight],
        ),
        (
            true,
            PairPredictions::Halves,
            [Kept::Whole, Kept::Left, Kept::Right],
        ),
        (
            false,
            PairPredictions::Single,
            [Kept::Whole, Kept::Left, Kept::Right],
        ),
    ];

    #[test]
    fn a_point_that_changes_the_class_of_one_input_alone_is_not_held() {
        let seed = seed_with_slopes();
        let (mut network, schema) = pair(seed, true);
        let x = row("x");
        let rows = Points {
            values: &x,
            ids: &[0],
        };
        let held = |network: &thickset_engine::Network, beside, z: &[f64]| {
            let config = AttackConfig {
                k: 4,
                pair_predictions: beside,
                ..AttackConfig::default()
            };
            let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
            let networks = Networks::new(network, None);
            let mut state = AttackState::new(&attack, &networks, rows, Seed::new(1)).unwrap();
            state.evaluate(z).unwrap();
            state.status(0).held
        };
        // Of random points, some change the class of an input and keep those of the pair.
        let mut differ = 0;
        let mut stream = Seed::new(5).stream("points");
        for _ in 0..200 {
            let z: Vec<f64> = x.iter().map(|x| x + stream.uniform_in(-0.4, 0.4)).collect();
            let whole = network.logits(network.batch(&z));
            let whole = predicted(&read(whole), 2).unwrap();
            let before = predicted(&read(network.logits(network.batch(&x))), 2).unwrap();
            let single = network.single_classifier().unwrap();
            let classes =
                |rows: &[f64]| predicted(&read(single.logits(single.batch(rows))), 3).unwrap();
            // A row is its two inputs one after the other.
            let expected = whole == before && classes(&z) == classes(&x);
            assert_eq!(held(&network, PairPredictions::Single, &z), expected);
            differ += usize::from(held(&network, PairPredictions::Halves, &z) != expected);
        }
        assert!(differ > 0, "the two ways to keep a pair never differed");
        // Without a classifier both ways are the same.
        network = pair(seed, false).0;
        let z: Vec<f64> = x.iter().map(|x| x + stream.uniform_in(-0.4, 0.4)).collect();
        assert_eq!(
            held(&network, PairPredictions::Single, &z),
            held(&network, PairPredictions::Halves, &z)
        );
    }

    #[test]
    fn no_feature_moves_further_than_the_cap_in_one_step() {
        let (network, schema) = pair(seed_with_slopes(), false);
        let x = row("x");
        let rows = Points {
            values: &x,
            ids: &[0],
        };
        let most = |cap: Option<f64>| {
            let config = AttackConfig {
                k: 4,
                steps: 6,
                step_size: Some(0.4),
                step_cap: cap,
                threat: ThreatConfig {
                    ball: BallConfig {
                        norm: Norm::L2,
                        radius: 5.0,
                    },
                    ..ThreatConfig::papers()
                },
                constraint: NoneConfig {}.into(),
                ..AttackConfig::default()
            };
            let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
            let (_, trace) = attack.perturb_traced(&network, rows, Seed::new(1)).unwrap();
            let steps = trace.points.windows(2);
            steps
                .flat_map(|two| {
                    let moves = two[0].iter().zip(&two[1]);
                    moves
                        .map(|(from, to)| (to - from).abs())
                        .collect::<Vec<_>>()
                })
                .fold(0.0_f64, f64::max)
        };
        assert!(most(None) > 0.1, "{}", most(None));
        let capped = most(Some(0.05));
        assert!((0.049..=0.05 + 1e-12).contains(&capped), "{capped}");
    }

    #[test]
    fn of_several_runs_the_first_begins_at_the_row_itself() {
        let config = AttackConfig {
            k: 1,
            restarts: 3,
            ..AttackConfig::default()
        };
        let schema = Schema::table(&["x0", "x1"]);
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        let (_, trace) = attack
            .perturb_traced(&kinked_network(), rows, Seed::new(1))
            .unwrap();
        assert_eq!(trace.points[0], KINKED_ROW);
    }

    /// Raises all importances: towards an even probability, and beyond it.
    #[derive(Debug)]
    struct Louder;

    impl Goals for Louder {
        fn goal(&self, reference: &[f64], _: &crate::metric::ranking::TopK) -> Box<dyn Goal> {
            Box::new(crate::attack::goal::Weighted(vec![-1.0; reference.len()]))
        }
    }

    fn louder(change: impl Fn(&mut AttackConfig)) -> (Vec<Attacked>, Trace) {
        let mut config = AttackConfig {
            k: 1,
            steps: 3,
            step_size: Some(0.3),
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 5.0;
        change(&mut config);
        let explain = ExplainConfig::default();
        let attack = CheckedAttack {
            plan: Plan::Descent(std::sync::Arc::new(Louder)),
            ..config.check(&explain, &crate::toy::schema()).unwrap()
        };
        // The second row is surer and further from the border between the classes.
        let row = crate::toy::row();
        let values = [row[0], row[1], row[2], row[0] + 0.5, row[1], row[2]];
        let rows = Points {
            values: &values,
            ids: &[0, 1],
        };
        let network = crate::toy::network();
        let alone = attack.perturb(&network, rows, Seed::new(1)).unwrap();
        let (found, trace) = attack.perturb_traced(&network, rows, Seed::new(1)).unwrap();
        assert_eq!(alone, found);
        (found, trace)
    }

    #[test]
    fn where_a_row_stops_at_a_change_it_stays_at_its_last_point_and_others_go_on() {
        use crate::attack::constraint::early_stop::EarlyStopConfig;
        let (found, trace) = louder(|config| config.constraint = EarlyStopConfig {}.into());
        let row = crate::toy::row();
        // Margins: ln 3 - 0.3 sqrt(21) < 0 at once, and 2 more of which a third step takes the rest.
        let step = 0.3 / 21.0_f64.sqrt();
        assert!(found[0].last.stopped && found[0].last.held);
        assert_eq!(found[0].last.point, row);
        assert!(found[1].last.stopped && found[1].last.held);
        let expected: Vec<f64> = [row[0] + 0.5, row[1], row[2]]
            .iter()
            .zip(crate::toy::WEIGHTS)
            .map(|(x, weight)| x - 2.0 * step * weight)
            .collect();
        crate::toy::assert_close(&found[1].last.point, &expected);
        assert_eq!(trace.points.len(), 4);
        crate::toy::assert_close(&trace.points[1][..3], &row);
        // Where nothing stops it, the row goes over the border and back.
        let (found, trace) = louder(|config| config.constraint = NoneConfig {}.into());
        assert!(!found[0].last.stopped && !found[0].last.held);
        let moved = trace.points[1][0] - row[0];
        assert!((moved + 4.0 * step).abs() < 1e-12, "{moved}");
    }

    #[test]
    fn the_cap_holds_on_both_sides_of_a_step() {
        let (_, trace) = louder(|config| {
            config.constraint = NoneConfig {}.into();
            config.step_cap = Some(0.1);
        });
        let row = crate::toy::row();
        // The step is 0.3 (-4, 2, -1) / sqrt(21): 0.26 and 0.13 are cut off, 0.07 is not.
        let last = 0.3 / 21.0_f64.sqrt();
        crate::toy::assert_close(
            &trace.points[1][..3],
            &[row[0] - 0.1, row[1] + 0.1, row[2] - last],
        );
    }

    #[test]
    fn the_first_change_is_counted_in_steps_of_the_run_from_the_row() {
        for restarts in [1, 3] {
            let mut config = AttackConfig {
                k: 1,
                steps: 8,
                step_size: Some(0.1),
                surrogate: Some(5.0),
                restarts,
                ..AttackConfig::default()
            };
            config.threat.ball.radius = 0.7;
            let schema = Schema::table(&["x0", "x1"]);
            let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
            let rows = Points {
                values: &KINKED_ROW,
                ids: &[0],
            };
            let network = kinked_network();
            let (found, trace) = attack.perturb_traced(&network, rows, Seed::new(1)).unwrap();
            let points = trace.points.iter();
            let first = points.take(9).position(|point| point[0] <= 0.0).unwrap();
            assert!(first > 1, "{first}");
            assert_eq!(found[0].first_change, Some(first));
        }
    }
}
