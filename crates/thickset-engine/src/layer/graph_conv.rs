//! Graph convolution `H' = Â H Wᵀ + b` over all nodes of a graph.
//!
//! The first input is the normalised adjacency `Â`, `[rows, n * n]`, the second the node features
//! `H`, `[rows, n * in]`; without a second input the features are the identity, `H = I`, and the
//! layer is `Â Wᵀ + b`.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised};
use crate::kernel::{Factor, affine, batch_product, linear, linear_input};
use crate::{Init, Parameter, Result, Scope};

/// One graph convolution; `W` is `[out, in]`.
#[derive(Clone, Debug)]
pub struct GraphConv {
    weight: Parameter,
    bias: Parameter,
    nodes: usize,
    in_features: usize,
    out_features: usize,
}

impl GraphConv {
    /// Takes `weight` and `bias` from the scope; sizes are per node.
    ///
    /// # Errors
    /// If the scope's source cannot provide them.
    pub fn new(
        nodes: usize,
        in_features: usize,
        out_features: usize,
        scope: &mut Scope<'_>,
    ) -> Result<Self> {
        let init = Init::fan_in(in_features);
        Ok(Self {
            weight: scope.weight("weight", &[out_features, in_features], init)?,
            bias: scope.weight("bias", &[out_features], init)?,
            nodes,
            in_features,
            out_features,
        })
    }

    /// `[rows, n * f]` as `[rows * n, f]`
    fn per_node(&self, values: Tensor<2>) -> Tensor<2> {
        let [rows, features] = values.dims();
        values.reshape([rows * self.nodes, features / self.nodes])
    }

    fn per_row(&self, values: Tensor<2>) -> Tensor<2> {
        let [places, features] = values.dims();
        values.reshape([places / self.nodes, self.nodes * features])
    }

    /// `Â Z`
    fn mix(&self, adjacency: Tensor<2>, values: Tensor<2>) -> Tensor<2> {
        let square = Factor::plain(self.nodes, self.nodes);
        let features = Factor::plain(self.nodes, self.out_features);
        batch_product(adjacency, values, [square, features])
    }

    /// `H Wᵀ`, `[rows, n * out]`.
    fn transformed(&self, features: Tensor<2>) -> Tensor<2> {
        self.per_row(linear(self.per_node(features), self.weight.value.clone()))
    }

    fn shifted(&self, values: Tensor<2>) -> Tensor<2> {
        self.per_row(self.per_node(values) + self.bias.value.clone())
    }
}

impl Layer for GraphConv {
    fn kind(&self) -> &'static str {
        "graph-conv"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::GraphConv {
            nodes: self.nodes,
            inputs: self.in_features,
            outputs: self.out_features,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let fits = match inputs {
            [adjacency] => *adjacency == self.nodes * self.nodes && self.in_features == self.nodes,
            [adjacency, features] => {
                *adjacency == self.nodes * self.nodes && *features == self.nodes * self.in_features
            }
            _ => false,
        };
        fits.then_some(self.nodes * self.out_features)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearise(inputs).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        if let [adjacency, features] = inputs {
            let transformed = self.transformed(features.clone());
            let output = self.shifted(self.mix(adjacency.clone(), transformed.clone()));
            let at = At {
                layer: self.clone(),
                adjacency: adjacency.clone(),
                transformed,
            };
            (output, Box::new(at))
        } else {
            let output = self.per_row(affine(
                self.per_node(inputs[0].clone()),
                self.weight.value.clone(),
                self.bias.value.clone(),
            ));
            (
                output,
                Box::new(IdentityAt {
                    layer: self.clone(),
                }),
            )
        }
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![&self.weight, &self.bias]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![&mut self.weight, &mut self.bias]
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

/// With node features `H = I`: linear in the adjacency.
struct IdentityAt {
    layer: GraphConv,
}

impl Linearised for IdentityAt {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let g = self.layer.per_node(g);
        let weight = self.layer.weight.value.clone();
        vec![self.layer.per_row(linear_input(g, weight))]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.layer.transformed(v[0].clone())
    }
}

struct At {
    layer: GraphConv,
    adjacency: Tensor<2>,
    /// `H Wᵀ`
    transformed: Tensor<2>,
}

impl At {
    /// The gradient in `Â` of `<Â Z, g>`: `g Zᵀ`.
    fn to_adjacency(&self, g: Tensor<2>, transformed: Tensor<2>) -> Tensor<2> {
        let (nodes, out) = (self.layer.nodes, self.layer.out_features);
        let shape = [Factor::plain(nodes, out), Factor::transposed(nodes, out)];
        batch_product(g, transformed, shape)
    }

    /// The gradient in `Z` of `<Â Z, g>`: `Âᵀ g`.
    fn to_transformed(&self, adjacency: Tensor<2>, g: Tensor<2>) -> Tensor<2> {
        let (nodes, out) = (self.layer.nodes, self.layer.out_features);
        let shape = [Factor::transposed(nodes, nodes), Factor::plain(nodes, out)];
        batch_product(adjacency, g, shape)
    }

    fn to_features(&self, transformed: Tensor<2>) -> Tensor<2> {
        let per_node = self.layer.per_node(transformed);
        let weight = self.layer.weight.value.clone();
        self.layer.per_row(linear_input(per_node, weight))
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let transformed = self.to_transformed(self.adjacency.clone(), g.clone());
        vec![
            self.to_adjacency(g, self.transformed.clone()),
            self.to_features(transformed),
        ]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let transformed = self.layer.transformed(v[1].clone());
        self.layer.mix(v[0].clone(), self.transformed.clone())
            + self.layer.mix(self.adjacency.clone(), transformed)
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let transformed_dot = self.layer.transformed(v[1].clone());
        let adjacency = self.to_adjacency(g_dot.clone(), self.transformed.clone())
            + self.to_adjacency(g.clone(), transformed_dot);
        let transformed = self.to_transformed(self.adjacency.clone(), g_dot)
            + self.to_transformed(v[0].clone(), g.clone());
        vec![adjacency, self.to_features(transformed)]
    }
}
