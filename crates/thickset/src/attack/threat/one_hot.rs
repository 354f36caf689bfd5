//! Categories: the features of one column's one-hot code are not free of each other.
//!
//! `free`: they are, as the papers have it. `simplex`: they are not negative and keep their sum, a mixture of categories.
//! `whole`: exactly one of them is 1, as in any real row, and a flag is 0 or 1; the search moves on the simplex, and a
//! point is evaluated as the category that leads there. Under `simplex` and `whole`, whether a value is missing stays.
//!
//! Another category is a move of length sqrt(2) (1 in the largest norm), so a smaller ball leaves all categories as they are.

use serde::{Deserialize, Serialize};

use super::{Norm, Threat, ThreatConfig, ThreatPart};
use crate::Result;
use crate::data::{FeatureKind, Schema};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "one-hot",
    label: "one-hot groups",
    family: Family::Threat,
    summary: "Features of one category stay a category (whole), become a mixture (simplex) or are free",
    formula: "x'_g in {e_1, …, e_m} (whole), or x'_g >= 0 with the sum of x_g (simplex)",
    source: "thickset",
    direction: None,
    cost: "none",
    defaults: &[Setting::new("one_hot", "free, simplex or whole")],
};

/// What the features of one category may become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OneHot {
    /// Any numbers.
    #[default]
    Free,
    /// Shares that add up.
    Simplex,
    /// One category.
    Whole,
}

/// Halvings of the interval in which the simplex's shift lies; enough for the last bit of a double.
const HALVINGS: usize = 80;

/// The part.
pub(super) struct OneHotGroups;

impl ThreatPart for OneHotGroups {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()> {
        if config.one_hot != OneHot::Free {
            hold(schema, threat);
        }
        if config.one_hot == OneHot::Whole {
            freeze(threat);
        }
        Ok(())
    }
}

/// Features of categories and flags stay where the ball has no room for another: a search that moved them would find nothing, and would
/// have less of the ball left for numbers.
fn freeze(threat: &mut Threat) {
    let (flag, category) = match threat.ball.norm {
        Norm::L2 => (1.0, std::f64::consts::SQRT_2),
        Norm::Linf => (1.0, 1.0),
    };
    // A little more than the radius, since a move of just that length is in the ball for whoever rounds it down.
    let reach = threat.ball.radius * (1.0 + 1e-9);
    threat.categories_stay = reach < category;
    if threat.categories_stay {
        for &feature in threat.groups.iter().flatten() {
            threat.limits[feature] = 0.0;
        }
    }
    if reach < flag {
        for &feature in &threat.flags {
            threat.limits[feature] = 0.0;
        }
    }
}

/// Bounds the features of categories, and lists which belong together.
fn hold(schema: &Schema, threat: &mut Threat) {
    for (index, feature) in schema.features.iter().enumerate() {
        match feature.kind {
            FeatureKind::Missing => threat.limits[index] = 0.0,
            FeatureKind::Level { .. } => {
                threat.low[index] = threat.low[index].max(0.0);
                threat.high[index] = threat.high[index].min(1.0);
                match feature.group {
                    None => threat.flags.push(index),
                    Some(group) => {
                        let groups = &mut threat.groups;
                        groups.resize_with(groups.len().max(group + 1), Vec::new);
                        groups[group].push(index);
                    }
                }
            }
            FeatureKind::Number | FeatureKind::Pixel { .. } | FeatureKind::Edge { .. } => {}
        }
    }
    threat.groups.retain(|group| !group.is_empty());
}

impl Threat {
    /// The nearest point with the sum that `x` has: all features are shifted alike and kept within their bounds.
    pub(super) fn project_group(&self, group: &[usize], x: &[f64], z: &mut [f64]) {
        let target: f64 = group.iter().map(|&feature| x[feature]).sum();
        let parts: Vec<(f64, f64, f64)> = group
            .iter()
            .map(|&feature| {
                let (low, high) = self.bounds(feature, x[feature]);
                (z[feature], low, high)
            })
            .collect();
        let shift = shift(&parts, target);
        for (&feature, (value, low, high)) in group.iter().zip(parts) {
            z[feature] = (value - shift).clamp(low, high);
        }
    }

    /// The ways in which each category and each flag of a row may change on its own, as features and their values.
    pub(crate) fn category_changes(&self, x: &[f64]) -> Vec<Vec<Vec<(usize, f64)>>> {
        if self.one_hot != OneHot::Whole {
            return Vec::new();
        }
        let allowed = |feature: usize, value: f64| {
            let (low, high) = self.bounds(feature, x[feature]);
            (low..=high).contains(&value)
        };
        let mut all = Vec::new();
        for group in &self.groups {
            let was = group.iter().copied().find(|feature| x[*feature] > 0.5);
            let Some(was) = was.filter(|was| allowed(*was, 0.0)) else {
                continue;
            };
            let others = group.iter().copied();
            let others = others.filter(|now| *now != was && allowed(*now, 1.0));
            all.push(others.map(|now| vec![(was, 0.0), (now, 1.0)]).collect());
        }
        for &feature in &self.flags {
            let other = if x[feature] > 0.5 { 0.0 } else { 1.0 };
            if allowed(feature, other) {
                all.push(vec![vec![(feature, other)]]);
            }
        }
        all
    }

    /// Which features are of categories that stay whole.
    pub(crate) fn is_whole(&self, feature: usize) -> bool {
        self.one_hot == OneHot::Whole
            && (self.flags.contains(&feature)
                || self.groups.iter().any(|group| group.contains(&feature)))
    }

    /// Whether a point is where the model would be evaluated for it: whole numbers and categories are so, mixtures add up.
    pub(crate) fn is_settled(&self, x: &[f64], point: &[f64]) -> bool {
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6);
        let mut settled = point.to_vec();
        self.settle(x, point, &mut settled);
        let mut projected = point.to_vec();
        self.project(x, &mut projected);
        near(&settled, point) && near(&projected, point)
    }

    /// Makes categories and flags whole: the one that leads in `z`, the surest changes first, as many as the ball holds. Other
    /// features give way to them: they keep what is left of an l2 ball.
    pub(super) fn settle_categories(&self, x: &[f64], z: &[f64], point: &mut [f64]) {
        for &feature in self.groups.iter().flatten().chain(&self.flags) {
            point[feature] = x[feature];
        }
        let stays = |feature: &usize| self.limits[*feature] == 0.0;
        if self.categories_stay && self.flags.iter().all(stays) {
            return;
        }
        let allowed = |feature: usize, value: f64| {
            let (low, high) = self.bounds(feature, x[feature]);
            (low..=high).contains(&value)
        };
        // The lead of the change, and the features it sets with their values.
        let mut changes: Vec<(f64, Vec<(usize, f64)>)> = Vec::new();
        for group in &self.groups {
            let ahead = |a: usize, b: usize| if z[b] > z[a] { b } else { a };
            let Some(was) = group
                .iter()
                .copied()
                .reduce(|a, b| if x[b] > x[a] { b } else { a })
            else {
                continue;
            };
            let now = group.iter().copied().fold(was, ahead);
            // A row whose category is in no group has no 1 to move.
            if now != was && x[was] > 0.5 && allowed(was, 0.0) && allowed(now, 1.0) {
                changes.push((z[now] - z[was], vec![(was, 0.0), (now, 1.0)]));
            }
        }
        for &feature in &self.flags {
            let other = if x[feature] > 0.5 { 0.0 } else { 1.0 };
            let lead = 2.0 * (z[feature] - x[feature]).abs() - 1.0;
            if lead > 0.0 && allowed(feature, other) {
                changes.push((lead, vec![(feature, other)]));
            }
        }
        changes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1[0].0.cmp(&b.1[0].0)));
        // The square of an l2 move: a flag costs 1, a category 2.
        let (radius, mut spent) = (self.ball.radius, 0.0);
        for (_, sets) in changes {
            let cost: f64 = sets
                .iter()
                .map(|&(feature, value)| (value - x[feature]).powi(2))
                .sum();
            let within = match self.ball.norm {
                Norm::L2 => spent + cost <= radius * radius,
                Norm::Linf => radius >= 1.0,
            };
            if within {
                spent += cost;
                for (feature, value) in sets {
                    point[feature] = value;
                }
            }
        }
        if self.ball.norm == Norm::Linf || spent == 0.0 {
            return;
        }
        let mut is_category = vec![false; x.len()];
        for &feature in self.groups.iter().flatten().chain(&self.flags) {
            is_category[feature] = true;
        }
        let others = || (0..x.len()).filter(|feature| !is_category[*feature]);
        let size: f64 = others().map(|one| (point[one] - x[one]).powi(2)).sum();
        let left = (radius * radius - spent).max(0.0);
        if size > left {
            let factor = (left / size).sqrt();
            for feature in others() {
                point[feature] = x[feature] + factor * (point[feature] - x[feature]);
            }
        }
    }
}

/// What values, each with its bounds, are shifted down by so that they add up to the target.
///
/// The sum falls with the shift along straight pieces. A step goes to where the piece it is on would meet the target, or halves the interval where
/// that leads outside.
fn shift(parts: &[(f64, f64, f64)], target: f64) -> f64 {
    let far = |(value, low, high): &(f64, f64, f64)| (value - low).abs().max((value - high).abs());
    let reach = parts.iter().map(far).fold(0.0, f64::max);
    let (mut least, mut most) = (-reach, reach);
    let mut shift = 0.0;
    for _ in 0..HALVINGS {
        let (mut excess, mut free) = (-target, 0.0);
        for &(value, low, high) in parts {
            let shifted = value - shift;
            excess += shifted.clamp(low, high);
            if low < shifted && shifted < high {
                free += 1.0;
            }
        }
        if excess > 0.0 {
            least = shift;
        } else {
            most = shift;
        }
        let straight = shift + excess / free;
        let next = if least < straight && straight < most {
            straight
        } else {
            f64::midpoint(least, most)
        };
        if excess.abs() <= f64::EPSILON || next <= least || next >= most {
            break;
        }
        shift = next;
    }
    shift
}

#[cfg(test)]
mod tests {
    use super::super::{BallConfig, Norm, OneHot, ThreatConfig};
    use crate::data::{Feature, FeatureKind, InputShape, Schema};

    /// A number and a category of three.
    fn schema() -> Schema {
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
        Schema {
            shape: InputShape::Table,
            features: vec![
                feature("size", None),
                feature("a", Some(0)),
                feature("b", Some(0)),
                feature("c", Some(0)),
            ],
            references: None,
        }
    }

    fn threat(one_hot: OneHot, radius: f64) -> super::Threat {
        let config = ThreatConfig {
            ball: BallConfig {
                norm: Norm::L2,
                radius,
            },
            one_hot,
            ..ThreatConfig::default()
        };
        config.check(&schema()).unwrap()
    }

    #[test]
    fn the_nearest_mixture_is_found() {
        let threat = threat(OneHot::Simplex, 9.0);
        let mut z = [0.5, 1.5, 0.4, -0.3];
        threat.project(&[0.0, 1.0, 0.0, 0.0], &mut z);
        // Shifted by 1/2 and cut off at 0; (0.8, 0.2, 0) is further from it.
        for (got, expected) in z.iter().zip([0.5, 1.0, 0.0, 0.0]) {
            assert!((got - expected).abs() < 1e-12, "{z:?}");
        }
    }

    #[test]
    fn values_are_shifted_until_they_add_up() {
        let mut stream = crate::Seed::new(3).stream("shift");
        for case in 0..500 {
            let parts: Vec<(f64, f64, f64)> = (0..2 + case % 7)
                .map(|_| (3.0 * stream.normal(), 0.0, 1.0))
                .collect();
            let shift = super::shift(&parts, 1.0);
            let sum: f64 = parts
                .iter()
                .map(|(value, low, high)| (value - shift).clamp(*low, *high))
                .sum();
            assert!((sum - 1.0).abs() < 1e-12, "{parts:?}: {sum}");
        }
    }

    #[test]
    fn a_ball_without_room_for_a_category_moves_the_number_alone() {
        let x = [0.0, 1.0, 0.0, 0.0];
        let [small, large] = [1.3, 1.42].map(|radius| {
            let mut z = [0.9, 0.4, 0.6, 0.0];
            threat(OneHot::Whole, radius).project(&x, &mut z);
            z
        });
        assert!(
            small[1..]
                .iter()
                .zip(&x[1..])
                .all(|(z, x)| (z - x).abs() < 1e-15),
            "{small:?}"
        );
        assert!((small[0] - 0.9).abs() < 1e-15);
        assert!((large[2] - 0.6).abs() < 1e-12, "{large:?}");
    }

    #[test]
    fn a_number_gives_way_to_a_category_that_leads() {
        let threat = threat(OneHot::Whole, 1.5);
        let x = [0.0, 1.0, 0.0, 0.0];
        let mut z = [1.2, 0.2, 0.8, 0.0];
        threat.project(&x, &mut z);
        let mut point = [0.0; 4];
        threat.settle(&x, &z, &mut point);
        assert!(point[1].abs() + (point[2] - 1.0).abs() + point[3].abs() < 1e-15);
        // 1.5^2 - 2 = 1/4 is left for the number.
        assert!((point[0] - 0.5).abs() < 1e-12, "{point:?}");
    }

    #[test]
    fn a_ball_too_small_for_another_category_keeps_it_and_the_number() {
        let threat = threat(OneHot::Whole, 1.3);
        let x = [0.0, 1.0, 0.0, 0.0];
        let mut point = [0.0; 4];
        threat.settle(&x, &[0.9, 0.4, 0.6, 0.0], &mut point);
        let moved = (point[0] - 0.9).abs() + (point[1] - 1.0).abs() + point[2] + point[3];
        assert!(moved < 1e-15, "{point:?}");
    }

    #[test]
    fn the_features_of_a_category_are_whole_where_categories_are() {
        let whole = |one_hot| {
            let threat = threat(one_hot, 1.5);
            [0, 1, 2, 3].map(|feature| threat.is_whole(feature))
        };
        assert_eq!(whole(OneHot::Whole), [false, true, true, true]);
        assert_eq!(whole(OneHot::Simplex), [false; 4]);
    }

    /// A number, a category of three, and a flag.
    fn with_flag() -> Schema {
        let mut schema = schema();
        let mut flag = schema.features[1].clone();
        flag.group = None;
        schema.features.push(flag);
        schema
    }

    fn whole(norm: Norm, radius: f64) -> super::Threat {
        let config = ThreatConfig {
            ball: BallConfig { norm, radius },
            one_hot: OneHot::Whole,
            ..ThreatConfig::default()
        };
        config.check(&with_flag()).unwrap()
    }

    fn settled(threat: &super::Threat, x: [f64; 5], z: [f64; 5]) -> [f64; 5] {
        let mut point = [9.0; 5];
        threat.settle(&x, &z, &mut point);
        point
    }

    fn assert_is(got: [f64; 5], expected: [f64; 5]) {
        crate::toy::assert_close(&got, &expected);
    }

    #[test]
    fn each_category_may_become_any_other_and_each_flag_its_opposite() {
        let mut threat = whole(Norm::L2, 1.5);
        let to = |now: usize| vec![(1, 0.0), (now, 1.0)];
        let off = [0.0, 1.0, 0.0, 0.0, 0.0];
        let on = [0.0, 1.0, 0.0, 0.0, 1.0];
        let changes = threat.category_changes(&off);
        assert_eq!(changes, [vec![to(2), to(3)], vec![vec![(4, 1.0)]]]);
        let changes = threat.category_changes(&on);
        assert_eq!(changes, [vec![to(2), to(3)], vec![vec![(4, 0.0)]]]);
        // Half of a category is none; half of a flag is off.
        let changes = threat.category_changes(&[0.0, 0.5, 0.5, 0.0, 0.5]);
        assert_eq!(changes, [vec![vec![(4, 1.0)]]]);
        threat.limits[2] = 0.0;
        assert_eq!(threat.category_changes(&off)[0], [to(3)]);
        threat.limits[4] = 0.0;
        assert_eq!(threat.category_changes(&off), [vec![to(3)]]);
        threat.limits[1] = 0.0;
        assert!(threat.category_changes(&off).is_empty());
        threat.limits.fill(9.0);
        threat.one_hot = OneHot::Simplex;
        assert!(threat.category_changes(&off).is_empty());
    }

    #[test]
    fn of_a_category_and_a_flag_the_surer_change_is_made_where_one_fits() {
        // 1.5^2 = 2.25 holds a category, which costs 2, or a flag, which costs 1.
        let threat = whole(Norm::L2, 1.5);
        let x = [0.0, 1.0, 0.0, 0.0, 0.0];
        // The category leads by 0.6, the flag by 0.2, then by 0.8.
        let category = settled(&threat, x, [0.0, 0.2, 0.8, 0.0, 0.6]);
        assert_is(category, [0.0, 0.0, 1.0, 0.0, 0.0]);
        let flag = settled(&threat, x, [0.0, 0.2, 0.8, 0.0, 0.9]);
        assert_is(flag, [0.0, 1.0, 0.0, 0.0, 1.0]);
        // A flag that is on leads by 0.4 when it falls to 0.3.
        let on = [0.0, 1.0, 0.0, 0.0, 1.0];
        let category = settled(&threat, on, [0.0, 0.2, 0.8, 0.0, 0.3]);
        assert_is(category, [0.0, 0.0, 1.0, 0.0, 1.0]);
        let flag = settled(&threat, on, [0.0, 0.45, 0.55, 0.0, 0.3]);
        assert_is(flag, [0.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn without_a_lead_categories_and_flags_stay() {
        let mut threat = whole(Norm::L2, 2.0);
        let x = [0.0, 1.0, 0.0, 0.0, 0.0];
        assert_is(settled(&threat, x, [0.0, 0.5, 0.5, 0.0, 0.5]), x);
        // A row with two halves has no category to change, and half a flag is off.
        let halves = [0.0, 0.5, 0.5, 0.0, 0.5];
        assert_is(settled(&threat, halves, [0.0, 0.2, 0.1, 0.7, 0.6]), halves);
        // A feature that may not move takes the place of no other, and gives its own to none.
        let z = [0.0, 0.2, 0.8, 0.0, 0.9];
        for feature in [1, 2] {
            threat.limits = vec![f64::INFINITY; 5];
            threat.limits[feature] = 0.0;
            assert_is(settled(&threat, x, z), [0.0, 1.0, 0.0, 0.0, 1.0]);
        }
        threat.limits = vec![f64::INFINITY; 5];
        threat.limits[4] = 0.0;
        assert_is(settled(&threat, x, z), [0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn numbers_keep_what_changes_leave_of_a_round_ball_and_all_of_a_square_one() {
        // The category takes 2 of 4; the number wants 8 and is halved.
        let x = [1.0, 1.0, 0.0, 0.0, 0.0];
        let moved = 1.0 + 8.0_f64.sqrt();
        let z = [moved, 0.2, 0.8, 0.0, 0.0];
        let round = settled(&whole(Norm::L2, 2.0), x, z);
        assert_is(round, [1.0 + 2.0_f64.sqrt(), 0.0, 1.0, 0.0, 0.0]);
        let square = settled(&whole(Norm::Linf, 1.0), x, z);
        assert_is(square, [moved, 0.0, 1.0, 0.0, 0.0]);
        // Nothing changes, so nothing gives way.
        let stays = settled(&whole(Norm::L2, 2.0), x, [9.0, 0.8, 0.2, 0.0, 0.0]);
        assert_is(stays, [9.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn two_changes_that_fill_the_ball_are_both_made() {
        // A second category of two, so that both changes cost 2 of 2^2.
        let mut schema = with_flag();
        schema.features[3].group = Some(2);
        schema.features[4].group = Some(2);
        let config = ThreatConfig {
            ball: BallConfig {
                norm: Norm::L2,
                radius: 2.0,
            },
            one_hot: OneHot::Whole,
            ..ThreatConfig::default()
        };
        let threat = config.check(&schema).unwrap();
        assert_eq!(threat.groups, [[1, 2], [3, 4]]);
        let x = [3.0, 1.0, 0.0, 0.0, 1.0];
        let point = settled(&threat, x, [4.0, 0.1, 0.9, 0.7, 0.3]);
        assert_is(point, [3.0, 0.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn a_whole_point_within_the_ball_is_settled() {
        let threat = whole(Norm::L2, 2.0);
        let x = [0.0, 1.0, 0.0, 0.0, 0.0];
        assert!(threat.is_settled(&x, &[1.0, 0.0, 1.0, 0.0, 0.0]));
        assert!(threat.is_settled(&x, &[1.0 + 1e-7, 0.0, 1.0, 0.0, 0.0]));
        // A mixture is none of the points of a whole category, and 3 is beyond the radius.
        assert!(!threat.is_settled(&x, &[1.0, 0.4, 0.6, 0.0, 0.0]));
        assert!(!threat.is_settled(&x, &[3.0, 1.0, 0.0, 0.0, 0.0]));
    }

    #[test]
    fn categories_and_flags_stay_where_the_ball_has_no_room_for_another() {
        let stay = |norm, radius| {
            let threat = whole(norm, radius);
            let stays = |feature: usize| threat.limits[feature] == 0.0;
            assert!(!stays(0) && stays(1) == stays(2) && stays(2) == stays(3));
            assert_eq!(threat.categories_stay, stays(1));
            (stays(1), stays(4))
        };
        let root = std::f64::consts::SQRT_2;
        assert_eq!(stay(Norm::L2, 0.99), (true, true));
        assert_eq!(stay(Norm::L2, 1.0), (true, false));
        assert_eq!(stay(Norm::L2, 1.41), (true, false));
        assert_eq!(stay(Norm::L2, root), (false, false));
        assert_eq!(stay(Norm::Linf, 0.99), (true, true));
        assert_eq!(stay(Norm::Linf, 1.0), (false, false));
    }

    #[test]
    fn whether_a_value_is_missing_stays_and_levels_lie_between_0_and_1() {
        let mut schema = with_flag();
        schema.features[0].kind = FeatureKind::Missing;
        for (one_hot, low, high) in [(OneHot::Free, -9.0, 9.0), (OneHot::Simplex, 0.0, 1.0)] {
            let config = ThreatConfig {
                one_hot,
                r#box: true,
                ..ThreatConfig::default()
            };
            let threat = config.check(&schema).unwrap();
            let is_held = one_hot == OneHot::Simplex;
            assert_eq!(threat.limits[0] == 0.0, is_held);
            assert_eq!((threat.low[2], threat.high[2]), (low, high));
            assert_eq!(threat.flags == [4], is_held);
            assert_eq!(threat.groups == [[1, 2, 3]], is_held);
        }
    }
}
