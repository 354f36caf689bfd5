//! Donor directions: as far as the ball allows from the row towards other rows.
//!
//! `x + radius (z - x) / ||z - x||` for rows z of the training data, the donors. A model that is made of pieces treats rows
//! unlike x in another way, and the way there leads through its pieces; random directions hardly ever do. The donors must be
//! handed to a suite ([`CheckedSuite::with_donors`](super::suite::CheckedSuite::with_donors)): a model file does not hold
//! training rows.

use std::sync::Arc;

use super::outcome::Attacked;
use super::state::AttackState;
use super::{Plan, Search};
use crate::Result;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "donors",
    label: "Donor directions",
    family: Family::Attack,
    summary: "Goes towards training rows that are handed in, as far as the ball allows",
    formula: "argmin_z P@k(I(x), I(x + radius (z - x) / ||z - x||))",
    source: "thickset",
    direction: None,
    cost: "one explanation a donor",
    defaults: &[],
};

#[derive(Debug)]
struct Donors(Arc<[f64]>);

/// The search towards these rows, row-major.
pub(super) fn plan(rows: Arc<[f64]>) -> Plan {
    Plan::Search(Arc::new(Donors(rows)))
}

impl Search for Donors {
    fn run(&self, mut state: AttackState<'_>) -> Result<Vec<Attacked>> {
        let (features, origin) = (state.features(), state.origin());
        let threat = &state.attack.threat;
        let mut points = origin.to_vec();
        for donor in self.0.chunks_exact(features) {
            for (x, point) in origin.chunks(features).zip(points.chunks_mut(features)) {
                let mut moved = towards(x, donor, &threat.reach(x));
                let size = threat.ball().size(x, &moved);
                let factor = if size > 0.0 {
                    threat.ball().radius / size
                } else {
                    0.0
                };
                for (moved, x) in moved.iter_mut().zip(x) {
                    *moved = x + factor * (*moved - x);
                }
                threat.project(x, &mut moved);
                state.settle(x, &moved, point);
            }
            state.evaluate(&points)?;
            for row in 0..state.count() {
                state.keep_if_worst(row, &points);
            }
        }
        state.finish()
    }
}

/// The donor, with what cannot move taken from the row.
fn towards(x: &[f64], donor: &[f64], reach: &[(f64, f64)]) -> Vec<f64> {
    let features = x.iter().zip(donor).zip(reach);
    features
        .map(|((x, donor), (low, high))| if low < high { *donor } else { *x })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::{AttackConfig, CheckedAttack};
    use crate::explain::{ExplainConfig, Points};
    use crate::toy::{KINKED_ROW, kinked_network};
    use crate::{Schema, Seed};

    #[test]
    fn what_cannot_move_is_taken_from_the_row() {
        let got = towards(&[1.0, 2.0], &[5.0, 6.0], &[(-1.0, 1.0), (0.0, 0.0)]);
        assert!((got[0] - 5.0).abs() < 1e-15 && (got[1] - 2.0).abs() < 1e-15);
    }

    #[test]
    fn a_row_goes_towards_a_donor_and_not_away_from_it() {
        let mut config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 0.5;
        let attack = config
            .check(&ExplainConfig::default(), &Schema::table(&["x0", "x1"]))
            .unwrap();
        // The kink is at 0, 0.3 away on the way to the first donor.
        for (donor, kept) in [([-1.0, 1.0], 0), ([2.0, 1.0], 1)] {
            let attack = CheckedAttack {
                plan: plan(donor.to_vec().into()),
                ..attack.clone()
            };
            let rows = Points {
                values: &KINKED_ROW,
                ids: &[0],
            };
            let found = attack
                .perturb(&kinked_network(), rows, Seed::new(1))
                .unwrap();
            assert_eq!(1 - found[0].lost(1), kept, "{donor:?}");
        }
    }

    #[test]
    fn a_row_goes_just_as_far_as_the_radius_towards_a_donor() {
        let config = AttackConfig {
            k: 1,
            ..AttackConfig::default()
        };
        let attack = config
            .check(&ExplainConfig::default(), &Schema::table(&["x0", "x1"]))
            .unwrap();
        let network = kinked_network();
        let networks = crate::attack::state::Networks::new(&network, None);
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        // A donor at the row itself gives no direction. The others go along (-4, 3) / 5: 0.4 down, over the kink at 0.3.
        let donors = [[0.3, 1.0], [-3.7, 4.0]];
        let far = [[0.3, 1.0], [-39.7, 31.0]];
        let near = [[0.3, 1.0], [0.26, 1.03]];
        for donors in [donors, far, near] {
            let state = AttackState::new(&attack, &networks, rows, Seed::new(1)).unwrap();
            let found = Donors(donors.concat().into()).run(state).unwrap();
            let size = attack.threat.ball().size(&KINKED_ROW, &found[0].perturbed);
            assert!((size - 0.5).abs() < 1e-12, "{found:?}");
            assert!(found[0].perturbed[0] < 0.0 && found[0].precision == 0.0);
        }
    }
}
