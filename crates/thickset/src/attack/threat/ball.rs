//! The ball around the row, in encoded units: what every attack stays in.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use serde::{Deserialize, Serialize};
use thickset_engine::kernel::{VectorLoop, sum_of_pairs, vectorised};

use super::{Threat, ThreatConfig, ThreatPart};
use crate::check::as_f64;
use crate::data::Schema;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result, Stream};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "ball",
    label: "ball",
    family: Family::Threat,
    summary: "Inputs near the row, in encoded units",
    formula: "||x' - x|| <= radius",
    source: "R2ET, Eq. 1",
    direction: None,
    cost: "none",
    defaults: &[
        Setting::new("norm", "l2 or linf"),
        Setting::new("radius", "in encoded units; known datasets have their own"),
    ],
};

/// How a move is measured; it also says how a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// The Euclidean length; steps follow the gradient.
    #[default]
    L2,
    /// The largest change of a feature; steps follow the gradient's sign.
    Linf,
}

/// Norm and radius.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BallConfig {
    /// How a move is measured.
    pub norm: Norm,
    /// The largest move.
    pub radius: f64,
}

impl Default for BallConfig {
    fn default() -> Self {
        Self {
            norm: Norm::L2,
            radius: crate::defaults::RADIUS,
        }
    }
}

/// Larger moves would lose the row in rounding, or overflow.
const MOST_RADIUS: f64 = 1e6;

/// Where random points are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Surface {
    /// At the full radius.
    #[default]
    Sphere,
    /// Uniformly inside.
    Ball,
}

/// The part.
pub(super) struct Ball;

impl ThreatPart for Ball {
    fn info(&self) -> &'static Info {
        &INFO
    }

    /// A ball of the largest norm is a box; the other one is no bound of single features.
    fn apply(&self, config: &ThreatConfig, _: &Schema, threat: &mut Threat) -> Result<()> {
        config.ball.check()?;
        if config.ball.norm == Norm::Linf {
            for limit in &mut threat.limits {
                *limit = limit.min(config.ball.radius);
            }
        }
        Ok(())
    }
}

impl BallConfig {
    fn check(self) -> Result<()> {
        let expected = if !(self.radius >= 0.0 && self.radius.is_finite()) {
            "finite and not negative"
        } else if self.radius > MOST_RADIUS {
            "at most 1000000"
        } else {
            return Ok(());
        };
        Err(Error::OutOfRange {
            what: "`ball.radius`",
            expected,
            got: self.radius,
        })
    }

    /// The size of a move.
    pub(crate) fn size(self, x: &[f64], z: &[f64]) -> f64 {
        match self.norm {
            Norm::L2 => distance(x, z),
            Norm::Linf => {
                let moves = x.iter().zip(z).map(|(x, z)| z - x);
                moves.fold(0.0, |most, change| change.abs().max(most))
            }
        }
    }

    /// Brings rows `z` of so many features into the balls around `x`, along the ways there. A ball of the largest norm is a
    /// box, which bounds hold already.
    pub(super) fn shrink(self, features: usize, x: &[f64], z: &mut [f64]) {
        if self.norm == Norm::L2 {
            vectorised(Shrink {
                features,
                radius: self.radius,
                x,
                z,
            });
        }
    }

    /// A step of this length down the gradient of each row; none where that is zero.
    pub(crate) fn step(self, features: usize, z: &mut [f64], gradient: &[f64], length: f64) {
        match self.norm {
            Norm::L2 => vectorised(Step {
                features,
                length,
                z,
                gradient,
            }),
            Norm::Linf => vectorised(SignStep {
                length,
                z,
                gradient,
            }),
        }
    }

    /// Brings rows `z` of so many features into the balls around `x`, whatever the norm.
    pub(crate) fn hold(self, features: usize, x: &[f64], z: &mut [f64]) {
        match self.norm {
            Norm::L2 => self.shrink(features, x, z),
            Norm::Linf => {
                for (z, x) in z.iter_mut().zip(x) {
                    *z = x + (*z - x).clamp(-self.radius, self.radius);
                }
            }
        }
    }

    /// A random point in which only free features differ from `x`.
    pub(crate) fn draw(
        self,
        x: &[f64],
        free: &[bool],
        surface: Surface,
        stream: &mut Stream,
    ) -> Vec<f64> {
        let draw = |free: &bool, stream: &mut Stream| match (free, self.norm) {
            (false, _) => 0.0,
            (true, Norm::L2) => stream.normal(),
            (true, Norm::Linf) => stream.uniform_in(-1.0, 1.0),
        };
        let mut change: Vec<f64> = free.iter().map(|free| draw(free, stream)).collect();
        let dimensions = free.iter().filter(|free| **free).count();
        let size = self.size(&vec![0.0; x.len()], &change);
        let factor = match (surface, self.norm) {
            // The draw itself is uniform in the cube.
            (Surface::Ball, Norm::Linf) => self.radius,
            _ if size == 0.0 => 0.0,
            // The volume within r grows like r to the number of dimensions.
            (Surface::Ball, Norm::L2) => {
                let share = libm::pow(stream.uniform(), 1.0 / as_f64(dimensions.max(1)));
                self.radius * share / size
            }
            (Surface::Sphere, _) => self.radius / size,
        };
        for (change, x) in change.iter_mut().zip(x) {
            *change = x + *change * factor;
        }
        change
    }
}

#[inline(always)]
fn distance(x: &[f64], z: &[f64]) -> f64 {
    sum_of_pairs(x, z, |x, z| (z - x) * (z - x)).sqrt()
}

struct Shrink<'a> {
    features: usize,
    radius: f64,
    x: &'a [f64],
    z: &'a mut [f64],
}

impl VectorLoop for Shrink<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self
            .z
            .chunks_mut(self.features)
            .zip(self.x.chunks(self.features));
        for (z, x) in rows {
            let size = distance(x, z);
            if size > self.radius {
                let factor = self.radius / size;
                for (z, x) in z.iter_mut().zip(x) {
                    *z = x + (*z - x) * factor;
                }
            }
        }
    }
}

struct SignStep<'a> {
    length: f64,
    z: &'a mut [f64],
    gradient: &'a [f64],
}

impl VectorLoop for SignStep<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (z, g) in self.z.iter_mut().zip(self.gradient) {
            // What is neither is zero, or no number, which must not go unseen.
            let sign = if *g > 0.0 {
                1.0
            } else if *g < 0.0 {
                -1.0
            } else {
                *g
            };
            *z -= self.length * sign;
        }
    }
}

struct Step<'a> {
    features: usize,
    length: f64,
    z: &'a mut [f64],
    gradient: &'a [f64],
}

impl VectorLoop for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self
            .z
            .chunks_mut(self.features)
            .zip(self.gradient.chunks(self.features));
        for (z, gradient) in rows {
            let size = sum_of_pairs(gradient, gradient, |g, _| g * g).sqrt();
            if size > 0.0 {
                let factor = self.length / size;
                for (z, g) in z.iter_mut().zip(gradient) {
                    *z -= factor * g;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::assert_close;

    #[test]
    fn a_move_of_three_and_four_is_five_long_and_shrinks_along_its_way() {
        let ball = BallConfig {
            norm: Norm::L2,
            radius: 1.0,
        };
        let (x, mut z) = ([1.0, 1.0], [4.0, 5.0]);
        assert!((ball.size(&x, &z) - 5.0).abs() < 1e-12);
        ball.shrink(2, &x, &mut z);
        assert_close(&z, &[1.6, 1.8]);
        let cube = BallConfig {
            norm: Norm::Linf,
            ..ball
        };
        assert!((cube.size(&x, &[4.0, 5.0]) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_step_goes_down_the_gradient_or_its_signs() {
        let (mut z, gradient) = ([0.0, 0.0, 0.0], [3.0, 0.0, -4.0]);
        let ball = BallConfig::default();
        ball.step(3, &mut z, &gradient, 10.0);
        assert_close(&z, &[-6.0, 0.0, 8.0]);
        let cube = BallConfig {
            norm: Norm::Linf,
            ..ball
        };
        cube.step(3, &mut z, &gradient, 1.0);
        assert_close(&z, &[-7.0, 0.0, 9.0]);
    }

    #[test]
    fn draws_are_at_the_radius_or_within_it_and_move_free_features_alone() {
        let mut stream = crate::Seed::new(1).stream("ball");
        let x = [1.0, 2.0, 3.0];
        let stays = |point: &[f64]| (point[1] - x[1]).abs() < f64::MIN_POSITIVE;
        for norm in [Norm::L2, Norm::Linf] {
            let ball = BallConfig { norm, radius: 0.5 };
            for _ in 0..50 {
                let on = ball.draw(&x, &[true, false, true], Surface::Sphere, &mut stream);
                assert!((ball.size(&x, &on) - 0.5).abs() < 1e-12 && stays(&on));
                let inside = ball.draw(&x, &[true, false, true], Surface::Ball, &mut stream);
                assert!(ball.size(&x, &inside) <= 0.5 + 1e-12 && stays(&inside));
            }
        }
    }

    #[test]
    fn a_quarter_of_the_disc_lies_within_half_of_its_radius() {
        let mut stream = crate::Seed::new(1).stream("disc");
        let (x, ball) = ([1.0, 2.0], BallConfig::default());
        let is_near = |_: &u32| {
            let point = ball.draw(&x, &[true, true], Surface::Ball, &mut stream);
            ball.size(&x, &point) < ball.radius / 2.0
        };
        let near = (0..800).filter(is_near).count();
        assert!((160..240).contains(&near), "{near} of 800");
    }

    #[test]
    fn a_ball_of_no_radius_holds_the_row_itself() {
        let ball = BallConfig {
            norm: Norm::L2,
            radius: 0.0,
        };
        let (x, mut z) = ([1.0, 2.0], [1.0, 2.0]);
        ball.shrink(2, &x, &mut z);
        assert_close(&z, &x);
        z = [4.0, 6.0];
        ball.shrink(2, &x, &mut z);
        assert_close(&z, &x);
    }

    #[test]
    fn radii_up_to_a_million_are_taken() {
        let of = |radius: f64| {
            BallConfig {
                norm: Norm::L2,
                radius,
            }
            .check()
        };
        for radius in [0.0, 0.5, 1e6] {
            assert!(of(radius).is_ok(), "{radius}");
        }
        for radius in [-1.0, f64::NAN, f64::INFINITY] {
            let error = of(radius).unwrap_err().to_string();
            assert!(error.contains("finite and not negative"), "{error}");
        }
        let error = of(1.1e6).unwrap_err().to_string();
        assert!(error.contains("at most 1000000"), "{error}");
    }

    #[test]
    fn the_cube_limits_every_feature_and_the_ball_none() {
        let limits = |norm| {
            let config = ThreatConfig {
                ball: BallConfig { norm, radius: 0.5 },
                ..ThreatConfig::papers()
            };
            config.check(&crate::toy::schema()).unwrap().limits
        };
        assert_eq!(limits(Norm::Linf), [0.5; 3]);
        assert_eq!(limits(Norm::L2), [f64::INFINITY; 3]);
    }

    #[test]
    fn without_a_slope_a_row_stays() {
        let mut z = [1.0, 2.0, 1.0, 2.0];
        BallConfig::default().step(2, &mut z, &[0.0, 0.0, 0.0, 2.0], 1.0);
        assert_close(&z, &[1.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn without_a_free_feature_a_draw_is_the_row() {
        let mut stream = crate::Seed::new(1).stream("none");
        for (norm, surface) in [
            (Norm::L2, Surface::Sphere),
            (Norm::L2, Surface::Ball),
            (Norm::Linf, Surface::Sphere),
            (Norm::Linf, Surface::Ball),
        ] {
            let ball = BallConfig { norm, radius: 0.5 };
            let point = ball.draw(&[1.0, 2.0], &[false, false], surface, &mut stream);
            assert_close(&point, &[1.0, 2.0]);
        }
    }

    #[test]
    fn half_of_a_line_lies_within_half_of_its_radius_whatever_else_is_held() {
        let mut stream = crate::Seed::new(1).stream("line");
        let ball = BallConfig::default();
        let x = [1.0, 2.0, 3.0, 4.0];
        let is_near = |_: &u32| {
            let point = ball.draw(&x, &[false, true, false, false], Surface::Ball, &mut stream);
            ball.size(&x, &point) < ball.radius / 2.0
        };
        let near = (0..400).filter(is_near).count();
        assert!((160..240).contains(&near), "{near} of 400");
    }

    #[test]
    fn draws_in_the_cube_go_to_all_sides_of_the_row() {
        let mut stream = crate::Seed::new(1).stream("cube");
        let ball = BallConfig {
            norm: Norm::Linf,
            radius: 0.5,
        };
        let above = |_: &u32| ball.draw(&[1.0], &[true], Surface::Ball, &mut stream)[0] > 1.0;
        let above = (0..400).filter(above).count();
        assert!((160..240).contains(&above), "{above} of 400");
    }
}
