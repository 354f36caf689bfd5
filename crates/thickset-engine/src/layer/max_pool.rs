//! Max pooling: a gather by the indices of the maxima, ties to the lower index.
//!
//! Where the maxima lie has no derivative, so the pullback is the scatter by the same indices.

use crate::tensor::{Int, Tensor};

use super::{Form, Layer, Linearised, single};
use crate::Result;
use crate::kernel::{PoolShape, max_pool_indices, pool_gather, pool_scatter};

/// Windows over each channel, of any [`PoolShape`].
#[derive(Clone, Copy, Debug)]
pub struct MaxPool {
    shape: PoolShape,
}

impl MaxPool {
    /// Pools images of this shape.
    ///
    /// # Errors
    /// If the window does not fit.
    pub fn new(shape: PoolShape) -> Result<Self> {
        Ok(Self {
            shape: shape.checked()?,
        })
    }
}

impl Layer for MaxPool {
    fn kind(&self) -> &'static str {
        "max-pool"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::MaxPool { shape: self.shape })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.shape.in_features()]).then(|| self.shape.out_features())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let x = single(inputs);
        let indices = max_pool_indices(&x, self.shape);
        pool_gather(x, indices, self.shape)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let x = single(inputs);
        let at = At {
            indices: max_pool_indices(&x, self.shape),
            shape: self.shape,
        };
        (pool_gather(x, at.indices.clone(), self.shape), Box::new(at))
    }

    fn pool(&self) -> Option<PoolShape> {
        Some(self.shape)
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    indices: Tensor<2, Int>,
    shape: PoolShape,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![pool_scatter(g, self.indices.clone(), self.shape)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        pool_gather(single(v), self.indices.clone(), self.shape)
    }
}
