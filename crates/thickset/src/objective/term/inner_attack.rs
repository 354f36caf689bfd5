//! The search for a perturbed input inside a training step: projected gradient ascent of some loss.
//!
//! `x~ <- Proj(x~ + step * direction(gradient))`, from a start in the ball. The direction is the gradient's sign in the
//! l-infinity ball and the gradient of unit length in the l2 ball.

use serde::{Deserialize, Serialize};
use thickset_engine::{InputSlopes, Network, Tensor};

use super::reading::constant;
use crate::attack::threat::{BallConfig, Norm};
use crate::check::{as_f64, check_positive};
use crate::host::read;
use crate::{Error, Result, Stream};

/// Where the search begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Uniform in the cube around the input, and projected.
    #[default]
    Uniform,
    /// The input plus 0.001 times a standard normal draw, as TRADES has it.
    Normal,
    /// The input itself.
    Input,
}

/// The deviation of [`Start::Normal`].
const NORMAL_START: f64 = 1e-3;

/// How far and how long a training step searches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InnerAttack {
    /// The shape of the ball.
    pub norm: Norm,
    /// Its radius, in encoded units.
    pub epsilon: f64,
    /// Steps of the search.
    pub steps: usize,
    /// Size of a step; `2.5 epsilon / steps` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_size: Option<f64>,
    /// Where it begins.
    pub start: Start,
    /// Values that inputs are kept within, such as `[0.0, 1.0]` for pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

impl Default for InnerAttack {
    /// A tenth of a feature's range in ten steps: ours, since the papers give budgets for images alone.
    fn default() -> Self {
        Self {
            norm: Norm::Linf,
            epsilon: 0.1,
            steps: 10,
            step_size: None,
            start: Start::Uniform,
            range: None,
        }
    }
}

/// A loss's gradient in some rows: it is given the first one's number, the rows, and what gives gradients of losses of their logits, and
/// writes.
pub(in crate::objective) type InputGradient<'g> =
    dyn Fn(usize, &[f64], &mut dyn InputSlopes, &mut [f64]) + Sync + 'g;

/// What a configuration says of an attack, to be filled up with an objective's own defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PartialAttack {
    norm: Option<Norm>,
    epsilon: Option<f64>,
    steps: Option<usize>,
    step_size: Option<f64>,
    start: Option<Start>,
    range: Option<[f64; 2]>,
}

impl PartialAttack {
    pub(crate) fn over(self, base: &InnerAttack) -> InnerAttack {
        InnerAttack {
            norm: self.norm.unwrap_or(base.norm),
            epsilon: self.epsilon.unwrap_or(base.epsilon),
            steps: self.steps.unwrap_or(base.steps),
            step_size: self.step_size.or(base.step_size),
            start: self.start.unwrap_or(base.start),
            range: self.range.or(base.range),
        }
    }
}

impl InnerAttack {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn check(&self) -> Result<()> {
        check_positive("`attack.epsilon`", self.epsilon)?;
        if let Some(step_size) = self.step_size {
            check_positive("`attack.step_size`", step_size)?;
        }
        if self.steps == 0 {
            return Err(Error::OutOfRange {
                what: "`attack.steps`",
                expected: "at least 1",
                got: 0.0,
            });
        }
        match self.range {
            Some([low, high]) if !(low.is_finite() && high.is_finite() && low < high) => {
                Err(Error::OutOfRange {
                    what: "`attack.range`",
                    expected: "two finite numbers, the lower one first",
                    got: low,
                })
            }
            _ => Ok(()),
        }
    }

    fn ball(&self) -> BallConfig {
        BallConfig {
            norm: self.norm,
            radius: self.epsilon,
        }
    }

    fn step_size(&self) -> f64 {
        self.step_size
            .unwrap_or(2.5 * self.epsilon / as_f64(self.steps))
    }

    /// Ascends the sum over rows of `loss`, which is a mean over rows, from a start drawn from `draws`; the result is a
    /// constant. The network's weights are constants here, so that only derivatives in the input are computed.
    ///
    /// # Errors
    /// What `loss` fails with.
    pub fn perturb(
        &self,
        network: &Network,
        x: &Tensor<2>,
        draws: &mut Stream,
        loss: impl Fn(&Network, Tensor<2>) -> Result<Tensor<1>>,
    ) -> Result<Tensor<2>> {
        let mut frozen = network.clone();
        frozen.untrack();
        let x = constant(x);
        let mut perturbed = self.started(&frozen, &x, draws);
        for _ in 0..self.steps {
            let at = perturbed.clone().autodiff().require_grad();
            let gradients = loss(&frozen, at.clone())?.backward();
            let Some(gradient) = at.grad(&gradients) else {
                break;
            };
            let direction = self.ball().directions(gradient);
            perturbed = self.projected(&x, perturbed + direction * self.step_size());
        }
        Ok(perturbed)
    }

    /// What [`InnerAttack::perturb`] finds, in plain numbers, where the network is a chain of dense layers and nothing is recorded of
    /// the rows. `passes` is about how many gradients of logits one of the loss takes.
    pub(in crate::objective) fn climb(
        &self,
        network: &Network,
        x: &Tensor<2>,
        draws: &mut Stream,
        passes: usize,
        gradient_at: &InputGradient<'_>,
    ) -> Option<Tensor<2>> {
        let search = network.input_search(x)?;
        let size = x.dims();
        let features = size[1];
        let origin = read(x.clone());
        let mut rows = origin.clone();
        if let Some(shift) = self.start_shift(rows.len(), draws) {
            for (row, shift) in rows.iter_mut().zip(shift) {
                *row += shift;
            }
            self.hold(features, &origin, &mut rows);
        }
        let passes = passes * self.steps;
        search.run(&mut rows, passes, &|first, rows, slopes| {
            let origin = &origin[first * features..][..rows.len()];
            let mut gradient = vec![0.0; rows.len()];
            for _ in 0..self.steps {
                gradient_at(first, rows, slopes, &mut gradient);
                self.ball()
                    .step(features, rows, &gradient, -self.step_size());
                self.hold(features, origin, rows);
            }
        });
        Some(network.tensor(rows, size))
    }

    /// The same for a loss of the logits, `[rows, classes]`: `slopes` is given the first row's number and the logits and writes the
    /// loss's slopes in them.
    pub(in crate::objective) fn climb_logits(
        &self,
        network: &Network,
        x: &Tensor<2>,
        draws: &mut Stream,
        slopes: impl Fn(usize, &[f64], &mut [f64]) + Sync,
    ) -> Option<Tensor<2>> {
        self.climb(network, x, draws, 1, &|first, rows, search, out| {
            let mut of_logits = |logits: &[f64], out: &mut [f64]| slopes(first, logits, out);
            out.copy_from_slice(search.gradient(rows, &mut of_logits));
        })
    }

    fn started(&self, network: &Network, x: &Tensor<2>, draws: &mut Stream) -> Tensor<2> {
        let size = x.dims();
        match self.start_shift(size[0] * size[1], draws) {
            None => x.clone(),
            Some(shift) => self.projected(x, x.clone() + network.tensor(shift, size)),
        }
    }

    /// How far from the input the search begins, where it does not begin there.
    fn start_shift(&self, count: usize, draws: &mut Stream) -> Option<Vec<f64>> {
        match self.start {
            Start::Input => None,
            Start::Uniform => Some(
                (0..count)
                    .map(|_| draws.uniform_in(-self.epsilon, self.epsilon))
                    .collect(),
            ),
            Start::Normal => Some((0..count).map(|_| draws.normal() * NORMAL_START).collect()),
        }
    }

    /// [`InnerAttack::projected`] in plain numbers.
    fn hold(&self, features: usize, x: &[f64], rows: &mut [f64]) {
        self.ball().hold(features, x, rows);
        if let Some([low, high]) = self.range {
            for entry in rows {
                *entry = entry.clamp(low, high);
            }
        }
    }

    fn projected(&self, x: &Tensor<2>, perturbed: Tensor<2>) -> Tensor<2> {
        let perturbed = self.ball().nearest(x, perturbed);
        match self.range {
            None => perturbed,
            Some([low, high]) => perturbed.clamp(low, high),
        }
    }
}
