//! Columns that some move takes out of the first ones: nothing can be proved of these, and bounds cost far more than to find that out.

use super::Proved;
use super::move_set::MoveSet;
use crate::certify::MoveNorm;
use crate::explain::contributions::line::{Lines, Walk};

/// Contributions to the score of a class, at any point.
#[derive(Clone, Copy)]
pub(in super::super) struct ClassLines<'a> {
    pub(in super::super) lines: &'a Lines,
    pub(in super::super) class: usize,
}

impl Proved<'_> {
    /// Whether each salient column is behind another one at some move within the radius that was found in a few trials: for each, the
    /// longest way on which it falls behind the strongest of the others, by the gradients at the row.
    pub(super) fn every_column_can_leave(&self) -> bool {
        let (Some(walks), Some(set)) = (self.walks, self.moves(self.radius).next()) else {
            return false;
        };
        let mut trials = Trials {
            walks,
            groups: self.groups,
            walk: Walk::default(),
            contributions: vec![0.0; set.x.len()],
        };
        let others: Vec<usize> = self.others().collect();
        let strongest = others
            .iter()
            .copied()
            .max_by(|a, b| self.importance[*a].total_cmp(&self.importance[*b]));
        let Some(strongest) = strongest else {
            return false;
        };
        let mut left = self.salient.clone();
        while let Some(&column) = left.first() {
            let point = trials.away(&set, column, strongest);
            let columns = trials.columns(&point);
            let most = others.iter().map(|other| columns[*other]);
            let most = most.fold(f64::NEG_INFINITY, f64::max);
            left.retain(|column| columns[*column] > most);
            if left.first() == Some(&column) {
                return false;
            }
        }
        true
    }
}

struct Trials<'a> {
    walks: ClassLines<'a>,
    groups: &'a [Vec<usize>],
    walk: Walk,
    contributions: Vec<f64>,
}

impl Trials<'_> {
    /// What the columns contribute at a point.
    fn columns(&mut self, x: &[f64]) -> Vec<f64> {
        let ClassLines { lines, class } = self.walks;
        lines.contributions(x, class, &mut self.walk, &mut self.contributions);
        let sum = |group: &Vec<usize>| group.iter().map(|one| self.contributions[*one]).sum();
        self.groups.iter().map(sum).collect()
    }

    /// The end of the longest move on which a column falls most quickly behind another one, by the gradient at the row.
    fn away(&mut self, set: &MoveSet<'_>, column: usize, other: usize) -> Vec<f64> {
        let mut weights = vec![0.0; set.x.len()];
        for (group, weight) in [(column, -1.0), (other, 1.0)] {
            for &feature in &self.groups[group] {
                weights[feature] = weight;
            }
        }
        self.walk.keeps_kinks = true;
        self.columns(set.x);
        let mut direction = vec![0.0; set.x.len()];
        let lines = self.walks.lines;
        lines.gradient(&weights, &mut self.walk, &mut direction);
        self.walk.keeps_kinks = false;
        for (along, (low, high)) in direction.iter_mut().zip(set.low.iter().zip(set.high)) {
            let limit = if *along < 0.0 { *low } else { *high };
            if limit == 0.0 {
                *along = 0.0;
            }
        }
        if set.norm == MoveNorm::Linf {
            direction = direction.into_iter().map(f64::signum).collect();
        }
        let length = set.norm.of(&direction).max(f64::MIN_POSITIVE);
        let moved = direction.iter().map(|along| along * set.radius / length);
        let limits = set.low.iter().zip(set.high);
        let moved = moved
            .zip(limits)
            .map(|(by, (low, high))| by.clamp(*low, *high));
        set.x.iter().zip(moved).map(|(x, by)| x + by).collect()
    }
}

#[cfg(test)]
mod tests {
    use thickset_engine::Network;

    use super::super::ways::Ways;
    use super::*;
    use crate::Seed;
    use crate::certify::DenseNetwork;
    use crate::certify::stepped::Choice;
    use crate::data::InputShape;
    use crate::model::{Fresh, MlpConfig, ModelConfig};

    fn network() -> Network {
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: vec![6],
            ..MlpConfig::default()
        });
        let mut fresh = Fresh::new(Seed::new(3));
        model.network(&InputShape::Table, 4, 2, &mut fresh).unwrap()
    }

    /// Asks whether the strongest column of a row can leave, of moves of this length.
    fn can_leave(network: &Network, x: &[f64], norm: MoveNorm, radius: f64) -> bool {
        let reference = vec![0.0; x.len()];
        let groups: Vec<Vec<usize>> = (0..x.len()).map(|one| vec![one]).collect();
        let dense = DenseNetwork::of(network).unwrap();
        let bounds = Ways::new(&dense, &groups, &reference, 1).unwrap();
        let lines = Lines::new(network, &reference).unwrap();
        let importance = contributions(&lines, x);
        let largest = |a: &usize, b: &usize| importance[*a].total_cmp(&importance[*b]);
        let first = (0..x.len()).max_by(largest).unwrap();
        let free = vec![radius; x.len()];
        let proved = Proved {
            bounds: &bounds,
            groups: &groups,
            importance,
            salient: vec![first],
            walks: Some(ClassLines {
                lines: &lines,
                class: 1,
            }),
            norm,
            radius,
            choices: vec![(Choice::own(x), free.iter().map(|one| -one).collect(), free)],
        };
        let can = proved.every_column_can_leave();
        if can {
            assert_eq!(proved.worst_case().kept_at_least, 0);
            assert!(proved.radius(f64::INFINITY).certified < radius);
        }
        can
    }

    fn contributions(lines: &Lines, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; x.len()];
        lines.contributions(x, 1, &mut Walk::default(), &mut out);
        out
    }

    #[test]
    fn what_no_move_of_a_grid_takes_away_is_never_said_to_leave() {
        let network = network();
        let lines = Lines::new(&network, &[0.0; 4]).unwrap();
        let (mut left, mut stayed) = (0, 0);
        for case in 0..60 {
            let mut stream = Seed::new(case).stream("can leave");
            let x: Vec<f64> = (0..4).map(|_| stream.normal()).collect();
            for radius in [0.02, 0.2, 0.8] {
                if !can_leave(&network, &x, MoveNorm::Linf, radius) {
                    stayed += 1;
                    continue;
                }
                left += 1;
                // Some corner, or some point between, has another first column too.
                let first = |x: &[f64]| {
                    let all = contributions(&lines, x);
                    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    all.iter().position(|one| *one >= most)
                };
                let own = first(&x);
                let changes = (0..5_usize.pow(4)).any(|point| {
                    let moved = x.iter().enumerate().map(|(feature, x)| {
                        let place = u32::try_from(feature).unwrap();
                        let step = [-1.0, -0.5, 0.0, 0.5, 1.0][point / 5_usize.pow(place) % 5];
                        x + radius * step
                    });
                    first(&moved.collect::<Vec<f64>>()) != own
                });
                assert!(changes, "{x:?} {radius}");
            }
        }
        assert!(left > 20 && stayed > 20, "{left} {stayed}");
    }

    #[test]
    fn a_column_far_ahead_cannot_leave() {
        let network = network();
        for norm in [MoveNorm::L2, MoveNorm::Linf] {
            assert!(!can_leave(&network, &[1.0, -0.5, 0.3, 2.0], norm, 1e-6));
        }
    }
}
