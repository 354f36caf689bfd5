//! Several inputs side by side. Images are channel-major, so this joins their channels.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised};

/// `y = [a, b, ...]`.
#[derive(Clone, Copy, Debug)]
pub struct Concatenate;

impl Layer for Concatenate {
    fn kind(&self) -> &'static str {
        "concatenate"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Concatenate)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (!inputs.is_empty()).then(|| inputs.iter().sum())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        Tensor::cat(inputs.to_vec(), 1)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let sizes = inputs.iter().map(|input| input.dims()[1]).collect();
        (self.forward(inputs), Box::new(At { sizes }))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    sizes: Vec<usize>,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let mut start = 0;
        let mut take = |size: &usize| {
            let range = start..start + size;
            start = range.end;
            g.clone().slice_dim(1, range)
        };
        self.sizes.iter().map(&mut take).collect()
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        Tensor::cat(v.to_vec(), 1)
    }
}
