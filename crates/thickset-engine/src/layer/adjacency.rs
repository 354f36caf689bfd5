//! The normalised adjacency of a graph, differentiable in its edge weights.
//!
//! Input: the upper triangle of the weights, row by row, `[rows, n (n - 1) / 2]`. With `S = A + I`,
//! `d_i = sum_j |S_ij|` (weights may be negative, such as correlations) and `r = d^(-1/2)`, the
//! output is `r_i S_ij r_j`, `[rows, n * n]`.

use burn::tensor::{Int, Tensor, TensorData};

use super::{Form, Layer, Linearised, single};
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
        let layout = TriangleLayout::new(self.nodes, &weights);
        let matrix = layout.symmetric(weights, 1.0);
        let sign = matrix.clone().without_autodiff().sign();
        let degree = matrix.clone().abs().sum_dim(2);
        At {
            root: degree.clone().powf_scalar(-0.5),
            degree,
            sign,
            matrix,
            layout,
        }
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
        at.scaled(at.matrix.clone()).flatten(1, 2)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = self.at(single(inputs));
        (at.scaled(at.matrix.clone()).flatten(1, 2), Box::new(at))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

/// Where each edge stands in the matrix.
struct TriangleLayout {
    nodes: usize,
    /// For each place of the matrix, its edge; the diagonal takes the column after the last edge.
    edge_of_place: Tensor<1, Int>,
    upper: Tensor<1, Int>,
    lower: Tensor<1, Int>,
}

impl TriangleLayout {
    fn new(nodes: usize, like: &Tensor<2>) -> Self {
        let edges = nodes * (nodes - 1) / 2;
        let mut edge_of_place = vec![edges; nodes * nodes];
        let (mut upper, mut lower) = (Vec::with_capacity(edges), Vec::with_capacity(edges));
        for i in 0..nodes {
            for j in i + 1..nodes {
                edge_of_place[i * nodes + j] = upper.len();
                edge_of_place[j * nodes + i] = upper.len();
                upper.push(i * nodes + j);
                lower.push(j * nodes + i);
            }
        }
        let device = like.device();
        let indices = |places: Vec<usize>| {
            #[expect(
                clippy::cast_possible_wrap,
                reason = "bounded by the square of the largest graph"
            )]
            let places: Vec<i64> = places.into_iter().map(|place| place as i64).collect();
            let count = places.len();
            Tensor::<1, Int>::from_data(TensorData::new(places, [count]), &device)
        };
        Self {
            nodes,
            edge_of_place: indices(edge_of_place),
            upper: indices(upper),
            lower: indices(lower),
        }
    }

    /// The symmetric matrix of these edges with one number on the diagonal.
    fn symmetric(&self, edges: Tensor<2>, diagonal: f64) -> Tensor<3> {
        let rows = edges.dims()[0];
        let column = edges.clone().without_autodiff().slice([0..rows, 0..1]) * 0.0 + diagonal;
        Tensor::cat(vec![edges, column], 1)
            .select(1, self.edge_of_place.clone())
            .reshape([rows, self.nodes, self.nodes])
    }

    /// The adjoint of [`Self::symmetric`] in the edges.
    fn edges(&self, matrix: Tensor<3>) -> Tensor<2> {
        let rows = matrix.dims()[0];
        let flat = matrix.reshape([rows, self.nodes * self.nodes]);
        flat.clone().select(1, self.upper.clone()) + flat.select(1, self.lower.clone())
    }
}

struct At {
    layout: TriangleLayout,
    /// `S`, `[rows, n, n]`
    matrix: Tensor<3>,
    /// The sign of `S`, which has no derivative.
    sign: Tensor<3>,
    /// `d`, `[rows, n, 1]`
    degree: Tensor<3>,
    /// `r`, `[rows, n, 1]`
    root: Tensor<3>,
}

impl At {
    /// `r_i M_ij r_j`
    fn scaled(&self, matrix: Tensor<3>) -> Tensor<3> {
        matrix * self.root.clone() * self.root.clone().transpose()
    }

    fn square(&self, flat: Tensor<2>) -> Tensor<3> {
        let rows = flat.dims()[0];
        flat.reshape([rows, self.layout.nodes, self.layout.nodes])
    }

    /// The changes of `S`, `d` and `r` when the edges move along `v`.
    fn moved(&self, v: Tensor<2>) -> (Tensor<3>, Tensor<3>, Tensor<3>) {
        let matrix = self.layout.symmetric(v, 0.0);
        let degree = (self.sign.clone() * matrix.clone()).sum_dim(2);
        let root = self.degree.clone().powf_scalar(-1.5) * degree.clone() * -0.5;
        (matrix, degree, root)
    }

    /// The gradient in `r` of `sum_ij G_ij r_i M_ij r_j` when the second root is `root`.
    fn root_gradient(product: Tensor<3>, root: &Tensor<3>) -> Tensor<3> {
        let both = product.clone() + product.transpose();
        (both * root.clone().transpose()).sum_dim(2)
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let g = self.square(g);
        let root = Self::root_gradient(g.clone() * self.matrix.clone(), &self.root);
        let degree = root * self.degree.clone().powf_scalar(-1.5) * -0.5;
        vec![
            self.layout
                .edges(self.scaled(g) + degree * self.sign.clone()),
        ]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let (matrix, _, root) = self.moved(single(v));
        let turned = self.matrix.clone()
            * (root.clone() * self.root.clone().transpose() + self.root.clone() * root.transpose());
        (self.scaled(matrix) + turned).flatten(1, 2)
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let (matrix_dot, degree_dot, root_dot) = self.moved(single(v));
        let (g, g_dot) = (self.square(g.clone()), self.square(g_dot));
        let product = g.clone() * self.matrix.clone();
        let product_dot = g_dot.clone() * self.matrix.clone() + g.clone() * matrix_dot;
        let root = Self::root_gradient(product.clone(), &self.root);
        let root_change =
            Self::root_gradient(product_dot, &self.root) + Self::root_gradient(product, &root_dot);
        let degree_change = root_change * self.degree.clone().powf_scalar(-1.5) * -0.5
            + root * self.degree.clone().powf_scalar(-2.5) * degree_dot * 0.75;
        let turned = g
            * (root_dot.clone() * self.root.clone().transpose()
                + self.root.clone() * root_dot.transpose());
        vec![
            self.layout
                .edges(self.scaled(g_dot) + turned + degree_change * self.sign.clone()),
        ]
    }
}
