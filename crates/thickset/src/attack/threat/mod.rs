//! Which inputs an attack may reach: a ball around the row, and what a row of that table can be at all.
//!
//! A [`Threat`] is the intersection of the parts that are switched on, each described in its own file. The row itself is
//! always in the set: a bound that the row already breaks is widened to it.
//!
//! The set has a convex part (ball, box, simplex, immutable, budgets), onto which a searching point is [projected], and a
//! discrete part (whole numbers, one category), to which it is [settled] whenever the model is evaluated. So a search moves
//! smoothly between the points that can be, and every point it reports is one of them.
//!
//! [projected]: Threat::project
//! [settled]: Threat::settle

mod amount;
pub mod ball;
mod ball_of_tensors;
pub mod r#box;
pub mod error;
pub mod feature_budget;
pub mod immutable;
pub mod integer;
mod list;
pub mod one_hot;
pub mod only;
mod words;

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use amount::Amount;
pub use ball::{BallConfig, Norm};
pub use one_hot::OneHot;

use crate::data::{InputShape, Schema};
use crate::registry::Info;
use crate::{Result, Stream};

/// One part of a set of inputs. Its settings are a field of [`ThreatConfig`].
pub trait ThreatPart: Sync {
    /// The registry's entry.
    fn info(&self) -> &'static Info;

    /// Narrows the set for rows of this schema, if the part is switched on. Parts may come in any order.
    ///
    /// # Errors
    /// When a setting is out of range, or does not fit the schema.
    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()>;
}

/// Every part.
pub static PARTS: &[&dyn ThreatPart] = &[
    &ball::Ball,
    &r#box::Box,
    &error::MeasurementError,
    &feature_budget::FeatureBudget,
    &immutable::Immutable,
    &integer::Integer,
    &one_hot::OneHotGroups,
    &only::Only,
];

/// The registry's entries of this family.
pub(crate) fn infos() -> impl Iterator<Item = &'static Info> {
    PARTS.iter().map(|part| part.info())
}

/// The set as a configuration states it: a table of its parts, or a name. `"table"` is what a row of a table could become, and
/// what a table of parts leaves out is its; `"papers"` is the ball alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default = "ThreatConfig::table")]
pub struct ThreatConfig {
    /// The ball around the row, in encoded units.
    pub ball: BallConfig,
    /// Features stay in the range of the training rows.
    pub r#box: bool,
    /// Columns that a person cannot change stay.
    pub immutable: bool,
    /// Whole numbers stay whole, in the column's own unit.
    pub integer: bool,
    /// What the features of one category may become.
    pub one_hot: OneHot,
    /// The most a column may move, in its own unit.
    pub feature_budget: BTreeMap<String, f64>,
    /// Columns that move by at most so much; where some are named, here or in `error`, all others stay.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, Amount>,
    /// How far the numbers of columns may be off; `*` stands for every number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub error: BTreeMap<String, Amount>,
}

impl Default for ThreatConfig {
    /// The ball around the row, immutable columns as they are: the set that fits rows of every kind. What the methods of a model
    /// use where nothing is said is [`ThreatConfig::usual`].
    fn default() -> Self {
        Self {
            immutable: true,
            ..Self::papers()
        }
    }
}

/// The names of sets.
const NAMES: [&str; 2] = ["table", "papers"];

impl Serialize for ThreatConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ThreatConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = ThreatConfig;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table of the threat set's parts, \"table\" or \"papers\"")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> std::result::Result<ThreatConfig, E> {
        match name {
            "table" => Ok(ThreatConfig::table()),
            "papers" => Ok(ThreatConfig::papers()),
            _ => Err(E::unknown_variant(name, &NAMES)),
        }
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> std::result::Result<ThreatConfig, M::Error> {
        ThreatConfig::deserialize(MapAccessDeserializer::new(map))
    }
}

impl ThreatConfig {
    /// What rows of this shape could become: of a table see [`ThreatConfig::table`]; images, graphs and pairs move in the ball.
    #[must_use]
    pub fn usual(shape: &InputShape) -> Self {
        match shape {
            InputShape::Table => Self::table(),
            _ => Self::default(),
        }
    }

    /// What a row of a table could become within the ball: immutable columns and whether a value is missing stay, categories stay
    /// whole, integers stay integers, and numbers stay in the range of the training rows.
    #[must_use]
    pub fn table() -> Self {
        Self {
            r#box: true,
            immutable: true,
            integer: true,
            one_hot: OneHot::Whole,
            ..Self::papers()
        }
    }

    /// The ball alone, as the papers have it.
    #[must_use]
    pub fn papers() -> Self {
        Self {
            ball: BallConfig::default(),
            r#box: false,
            immutable: false,
            integer: false,
            one_hot: OneHot::Free,
            feature_budget: BTreeMap::new(),
            only: BTreeMap::new(),
            error: BTreeMap::new(),
        }
    }

    /// Checks the settings and resolves them for rows of this schema.
    ///
    /// # Errors
    /// When a radius or budget is out of range, a budget names no column, or every column is immutable.
    pub fn check(&self, schema: &Schema) -> Result<Threat> {
        let count = schema.len();
        let mut threat = Threat {
            ball: self.ball,
            low: vec![f64::NEG_INFINITY; count],
            high: vec![f64::INFINITY; count],
            limits: vec![f64::INFINITY; count],
            shares: vec![None; count],
            named: None,
            is_bounded: false,
            immutable: vec![false; count],
            whole: Vec::new(),
            one_hot: self.one_hot,
            groups: Vec::new(),
            categories_stay: false,
            flags: Vec::new(),
        };
        for part in PARTS {
            part.apply(self, schema, &mut threat)?;
        }
        if let Some(named) = threat.named.take() {
            let limits = threat.limits.iter_mut().zip(named);
            for (limit, _) in limits.filter(|(_, is_named)| !is_named) {
                *limit = 0.0;
            }
        }
        let bounds = threat.low.iter().chain(&threat.high).chain(&threat.limits);
        threat.is_bounded = bounds.into_iter().any(|bound| bound.is_finite())
            || threat.shares.iter().any(Option::is_some);
        Ok(threat)
    }
}

/// A share of a value in its own unit, `offset + factor * encoded`.
#[derive(Clone, Copy, Debug)]
struct OwnShare {
    share: f64,
    offset: f64,
    factor: f64,
}

/// A set of inputs around any row.
#[derive(Clone, Debug)]
pub struct Threat {
    ball: BallConfig,
    low: Vec<f64>,
    high: Vec<f64>,
    /// The most each feature may move.
    limits: Vec<f64>,
    /// The most each may move as a share of the row's own value.
    shares: Vec<Option<OwnShare>>,
    /// The features that are named, while parts are applied and some are.
    named: Option<Vec<bool>>,
    /// Features that stay because a person cannot change them.
    immutable: Vec<bool>,
    /// Whether any feature has a bound of its own.
    is_bounded: bool,
    /// Features whose original values stay whole.
    whole: Vec<integer::Whole>,
    one_hot: OneHot,
    /// Features of each category, where they are held together.
    groups: Vec<Vec<usize>>,
    /// The ball has no room for another category.
    categories_stay: bool,
    /// Features that are 0 or 1, where they stay so.
    flags: Vec<usize>,
}

impl Threat {
    /// The ball.
    #[must_use]
    pub fn ball(&self) -> BallConfig {
        self.ball
    }

    /// Which features stay because a person cannot change them.
    #[must_use]
    pub fn immutable(&self) -> &[bool] {
        &self.immutable
    }

    /// The least and the greatest value of a feature of a row.
    pub(crate) fn bounds(&self, feature: usize, at: f64) -> (f64, f64) {
        let of_value = self.shares[feature].map_or(f64::INFINITY, |own| {
            own.share * (own.offset + own.factor * at).abs() / own.factor
        });
        let limit = self.limits[feature].min(of_value);
        (
            self.low[feature].max(at - limit).min(at),
            self.high[feature].min(at + limit).max(at),
        )
    }

    /// The least and the greatest move of each feature of a row.
    pub(super) fn reach(&self, x: &[f64]) -> Vec<(f64, f64)> {
        let bounds = x.iter().enumerate().map(|(feature, &x)| {
            let (low, high) = self.bounds(feature, x);
            (low - x, high - x)
        });
        bounds.collect()
    }

    /// The largest move of a row in the Euclidean norm.
    pub(crate) fn largest_move(&self, x: &[f64]) -> f64 {
        match self.ball.norm {
            Norm::L2 => self.ball.radius,
            Norm::Linf => {
                let moves = self.reach(x).into_iter();
                let squares = moves.map(|(low, high)| low.abs().max(high).powi(2));
                squares.sum::<f64>().sqrt()
            }
        }
    }

    /// Brings searching points `z`, rows of the schema, back into the convex parts of the sets around `x`.
    pub(crate) fn project(&self, x: &[f64], z: &mut [f64]) {
        let features = self.low.len();
        if self.is_bounded || !self.groups.is_empty() {
            for (x, z) in x.chunks(features).zip(z.chunks_mut(features)) {
                self.project_row(x, z);
            }
        }
        // The set so far is convex and holds x, so the line to x never leaves it.
        self.ball.shrink(features, x, z);
    }

    fn project_row(&self, x: &[f64], z: &mut [f64]) {
        // Groups first: cutting one off at its bounds before it is shifted would not give the nearest point.
        if !self.categories_stay {
            for group in &self.groups {
                self.project_group(group, x, z);
            }
        }
        if self.is_bounded {
            for (feature, (z, &x)) in z.iter_mut().zip(x).enumerate() {
                let (low, high) = self.bounds(feature, x);
                *z = z.clamp(low, high);
            }
        }
    }

    /// Whether the set is a Euclidean ball with bounds of single features or without, and every point of it one that can be.
    pub(super) fn is_ball_with_bounds(&self) -> bool {
        self.ball.norm == Norm::L2
            && self.groups.is_empty()
            && self.flags.is_empty()
            && self.whole.is_empty()
    }

    /// Whether any feature has a bound of its own.
    pub(super) fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// The points at which the model is evaluated: `z` with whole numbers and categories made so, rounded towards `x`.
    pub(crate) fn settle(&self, x: &[f64], z: &[f64], point: &mut [f64]) {
        point.copy_from_slice(z);
        if self.whole.is_empty() && self.one_hot != OneHot::Whole {
            return;
        }
        let features = self.low.len();
        let rows = x
            .chunks(features)
            .zip(z.chunks(features))
            .zip(point.chunks_mut(features));
        for ((x, z), point) in rows {
            if self.one_hot == OneHot::Whole {
                self.settle_categories(x, z, point);
            }
            for whole in &self.whole {
                point[whole.feature] = whole.settle(x[whole.feature], point[whole.feature]);
            }
        }
    }

    /// A random point of the set: on the sphere, or in the ball.
    pub(crate) fn draw(&self, x: &[f64], surface: ball::Surface, stream: &mut Stream) -> Vec<f64> {
        let free: Vec<bool> = (0..x.len())
            .map(|feature| {
                let (low, high) = self.bounds(feature, x[feature]);
                low < high
            })
            .collect();
        let mut point = self.ball.draw(x, &free, surface, stream);
        self.project(x, &mut point);
        point
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{assert_close, schema};

    fn square(radius: f64) -> ThreatConfig {
        ThreatConfig {
            ball: BallConfig {
                norm: Norm::Linf,
                radius,
            },
            ..ThreatConfig::papers()
        }
    }

    #[test]
    fn a_feature_moves_by_the_least_of_its_limits_and_a_row_outside_the_range_keeps_its_place() {
        let mut schema = schema();
        (schema.features[0].low, schema.features[0].high) = (-1.0, 4.0);
        (schema.features[1].offset, schema.features[1].factor) = (10.0, 2.0);
        let config = ThreatConfig {
            r#box: true,
            error: [
                ("x0".to_owned(), Amount::Units(3.0)),
                ("x1".to_owned(), Amount::Share(0.25)),
            ]
            .into(),
            ..ThreatConfig::papers()
        };
        let mut threat = config.check(&schema).unwrap();
        assert_eq!(threat.bounds(0, 0.0), (-1.0, 3.0));
        assert_eq!(threat.bounds(0, 2.0), (-1.0, 4.0));
        assert_eq!(threat.bounds(0, 6.0), (3.0, 6.0));
        assert_eq!(threat.bounds(0, -3.0), (-3.0, 0.0));
        (threat.low[1], threat.high[1]) = (-100.0, 100.0);
        // A quarter of 10 + 2 * 3 = 16 is 4, which is 2 encoded units; of 10 - 2 * 9 = -8 it is 1.
        assert_eq!(threat.bounds(1, 3.0), (1.0, 5.0));
        assert_eq!(threat.bounds(1, -9.0), (-10.0, -8.0));
        assert_eq!(threat.bounds(2, 0.5), (0.5, 0.5));
        assert_eq!(
            threat.reach(&[2.0, 3.0, 0.5]),
            [(-3.0, 2.0), (-2.0, 2.0), (0.0, 0.0)]
        );
    }

    #[test]
    fn the_largest_move_is_the_radius_or_reaches_the_farther_corner() {
        let config = ThreatConfig {
            r#box: true,
            ..square(4.0)
        };
        // Of 0..=1: from 0.75, from 4 the 4 units down, and 3 up to the range from -3.
        let threat = config.check(&schema()).unwrap();
        let most = threat.largest_move(&[0.75, 4.0, -2.0]);
        let expected = (0.75_f64 * 0.75 + 16.0 + 9.0).sqrt();
        assert!((most - expected).abs() < 1e-12, "{most}");
        let round = ThreatConfig::papers().check(&schema()).unwrap();
        assert!((round.largest_move(&[0.75, 4.0, -2.0]) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn only_bounds_of_single_features_make_a_set_bounded() {
        let is_bounded = |config: &ThreatConfig| config.check(&schema()).unwrap().is_bounded;
        assert!(!is_bounded(&ThreatConfig::papers()));
        assert!(is_bounded(&square(1.0)));
        let share = ThreatConfig {
            error: [("*".to_owned(), Amount::Share(0.1))].into(),
            ..ThreatConfig::papers()
        };
        assert!(is_bounded(&share));
    }

    #[test]
    fn rows_come_back_each_to_its_own_set() {
        let threat = square(1.0).check(&schema()).unwrap();
        let x = [0.0, 0.0, 0.0, 5.0, 5.0, 5.0];
        let mut z = [2.0, 0.5, -3.0, 2.0, 5.5, 8.0];
        threat.project(&x, &mut z);
        assert_close(&z, &[1.0, 0.5, -1.0, 4.0, 5.5, 6.0]);
    }

    #[test]
    fn a_mixture_is_projected_though_nothing_else_is_bounded() {
        let mut threat = ThreatConfig::papers().check(&schema()).unwrap();
        threat.ball.radius = 9.0;
        threat.groups = vec![vec![0, 1]];
        let mut z = [1.0, 1.0, 3.0];
        threat.project(&[1.0, 0.0, 0.0], &mut z);
        assert_close(&z, &[0.5, 0.5, 3.0]);
        threat.categories_stay = true;
        z = [1.0, 1.0, 3.0];
        threat.project(&[1.0, 0.0, 0.0], &mut z);
        assert_close(&z, &[1.0, 1.0, 3.0]);
    }

    #[test]
    fn whole_numbers_of_every_row_are_settled_and_others_stay_as_they_are() {
        let mut schema = schema();
        schema.features[1].integer = true;
        let x = [0.0, 0.0, 0.0, 0.0, 4.0, 0.0];
        let z = [0.6, 1.6, 0.3, 0.7, 2.4, 0.2];
        let mut point = [9.0; 6];
        let settle = |config: ThreatConfig, point: &mut [f64]| {
            config.check(&schema).unwrap().settle(&x, &z, point);
        };
        settle(ThreatConfig::papers(), &mut point);
        assert_close(&point, &z);
        let whole = ThreatConfig {
            integer: true,
            ..ThreatConfig::papers()
        };
        settle(whole, &mut point);
        assert_close(&point, &[0.6, 1.0, 0.3, 0.7, 3.0, 0.2]);
    }

    #[test]
    fn a_random_point_leaves_features_that_cannot_move() {
        let mut schema = schema();
        schema.features[1].immutable = true;
        let config = ThreatConfig {
            immutable: true,
            ..ThreatConfig::papers()
        };
        let threat = config.check(&schema).unwrap();
        let mut stream = crate::Seed::new(1).stream("draw");
        for _ in 0..20 {
            let x = [0.1, 0.2, 0.3];
            let point = threat.draw(&x, ball::Surface::Sphere, &mut stream);
            assert!((point[1] - 0.2).abs() < 1e-15 && (point[0] - 0.1).abs() > 1e-9);
            assert!((threat.ball.size(&x, &point) - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn tables_have_their_own_set_and_other_shapes_the_ball() {
        assert_eq!(
            ThreatConfig::usual(&InputShape::Table),
            ThreatConfig::table()
        );
        let graph = InputShape::Graph { nodes: 3 };
        assert_eq!(ThreatConfig::usual(&graph), ThreatConfig::default());
    }
}
