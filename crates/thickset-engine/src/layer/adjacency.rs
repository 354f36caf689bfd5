//! The normalised adjacency of a graph, differentiable in its edge weights.
//!
//! Input: the upper triangle of the weights, row by row, `[rows, n (n - 1) / 2]`. With `S = A + I`,
//! `d_i = sum_j |S_ij|` (weights may be negative, such as correlations) and `r = d^(-1/2)`, the
//! output is `r_i S_ij r_j`, `[rows, n * n]`.

use crate::tensor::{Tensor, TensorData};

use super::{Form, Layer, Linearised, single};
use crate::kernel::{
    matrix_to_triangle, node_column_dot, node_row_dot, node_scale, triangle_to_matrix,
};
use crate::{Error, Result};

/// Largest graph: beyond it one row alone has more than a hundred million numbers.
const MAX_NODES: usize = 10_000;

/// Edge weights to the normalised adjacency matrix.
#[derive(Clone, Copy, Debug)]
pub struct Adjacency {
    nodes: usize,
}

impl Adjacency {
    /// For graphs of `nodes` nodes.
    ///
    /// # Errors
    /// If there are fewer than two nodes, or too many to hold a matrix of.
    pub fn new(nodes: usize) -> Result<Self> {
        if (2..=MAX_NODES).contains(&nodes) {
            Ok(Self { nodes })
        } else {
            Err(Error::Size {
                name: "nodes",
                most: MAX_NODES,
                got: nodes,
            })
        }
    }

    /// Edges of a complete graph.
    #[must_use]
    pub fn edges(self) -> usize {
        self.nodes * (self.nodes - 1) / 2
    }

    fn at(self, weights: Tensor<2>) -> At {
        let ones = Tensor::ones(
            [weights.dims()[0], self.nodes],
            (&weights.device().without_autodiff(), weights.dtype()),
        );
        let matrix = triangle_to_matrix(weights, self.nodes) + self.loops(&ones);
        let sign = matrix.clone().without_autodiff().sign();
        let degree = node_row_dot(matrix.clone(), sign.clone(), ones.clone());
        At {
            root: degree.clone().powf_scalar(-0.5),
            degree,
            sign,
            matrix,
            ones,
            nodes: self.nodes,
        }
    }

    /// The identity of every row.
    fn loops(self, like: &Tensor<2>) -> Tensor<2> {
        let nodes = self.nodes;
        let mut identity = vec![0.0_f32; nodes * nodes];
        identity
            .iter_mut()
            .step_by(nodes + 1)
            .for_each(|one| *one = 1.0);
        let data = TensorData::new(identity, [1, nodes * nodes]);
        let identity = Tensor::<2>::from_data(data, (&like.device(), like.dtype()));
        identity.repeat_dim(0, like.dims()[0])
    }
}

impl Layer for Adjacency {
    fn kind(&self) -> &'static str {
        "adjacency"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Adjacency { nodes: self.nodes })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.edges()]).then_some(self.nodes * self.nodes)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let at = self.at(single(inputs));
        at.scaled(at.matrix.clone())
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = self.at(single(inputs));
        (at.scaled(at.matrix.clone()), Box::new(at))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    nodes: usize,
    /// `S`, `[rows, n * n]`
    matrix: Tensor<2>,
    /// The sign of `S`, which has no derivative.
    sign: Tensor<2>,
    /// `d`, `[rows, n]`
    degree: Tensor<2>,
    /// `r`, `[rows, n]`
    root: Tensor<2>,
    ones: Tensor<2>,
}

impl At {
    /// `r_i M_ij r_j`
    fn scaled(&self, matrix: Tensor<2>) -> Tensor<2> {
        node_scale(matrix, self.root.clone(), self.root.clone())
    }

    /// The changes of `S`, `d` and `r` when the edges move along `v`.
    fn moved(&self, v: Tensor<2>) -> (Tensor<2>, Tensor<2>, Tensor<2>) {
        let matrix = triangle_to_matrix(v, self.nodes);
        let degree = node_row_dot(matrix.clone(), self.sign.clone(), self.ones.clone());
        let root = self.degree.clone().powf_scalar(-1.5) * degree.clone() * -0.5;
        (matrix, degree, root)
    }

    /// `r_i M_ij q_j + q_i M_ij r_j`: the change of what [`Self::scaled`] gives when the roots move along `q`.
    fn turned(&self, matrix: &Tensor<2>, q: &Tensor<2>) -> Tensor<2> {
        node_scale(matrix.clone(), self.root.clone(), q.clone())
            + node_scale(matrix.clone(), q.clone(), self.root.clone())
    }

    /// The gradient in `r` of `sum_ij G_ij r_i M_ij r_j` where the other root is `root`.
    fn root_gradient(g: &Tensor<2>, matrix: &Tensor<2>, root: &Tensor<2>) -> Tensor<2> {
        node_row_dot(g.clone(), matrix.clone(), root.clone())
            + node_column_dot(g.clone(), matrix.clone(), root.clone())
    }

    /// The gradient in the edges, from that in `S` as it scales and that in `d`.
    fn to_edges(&self, matrix: Tensor<2>, degree: Tensor<2>) -> Tensor<2> {
        let of_degree = node_scale(self.sign.clone(), degree, self.ones.clone());
        matrix_to_triangle(matrix + of_degree, self.nodes)
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let root = Self::root_gradient(&g, &self.matrix, &self.root);
        let degree = root * self.degree.clone().powf_scalar(-1.5) * -0.5;
        vec![self.to_edges(self.scaled(g), degree)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let (matrix, _, root) = self.moved(single(v));
        self.scaled(matrix) + self.turned(&self.matrix, &root)
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let (matrix_dot, degree_dot, root_dot) = self.moved(single(v));
        let root = Self::root_gradient(g, &self.matrix, &self.root);
        let root_change = Self::root_gradient(&g_dot, &self.matrix, &self.root)
            + Self::root_gradient(g, &matrix_dot, &self.root)
            + Self::root_gradient(g, &self.matrix, &root_dot);
        let degree_change = root_change * self.degree.clone().powf_scalar(-1.5) * -0.5
            + root * self.degree.clone().powf_scalar(-2.5) * degree_dot * 0.75;
        let scaled = self.scaled(g_dot) + self.turned(g, &root_dot);
        vec![self.to_edges(scaled, degree_change)]
    }
}
