//! Refinement: goes on from the worst point of each row that the rest of a suite found.
//!
//! First a [border](super::border) descent from there, in short steps; then random steps of many lengths, each kept if it loses no
//! salient feature back and brings the next swap nearer. Whatever a model is made of, a point that is already bad is a better
//! place to look from than the row itself. Only a [suite](super::suite) has such points, so it is no attack of its own.

use std::sync::Arc;

use super::border::{BorderConfig, NextSwap};
use super::goal::{Goal as _, OfShares};
use super::outcome::Attacked;
use super::start_points::StartPoints;
use super::state::AttackState;
use super::{Plan, Search};
use crate::registry::{Family, Info};
use crate::{Result, Stream};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "refine",
    label: "Refinement",
    family: Family::Attack,
    summary: "Goes on from the worst point that the rest of a suite found, by short descents and random steps",
    formula: "z <- z' if P@k(I(x), I(z')) is lower, or as low with a nearer next swap; z' = project(z + r u), u random",
    source: "thickset",
    direction: None,
    cost: "one explanation a random step; one explanation and one Hessian product a step of the descent",
    defaults: &[],
};

/// The longest first step of the descent, as a share of the radius.
const FIRST_STEP: f64 = 0.3;

/// Random steps are between these shares of the radius, at random in the logarithm.
const STEPS: (f64, f64) = (0.01, 0.5);

#[derive(Debug)]
struct Refine {
    /// The points to start from, one a row.
    starts: StartPoints,
    /// Random steps.
    tries: usize,
}

/// Goes on from these rows' points, in so many random steps.
pub(super) fn plan(starts: StartPoints, tries: usize) -> Plan {
    Plan::Search(Arc::new(Refine { starts, tries }))
}

impl Search for Refine {
    fn run(&self, mut state: AttackState<'_>) -> Result<Vec<Attacked>> {
        let features = state.features();
        let rows = state.rows();
        let mut start = Vec::with_capacity(rows.values.len());
        for (x, id) in rows.values.chunks(features).zip(rows.ids) {
            let found = self.starts.of(*id, x).first();
            start.extend_from_slice(found.map_or(x, Vec::as_slice));
        }
        let mut goals = NextSwap::of_shares(&state);
        BorderConfig::default().descend(&mut state, &mut goals, start.clone(), FIRST_STEP)?;
        self.walk(&mut state, &mut goals, start)?;
        state.finish()
    }
}

impl Refine {
    /// The random steps.
    fn walk(
        &self,
        state: &mut AttackState<'_>,
        goals: &mut [OfShares],
        mut here: Vec<f64>,
    ) -> Result<()> {
        let (features, origin) = (state.features(), state.origin());
        let mut streams = state.streams("refine");
        let mut points = here.clone();
        state.evaluate(&points)?;
        let mut best: Vec<(usize, f64)> = (0..streams.len())
            .map(|row| standing(state, goals, row))
            .collect();
        for _ in 0..self.tries {
            for (row, stream) in streams.iter_mut().enumerate() {
                let place = row * features..(row + 1) * features;
                let moved = step(state, row, &here[place.clone()], stream);
                let x = &origin[place.clone()];
                state.settle(x, &moved, &mut points[place]);
            }
            state.evaluate(&points)?;
            for (row, best) in best.iter_mut().enumerate() {
                state.keep_if_worst(row, &points);
                if !state.status(row).held {
                    continue;
                }
                let found = standing(state, goals, row);
                if found.0 < best.0 || (found.0 == best.0 && found.1 < best.1) {
                    *best = found;
                    let place = row * features..(row + 1) * features;
                    here[place.clone()].copy_from_slice(&points[place]);
                }
            }
        }
        Ok(())
    }
}

/// How many salient features are left at the latest evaluation, and the gap of the next swap.
fn standing(state: &AttackState<'_>, goals: &mut [OfShares], row: usize) -> (usize, f64) {
    let importance = state.importance_of(row);
    let mut slope = vec![0.0; importance.len()];
    let gap = goals[row].evaluate(0, importance, &mut slope);
    (state.status(row).kept, gap)
}

/// A random step from a point, back in the set.
fn step(state: &AttackState<'_>, row: usize, from: &[f64], stream: &mut Stream) -> Vec<f64> {
    let features = state.features();
    let x = &state.origin()[row * features..(row + 1) * features];
    let threat = &state.attack.threat;
    let share = STEPS.0 * (STEPS.1 / STEPS.0).powf(stream.uniform());
    let mut direction: Vec<f64> = x.iter().map(|_| stream.normal()).collect();
    for (value, (low, high)) in direction.iter_mut().zip(threat.reach(x)) {
        if low >= high {
            *value = 0.0;
        }
    }
    let size = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
    let factor = if size > 0.0 {
        share * threat.largest_move(x) / size
    } else {
        0.0
    };
    let mut moved: Vec<f64> = from
        .iter()
        .zip(&direction)
        .map(|(from, d)| from + factor * d)
        .collect();
    threat.project(x, &mut moved);
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::state::Networks;
    use crate::attack::{AttackConfig, CheckedAttack};
    use crate::data::Schema;
    use crate::explain::{ExplainConfig, Points};
    use crate::toy::{KINKED_ROW, kinked_network};

    #[test]
    fn what_was_found_is_kept_and_a_step_over_the_kink_is_taken() {
        let schema = Schema::table(&["x0", "x1"]);
        let mut config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 0.5;
        let checked = config.check(&ExplainConfig::default(), &schema).unwrap();
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        // From a point just before the kink, and from one beyond it.
        for (start, tries) in [([0.01, 1.0], 50), ([-0.1, 1.0], 0)] {
            let attack = CheckedAttack {
                kind: INFO.id,
                plan: plan(
                    StartPoints::new([(0, &KINKED_ROW[..], &start[..])].into_iter()),
                    tries,
                ),
                ..checked.clone()
            };
            let found = attack
                .perturb(&kinked_network(), rows, crate::Seed::new(1))
                .unwrap();
            assert!(found[0].held && found[0].precision == 0.0, "{start:?}");
        }
    }

    #[test]
    fn a_row_stands_by_what_it_has_left_and_by_the_gap_of_its_next_swap() {
        let config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        let schema = Schema::table(&["x0", "x1"]);
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let network = kinked_network();
        let networks = Networks::new(&network, None);
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        let mut state = AttackState::new(&attack, &networks, rows, crate::Seed::new(1)).unwrap();
        let mut goals = NextSwap::of_shares(&state);
        // The gradient goes as (2, 1) before the kink and as (0, 1) beyond it.
        for (point, left, gap) in [(KINKED_ROW, 1, 1.0 / 3.0), ([-0.1, 1.0], 0, 0.0)] {
            state.evaluate(&point).unwrap();
            let found = standing(&state, &mut goals, 0);
            assert_eq!(found.0, left, "{point:?}");
            assert!((found.1 - gap).abs() < 1e-12, "{point:?}: {}", found.1);
        }
    }

    #[test]
    fn a_random_step_is_between_a_hundredth_and_half_of_the_largest_move() {
        let mut schema = Schema::table(&["x0", "x1"]);
        schema.features[1].immutable = true;
        let mut config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 0.5;
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let network = kinked_network();
        let networks = Networks::new(&network, None);
        let rows = Points {
            values: &[9.0, 9.0, 0.3, 1.0],
            ids: &[0, 1],
        };
        let state = AttackState::new(&attack, &networks, rows, crate::Seed::new(1)).unwrap();
        let mut stream = crate::Seed::new(1).stream("step");
        let mut lengths: Vec<f64> = (0..400)
            .map(|_| {
                let moved = step(&state, 1, &KINKED_ROW, &mut stream);
                assert!((moved[1] - 1.0).abs() < 1e-15);
                (moved[0] - 0.3).abs()
            })
            .collect();
        lengths.sort_by(f64::total_cmp);
        // Half of the steps are below the geometric mean of 0.005 and 0.25.
        assert!(lengths[0] >= 0.005 && lengths[0] < 0.0055, "{}", lengths[0]);
        assert!(
            lengths[399] <= 0.25 && lengths[399] > 0.235,
            "{}",
            lengths[399]
        );
        assert!((0.028..0.045).contains(&lengths[200]), "{}", lengths[200]);
        // A step begins where it is told, and ends within the ball.
        let moved = step(&state, 1, &[0.8, 1.0], &mut stream);
        assert!(moved[0] > 0.5 && moved[0] <= 0.8, "{moved:?}");
    }

    #[test]
    fn random_steps_add_up_where_each_brings_the_next_swap_nearer() {
        let mut config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 0.5;
        let schema = Schema::table(&["x0", "x1"]);
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        // Smooth: the first feature falls behind at about 0, 0.3 and 0.4 away, and a step is 0.25 at the most.
        let network = kinked_network().smooth_twin(5.0);
        let networks = Networks::new(&network, None);
        let rows = Points {
            values: &[0.3, 1.0, 0.4, 1.5],
            ids: &[0, 1],
        };
        let refine = Refine {
            starts: StartPoints::default(),
            tries: 150,
        };
        let mut state = AttackState::new(&attack, &networks, rows, crate::Seed::new(1)).unwrap();
        let mut goals = NextSwap::of_shares(&state);
        refine
            .walk(&mut state, &mut goals, rows.values.to_vec())
            .unwrap();
        for (found, x) in state.finish().unwrap().iter().zip(rows.values.chunks(2)) {
            assert!(found.held && found.precision == 0.0, "{found:?}");
            assert!(attack.threat.ball().size(x, &found.perturbed) <= 0.5 + 1e-12);
        }
    }
}
