//! The border attack: pushes at the two features that are next to swap places.
//!
//! `min_x' s_i - s_j`, where i is the weakest salient feature that is still in the top-k set, j the strongest other one
//! that is not, and s are importances as shares of their sum. Both are chosen anew at every step, so each swap leads on to
//! the next. Steps have momentum and grow shorter, `radius (1 - t / steps)`; a row whose prediction has changed is not
//! stopped but pulled back, along the gradient of the prediction's divergence.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::descent::divergence;
use super::goal::{Goal, OfShares};
use super::outcome::Attacked;
use super::state::AttackState;
use super::threat::ball::Surface;
use super::{Attack, AttackOption, Plan, Search, Setup};
use crate::Result;
use crate::check::{as_f64, check_positive};
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Stream};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "border",
    label: "Border attack",
    family: Family::Attack,
    summary: "Pushes at the weakest salient feature and the strongest other one, with momentum and falling steps",
    formula: "min_x' min_{i salient, kept} s_i(x') - max_{j other, outside} s_j(x'), s = I / sum |I|",
    source: "thickset",
    direction: None,
    cost: "one explanation and one Hessian product a step, and a gradient where the prediction has changed",
    defaults: &[
        Setting::new("momentum", "share of the last direction that is kept"),
        Setting::new(
            "penalty",
            "weight of the way back where the prediction has changed",
        ),
    ],
};

/// Its settings. Steps, restarts and surrogate are the shared ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BorderConfig {
    /// Share of the last direction that is kept.
    pub momentum: f64,
    /// Weight of the way back where the prediction has changed.
    pub penalty: f64,
}

impl Default for BorderConfig {
    fn default() -> Self {
        Self {
            momentum: 0.75,
            penalty: 2.0,
        }
    }
}

impl Attack for BorderConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        &[
            AttackOption::Radius,
            AttackOption::Restarts,
            AttackOption::Steps,
            AttackOption::Surrogate,
        ]
    }

    fn plan(&self, _: &Setup<'_>) -> Result<Plan> {
        check_positive("`border.penalty`", self.penalty)?;
        if (0.0..1.0).contains(&self.momentum) {
            return Ok(Plan::Search(Arc::new(*self)));
        }
        Err(Error::OutOfRange {
            what: "`border.momentum`",
            expected: "at least 0 and below 1",
            got: self.momentum,
        })
    }
}

/// The gap of the next swap, of importances.
pub(super) struct NextSwap {
    /// Which features are salient.
    top: Vec<bool>,
    k: usize,
    order: Vec<usize>,
}

impl NextSwap {
    /// One for each row of a state, of importances as shares of their sum.
    pub(super) fn of_shares(state: &AttackState<'_>) -> Vec<OfShares> {
        let tops = state.top.iter();
        tops.map(|top| OfShares::new(Box::new(Self::new(top))))
            .collect()
    }

    fn new(top: &TopK) -> Self {
        Self {
            top: (0..top.features()).map(|one| top.contains(one)).collect(),
            k: top.k(),
            order: (0..top.features()).collect(),
        }
    }
}

impl Goal for NextSwap {
    fn evaluate(&mut self, _: usize, importance: &[f64], slope: &mut [f64]) -> f64 {
        slope.fill(0.0);
        let order = &mut self.order;
        order.sort_unstable_by(|&a, &b| importance[b].total_cmp(&importance[a]).then(a.cmp(&b)));
        let (inside, outside) = order.split_at(self.k);
        let weakest = inside.iter().rev().find(|one| self.top[**one]);
        let strongest = outside.iter().find(|one| !self.top[**one]);
        let (Some(&weakest), Some(&strongest)) = (weakest, strongest) else {
            return 0.0;
        };
        slope[weakest] = 1.0;
        slope[strongest] = -1.0;
        importance[weakest] - importance[strongest]
    }
}

impl Search for BorderConfig {
    fn run(&self, mut state: AttackState<'_>) -> Result<Vec<Attacked>> {
        let mut goals = NextSwap::of_shares(&state);
        let mut streams = state.streams("border start");
        for run in 0..state.attack.restarts {
            let start = start(&state, run, &mut streams);
            self.descend(&mut state, &mut goals, start, 1.0)?;
        }
        state.finish()
    }
}

/// The rows themselves, then random points of their balls.
fn start(state: &AttackState<'_>, run: usize, streams: &mut [Stream]) -> Vec<f64> {
    let mut start = state.origin().to_vec();
    if run > 0 {
        let features = state.features();
        let rows = state.origin().chunks(features).zip(streams);
        for ((x, stream), z) in rows.zip(start.chunks_mut(features)) {
            z.copy_from_slice(&state.attack.threat.draw(x, Surface::Ball, stream));
        }
    }
    start
}

impl BorderConfig {
    /// One run from a searching point, whose first step is this share of the radius.
    pub(super) fn descend(
        &self,
        state: &mut AttackState<'_>,
        goals: &mut [OfShares],
        mut z: Vec<f64>,
        first_step: f64,
    ) -> Result<()> {
        let attack = state.attack;
        let (features, count, origin) = (state.features(), state.count(), state.origin());
        let ball = attack.threat.ball();
        let mut trial = vec![0.0; z.len()];
        let mut direction = vec![0.0; z.len()];
        let mut gradient = Vec::new();
        for step in 0..=attack.steps {
            state.settle(origin, &z, &mut trial);
            let mut slope = |row: usize, importance: &[f64], slope: &mut [f64]| {
                goals[row].slope(step, importance, slope);
            };
            state.gradient(&trial, &mut slope, &mut gradient)?;
            for row in 0..count {
                state.keep_if_worst(row, &trial);
                if step == attack.steps {
                    state.note_end(row, &trial, state.status(row), false);
                }
            }
            let has_changed: Vec<bool> = (0..count).map(|row| !state.status(row).held).collect();
            let back = has_changed
                .contains(&true)
                .then(|| divergence(state, 0, &trial).gradient);
            for (row, has_changed) in has_changed.into_iter().enumerate() {
                let place = row * features..(row + 1) * features;
                let direction = &mut direction[place.clone()];
                for value in &mut *direction {
                    *value *= self.momentum;
                }
                add_unit(direction, &gradient[place.clone()], 1.0);
                if let Some(back) = back.as_ref().filter(|_| has_changed) {
                    add_unit(direction, &back[place], self.penalty);
                }
            }
            let left = first_step * (1.0 - as_f64(step) / as_f64(attack.steps));
            ball.step(features, &mut z, &direction, ball.radius * left);
            attack.threat.project(origin, &mut z);
        }
        Ok(())
    }
}

/// Adds so much of a vector's direction.
fn add_unit(to: &mut [f64], of: &[f64], weight: f64) {
    let size = of.iter().map(|one| one * one).sum::<f64>().sqrt();
    if size > 0.0 {
        for (to, of) in to.iter_mut().zip(of) {
            *to += weight / size * of;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::AttackConfig;
    use crate::attack::state::Networks;
    use crate::explain::{ExplainConfig, Points};
    use crate::toy::{KINKED_ROW, kinked_network};

    #[test]
    fn the_next_swap_is_of_what_is_still_salient_with_what_is_still_outside() {
        let top = TopK::of(&[5.0, 4.0, 1.0, 0.5], 2).unwrap();
        let mut goal = NextSwap::new(&top);
        let mut slope = [9.0; 4];
        // Nothing has swapped: feature 1 against feature 2.
        let gap = goal.evaluate(0, &[5.0, 4.0, 1.0, 0.5], &mut slope);
        assert!((gap - 3.0).abs() < 1e-15);
        assert_eq!(
            slope.map(f64::to_bits),
            [0.0, 1.0, -1.0, 0.0].map(f64::to_bits)
        );
        // Feature 2 has taken the place of feature 1: now feature 0 against feature 3.
        let gap = goal.evaluate(1, &[5.0, 0.0, 6.0, 0.5], &mut slope);
        assert!((gap - 4.5).abs() < 1e-15);
        assert_eq!(
            slope.map(f64::to_bits),
            [1.0, 0.0, 0.0, -1.0].map(f64::to_bits)
        );
        // All have swapped.
        assert!(goal.evaluate(2, &[0.0, 0.1, 6.0, 5.0], &mut slope).abs() < 1e-15);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for (momentum, penalty) in [(1.0, 1.0), (-0.1, 1.0), (0.5, 0.0), (0.5, f64::NAN)] {
            let text =
                format!("{{ kind = \"border\", momentum = {momentum:?}, penalty = {penalty:?} }}");
            let text = text.replace("NaN", "nan");
            let kind: crate::attack::AttackKind = text.parse().unwrap();
            let config = AttackConfig {
                method: kind,
                ..AttackConfig::default()
            };
            let schema = crate::data::Schema::image(1, 4, 4, 255.0);
            let explain = ExplainConfig::default();
            assert!(config.check(&explain, &schema).is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_step_is_its_share_of_the_radius() {
        let mut config = AttackConfig {
            method: BorderConfig::default().into(),
            k: 1,
            steps: 1,
            surrogate: Some(5.0),
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 0.5;
        let schema = crate::data::Schema::table(&["x0", "x1"]);
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let network = kinked_network();
        let networks = Networks::new(&network, attack.surrogate);
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        for share in [1.0, 0.5, 0.1] {
            let mut state =
                AttackState::new(&attack, &networks, rows, crate::Seed::new(1)).unwrap();
            let mut goals = NextSwap::of_shares(&state);
            BorderConfig::default()
                .descend(&mut state, &mut goals, KINKED_ROW.to_vec(), share)
                .unwrap();
            let end = &state.finish().unwrap()[0].last.point;
            let moved = attack.threat.ball().size(&KINKED_ROW, end);
            assert!((moved - 0.5 * share).abs() < 1e-12, "{share}: {moved}");
        }
    }

    #[test]
    fn what_is_added_has_its_weight_as_length() {
        let mut to = [1.0, 1.0];
        add_unit(&mut to, &[3.0, -4.0], 2.0);
        crate::toy::assert_close(&to, &[2.2, -0.6]);
        add_unit(&mut to, &[0.0, 0.0], 2.0);
        crate::toy::assert_close(&to, &[2.2, -0.6]);
    }

    #[test]
    fn the_first_run_starts_at_the_rows_and_others_within_their_balls() {
        let mut config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 0.5;
        let schema = crate::data::Schema::table(&["x0", "x1"]);
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let network = kinked_network();
        let networks = Networks::new(&network, None);
        let values = [0.3, 1.0, 5.0, 2.0];
        let rows = Points {
            values: &values,
            ids: &[0, 1],
        };
        let state = AttackState::new(&attack, &networks, rows, crate::Seed::new(1)).unwrap();
        let mut streams = state.streams("start");
        crate::toy::assert_close(&start(&state, 0, &mut streams), &values);
        let drawn = start(&state, 1, &mut streams);
        for (x, z) in values.chunks(2).zip(drawn.chunks(2)) {
            let size = attack.threat.ball().size(x, z);
            assert!(size > 0.0 && size <= 0.5, "{size}");
        }
    }

    #[test]
    fn steps_fall_to_nothing_along_a_straight_way() {
        let mut config = AttackConfig {
            method: BorderConfig::default().into(),
            k: 1,
            steps: 4,
            surrogate: Some(2.0),
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 0.5;
        let schema = crate::data::Schema::table(&["x0", "x1"]);
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let network = kinked_network();
        let networks = Networks::new(&network, attack.surrogate);
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        let mut state = AttackState::new(&attack, &networks, rows, crate::Seed::new(1)).unwrap();
        let mut goals = NextSwap::of_shares(&state);
        BorderConfig::default()
            .descend(&mut state, &mut goals, KINKED_ROW.to_vec(), 0.1)
            .unwrap();
        let end = &state.finish().unwrap()[0].last.point;
        let moved = attack.threat.ball().size(&KINKED_ROW, end);
        // A tenth of the radius, then 3/4, a half and a quarter of that; hardly a turn on the way.
        assert!(moved > 0.124 && moved <= 0.125 + 1e-12, "{moved}");
    }
}
