//! The mean over a graph's nodes: `[rows, n * f]` to `[rows, f]`.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised, single};

/// Pools node features into one vector per graph.
#[derive(Clone, Copy, Debug)]
pub struct NodeMean {
    nodes: usize,
}

impl NodeMean {
    /// For graphs of `nodes` nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { nodes }
    }

    fn mean(self, values: Tensor<2>) -> Tensor<2> {
        let [rows, features] = values.dims();
        let per_node = features / self.nodes;
        values
            .reshape([rows, self.nodes, per_node])
            .mean_dim(1)
            .reshape([rows, per_node])
    }
}

impl Layer for NodeMean {
    fn kind(&self) -> &'static str {
        "node-mean"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::NodeMean { nodes: self.nodes })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [features] = inputs else { return None };
        features
            .is_multiple_of(self.nodes)
            .then(|| features / self.nodes)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.mean(single(inputs))
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        (self.forward(inputs), Box::new(*self))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

impl Linearised for NodeMean {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let [rows, features] = g.dims();
        #[expect(
            clippy::cast_precision_loss,
            reason = "graphs are far below 2^53 nodes"
        )]
        let share = 1.0 / self.nodes as f64;
        let spread = (g * share)
            .reshape([rows, 1, features])
            .expand([rows, self.nodes, features]);
        vec![spread.reshape([rows, self.nodes * features])]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.mean(single(v))
    }
}
