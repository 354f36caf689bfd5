//! An explanation with its reduction, bound to the rows of a batch: importances, and how they change with the input.

use thickset_engine::kernel::{linear, linear_input};
use thickset_engine::{Network, Output, Pass, Tensor, TensorData, one_hot};

use super::reduce::CheckedReduction;
use super::{Attribution, Explanation, ExplanationAt, hot};

/// The explanation of the rows of one batch, reduced.
pub struct Explainer {
    explanation: Box<dyn Explanation>,
    reduction: CheckedReduction,
    /// Sums features into columns, `[columns, features]`, where importances are columns'.
    columns: Option<Tensor<2>>,
    /// Explained, one a row.
    classes: Vec<usize>,
}

impl Explainer {
    pub(super) fn new(
        explanation: Box<dyn Explanation>,
        reduction: CheckedReduction,
        columns: Option<Tensor<2>>,
        classes: Vec<usize>,
    ) -> Self {
        Self {
            explanation,
            reduction,
            columns,
            classes,
        }
    }

    /// The importances where a pass ran.
    #[must_use]
    pub fn at<'p>(&'p self, pass: &'p Pass<'p>) -> ImportanceAt<'p> {
        let at = self.explanation.at(pass);
        ImportanceAt {
            explainer: self,
            pass,
            raw: at.value(),
            at,
        }
    }

    /// The importances, `[rows, importances]`; differentiable in `x` and in the network's weights.
    #[must_use]
    pub fn importance(&self, network: &Network, x: Tensor<2>) -> Tensor<2> {
        self.at(&network.pass(x)).value()
    }

    /// The importances and the logits.
    #[must_use]
    pub fn attribution(&self, network: &Network, x: Tensor<2>) -> Attribution {
        let pass = network.pass(x);
        Attribution {
            value: self.at(&pass).value(),
            logits: pass.logits(),
        }
    }

    /// The gradient in `x` of a function of the importances, by exact products and not recorded. `gradient` reads the
    /// importances and answers with the function's gradient in them.
    #[must_use]
    pub fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        gradient: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let mut of_raw = |attribution: Attribution| {
            let Attribution { value: raw, logits } = attribution;
            let weights = gradient(Attribution {
                value: self.reduced(raw.clone()),
                logits,
            });
            self.raw_weights(raw, weights)
        };
        self.explanation.pull_back(network, x, &mut of_raw)
    }

    fn reduced(&self, raw: Tensor<2>) -> Tensor<2> {
        self.summed(self.reduction.reduce(raw))
    }

    fn summed(&self, importance: Tensor<2>) -> Tensor<2> {
        match &self.columns {
            Some(columns) => linear(importance, columns.clone()),
            None => importance,
        }
    }

    /// Weights of columns as weights of their features.
    fn spread(&self, weights: Tensor<2>) -> Tensor<2> {
        match &self.columns {
            Some(columns) => linear_input(weights, columns.clone()),
            None => weights,
        }
    }

    /// Weights of importances as weights of the raw attributions.
    fn raw_weights(&self, raw: Tensor<2>, weights: Tensor<2>) -> Tensor<2> {
        self.reduction.pull_back(raw, self.spread(weights))
    }
}

/// The importances of a batch where a pass ran. All of it is differentiable in the input and in the network's weights.
pub struct ImportanceAt<'p> {
    explainer: &'p Explainer,
    pass: &'p Pass<'p>,
    at: Box<dyn ExplanationAt + 'p>,
    raw: Tensor<2>,
}

impl ImportanceAt<'_> {
    /// `[rows, importances]`.
    #[must_use]
    pub fn value(&self) -> Tensor<2> {
        self.explainer.reduced(self.raw.clone())
    }

    /// The same as a constant.
    #[must_use]
    pub fn constant(&self) -> Tensor<2> {
        self.explainer.reduced(self.raw.clone().without_autodiff())
    }

    /// A constant of the batch's type on its device.
    pub(crate) fn tensor(&self, data: TensorData) -> Tensor<2> {
        let device = self.raw.device().without_autodiff();
        Tensor::from_data(data, (&device, self.raw.dtype()))
    }

    /// Terms whose sum over a row is the sum of its importances, each times its weight, a constant.
    #[must_use]
    pub fn weighted(&self, weights: Tensor<2>) -> Tensor<2> {
        let explainer = self.explainer;
        let weights = explainer.spread(weights);
        explainer.reduction.weighted(self.raw.clone(), weights)
    }

    /// The change of the importances when each row moves along its direction, up to signs, on which no length depends.
    #[must_use]
    pub fn change(&self, direction: Tensor<2>) -> Tensor<2> {
        let explainer = self.explainer;
        let change = self.at.tangent(direction);
        if self.has_raw_lengths() {
            return change;
        }
        let change = explainer.reduction.tangent(self.raw.clone(), change);
        explainer.summed(change)
    }

    /// The same as a difference quotient, from the importances at `x + step * direction`.
    #[must_use]
    pub fn difference(&self, beside: &Self, step: f64) -> Tensor<2> {
        let difference = if self.has_raw_lengths() {
            beside.raw.clone() - self.raw.clone()
        } else {
            beside.value() - self.value()
        };
        difference * (1.0 / step)
    }

    /// The changes along every feature, one after the other, `[rows, features * importances]`, up to signs.
    #[must_use]
    pub fn jacobian(&self) -> Tensor<2> {
        let x = self.pass.input();
        let ([rows, features], device) = (x.dims(), x.device().without_autodiff());
        let changes = (0..features).map(|feature| {
            let direction = one_hot(&vec![feature; rows], features, x.dtype(), &device);
            self.change(direction)
        });
        Tensor::cat(changes.collect(), 1)
    }

    /// Whether a change of the importances is as long as that of the raw attributions.
    fn has_raw_lengths(&self) -> bool {
        self.explainer.columns.is_none() && self.explainer.reduction.keeps_lengths()
    }

    /// The gradient in the input of the sum of importances, each times its weight, a constant.
    #[must_use]
    pub fn pull_back(&self, weights: Tensor<2>) -> Tensor<2> {
        let weights = self.explainer.raw_weights(self.raw.clone(), weights);
        self.at.pull_back(weights)
    }

    /// The gradient of the explained output in the input, a constant; of the class's probability where several outputs, or
    /// none, are explained.
    #[must_use]
    pub fn input_gradient(&self) -> Tensor<2> {
        let gradient = self.at.input_gradient().unwrap_or_else(|| {
            let classes = hot(self.pass.network(), &self.explainer.classes);
            let gradient = self.pass.input_gradient(Output::Probability, classes);
            gradient.value()
        });
        gradient.without_autodiff()
    }
}
