//! A loss: named terms and their weighted sum.

use thickset_engine::layer::BatchStatistics;
use thickset_engine::{Tensor, TensorData};

use super::term::reading::value;

/// Terms smaller than this are left out of adaptive weighting, whose quotient would overflow.
const LEAST_TERM: f64 = 1e-12;

/// One part of a loss.
#[derive(Clone, Debug)]
pub struct Term {
    /// What it is, for logs.
    pub name: &'static str,
    /// What it is multiplied by; negative where more is better.
    pub weight: f64,
    /// Whether that follows the class loss, and so changes from step to step.
    pub adaptive: bool,
    /// Its value before weighting, the mean over the batch.
    pub value: Tensor<1>,
}

/// The loss of one batch.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The class loss first, then what is added to it.
    pub terms: Vec<Term>,
    /// The weighted sum, to be differentiated.
    pub total: Tensor<1>,
    /// What running statistics shall follow after the step, one list for each fitting run.
    pub statistics: Vec<Vec<BatchStatistics>>,
}

impl Loss {
    /// A class loss.
    #[must_use]
    pub fn new(name: &'static str, value: Tensor<1>) -> Self {
        let total = value.clone();
        Self {
            terms: vec![Term {
                name,
                weight: 1.0,
                adaptive: false,
                value,
            }],
            total,
            statistics: Vec::new(),
        }
    }

    /// A loss that was recorded as a whole: its terms, each with name, weight and value, are but numbers.
    pub(super) fn of_whole(total: Tensor<1>, terms: &[(&'static str, f64, f64)]) -> Self {
        let (device, dtype) = (total.device().without_autodiff(), total.dtype());
        let terms = terms.iter().map(|&(name, weight, value)| Term {
            name,
            weight,
            adaptive: false,
            value: Tensor::from_data(TensorData::new(vec![value], [1]), (&device, dtype)),
        });
        Self {
            terms: terms.collect(),
            total,
            statistics: Vec::new(),
        }
    }

    /// Adds `weight` times a term. With `adaptive`, the weight is taken relative to the class loss:
    /// `weight (L + 1) / |term|`, a constant for the gradient, so that terms of any size pull equally hard.
    #[must_use]
    pub fn plus(
        mut self,
        name: &'static str,
        weight: f64,
        term: Tensor<1>,
        adaptive: bool,
    ) -> Self {
        let size = if adaptive { value(&term).abs() } else { 1.0 };
        let weight = if adaptive && size > LEAST_TERM {
            weight * (value(&self.terms[0].value) + 1.0) / size
        } else {
            weight
        };
        self.total = self.total + term.clone() * weight;
        self.terms.push(Term {
            name,
            weight,
            adaptive,
            value: term,
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use thickset_engine::Device;

    use super::*;

    fn number(value: f32) -> Tensor<1> {
        Tensor::from_data([value], &Device::cpu())
    }

    #[test]
    fn a_term_is_added_with_its_weight() {
        let loss = Loss::new("class", number(1.0)).plus("gap", -0.5, number(4.0), false);
        assert!((value(&loss.total) + 1.0).abs() < 1e-6);
    }

    #[test]
    fn an_adaptive_weight_makes_the_term_a_share_of_the_class_loss_plus_one() {
        for term in [4.0, -4.0] {
            let loss = Loss::new("class", number(1.0)).plus("gap", -0.5, number(term), true);
            assert!((loss.terms[1].weight + 0.25).abs() < 1e-6);
        }
    }

    #[test]
    fn an_adaptive_term_of_zero_keeps_its_plain_weight() {
        let loss = Loss::new("class", number(1.0)).plus("gap", 0.5, number(0.0), true);
        assert!((loss.terms[1].weight - 0.5).abs() < 1e-12);
    }
}
