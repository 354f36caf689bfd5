//! Threat sets with steps: whole categories, whole numbers and mixtures.
//!
//! A category is another one or it is not, so every choice of categories that the ball holds is a row of its own, and the numbers
//! move around each with what is left of the ball: that is exact. Whole numbers, mixtures of categories and too many choices are put into
//! the larger set without steps: what is certified there holds, and a counterexample counts only if it is in the set itself.

use super::ball::MoveNorm;
use super::proof::Proof;
use super::result::{CertifiedRadius, CertifiedWorstCase, Counterexample, Status};
use crate::attack::Threat;

/// The most choices of categories around a row.
const MOST_CHOICES: usize = 500;

/// The least share of a radius that is left for numbers beside a choice.
const LEAST_LEFT: f64 = 1e-6;

/// A row with other categories, and how far that alone moved it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub x: Vec<f64>,
    pub moved: f64,
}

/// Every choice of categories within the ball, the row's own first; none where there are too many to try one by one.
pub(super) fn choices(
    threat: &Threat,
    x: &[f64],
    norm: MoveNorm,
    radius: f64,
) -> Option<Vec<Choice>> {
    let mut all = vec![Choice::own(x)];
    for alternatives in threat.category_changes(x) {
        let mut more = Vec::new();
        for choice in &all {
            for sets in &alternatives {
                let mut changed = choice.x.clone();
                for &(feature, value) in sets {
                    changed[feature] = value;
                }
                let moved: Vec<f64> = changed.iter().zip(x).map(|(z, x)| z - x).collect();
                let moved = norm.of(&moved);
                if moved > radius {
                    continue;
                }
                if all.len() + more.len() == MOST_CHOICES {
                    return None;
                }
                more.push(Choice { x: changed, moved });
            }
        }
        all.extend(more);
    }
    Some(all)
}

impl Choice {
    /// The row as it is.
    pub(super) fn own(x: &[f64]) -> Self {
        Self {
            x: x.to_vec(),
            moved: 0.0,
        }
    }
}

/// What is left of a ball for moves beside one that is made already.
pub(super) fn left(norm: MoveNorm, radius: f64, moved: f64) -> f64 {
    match norm {
        // At least a little, so that the choice itself is looked at.
        MoveNorm::L2 => {
            let square = radius * radius - moved * moved;
            square.max(0.0).sqrt().max(LEAST_LEFT * radius)
        }
        MoveNorm::Linf => radius,
    }
}

/// The size of two moves in different features together.
fn together(norm: MoveNorm, moved: f64, size: f64) -> f64 {
    match norm {
        MoveNorm::L2 => f64::hypot(moved, size),
        MoveNorm::Linf => f64::max(moved, size),
    }
}

/// What is known of a row with steps, from what is known without.
pub(super) trait Stepped: Sized {
    /// Counterexamples count only where they are in the set.
    fn only_in(self, k: usize, is_in_set: &dyn Fn(&[f64]) -> bool) -> Self;

    /// What is known around a choice of categories, as moves of the row itself.
    fn around(self, norm: MoveNorm, moved: f64) -> Self;

    /// What is known of both of two choices.
    fn and(self, other: Self) -> Self;
}

fn moved_on(found: &mut Option<Counterexample>, norm: MoveNorm, moved: f64) {
    if let Some(found) = found {
        found.size = together(norm, moved, found.size);
    }
}

impl Stepped for CertifiedWorstCase {
    fn only_in(mut self, k: usize, is_in_set: &dyn Fn(&[f64]) -> bool) -> Self {
        let is_outside = |found: &Counterexample| !is_in_set(&found.point);
        if self.counterexample.as_ref().is_some_and(is_outside) {
            self.counterexample = None;
            self.kept_at_most = k;
            self.status = if self.kept_at_least == k {
                Status::Exact
            } else if self.kept_at_least > 0 {
                Status::Certified
            } else {
                Status::Unknown
            };
        }
        self
    }

    fn around(mut self, norm: MoveNorm, moved: f64) -> Self {
        moved_on(&mut self.counterexample, norm, moved);
        self
    }

    fn and(self, other: Self) -> Self {
        let nodes = self.nodes + other.nodes;
        let kept_at_least = self.kept_at_least.min(other.kept_at_least);
        let worse = if other.kept_at_most < self.kept_at_most {
            other
        } else {
            self
        };
        let status = if kept_at_least == worse.kept_at_most {
            Status::Exact
        } else if kept_at_least > 0 {
            Status::Certified
        } else {
            Status::Unknown
        };
        Self {
            status,
            kept_at_least,
            nodes,
            ..worse
        }
    }
}

impl Stepped for CertifiedRadius {
    fn only_in(mut self, _: usize, is_in_set: &dyn Fn(&[f64]) -> bool) -> Self {
        let is_outside = |found: &Counterexample| !is_in_set(&found.point);
        if self.counterexample.as_ref().is_some_and(is_outside) {
            self.counterexample = None;
            self.status = Status::Unknown;
        }
        self
    }

    fn around(mut self, norm: MoveNorm, moved: f64) -> Self {
        self.certified = together(norm, moved, self.certified);
        moved_on(&mut self.counterexample, norm, moved);
        self
    }

    fn and(self, other: Self) -> Self {
        let nodes = self.nodes + other.nodes;
        let size = |one: &Self| {
            let found = one.counterexample.as_ref();
            found.map_or(f64::INFINITY, |found| found.size)
        };
        // Whoever changes first decides; beyond that nothing more need be known of the other.
        let (first, second) = if size(&other) < size(&self) {
            (other, self)
        } else {
            (self, other)
        };
        let is_settled = |one: &Self| one.status != Status::Unknown;
        let reach = first.certified.min(second.certified);
        let status =
            if is_settled(&first) && (is_settled(&second) || second.certified >= size(&first)) {
                first.status
            } else {
                Status::Unknown
            };
        Self {
            status,
            certified: reach,
            nodes,
            ..first
        }
    }
}

impl Stepped for Vec<Proof> {
    /// A proof states the moves that it is of.
    fn only_in(self, _: usize, _: &dyn Fn(&[f64]) -> bool) -> Self {
        self
    }

    fn around(self, _: MoveNorm, _: f64) -> Self {
        self
    }

    /// Only the row's own categories are the model's row.
    fn and(self, _: Self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::ThreatConfig;
    use crate::attack::threat::{BallConfig, Norm, OneHot};
    use crate::data::{Feature, FeatureKind, InputShape, Schema};

    /// A number and two categories of three and of two.
    fn threat(radius: f64) -> Threat {
        let feature = |name: &str, group: Option<usize>| Feature {
            name: name.to_owned(),
            column: name.to_owned(),
            unit: None,
            kind: match group {
                Some(_) => FeatureKind::Level { values: vec![] },
                None => FeatureKind::Number,
            },
            offset: 0.0,
            factor: 1.0,
            low: -9.0,
            high: 9.0,
            integer: false,
            group,
            immutable: false,
        };
        let schema = Schema {
            shape: InputShape::Table,
            features: vec![
                feature("size", None),
                feature("a", Some(0)),
                feature("b", Some(0)),
                feature("c", Some(0)),
                feature("d", Some(1)),
                feature("e", Some(1)),
            ],
            references: None,
        };
        let config = ThreatConfig {
            ball: BallConfig {
                norm: Norm::L2,
                radius,
            },
            one_hot: OneHot::Whole,
            ..ThreatConfig::default()
        };
        config.check(&schema).unwrap()
    }

    #[test]
    fn every_choice_that_the_ball_holds_is_tried_and_no_other() {
        let x = [0.5, 1.0, 0.0, 0.0, 0.0, 1.0];
        let count = |radius: f64| {
            let choices = choices(&threat(radius), &x, MoveNorm::L2, radius).unwrap();
            for choice in &choices {
                assert!(choice.moved <= radius);
            }
            choices.len()
        };
        // One other category is sqrt 2 away and two are 2: two of the first, one of the second, and both together.
        assert_eq!(count(1.41), 1);
        assert_eq!(count(1.42), 1 + 3);
        assert_eq!(count(1.99), 1 + 3);
        assert_eq!(count(2.0), 1 + 3 + 2);
    }

    #[test]
    fn beside_a_choice_the_ball_leaves_what_the_root_of_the_squares_says() {
        assert!((left(MoveNorm::L2, 5.0, 3.0) - 4.0).abs() < 1e-12);
        assert!((left(MoveNorm::L2, 5.0, 5.0) - 5e-6).abs() < 1e-12);
        assert!((left(MoveNorm::L2, 5.0, 6.0) - 5e-6).abs() < 1e-12);
        assert!((left(MoveNorm::Linf, 5.0, 3.0) - 5.0).abs() < 1e-12);
        assert!((together(MoveNorm::L2, 3.0, 4.0) - 5.0).abs() < 1e-12);
        assert!((together(MoveNorm::Linf, 3.0, 4.0) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn too_many_choices_are_not_tried_one_by_one() {
        // Nine categories of two each: all 512 choices lie within 9, and 500 are the most.
        let threat = |groups: usize, radius: f64| {
            let feature = |place: usize| Feature {
                name: format!("f{place}"),
                column: format!("f{place}"),
                unit: None,
                kind: FeatureKind::Level { values: vec![] },
                offset: 0.0,
                factor: 1.0,
                low: 0.0,
                high: 1.0,
                integer: false,
                group: Some(place / 2),
                immutable: false,
            };
            let schema = Schema {
                shape: InputShape::Table,
                features: (0..2 * groups).map(feature).collect(),
                references: None,
            };
            let config = ThreatConfig {
                ball: BallConfig {
                    norm: Norm::L2,
                    radius,
                },
                one_hot: OneHot::Whole,
                ..ThreatConfig::default()
            };
            config.check(&schema).unwrap()
        };
        let count = |groups: usize, radius: f64| {
            let x = [1.0, 0.0].repeat(groups);
            let found = choices(&threat(groups, radius), &x, MoveNorm::L2, radius);
            found.map(|found| found.len())
        };
        assert_eq!(count(8, 9.0), Some(256));
        assert_eq!(count(9, 9.0), None);
        // Within 2 lie one change and two of them: 1 + 9 + 36.
        assert_eq!(count(9, 2.1), Some(46));
    }

    fn example(size: f64, kept: usize) -> Counterexample {
        Counterexample {
            point: vec![size],
            size,
            kept,
        }
    }

    fn worst(least: usize, most: usize, status: Status) -> CertifiedWorstCase {
        CertifiedWorstCase {
            status,
            kept_at_least: least,
            kept_at_most: most,
            counterexample: (most < 3).then(|| example(1.0, most)),
            nodes: 5,
        }
    }

    #[test]
    fn a_worst_case_outside_of_the_set_says_nothing_of_what_is_lost() {
        for (least, status) in [
            (3, Status::Exact),
            (1, Status::Certified),
            (0, Status::Unknown),
        ] {
            let found = worst(least, 2, Status::Exact).only_in(3, &|_| false);
            assert_eq!((found.status, found.kept_at_most), (status, 3));
            assert!(found.counterexample.is_none());
            let found = worst(least, 2, Status::Exact).only_in(3, &|_| true);
            assert_eq!((found.status, found.kept_at_most), (Status::Exact, 2));
            assert!(found.counterexample.is_some());
        }
    }

    #[test]
    fn the_worst_of_two_choices_is_the_worse_of_them() {
        let both = |a: (usize, usize), b: (usize, usize)| {
            let [a, b] = [a, b].map(|(least, most)| worst(least, most, Status::Certified));
            let found = a.and(b);
            assert_eq!(found.nodes, 10);
            let kept = found.counterexample.map(|found| found.kept);
            assert_eq!(kept, (found.kept_at_most < 3).then_some(found.kept_at_most));
            (found.status, found.kept_at_least, found.kept_at_most)
        };
        assert_eq!(both((2, 2), (3, 3)), (Status::Exact, 2, 2));
        assert_eq!(both((3, 3), (2, 2)), (Status::Exact, 2, 2));
        assert_eq!(both((1, 3), (2, 2)), (Status::Certified, 1, 2));
        assert_eq!(both((2, 2), (0, 3)), (Status::Unknown, 0, 2));
        assert_eq!(both((0, 0), (0, 3)), (Status::Exact, 0, 0));
        let moved = worst(2, 2, Status::Exact).around(MoveNorm::L2, 0.75);
        assert!((moved.counterexample.unwrap().size - 1.25).abs() < 1e-12);
    }

    fn known(status: Status, certified: f64, size: Option<f64>) -> CertifiedRadius {
        CertifiedRadius {
            status,
            certified,
            counterexample: size.map(|size| example(size, 1)),
            nodes: 5,
        }
    }

    #[test]
    fn of_two_choices_whoever_changes_first_decides() {
        let both = |a: CertifiedRadius, b: CertifiedRadius| {
            let turned = b.clone().and(a.clone());
            let found = a.and(b);
            let numbers = |found: &CertifiedRadius| {
                let size = found.counterexample.as_ref().map(|found| found.size);
                (found.status, found.certified, size, found.nodes)
            };
            assert_eq!(numbers(&found), numbers(&turned));
            numbers(&found)
        };
        let near = || known(Status::Exact, 1.0, Some(1.0));
        let far = || known(Status::Exact, 2.0, Some(2.0));
        assert_eq!(both(near(), far()), (Status::Exact, 1.0, Some(1.0), 10));
        let held = || known(Status::Certified, 3.0, None);
        assert_eq!(both(near(), held()), (Status::Exact, 1.0, Some(1.0), 10));
        assert_eq!(both(held(), held()), (Status::Certified, 3.0, None, 10));
        // What is not settled matters up to where the other changes.
        let open = |certified| known(Status::Unknown, certified, None);
        assert_eq!(both(near(), open(1.0)), (Status::Exact, 1.0, Some(1.0), 10));
        assert_eq!(
            both(near(), open(0.5)),
            (Status::Unknown, 0.5, Some(1.0), 10)
        );
        assert_eq!(both(held(), open(2.5)), (Status::Unknown, 2.5, None, 10));
    }

    #[test]
    fn a_radius_around_a_choice_counts_the_way_to_it() {
        let found = known(Status::Exact, 4.0, Some(4.0)).around(MoveNorm::L2, 3.0);
        assert!((found.certified - 5.0).abs() < 1e-12);
        assert!((found.counterexample.unwrap().size - 5.0).abs() < 1e-12);
        let outside = known(Status::Exact, 4.0, Some(4.0)).only_in(1, &|_| false);
        assert!(outside.counterexample.is_none() && outside.status == Status::Unknown);
        let inside = known(Status::Exact, 4.0, Some(4.0)).only_in(1, &|_| true);
        assert!(inside.counterexample.is_some() && inside.status == Status::Exact);
    }
}
