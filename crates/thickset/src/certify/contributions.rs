//! Certificates of contributions: how far a row can move before other columns contribute most, proved from below.
//!
//! A [contribution](crate::explain::contributions) is `Σ_f (x_f - b_f) ∫ ∂m/∂x_f (b + t (x - b)) dt` over the features of a column. The way to a moved
//! row begins at the same reference, so before a gate of the first layer the value at t is `(1 - t) a(b) + t a(x')`: how long the gate is
//! open follows from the least and the greatest `a(x')` alone ([`ways`]). Behind it the lines of the open gates are added up, and
//! again each gate has a least and a greatest time for which it is open. So the mean gradient lies between two bounds; in its middle
//! the contributions are linear in the move, and what is left is added up in absolute values. Layers of single features before these, as a
//! binned model has them, bend the way at known places ([`piece_ways`]). Of a segmented model the gates at each
//! point of the quadrature stand still up to a known distance, and till then the same holds without a rest.
//!
//! What is proved is a lower bound: a row may stand further than it says, and no counterexample is looked for. The deployed
//! contributions are computed in `f64` on dense layers; their rounding, and that of the bounds, is far below [`SLACK`].

mod gate_time;
pub(super) mod move_set;
mod over_ways;
pub(super) mod piece_ways;
mod pieces;
pub(super) mod segments;
pub(super) mod ways;

use self::move_set::MoveSet;
use super::ball::MoveNorm;
use super::result::{CertifiedRadius, CertifiedWorstCase, Status};
use super::stepped::{Choice, left};
use super::tolerance::Tolerance;

/// What is asked of contributions, beside k and the threat set.
#[derive(Clone, Debug)]
pub(super) struct ContributionsAsked {
    /// The row that ways begin at.
    pub(super) reference: Vec<f64>,
    /// Points of the quadrature, where it is one.
    pub(super) points: usize,
    /// The features of each column.
    pub(super) groups: Vec<Vec<usize>>,
}

/// Share of what was added up that rounding can have changed: a few hundred operations of `f64`, with a wide margin.
pub(super) const SLACK: f64 = 1e-9;

/// Halvings of the radius.
const HALVINGS: usize = 12;

/// How a network's contributions are bounded over some moves.
pub(super) trait Bounds {
    /// The least difference of the contributions of two columns over the moves, with rounding taken off.
    fn bound(&self, set: &MoveSet<'_>) -> Box<dyn PairBound + '_>;
}

/// What is known of contributions over some moves.
pub(super) trait PairBound {
    /// A lower bound of the first column's contribution minus the second's.
    fn least(&self, ahead: usize, behind: usize) -> f64;
}

/// One row.
pub(super) struct Proved<'a> {
    pub(super) bounds: &'a dyn Bounds,
    pub(super) groups: &'a [Vec<usize>],
    /// The first k columns of the row.
    pub(super) salient: Vec<usize>,
    pub(super) norm: MoveNorm,
    /// The largest that is asked about.
    pub(super) radius: f64,
    /// Rows with other categories, the own one first, and how far each feature may move from there, down and up.
    pub(super) choices: Vec<(Choice, Vec<f64>, Vec<f64>)>,
}

impl Proved<'_> {
    /// How many of the salient columns every move within this radius keeps.
    fn kept(&self, radius: f64) -> usize {
        let choices = self
            .choices
            .iter()
            .filter(|(one, _, _)| one.moved <= radius);
        let kept = choices.map(|(choice, low, high)| {
            self.kept_around(&MoveSet {
                x: &choice.x,
                norm: self.norm,
                radius: left(self.norm, radius, choice.moved),
                low,
                high,
            })
        });
        kept.min().unwrap_or(0)
    }

    fn kept_around(&self, set: &MoveSet<'_>) -> usize {
        let bound = self.bounds.bound(set);
        let others = (0..self.groups.len()).filter(|column| !self.salient.contains(column));
        let stays = |column: &&usize| {
            let mut others = others.clone();
            others.all(|other| bound.least(**column, other) > 0.0)
        };
        self.salient.iter().filter(stays).count()
    }

    /// The largest radius at which all are proved to stay, by halving.
    pub(super) fn radius(&self) -> CertifiedRadius {
        let k = self.salient.len();
        let found = |certified: f64, nodes: usize| CertifiedRadius {
            status: if certified >= self.radius {
                Status::Certified
            } else {
                Status::Unknown
            },
            certified,
            counterexample: None,
            nodes,
        };
        if self.kept(self.radius) == k {
            return found(self.radius, 1);
        }
        let certified = halved(self.radius, |radius| self.kept(radius) == k);
        found(certified, 1 + HALVINGS)
    }

    /// How many are proved to stay within the radius.
    pub(super) fn worst_case(&self) -> CertifiedWorstCase {
        let k = self.salient.len();
        let kept = self.kept(self.radius);
        CertifiedWorstCase {
            status: match kept {
                0 => Status::Unknown,
                kept if kept == k => Status::Exact,
                _ => Status::Certified,
            },
            kept_at_least: kept,
            kept_at_most: k,
            counterexample: None,
            nodes: 1,
        }
    }

    /// How far each wanted feature that can move may do so alone.
    pub(super) fn tolerances(&self, is_wanted: &dyn Fn(usize) -> bool) -> Vec<Tolerance> {
        let Some((own, low, high)) = self.choices.first() else {
            return Vec::new();
        };
        let k = self.salient.len();
        let zeros = vec![0.0; own.x.len()];
        let alone = |feature: usize, sign: f64, limit: f64| {
            let limit = limit.min(self.radius);
            let stays = |size: f64| {
                let (mut low, mut high) = (zeros.clone(), zeros.clone());
                if sign < 0.0 {
                    low[feature] = -size;
                } else {
                    high[feature] = size;
                }
                let set = MoveSet {
                    x: &own.x,
                    norm: self.norm,
                    radius: size,
                    low: &low,
                    high: &high,
                };
                self.kept_around(&set) == k
            };
            if limit <= 0.0 {
                0.0
            } else if stays(limit) {
                limit
            } else {
                halved(limit, stays)
            }
        };
        let movable = (0..own.x.len()).filter(|&feature| low[feature] < 0.0 || high[feature] > 0.0);
        movable
            .filter(|feature| is_wanted(*feature))
            .map(|feature| Tolerance {
                feature,
                down: alone(feature, -1.0, -low[feature]),
                up: alone(feature, 1.0, high[feature]),
            })
            .collect()
    }
}

/// The largest size found for which something holds, between 0 and one for which it does not.
fn halved(size: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, size);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
