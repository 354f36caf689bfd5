//! A linear map of its own for every open gate: `z = b + W x + sum over gates c of pi_c (V_c x + b_c)`.
//!
//! Of two classes only the second has a map, the margin, and the first logit is 0; of more each class has its own. At gates pi the
//! map of an output is `r = W + sum_c pi_c V_c`, which is its gradient in x where the gates stand still.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised};
use crate::kernel::{linear, linear_input};
use crate::{Init, Parameter, Result, Scope};

/// Reads rows and gates.
#[derive(Clone, Debug)]
pub struct GatedLinear {
    weight: Parameter,
    bias: Parameter,
    gated_weight: Parameter,
    gated_bias: Parameter,
    features: usize,
    gates: usize,
    classes: usize,
}

/// Fresh weights of the ungated map lie within this: the loss is convex in all of them, so the start decides little.
const START: f64 = 0.01;

impl GatedLinear {
    /// Maps of `features` to `classes` logits, one for each of `gates`.
    ///
    /// # Errors
    /// If the scope's source cannot provide the weights.
    pub fn new(
        features: usize,
        gates: usize,
        classes: usize,
        scope: &mut Scope<'_>,
    ) -> Result<Self> {
        let maps = maps(classes);
        let small = Init::Uniform { bound: START };
        let none = Init::Constant(0.0);
        Ok(Self {
            weight: scope.weight("weight", &[maps, features], small)?,
            bias: scope.weight("bias", &[maps], none)?,
            gated_weight: scope.weight("gated_weight", &[maps, gates, features], none)?,
            gated_bias: scope.weight("gated_bias", &[maps, gates], none)?,
            features,
            gates,
            classes,
        })
    }

    /// `W`, `[maps, features]`.
    #[must_use]
    pub fn weight(&self) -> &Tensor<2> {
        &self.weight.value
    }

    /// `V`, `[maps, gates * features]`: one map for two classes, else one a class.
    #[must_use]
    pub fn gated_weight(&self) -> &Tensor<2> {
        &self.gated_weight.value
    }

    /// `b`, `[1, maps]`.
    #[must_use]
    pub fn bias(&self) -> &Tensor<2> {
        &self.bias.value
    }

    /// `b_c`, `[maps, gates]`.
    #[must_use]
    pub fn gated_bias(&self) -> &Tensor<2> {
        &self.gated_bias.value
    }

    fn at(&self, x: Tensor<2>, pi: Tensor<2>) -> At {
        let maps = (0..maps(self.classes)).map(|map| {
            let row = |parameter: &Parameter| parameter.value.clone().narrow(0, map, 1);
            let gated = row(&self.gated_weight).reshape([self.gates, self.features]);
            let gated_bias = row(&self.gated_bias);
            let bias = self.bias.value.clone().narrow(1, map, 1);
            Map {
                effective: linear_input(pi.clone(), gated.clone()) + row(&self.weight),
                of_gates: linear(x.clone(), gated.clone()) + gated_bias.clone(),
                offset: linear(pi.clone(), gated_bias) + bias,
                gated,
            }
        });
        At {
            maps: maps.collect(),
            x,
        }
    }
}

fn maps(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

impl Layer for GatedLinear {
    fn kind(&self) -> &'static str {
        "gated-linear"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::GatedLinear {
            features: self.features,
            gates: self.gates,
            classes: self.classes,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.features, self.gates]).then_some(self.classes)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearise(inputs).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = self.at(inputs[0].clone(), inputs[1].clone());
        let outputs = at
            .maps
            .iter()
            .map(|map| (at.x.clone() * map.effective.clone()).sum_dim(1) + map.offset.clone());
        (joined(outputs.collect()), Box::new(at))
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![
            &self.weight,
            &self.bias,
            &self.gated_weight,
            &self.gated_bias,
        ]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![
            &mut self.weight,
            &mut self.bias,
            &mut self.gated_weight,
            &mut self.gated_bias,
        ]
    }

    fn gated_linear(&self) -> Option<&GatedLinear> {
        Some(self)
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

/// The maps' outputs as logits: one alone is the margin of the second of two classes.
fn joined(mut outputs: Vec<Tensor<2>>) -> Tensor<2> {
    if outputs.len() == 1 {
        outputs.insert(0, outputs[0].zeros_like());
    }
    Tensor::cat(outputs, 1)
}

/// One output at a point.
struct Map {
    /// `W + sum of pi_c V_c`, `[rows, features]`.
    effective: Tensor<2>,
    /// `V_c x + b_c` of each gate, `[rows, gates]`.
    of_gates: Tensor<2>,
    /// `b + sum of pi_c b_c`, `[rows, 1]`.
    offset: Tensor<2>,
    /// `V`, `[gates, features]`.
    gated: Tensor<2>,
}

struct At {
    maps: Vec<Map>,
    x: Tensor<2>,
}

impl At {
    /// The part of `g` that belongs to a map, `[rows, 1]`.
    fn part(&self, g: &Tensor<2>, map: usize) -> Tensor<2> {
        let first = g.dims()[1] - self.maps.len();
        g.clone().narrow(1, first + map, 1)
    }

    fn summed(&self, of_map: impl Fn(&Map, usize) -> [Tensor<2>; 2]) -> Vec<Tensor<2>> {
        let mut sums: Vec<Tensor<2>> = Vec::new();
        for (place, map) in self.maps.iter().enumerate() {
            let terms = of_map(map, place);
            if sums.is_empty() {
                sums.extend(terms);
            } else {
                for (sum, term) in sums.iter_mut().zip(terms) {
                    *sum = sum.clone() + term;
                }
            }
        }
        sums
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        self.summed(|map, place| {
            let g = self.part(&g, place);
            [map.effective.clone() * g.clone(), map.of_gates.clone() * g]
        })
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let outputs = self.maps.iter().map(|map| {
            let along_x = (v[0].clone() * map.effective.clone()).sum_dim(1);
            along_x + (v[1].clone() * map.of_gates.clone()).sum_dim(1)
        });
        joined(outputs.collect())
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        self.summed(|map, place| {
            let (g, g_dot) = (self.part(g, place), self.part(&g_dot, place));
            let effective_dot = linear_input(v[1].clone(), map.gated.clone());
            let of_gates_dot = linear(v[0].clone(), map.gated.clone());
            [
                map.effective.clone() * g_dot.clone() + effective_dot * g.clone(),
                map.of_gates.clone() * g_dot + of_gates_dot * g,
            ]
        })
    }
}
