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

pub(super) mod can_leave;
mod gate_time;
mod layer_behind;
pub(super) mod move_set;
mod over_ways;
pub(super) mod piece_ways;
pub(super) mod pieces;
pub(super) mod segments;
pub(super) mod ways;

use self::can_leave::ClassLines;
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

/// A moved row is rounded to single precision before the model reads it, each number by at most this share of itself.
const INPUT_ROUNDING: f64 = 1.0 / 16_777_216.0;

/// Trials of a radius, at most.
const TRIALS: usize = 18;

/// How near to either end of what is left the next trial may lie.
const SMALLEST_SHARE: f64 = 0.05;

/// A radius is known well enough when it is known to this share of itself, or to a share of the largest that is asked about.
const SHARE_OF_ITSELF: f64 = 1.0 / 1024.0;
const SHARE_OF_LARGEST: f64 = 1.0 / 4096.0;

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
    /// What the columns of the row contribute.
    pub(super) importance: Vec<f64>,
    /// The first k columns of the row.
    pub(super) salient: Vec<usize>,
    /// Contributions at other points, where they are found by walking.
    pub(super) walks: Option<ClassLines<'a>>,
    pub(super) norm: MoveNorm,
    /// The largest that is asked about.
    pub(super) radius: f64,
    /// Rows with other categories, the own one first, and how far each feature may move from there, down and up.
    pub(super) choices: Vec<(Choice, Vec<f64>, Vec<f64>)>,
}

impl Proved<'_> {
    /// The moves within this radius: those around the row itself, and around each row with other categories that is as near.
    fn moves(&self, radius: f64) -> impl Iterator<Item = MoveSet<'_>> {
        let choices = self.choices.iter();
        choices
            .filter(move |(one, _, _)| one.moved <= radius)
            .map(move |(choice, low, high)| MoveSet {
                x: &choice.x,
                norm: self.norm,
                radius: self.rounded(left(self.norm, radius, choice.moved), &choice.x),
                low,
                high,
            })
    }

    /// How far a row can be from where it was, once a move of this size is rounded.
    fn rounded(&self, size: f64, x: &[f64]) -> f64 {
        size + INPUT_ROUNDING * (self.norm.of(x) + size)
    }

    /// How many of the salient columns every one of these moves keeps.
    fn kept_around(&self, set: &MoveSet<'_>) -> usize {
        let bound = self.bounds.bound(set);
        let stays = |column: &&usize| {
            self.others()
                .all(|other| bound.least(**column, other) > 0.0)
        };
        self.salient.iter().filter(stays).count()
    }

    /// By how much every one of these moves leaves each salient column ahead of each other.
    fn margin(&self, set: &MoveSet<'_>) -> f64 {
        let bound = self.bounds.bound(set);
        let pairs = self.salient.iter().flat_map(|column| {
            let others = self.others();
            others.map(move |other| (*column, other))
        });
        pairs
            .map(|(column, other)| bound.least(column, other))
            .fold(f64::INFINITY, f64::min)
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.groups.len()).filter(|column| !self.salient.contains(column))
    }

    /// By how much the salient columns of the row itself are ahead.
    fn margin_unmoved(&self) -> f64 {
        let of = |column: usize| self.importance[column];
        let last = self.salient.iter().map(|column| of(*column));
        let next = self.others().map(of);
        last.fold(f64::INFINITY, f64::min) - next.fold(f64::NEG_INFINITY, f64::max)
    }

    /// The largest radius at which all are found to stay, below a size at which some move is known to change them.
    pub(super) fn radius(&self, known: f64) -> CertifiedRadius {
        let margin = |radius: f64| {
            let margins = self.moves(radius).map(|set| self.margin(&set));
            margins.fold(f64::INFINITY, f64::min)
        };
        let most = self.radius.min(known);
        let (certified, nodes) = largest(most, self.margin_unmoved(), margin);
        CertifiedRadius {
            status: if certified >= self.radius {
                Status::Certified
            } else {
                Status::Unknown
            },
            certified,
            counterexample: None,
            nodes,
        }
    }

    /// How many are proved to stay within the radius.
    pub(super) fn worst_case(&self) -> CertifiedWorstCase {
        let k = self.salient.len();
        let kept = if self.every_column_can_leave() {
            0
        } else {
            let kept = self.moves(self.radius).map(|set| self.kept_around(&set));
            kept.min().unwrap_or(0)
        };
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
        let zeros = vec![0.0; own.x.len()];
        let alone = |feature: usize, sign: f64, limit: f64| {
            let limit = limit.min(self.radius);
            let margin = |size: f64| {
                let size = self.rounded(size, &own.x[feature..=feature]);
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
                self.margin(&set)
            };
            if limit > 0.0 {
                largest(limit, self.margin_unmoved(), margin).0
            } else {
                0.0
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

/// The largest size found at which a margin is positive, from 0, where it is given, to the largest that is asked about, and how many were tried. The next size that is
/// tried lies where a line through the margins at both ends would be zero; an end that stays twice counts half as much, so that both come closer,
/// and where two trials have not halved what is left, as beside a jump, the next one does.
fn largest(size: f64, at_zero: f64, margin: impl Fn(f64) -> f64) -> (f64, usize) {
    let (mut low, mut above) = (0.0, at_zero);
    let (mut high, mut below) = (size, margin(size));
    if below > 0.0 {
        return (size, 1);
    }
    let mut was_positive = None;
    let mut left = [f64::INFINITY; 2];
    for trial in 1..=TRIALS {
        // Without a margin at the lower end there is no such line.
        let share = above / (above - below);
        let is_slow = high - low > left[0] / 2.0;
        left = [left[1], high - low];
        let share = if above > 0.0 && share.is_finite() && !is_slow {
            share.clamp(SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
        } else {
            0.5
        };
        let middle = low + (high - low) * share;
        let found = margin(middle);
        let is_positive = found > 0.0;
        let stays_again = was_positive == Some(is_positive);
        if is_positive {
            (low, above) = (middle, found);
            below *= if stays_again { 0.5 } else { 1.0 };
        } else {
            (high, below) = (middle, found);
            above *= if stays_again { 0.5 } else { 1.0 };
        }
        was_positive = Some(is_positive);
        if high - low <= f64::max(low * SHARE_OF_ITSELF, size * SHARE_OF_LARGEST) {
            return (low, 1 + trial);
        }
    }
    (low, 1 + TRIALS)
}

#[cfg(test)]
mod tests {
    use super::super::rounding::Arithmetic;
    use super::*;

    #[test]
    fn the_largest_size_is_found_from_below_in_few_trials() {
        let check = |ends: f64, most: usize, margin: fn(f64) -> f64| {
            let (found, trials) = largest(0.5, margin(0.0), margin);
            let near = f64::max(ends * SHARE_OF_ITSELF, 0.5 * SHARE_OF_LARGEST);
            assert!(found <= ends && found >= ends - near, "{ends}: {found}");
            assert!(trials <= most, "{ends}: {trials}");
        };
        check(0.3, 6, |size| 0.3 - size);
        check(0.02, 10, |size| 0.0002 - size * size / 2.0);
        check(0.4, 13, |size| if size < 0.4 { 1.0 } else { -1.0 });
        assert_eq!(largest(0.5, 1.0, |_| 1.0), (0.5, 1));
        for margin in [-1.0, 0.0, f64::NEG_INFINITY] {
            let (none, _) = largest(0.5, margin, |_| margin);
            assert!(none.abs() < f64::EPSILON, "{margin}: {none}");
        }
        let (found, _) = largest(0.5, f64::INFINITY, |size| {
            if size < 0.2 {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            }
        });
        assert!(found < 0.2 && found > 0.199, "{found}");
    }

    /// Of columns that are always 1 apart.
    struct Apart;

    impl Bounds for Apart {
        fn bound(&self, _: &MoveSet<'_>) -> Box<dyn PairBound + '_> {
            Box::new(Self)
        }
    }

    impl PairBound for Apart {
        fn least(&self, _: usize, _: usize) -> f64 {
            1.0
        }
    }

    #[test]
    fn a_move_that_is_rounded_to_single_precision_is_no_longer_than_said() {
        let proved = Proved {
            bounds: &Apart,
            groups: &[],
            importance: Vec::new(),
            walks: None,
            salient: Vec::new(),
            norm: MoveNorm::L2,
            radius: 1.0,
            choices: Vec::new(),
        };
        // A little more than half of the way to the next number goes all of it.
        let (x, size) = (1.0, 6e-8);
        let moved = Arithmetic::SINGLE.nearest(x + size) - x;
        assert!(moved > size);
        let said = proved.rounded(size, &[x]);
        assert!(moved <= said && said < 1.01 * moved, "{moved} {said}");
    }

    #[test]
    fn a_feature_alone_may_move_as_far_as_its_limits_on_either_side() {
        let row = Choice {
            x: vec![0.0],
            moved: 0.0,
        };
        let proved = Proved {
            bounds: &Apart,
            groups: &[vec![0]],
            importance: vec![1.0],
            walks: None,
            salient: vec![0],
            norm: MoveNorm::L2,
            radius: 1.0,
            choices: vec![(row, vec![-0.25], vec![0.5])],
        };
        let found = proved.tolerances(&|_| true);
        let sides: Vec<[f64; 2]> = found.iter().map(|one| [one.down, one.up]).collect();
        assert_eq!(sides, [[0.25, 0.5]]);
    }

    /// Columns that are so far apart, less what a move changes: by its radius around the row itself, and by ten times that around others; of the first
    /// feature alone by four times its fall and twice its rise.
    struct Falling {
        gaps: Vec<Vec<f64>>,
        by_feature: bool,
    }

    struct Fallen<'a> {
        gaps: &'a [Vec<f64>],
        by: f64,
    }

    impl Bounds for Falling {
        fn bound(&self, set: &MoveSet<'_>) -> Box<dyn PairBound + '_> {
            let by = if self.by_feature {
                -4.0 * set.low[0] + 2.0 * set.high[0]
            } else if set.x[0] > 0.0 {
                10.0 * set.radius
            } else {
                set.radius
            };
            Box::new(Fallen {
                gaps: &self.gaps,
                by,
            })
        }
    }

    impl PairBound for Fallen<'_> {
        fn least(&self, ahead: usize, behind: usize) -> f64 {
            self.gaps[ahead][behind] - self.by
        }
    }

    /// Of three columns, of which the first two are salient and this far ahead of the third; with a row with other categories where it is this far away.
    fn proved<T>(
        gaps: [f64; 2],
        radius: f64,
        other: Option<f64>,
        run: impl FnOnce(&Proved<'_>) -> T,
    ) -> T {
        let bounds = Falling {
            gaps: gaps.iter().map(|gap| vec![0.0, 0.0, *gap]).collect(),
            by_feature: false,
        };
        let choice = |x: f64, moved: f64| {
            let row = Choice {
                x: vec![x, 0.0, 0.0],
                moved,
            };
            (row, vec![-1.0; 3], vec![1.0; 3])
        };
        let mut choices = vec![choice(0.0, 0.0)];
        choices.extend(other.map(|moved| choice(1.0, moved)));
        run(&Proved {
            bounds: &bounds,
            groups: &[vec![0], vec![1], vec![2]],
            importance: vec![gaps[0], gaps[1], 0.0],
            walks: None,
            salient: vec![0, 1],
            norm: MoveNorm::L2,
            radius,
            choices,
        })
    }

    #[test]
    fn the_radius_is_that_of_the_nearest_pair() {
        for (gaps, radius, certified, status) in [
            ([0.5, 0.3], 1.0, 0.3, Status::Unknown),
            ([0.2, 0.3], 1.0, 0.2, Status::Unknown),
            ([0.5, 0.3], 0.25, 0.25, Status::Certified),
        ] {
            proved(gaps, radius, None, |row| {
                let found = row.radius(f64::INFINITY);
                assert_eq!(found.status, status, "{gaps:?}");
                let is_near = found.certified <= certified && found.certified > certified - 1e-3;
                assert!(is_near, "{gaps:?}: {found:?}");
            });
        }
    }

    #[test]
    fn no_radius_is_looked_for_beyond_a_known_change() {
        proved([0.5, 0.4], 1.0, None, |row| {
            let found = row.radius(0.25);
            assert!((found.certified - 0.25).abs() < 1e-12, "{found:?}");
            assert_eq!((found.status, found.nodes), (Status::Unknown, 1));
        });
    }

    #[test]
    fn a_row_with_other_categories_counts_from_where_it_is() {
        // It is 0.3 away and holds for another 0.04: to the root of 0.09 + 0.0016. Where it is 0.45 away the row itself ends at 0.4.
        for (moved, certified) in [(0.3, 0.0916_f64.sqrt()), (0.45, 0.4)] {
            proved([0.5, 0.4], 1.0, Some(moved), |row| {
                let found = row.radius(f64::INFINITY);
                let is_near = found.certified <= certified && found.certified > certified - 1e-3;
                assert!(is_near, "{moved}: {found:?}");
            });
        }
    }

    #[test]
    fn what_is_kept_is_counted_around_every_choice() {
        let worst = |gaps, radius, other| {
            proved(gaps, radius, other, |row| {
                let found = row.worst_case();
                assert_eq!(found.kept_at_most, 2);
                (found.status, found.kept_at_least)
            })
        };
        assert_eq!(worst([0.5, 0.4], 0.3, None), (Status::Exact, 2));
        assert_eq!(worst([0.5, 0.2], 0.3, None), (Status::Certified, 1));
        assert_eq!(worst([0.1, 0.2], 0.3, None), (Status::Unknown, 0));
        // Another choice within the radius has ten times what is left, and one beyond has no say.
        assert_eq!(worst([0.5, 0.4], 0.3, Some(0.2)), (Status::Unknown, 0));
        assert_eq!(worst([0.5, 0.4], 0.3, Some(0.31)), (Status::Exact, 2));
    }

    #[test]
    fn tolerances_are_of_features_that_are_wanted_and_can_move() {
        let bounds = Falling {
            gaps: vec![vec![0.0, 1.0]],
            by_feature: true,
        };
        let row = Choice {
            x: vec![0.0; 5],
            moved: 0.0,
        };
        // The first ends at 1/4 and 1/2; the others change nothing, and have limits on both sides, on one, on the other and on none.
        let low = vec![-1.0, -0.75, -0.5, 0.0, 0.0];
        let high = vec![1.0, 9.0, 0.0, 0.25, 0.0];
        let proved = Proved {
            bounds: &bounds,
            groups: &[vec![0], vec![1]],
            importance: vec![1.0, 0.0],
            walks: None,
            salient: vec![0],
            norm: MoveNorm::L2,
            radius: 2.0,
            choices: vec![(row, low, high)],
        };
        let found = proved.tolerances(&|_| true);
        let features: Vec<usize> = found.iter().map(|one| one.feature).collect();
        assert_eq!(features, [0, 1, 2, 3]);
        assert!(found[0].down <= 0.25 && found[0].down > 0.249, "{found:?}");
        assert!(found[0].up <= 0.5 && found[0].up > 0.499, "{found:?}");
        let rest: Vec<[f64; 2]> = found[1..].iter().map(|one| [one.down, one.up]).collect();
        assert_eq!(rest, [[0.75, 2.0], [0.5, 0.0], [0.0, 0.25]]);
        let some = proved.tolerances(&|feature| feature == 2);
        assert_eq!((some.len(), some[0].feature), (1, 2));
    }

    #[test]
    fn rounding_a_move_changes_it_by_a_share_of_where_it_ends() {
        let added = proved([0.5, 0.4], 1.0, None, |row| {
            row.rounded(0.5, &[3.0, 4.0]) - 0.5
        });
        assert!((added * 16_777_216.0 - 5.5).abs() < 1e-6, "{added}");
    }
}
