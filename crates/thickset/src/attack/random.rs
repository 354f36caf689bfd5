//! Random search: the worst of many points on the sphere or in the ball. It follows nothing, so nothing can mask its
//! gradient; what a cleverer attack finds less than this, it has missed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::outcome::Attacked;
use super::state::AttackState;
use super::threat::ball::Surface;
use super::{Attack, AttackOption, Plan, Search, Setup};
use crate::check::as_f64;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "random",
    label: "Random search",
    family: Family::Attack,
    summary: "The worst of many random points on the sphere or in the ball",
    formula: "argmin_{x_1 … x_N} P@k(I(x), I(x_i))",
    source: "thickset; the floor that any attack must beat",
    direction: None,
    cost: "`points` explanations",
    defaults: &[
        Setting::new("points", "points drawn for a row"),
        Setting::new("surface", "sphere, or ball for points inside"),
    ],
};

const MOST_POINTS: usize = 1_000_000;

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RandomConfig {
    /// Points drawn for a row.
    pub points: usize,
    /// Where.
    pub surface: Surface,
}

impl Default for RandomConfig {
    fn default() -> Self {
        Self {
            points: 100,
            surface: Surface::Sphere,
        }
    }
}

impl Attack for RandomConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        &[AttackOption::Constraint, AttackOption::Radius]
    }

    fn plan(&self, _: &Setup<'_>) -> Result<Plan> {
        if (1..=MOST_POINTS).contains(&self.points) {
            return Ok(Plan::Search(Arc::new(*self)));
        }
        Err(Error::OutOfRange {
            what: "`random.points`",
            expected: "in 1..=1000000",
            got: as_f64(self.points),
        })
    }
}

impl Search for RandomConfig {
    fn run(&self, mut state: AttackState<'_>) -> Result<Vec<Attacked>> {
        let name = match self.surface {
            Surface::Sphere => "random on the sphere",
            Surface::Ball => "random in the ball",
        };
        let mut streams = state.streams(name);
        let mut points = state.origin().to_vec();
        for step in 1..=self.points {
            for (row, stream) in streams.iter_mut().enumerate() {
                state.draw(row, self.surface, stream, &mut points);
            }
            state.evaluate(&points)?;
            for row in 0..streams.len() {
                state.keep_if_worst(row, &points);
                if step == self.points {
                    state.note_end(row, &points, state.status(row), false);
                }
            }
        }
        state.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::kinked_precision;

    #[test]
    fn the_ranking_changes_where_the_ball_reaches_the_kink_and_not_before() {
        for (radius, expected) in [(0.29, 1.0), (0.5, 0.0)] {
            let got = kinked_precision(RandomConfig::default().into(), radius);
            assert!((got - expected).abs() < 1e-12, "{radius}: {got}");
        }
    }

    #[test]
    fn the_last_of_the_points_is_where_the_search_ended() {
        use crate::attack::AttackConfig;
        use crate::attack::state::Networks;
        use crate::explain::{ExplainConfig, Points};
        let config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        let schema = crate::Schema::table(&["x0", "x1"]);
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let network = crate::toy::kinked_network();
        let networks = Networks::new(&network, None);
        let rows = Points {
            values: &[0.3, 1.0],
            ids: &[5],
        };
        let state = || AttackState::new(&attack, &networks, rows, crate::Seed::new(1)).unwrap();
        let mut stream = state().streams("random on the sphere").remove(0);
        let mut point = [0.0; 2];
        for _ in 0..3 {
            state().draw(0, Surface::Sphere, &mut stream, &mut point);
        }
        let search = RandomConfig {
            points: 3,
            ..RandomConfig::default()
        };
        let found = search.run(state()).unwrap();
        assert_eq!(found[0].last.point, point);
    }
}
