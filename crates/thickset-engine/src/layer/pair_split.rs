//! Unfolds rows that hold two samples, `[rows, 2 * d]`, into a batch of single samples,
//! `[2 * rows, d]`, so that one embedding serves both sides of a Siamese network.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised, single};

/// Row `r` becomes rows `2 r` and `2 r + 1`; nothing is computed.
#[derive(Clone, Copy, Debug)]
pub struct PairSplit;

impl Layer for PairSplit {
    fn kind(&self) -> &'static str {
        "pair-split"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::PairSplit)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [features] = inputs else { return None };
        features.is_multiple_of(2).then(|| features / 2)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let pairs = single(inputs);
        let [rows, features] = pairs.dims();
        pairs.reshape([2 * rows, features / 2])
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        (self.forward(inputs), Box::new(*self))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

impl Linearised for PairSplit {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let [rows, features] = g.dims();
        vec![g.reshape([rows / 2, 2 * features])]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.forward(v)
    }
}
