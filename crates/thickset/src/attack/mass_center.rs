//! The mass-centre attack: moves the centre of an image's importances as far as it can.
//!
//! `C = sum_p I_p (row, column)_p / sum_p I_p`, `max_x' ||C(x') - C(x)||_2`. At x the distance has no gradient, so the first step
//! goes along the rows and columns alike.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::goal::{Goal, Goals};
use super::{Attack, AttackOption, Plan, Setup, descent};
use crate::check::as_f64;
use crate::data::{InputShape, Schema};
use crate::explain::ExplainConfig;
use crate::explain::reduce::ReductionConfig;
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "mass-center",
    label: "Mass-center attack",
    family: Family::Attack,
    summary: "Moves the centre of an image's importances",
    formula: "max_x' ||C(I(x')) - C(I(x))||_2, C the mean pixel place weighted by importance",
    source: "Ghorbani et al. 2019, section 3",
    direction: None,
    cost: "one explanation and one Hessian product a step",
    defaults: descent::DEFAULTS,
};

/// It has no settings of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MassCenterConfig {}

impl Attack for MassCenterConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        descent::OPTIONS
    }

    fn plan(&self, setup: &Setup<'_>) -> Result<Plan> {
        let places = places(setup.schema, setup.explain.config())?;
        Ok(Plan::Descent(Arc::new(Places(places))))
    }
}

/// The row and column of each importance.
#[derive(Debug)]
struct Places(Vec<[f64; 2]>);

impl Goals for Places {
    fn goal(&self, reference: &[f64], _: &TopK) -> Box<dyn Goal> {
        Box::new(Center::new(self.0.clone(), reference))
    }
}

/// Keeps the centre of an explanation of zeros finite.
const TINY: f64 = 1e-30;

/// The row and column of each importance.
fn places(schema: &Schema, explain: &ExplainConfig) -> Result<Vec<[f64; 2]>> {
    let refused = |got: String| {
        Err(Error::AttackInput {
            attack: INFO.id,
            expected: "importances of an image's pixels that are not negative",
            got,
        })
    };
    let InputShape::Image {
        channels,
        height,
        width,
    } = schema.shape
    else {
        return refused(schema.shape.to_string());
    };
    if explain.reduce == ReductionConfig::Signed || explain.explanation.is_of_units() {
        let got = format!(
            "`{}`, `{}`",
            explain.explanation.kind(),
            explain.reduce.kind()
        );
        return refused(got);
    }
    let planes = if explain.reduce == ReductionConfig::ChannelSum {
        1
    } else {
        channels
    };
    let place = |pixel: usize| [as_f64(pixel / width % height), as_f64(pixel % width)];
    Ok((0..planes * height * width).map(place).collect())
}

struct Center {
    places: Vec<[f64; 2]>,
    origin: [f64; 2],
}

impl Center {
    fn new(places: Vec<[f64; 2]>, reference: &[f64]) -> Self {
        let origin = center(&places, reference);
        Self { places, origin }
    }
}

fn center(places: &[[f64; 2]], importance: &[f64]) -> [f64; 2] {
    let mass: f64 = importance.iter().sum::<f64>() + TINY;
    [0, 1].map(|axis| {
        let moments = places.iter().zip(importance);
        moments.map(|(place, mass)| place[axis] * mass).sum::<f64>() / mass
    })
}

impl Goal for Center {
    fn evaluate(&mut self, _: usize, importance: &[f64], slope: &mut [f64]) -> f64 {
        let now = center(&self.places, importance);
        let shift = [now[0] - self.origin[0], now[1] - self.origin[1]];
        let distance = shift[0].hypot(shift[1]);
        let unit = if distance > 0.0 {
            shift.map(|part| part / distance)
        } else {
            [std::f64::consts::FRAC_1_SQRT_2; 2]
        };
        let mass: f64 = importance.iter().sum::<f64>() + TINY;
        for (place, slope) in self.places.iter().zip(slope) {
            let along: f64 = (0..2)
                .map(|axis| unit[axis] * (place[axis] - now[axis]))
                .sum();
            *slope = -along / mass;
        }
        -distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_the_distance_that_the_centre_moved() {
        let places = vec![[0.0, 0.0], [0.0, 4.0]];
        let mut goal = Center::new(places, &[1.0, 1.0]);
        // From the middle, column 2, to column 3: three quarters of the mass are at column 4.
        let mut slope = [0.0; 2];
        let value = goal.evaluate(1, &[1.0, 3.0], &mut slope);
        assert!((value + 1.0).abs() < 1e-12, "{value}");
        // More mass on the left brings the centre back, more on the right takes it away.
        assert!(slope[0] > 0.0 && slope[1] < 0.0, "{slope:?}");
    }

    #[test]
    fn the_slope_is_that_of_central_differences() {
        let places = vec![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
        let mut goal = Center::new(places, &[1.0, 1.0, 1.0, 1.0]);
        let at = [0.5, 2.0, 1.0, 0.25];
        let mut slope = [0.0; 4];
        goal.evaluate(1, &at, &mut slope);
        for index in 0..4 {
            let mut value = |change: f64| {
                let mut moved = at;
                moved[index] += change;
                goal.evaluate(1, &moved, &mut [0.0; 4])
            };
            let expected = (value(1e-6) - value(-1e-6)) / 2e-6;
            assert!((slope[index] - expected).abs() < 1e-8);
        }
    }

    #[test]
    fn a_pixel_has_its_row_and_its_column_in_every_channel() {
        let schema = Schema::image(2, 2, 3, 255.0);
        let of = |reduce: ReductionConfig| {
            let explain = ExplainConfig {
                reduce,
                ..ExplainConfig::default()
            };
            places(&schema, &explain)
        };
        let one = [
            [0.0, 0.0],
            [0.0, 1.0],
            [0.0, 2.0],
            [1.0, 0.0],
            [1.0, 1.0],
            [1.0, 2.0],
        ];
        assert_eq!(of(ReductionConfig::ChannelSum).unwrap(), one);
        assert_eq!(of(ReductionConfig::Absolute).unwrap(), [one, one].concat());
        assert!(of(ReductionConfig::Signed).is_err());
        assert!(places(&crate::toy::schema(), &ExplainConfig::default()).is_err());
    }

    #[test]
    fn a_centre_that_has_not_moved_is_pushed_along_the_diagonal() {
        let places = vec![[0.0, 0.0], [2.0, 4.0]];
        let mut goal = Center::new(places, &[1.0, 1.0]);
        let mut slope = [0.0; 2];
        // From (1, 2) to (1, 2), and then to (3/2, 3).
        assert!(goal.evaluate(0, &[2.0, 2.0], &mut slope).abs() < 1e-12);
        let along = 3.0 * std::f64::consts::FRAC_1_SQRT_2 / 4.0;
        crate::toy::assert_close(&slope, &[along, -along]);
        let value = goal.evaluate(0, &[1.0, 3.0], &mut slope);
        assert!((value + 1.25_f64.sqrt()).abs() < 1e-12, "{value}");
    }
}
