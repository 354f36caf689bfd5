//! The product of two matrices that a row holds, for each of several pairs of them: what attention is made of.

use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::{Axis, Form, Layer, Linearised};
use crate::Result;

/// The sizes of a product: `pairs` of `[rows, inner]` and `[inner, columns]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductShape {
    pub pairs: usize,
    pub rows: usize,
    pub inner: usize,
    pub columns: usize,
}

/// `Y = A B`, pair by pair.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProduct {
    shape: ProductShape,
}

impl MatrixProduct {
    /// Of matrices of these sizes.
    ///
    /// # Errors
    /// If a size is zero, or a row has too many numbers to be indexed.
    pub fn new(shape: ProductShape) -> Result<Self> {
        let ProductShape {
            pairs,
            rows,
            inner,
            columns,
        } = shape;
        Axis::new(pairs, rows, inner)?;
        Axis::new(pairs, inner, columns)?;
        Axis::new(pairs, rows, columns)?;
        Ok(Self { shape })
    }

    fn left(self, a: Tensor<2>) -> Tensor<3> {
        let blocks = a.dims()[0] * self.shape.pairs;
        a.reshape([blocks, self.shape.rows, self.shape.inner])
    }

    fn right(self, b: Tensor<2>) -> Tensor<3> {
        let blocks = b.dims()[0] * self.shape.pairs;
        b.reshape([blocks, self.shape.inner, self.shape.columns])
    }

    fn made(self, y: Tensor<2>) -> Tensor<3> {
        let blocks = y.dims()[0] * self.shape.pairs;
        y.reshape([blocks, self.shape.rows, self.shape.columns])
    }

    fn joined(self, y: Tensor<3>) -> Tensor<2> {
        let [blocks, rows, columns] = y.dims();
        let pairs = self.shape.pairs;
        y.reshape([blocks / pairs, pairs * rows * columns])
    }
}

impl Layer for MatrixProduct {
    fn kind(&self) -> &'static str {
        "matrix-product"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::MatrixProduct(self.shape))
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let ProductShape {
            pairs,
            rows,
            inner,
            columns,
        } = self.shape;
        let fits = inputs == [pairs * rows * inner, pairs * inner * columns];
        fits.then_some(pairs * rows * columns)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let (a, b) = (self.left(inputs[0].clone()), self.right(inputs[1].clone()));
        self.joined(a.matmul(b))
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = At {
            of: *self,
            a: self.left(inputs[0].clone()),
            b: self.right(inputs[1].clone()),
        };
        (self.forward(inputs), Box::new(at))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    of: MatrixProduct,
    a: Tensor<3>,
    b: Tensor<3>,
}

impl At {
    /// `[G Bᵀ, Aᵀ G]`
    fn shares(&self, g: Tensor<3>, a: Tensor<3>, b: Tensor<3>) -> [Tensor<2>; 2] {
        let first = g.clone().matmul(b.swap_dims(1, 2));
        let second = a.swap_dims(1, 2).matmul(g);
        [self.of.joined(first), self.of.joined(second)]
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let g = self.of.made(g);
        self.shares(g, self.a.clone(), self.b.clone()).to_vec()
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let (a_dot, b_dot) = (self.of.left(v[0].clone()), self.of.right(v[1].clone()));
        let change = a_dot.matmul(self.b.clone()) + self.a.clone().matmul(b_dot);
        self.of.joined(change)
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let (a_dot, b_dot) = (self.of.left(v[0].clone()), self.of.right(v[1].clone()));
        let [a, b] = self.shares(self.of.made(g.clone()), a_dot, b_dot);
        let moved = self.pullback(g_dot);
        vec![moved[0].clone() + a, moved[1].clone() + b]
    }
}
