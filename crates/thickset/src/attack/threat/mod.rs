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

pub mod ball;
pub mod r#box;
pub mod feature_budget;
pub mod immutable;
pub mod integer;
pub mod one_hot;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use ball::{BallConfig, Norm};
pub use one_hot::OneHot;

use crate::data::Schema;
use crate::{Result, Stream};

/// The set as a configuration states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThreatConfig {
    /// The ball around the row, in encoded units.
    pub ball: BallConfig,
    /// Features stay in the range of the training rows.
    pub r#box: bool,
    /// Features that a person cannot change stay.
    pub immutable: bool,
    /// Whole numbers stay whole, in the column's own unit.
    pub integer: bool,
    /// What the features of one category may become.
    pub one_hot: OneHot,
    /// The most a column may move, in its own unit.
    pub feature_budget: BTreeMap<String, f64>,
}

impl ThreatConfig {
    /// Checks the settings and resolves them for rows of this schema.
    ///
    /// # Errors
    /// When a radius or budget is out of range, or names no column.
    pub fn check(&self, schema: &Schema) -> Result<Threat> {
        self.ball.check()?;
        let count = schema.len();
        let mut threat = Threat {
            ball: self.ball,
            low: vec![f64::NEG_INFINITY; count],
            high: vec![f64::INFINITY; count],
            limits: vec![f64::INFINITY; count],
            is_bounded: false,
            whole: Vec::new(),
            one_hot: self.one_hot,
            groups: Vec::new(),
            flags: Vec::new(),
        };
        if self.r#box {
            r#box::apply(schema, &mut threat);
        }
        if self.immutable {
            immutable::apply(schema, &mut threat);
        }
        if self.integer {
            integer::apply(schema, &mut threat);
        }
        one_hot::apply(schema, &mut threat);
        feature_budget::apply(&self.feature_budget, schema, &mut threat)?;
        if self.ball.norm == Norm::Linf {
            for limit in &mut threat.limits {
                *limit = limit.min(self.ball.radius);
            }
        }
        let bounds = threat.low.iter().chain(&threat.high).chain(&threat.limits);
        threat.is_bounded = bounds.into_iter().any(|bound| bound.is_finite());
        Ok(threat)
    }
}

/// A set of inputs around any row.
#[derive(Clone, Debug)]
pub struct Threat {
    ball: BallConfig,
    low: Vec<f64>,
    high: Vec<f64>,
    /// The most each feature may move.
    limits: Vec<f64>,
    /// Whether any feature has a bound of its own.
    is_bounded: bool,
    /// Features whose original values stay whole.
    whole: Vec<integer::Whole>,
    one_hot: OneHot,
    /// Features of each category, where they are held together.
    groups: Vec<Vec<usize>>,
    /// Features that are 0 or 1, where they stay so.
    flags: Vec<usize>,
}

impl Threat {
    /// The ball.
    #[must_use]
    pub fn ball(&self) -> BallConfig {
        self.ball
    }

    /// The least and the greatest value of a feature of a row.
    pub(crate) fn bounds(&self, feature: usize, at: f64) -> (f64, f64) {
        let limit = self.limits[feature];
        (
            self.low[feature].max(at - limit).min(at),
            self.high[feature].min(at + limit).max(at),
        )
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
        for group in &self.groups {
            self.project_group(group, x, z);
        }
        if self.is_bounded {
            for (feature, (z, &x)) in z.iter_mut().zip(x).enumerate() {
                let (low, high) = self.bounds(feature, x);
                *z = z.clamp(low, high);
            }
        }
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
