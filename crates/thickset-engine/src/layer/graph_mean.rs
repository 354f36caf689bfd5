//! The mean over a graph's nodes of what its neighbours have: `[rows, f]` from the normalised adjacency `Â`, `[rows, n * n]`, and the
//! node features `H`, `[rows, n * f]`.
//!
//! `m = (1/n) 1' Â H = u' H` with `u_j = (1/n) sum_i Â_ij`. A graph convolution `Â H W' + b` whose nodes are averaged is
//! `W m + b`: the mean first, since it needs none of the products of every node.

use burn::tensor::Tensor;

use super::{Layer, Linearised};
use crate::kernel::{Factor, batch_product};

/// Pools the neighbourhoods of all nodes into one vector per graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphMean {
    nodes: usize,
}

impl GraphMean {
    /// For graphs of `nodes` nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { nodes }
    }

    /// A row of `1 / n` for each graph.
    fn shares(self, like: &Tensor<2>) -> Tensor<2> {
        let size = [like.dims()[0], self.nodes];
        #[expect(clippy::cast_precision_loss, reason = "nodes are few")]
        let share = 1.0 / self.nodes as f64;
        Tensor::ones(size, (&like.device().without_autodiff(), like.dtype())) * share
    }

    /// `u`, `[rows, n]`.
    fn weights(self, adjacency: Tensor<2>) -> Tensor<2> {
        let (line, square) = (
            Factor::plain(1, self.nodes),
            Factor::plain(self.nodes, self.nodes),
        );
        batch_product(self.shares(&adjacency), adjacency, [line, square])
    }

    /// The adjoint of [`Self::weights`].
    fn to_adjacency(self, weights: Tensor<2>) -> Tensor<2> {
        let (column, line) = (Factor::plain(self.nodes, 1), Factor::plain(1, self.nodes));
        batch_product(self.shares(&weights), weights, [column, line])
    }

    /// `u' H`
    fn mean(self, weights: Tensor<2>, features: Tensor<2>) -> Tensor<2> {
        let width = features.dims()[1] / self.nodes;
        let shape = [
            Factor::plain(1, self.nodes),
            Factor::plain(self.nodes, width),
        ];
        batch_product(weights, features, shape)
    }

    /// The gradient in `u` of `<u' H, g>`: `H g`.
    fn to_weights(self, features: Tensor<2>, g: Tensor<2>) -> Tensor<2> {
        let width = g.dims()[1];
        let shape = [Factor::plain(self.nodes, width), Factor::plain(width, 1)];
        batch_product(features, g, shape)
    }

    /// The gradient in `H` of `<u' H, g>`: `u g'`.
    fn to_features(self, weights: Tensor<2>, g: Tensor<2>) -> Tensor<2> {
        let width = g.dims()[1];
        let shape = [Factor::plain(self.nodes, 1), Factor::plain(1, width)];
        batch_product(weights, g, shape)
    }
}

impl Layer for GraphMean {
    fn kind(&self) -> &'static str {
        "graph-mean"
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [adjacency, features] = inputs else {
            return None;
        };
        let fits = *adjacency == self.nodes * self.nodes && features.is_multiple_of(self.nodes);
        fits.then(|| features / self.nodes)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.mean(self.weights(inputs[0].clone()), inputs[1].clone())
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = At {
            layer: *self,
            weights: self.weights(inputs[0].clone()),
            features: inputs[1].clone(),
        };
        (
            self.mean(at.weights.clone(), at.features.clone()),
            Box::new(at),
        )
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    layer: GraphMean,
    /// `u`
    weights: Tensor<2>,
    /// `H`
    features: Tensor<2>,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let weights = self.layer.to_weights(self.features.clone(), g.clone());
        vec![
            self.layer.to_adjacency(weights),
            self.layer.to_features(self.weights.clone(), g),
        ]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let weights = self.layer.weights(v[0].clone());
        self.layer.mean(weights, self.features.clone())
            + self.layer.mean(self.weights.clone(), v[1].clone())
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let weights_dot = self.layer.weights(v[0].clone());
        let weights = self.layer.to_weights(self.features.clone(), g_dot.clone())
            + self.layer.to_weights(v[1].clone(), g.clone());
        let features = self.layer.to_features(self.weights.clone(), g_dot)
            + self.layer.to_features(weights_dot, g.clone());
        vec![self.layer.to_adjacency(weights), features]
    }
}
