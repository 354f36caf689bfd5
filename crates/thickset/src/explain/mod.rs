//! Explanations: which features a prediction rests on.
//!
//! An [`Explanation`] turns a batch into raw attributions, `[rows, features]`, and a [reduction](reduce) turns those into
//! importances, one number a feature, pixel or column. Both are written in differentiable tensor operations, so objectives
//! differentiate them by one `backward`; and both have a pullback of their own, made of exact Hessian products, with which
//! attacks follow them without recording anything.
//!
//! The class explained is chosen by the caller, row by row, and does not change while a row moves.

pub mod concept;
pub mod grad;
pub mod grad_input;
pub mod integrated_gradients;
pub mod reduce;
pub mod smooth_grad;

mod explainer;
mod probe;
mod stack;

pub use explainer::{CheckedExplain, ExplainConfig, Explained, Explainer, Per, Points};
pub(crate) use explainer::{chunk_rows, predicted};
pub(crate) use probe::{ModelView, Probe, RowGradient};

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Tensor};

use crate::data::InputShape;
use crate::{Error, Result, Seed};

/// Which scalar of a row is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The softmax probability of the class.
    #[default]
    Probability,
    /// The logit of the class.
    Logit,
    /// The cross-entropy with the class as label.
    Loss,
}

impl From<Of> for Output {
    fn from(of: Of) -> Self {
        match of {
            Of::Probability => Self::Probability,
            Of::Logit => Self::Logit,
            Of::Loss => Self::Loss,
        }
    }
}

/// An explanation as a configuration states it: `explanation = { kind = "grad", of = "logit" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ExplanationConfig {
    /// The activations that the last layer reads.
    Concept(concept::ConceptConfig),
    /// The gradient.
    Grad(grad::GradConfig),
    /// The gradient times the input.
    GradInput(grad_input::GradInputConfig),
    /// The gradient averaged along the way from a baseline, times that way.
    IntegratedGradients(integrated_gradients::IntegratedGradientsConfig),
    /// Another explanation averaged over noisy copies of the input.
    SmoothGrad(smooth_grad::SmoothGradConfig),
}

impl Default for ExplanationConfig {
    fn default() -> Self {
        Self::Grad(grad::GradConfig::default())
    }
}

impl std::str::FromStr for ExplanationConfig {
    type Err = Error;

    /// Reads an id, or an inline TOML table with settings.
    fn from_str(text: &str) -> Result<Self> {
        crate::inline::parse("the explanation", text)
    }
}

/// What binds an explanation to the rows of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The class explained, one a row.
    pub classes: &'a [usize],
    /// The rows' own numbers, which their random streams are named by.
    pub ids: &'a [u64],
    /// The seed of those streams.
    pub seed: Seed,
}

impl ExplanationConfig {
    /// The registry's id.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Concept(_) => concept::INFO.id,
            Self::Grad(_) => grad::INFO.id,
            Self::GradInput(_) => grad_input::INFO.id,
            Self::IntegratedGradients(_) => integrated_gradients::INFO.id,
            Self::SmoothGrad(_) => smooth_grad::INFO.id,
        }
    }

    /// Whether what is scored are a layer's units instead of the input's features.
    #[must_use]
    pub fn is_of_units(&self) -> bool {
        match self {
            Self::Concept(_) => true,
            Self::SmoothGrad(config) => config.base.is_of_units(),
            Self::Grad(_) | Self::GradInput(_) | Self::IntegratedGradients(_) => false,
        }
    }

    /// Checks the settings, and gives them with everything that depends on the input filled in.
    fn check(&self, shape: &InputShape) -> Result<Self> {
        Ok(match self {
            Self::Concept(_) | Self::Grad(_) | Self::GradInput(_) => self.clone(),
            Self::IntegratedGradients(config) => {
                config.check()?;
                self.clone()
            }
            Self::SmoothGrad(config) => Self::SmoothGrad(config.check(shape)?),
        })
    }

    /// The explanation of the rows of one batch.
    fn bind(&self, network: &Network, to: Binding<'_>) -> Box<dyn Explanation> {
        match self {
            Self::Concept(_) => Box::new(concept::Concept),
            Self::Grad(config) => Box::new(grad::Grad {
                of: config.of.into(),
                classes: hot(network, to.classes),
            }),
            Self::GradInput(config) => Box::new(grad_input::GradInput {
                of: config.of.into(),
                classes: hot(network, to.classes),
            }),
            Self::IntegratedGradients(config) => Box::new(config.path(hot(network, to.classes))),
            Self::SmoothGrad(config) => Box::new(config.bind(network, to)),
        }
    }
}

/// One row a class: 1 at the class, 0 elsewhere.
fn hot(network: &Network, classes: &[usize]) -> Tensor<2> {
    let count = network.classes();
    let mut values = vec![0.0; classes.len() * count];
    for (row, &class) in classes.iter().enumerate() {
        values[row * count + class] = 1.0;
    }
    network.tensor(values, [classes.len(), count])
}

/// What an explanation says of a batch.
pub struct Attribution {
    /// `[rows, features]`, signed.
    pub value: Tensor<2>,
    /// The logits at the same inputs, where they came with the attribution for free.
    pub logits: Option<Tensor<2>>,
}

/// An explanation of the rows of one batch. The same object serves a network and its smooth twin.
pub trait Explanation {
    /// The attributions at `x`, differentiable in `x` and in the network's weights.
    fn attribute(&self, network: &Network, x: Tensor<2>) -> Attribution;

    /// The gradient in `x` of a function of the attributions. `slope` is shown the attributions, not recorded, and
    /// answers with the function's gradient in them.
    ///
    /// The default records [`Explanation::attribute`]; those made of input gradients use exact Hessian products instead.
    fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        slope: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let x = x.autodiff().require_grad();
        let Attribution { value, logits } = self.attribute(network, x.clone());
        let slope = slope(Attribution {
            value: value.clone().without_autodiff(),
            logits: logits.map(Tensor::without_autodiff),
        });
        let gradients = (value * slope).sum().backward();
        x.grad(&gradients)
            .unwrap_or_else(|| x.without_autodiff().zeros_like())
    }
}

/// Refuses a count outside `1..=most`.
fn check_count(what: &'static str, expected: &'static str, got: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&got) {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        expected,
        got: crate::check::as_f64(got),
    })
}
