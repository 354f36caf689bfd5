//! Explanations: which features a prediction rests on.
//!
//! An [`Explanation`] turns a batch into raw attributions, `[rows, features]`, and a [reduction](reduce) turns those into
//! importances, one number a feature, pixel or column. Both are written in differentiable tensor operations, so objectives
//! differentiate them by one `backward`; and both have a tangent and a pullback of their own, made of exact Hessian
//! products: objectives bound the one, attacks follow the other without recording anything.
//!
//! The class explained is chosen by the caller, row by row, and does not change while a row moves.

pub mod concept;
pub mod contributions;
pub mod grad;
pub mod grad_input;
pub mod integrated_gradients;
pub mod reduce;
pub mod smooth_grad;

mod explainer;
mod importance;
mod inline;
mod probe;
mod stack;

pub use explainer::{CheckedExplain, ExplainConfig, Explained, Per, Points};
pub(crate) use explainer::{chunk_rows, predicted};
pub use importance::{Explainer, ImportanceAt};
pub use inline::InlineExplain;
pub(crate) use probe::{ModelView, Probe, RowGradient};

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Pass, Tensor};

use self::reduce::ReductionConfig;
use crate::data::Schema;
use crate::kinds::kinds;
use crate::registry::Info;
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

/// A way to explain, with its settings.
pub trait Explain {
    /// The registry's entry.
    fn info(&self) -> &'static Info;

    /// Whether what is scored are a layer's units instead of the input's features.
    fn is_of_units(&self) -> bool {
        false
    }

    /// The output whose plain gradient it is, where it is one; such a gradient has a fast path in attacks.
    fn plain_gradient(&self) -> Option<Of> {
        None
    }

    /// Whether its slopes on a `ReLU` network say where it changes, so that no smooth twin is needed to follow them.
    fn has_slopes(&self) -> bool {
        self.contributions().is_some()
    }

    /// The settings of contributions, where it is those; they have a fast path of their own.
    fn contributions(&self) -> Option<&contributions::ContributionsConfig> {
        None
    }

    /// The settings of integrated gradients, where it is those; they have a fast path in networks of dense layers.
    fn integrated_gradients(&self) -> Option<&integrated_gradients::IntegratedGradientsConfig> {
        None
    }

    /// The reduction and the grouping that belong to it, where the kind of data does not decide.
    fn usual_form(&self) -> Option<(ReductionConfig, Per)> {
        None
    }

    /// Checks the settings, and gives them with everything that depends on the input filled in.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], with the setting's name; where the explanation does not fit such rows, what it expected.
    fn check(&self, schema: &Schema) -> Result<ExplanationConfig>;

    /// The explanation of the rows of one batch.
    fn bind(&self, network: &Network, to: Binding<'_>) -> Box<dyn Explanation>;
}

kinds! {
    /// An explanation as a configuration states it: `explanation = { kind = "grad", of = "logit" }`.
    pub enum ExplanationConfig of Explain, read as "the explanation" {
        Concept(concept::ConceptConfig),
        Contributions(contributions::ContributionsConfig),
        Grad(grad::GradConfig),
        GradInput(grad_input::GradInputConfig),
        IntegratedGradients(integrated_gradients::IntegratedGradientsConfig),
        SmoothGrad(smooth_grad::SmoothGradConfig),
    }
}

impl Default for ExplanationConfig {
    fn default() -> Self {
        Self::Grad(grad::GradConfig::default())
    }
}

impl ExplanationConfig {
    /// Whether what is scored are a layer's units instead of the input's features.
    #[must_use]
    pub fn is_of_units(&self) -> bool {
        self.behaviour().is_of_units()
    }
}

/// The registry's entries of explanations.
pub(crate) fn infos() -> impl Iterator<Item = &'static Info> {
    let kinds = ExplanationConfig::all().into_iter();
    kinds.map(|kind| kind.behaviour().info())
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

/// One row a class: 1 at the class, 0 elsewhere.
fn hot(network: &Network, classes: &[usize]) -> Tensor<2> {
    let count = network.classes();
    let mut values = vec![0.0; classes.len() * count];
    for (row, &class) in classes.iter().enumerate() {
        values[row * count + class] = 1.0;
    }
    network.tensor(values, [classes.len(), count])
}

/// Attributions and logits of a batch.
pub struct Attribution {
    /// `[rows, features]`, signed.
    pub value: Tensor<2>,
    /// At the same inputs.
    pub logits: Tensor<2>,
}

/// An explanation of the rows of one batch. The same object serves a network and its smooth twin.
pub trait Explanation {
    /// The explanation at the input of a pass over as many rows.
    fn at<'p>(&'p self, pass: &'p Pass<'p>) -> Box<dyn ExplanationAt + 'p>;

    /// The gradient in `x` of a function of the attributions, not recorded. `gradient` reads the attributions and answers
    /// with the function's gradient in them.
    fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        gradient: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let pass = network.pass(x);
        let at = self.at(&pass);
        let weights = gradient(Attribution {
            value: at.value(),
            logits: pass.logits(),
        });
        at.pull_back(weights)
    }
}

/// An explanation where a pass ran, with its Jacobian in the input. All of it is differentiable in the input and in the
/// network's weights.
pub trait ExplanationAt {
    /// The attributions, `[rows, features]`, signed.
    fn value(&self) -> Tensor<2>;

    /// The change of the attributions when each row moves along its direction: the Jacobian times the direction.
    fn tangent(&self, direction: Tensor<2>) -> Tensor<2>;

    /// The gradient in the input of a weighted sum of the attributions: the Jacobian transposed, times the weights.
    fn pull_back(&self, weights: Tensor<2>) -> Tensor<2>;

    /// The gradient of the explained output, where it came with the attributions.
    fn input_gradient(&self) -> Option<Tensor<2>> {
        None
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

/// Explanations of the toy network, for tests.
#[cfg(test)]
mod sample {
    use super::{Binding, ExplanationConfig};
    use crate::host::read;
    use crate::{Seed, toy};

    /// The attributions of the first class at a row, their change along a direction, and the gradient of their sum with the
    /// direction's numbers as weights.
    pub(super) fn explained(
        explanation: impl Into<ExplanationConfig>,
        x: [f64; 3],
        direction: [f64; 3],
    ) -> [Vec<f64>; 3] {
        let network = toy::network();
        let to = Binding {
            classes: &[0],
            ids: &[0],
            seed: Seed::new(1),
        };
        let bound = explanation.into().behaviour().bind(&network, to);
        let pass = network.pass(network.batch(&x));
        let at = bound.at(&pass);
        let direction = network.batch(&direction);
        [
            read(at.value()),
            read(at.tangent(direction.clone())),
            read(at.pull_back(direction)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_explanation_is_read_by_its_id_alone_and_written_back() {
        for kind in ExplanationConfig::all() {
            let read: ExplanationConfig = kind.kind().parse().unwrap();
            assert_eq!(read, kind);
            let written = toml::to_string(&kind).unwrap();
            assert_eq!(toml::from_str::<ExplanationConfig>(&written).unwrap(), kind);
            let mut schema = crate::toy::schema();
            schema.references = Some(crate::data::References {
                typical: vec![0.0; 3],
                class_means: std::collections::BTreeMap::new(),
            });
            kind.behaviour().check(&schema).unwrap();
        }
    }
}
