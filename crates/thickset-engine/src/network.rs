//! A network: a small graph of layers, run over batches `[rows, features]`.

mod builder;
mod joined;

pub use self::builder::NetworkBuilder;
use self::joined::Joined;
use crate::tensor::{DType, Tensor, TensorData};

use crate::interrupt;
use crate::kernel::Dense;
use crate::layer::{BatchStatistics, Form, GatedLinear, Gates, Layer, Part};
use crate::parameter::{Parameter, Role};
use crate::pass::{Layers, Pass};

/// What a layer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The network's input.
    Input,
    /// The output of the layer at this place.
    Layer(usize),
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) layer: Box<dyn Layer>,
    pub(crate) inputs: Vec<Source>,
    pub(crate) features: usize,
}

impl Clone for Node {
    fn clone(&self) -> Self {
        Self {
            layer: self.layer.boxed(),
            inputs: self.inputs.clone(),
            features: self.features,
        }
    }
}

/// Layers in an order in which each reads only earlier ones; the last one gives the logits.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) nodes: Vec<Node>,
    pub(crate) features: usize,
    pub(crate) dtype: DType,
    /// Of a network of pairs: the classifier of single inputs on its embedding.
    pub(crate) single: Option<Box<Network>>,
}

impl Network {
    /// Features of an input row.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// Classes, that is logits per row.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.nodes
            .last()
            .map_or(self.features, |node| node.features)
    }

    /// The element type of its parameters, which inputs must share.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// A batch for this network from row-major values, `rows` of [`Self::features`] each.
    ///
    /// # Panics
    /// If the number of values is not a multiple of the features.
    #[must_use]
    pub fn batch(&self, values: &[f64]) -> Tensor<2> {
        assert_eq!(values.len() % self.features, 0, "rows of whole features");
        self.tensor(
            values.to_vec(),
            [values.len() / self.features, self.features],
        )
    }

    /// The same from `f32`, which tables and images are kept in.
    ///
    /// # Panics
    /// If the number of values is not a multiple of the features.
    #[must_use]
    pub fn batch_f32(&self, values: &[f32]) -> Tensor<2> {
        assert_eq!(values.len() % self.features, 0, "rows of whole features");
        let size = [values.len() / self.features, self.features];
        let data = TensorData::new(values.to_vec(), size);
        Tensor::from_data(data, (&self.device(), self.dtype))
    }

    /// A tensor of the network's type and device.
    #[must_use]
    pub fn tensor(&self, values: Vec<f64>, size: [usize; 2]) -> Tensor<2> {
        let data = if self.dtype == DType::F32 {
            // One loop over a slice; the tensor library converts value by value.
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the network computes in f32"
            )]
            let single: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            TensorData::new(single, size)
        } else {
            TensorData::new(values, size)
        };
        Tensor::from_data(data, (&self.device(), self.dtype))
    }

    /// Whether the logits are a piecewise linear function of the input.
    #[must_use]
    pub fn is_piecewise_linear(&self) -> bool {
        self.nodes.iter().all(|node| !node.layer.is_curved())
    }

    /// What it is made of, where it is a chain: linear maps, each with or without an activation, each reading the one before.
    /// None while its weights are tracked, since what reads them then reads plain numbers.
    #[must_use]
    pub fn chain_parts(&self) -> Option<Vec<Part<'_>>> {
        let has_plain_weights = |part: &Part<'_>| match part {
            Part::Linear { weight, bias } => !weight.is_autodiff() && !bias.is_autodiff(),
            _ => true,
        };
        self.tracked_chain_parts()
            .filter(|parts| parts.iter().all(has_plain_weights))
    }

    /// The same with weights as they are, tracked or not, to be differentiated in.
    #[must_use]
    pub fn tracked_chain_parts(&self) -> Option<Vec<Part<'_>>> {
        let mut parts = Vec::with_capacity(self.nodes.len());
        for (place, node) in self.nodes.iter().enumerate() {
            let before = place.checked_sub(1).map_or(Source::Input, Source::Layer);
            parts.push(node.layer.part().filter(|_| node.inputs == [before])?);
        }
        Some(parts)
    }

    /// The layer that decides which segments a row lies in, where it has one.
    #[must_use]
    pub fn gates(&self) -> Option<&Gates> {
        self.nodes.iter().find_map(|node| node.layer.gates())
    }

    /// The same, to change.
    #[must_use]
    pub fn gates_mut(&mut self) -> Option<&mut Gates> {
        let layers = self.nodes.iter_mut();
        layers
            .map(|node| &mut node.layer)
            .find_map(|layer| layer.gates_mut())
    }

    /// The layer with a linear map for every segment, where it has one.
    #[must_use]
    pub fn gated_linear(&self) -> Option<&GatedLinear> {
        self.nodes.iter().find_map(|node| node.layer.gated_linear())
    }

    /// Every layer's form and what it reads; `None` if one of them has no form.
    #[must_use]
    pub fn forms(&self) -> Option<Vec<(Form, &[Source])>> {
        let form = |node: &'_ Node| node.layer.form();
        let nodes = self.nodes.iter();
        nodes
            .map(|node| Some((form(node)?, node.inputs.as_slice())))
            .collect()
    }

    /// Features that the layer at this place gives.
    ///
    /// # Panics
    /// If there is no such layer.
    #[must_use]
    pub fn features_of(&self, source: Source) -> usize {
        match source {
            Source::Input => self.features,
            Source::Layer(place) => self.nodes[place].features,
        }
    }

    pub(crate) fn device(&self) -> crate::tensor::Device {
        self.parameters()
            .first()
            .map_or_else(crate::tensor::Device::cpu, |parameter| {
                parameter.value.device().without_autodiff()
            })
    }

    /// `[rows, classes]`.
    #[must_use]
    pub fn logits(&self, x: Tensor<2>) -> Tensor<2> {
        if let Some(dense) = self.dense(&x) {
            return dense.output();
        }
        forward(&self.nodes, x)
    }

    /// Softmax of the logits.
    #[must_use]
    pub fn probabilities(&self, x: Tensor<2>) -> Tensor<2> {
        crate::tensor::activation::softmax(self.logits(x), 1)
    }

    /// What the last layer reads: the activations that concept explanations speak of.
    #[must_use]
    pub fn penultimate(&self, x: Tensor<2>) -> Tensor<2> {
        let reads = self.nodes.last().map(|node| node.inputs[0]);
        let Some(Source::Layer(place)) = reads else {
            return x;
        };
        forward(&self.nodes[..=place], x)
    }

    /// Logits with batch statistics where a layer has them, and those statistics.
    #[must_use]
    pub fn logits_fitting(&self, x: Tensor<2>) -> (Tensor<2>, Vec<BatchStatistics>) {
        let mut statistics = Vec::new();
        let outputs = run(&self.nodes, &x, true, |node, joined, inputs| {
            match joined.linearise(node, inputs) {
                Some((output, _)) => output,
                None => node.layer.forward_fitting(inputs, &mut statistics),
            }
        });
        (last(outputs), statistics)
    }

    /// Lets running statistics follow those of a batch.
    pub fn follow(&mut self, statistics: &[BatchStatistics]) {
        let layers = self
            .nodes
            .iter_mut()
            .filter(|node| node.layer.has_statistics());
        for (node, statistics) in layers.zip(statistics) {
            node.layer.follow(statistics);
        }
    }

    /// Whether fitting and evaluation differ.
    #[must_use]
    pub fn has_statistics(&self) -> bool {
        self.nodes.iter().any(|node| node.layer.has_statistics())
    }

    /// Runs forward and keeps what input gradients and Hessian products need.
    #[must_use]
    pub fn pass(&self, x: Tensor<2>) -> Pass<'_> {
        let dense = self.is_piecewise_linear().then(|| self.dense(&x)).flatten();
        match dense {
            Some(dense) => Pass::of_dense(self, x, dense),
            None => Pass::of_layers(self, x),
        }
    }

    /// Runs layer by layer, and keeps every layer linearised where it ran.
    pub(crate) fn layers(&self, x: &Tensor<2>) -> Layers {
        let mut linearised = Vec::with_capacity(self.nodes.len());
        let outputs = run(&self.nodes, x, false, |node, joined, inputs| {
            let (output, at) = joined
                .linearise(node, inputs)
                .unwrap_or_else(|| node.layer.linearise(inputs));
            linearised.push(at);
            output
        });
        Layers {
            outputs,
            linearised,
        }
    }

    /// A run as a whole, where this network is a chain of few linear maps.
    fn dense(&self, x: &Tensor<2>) -> Option<Dense> {
        let parts = self.tracked_chain_parts()?;
        Dense::new(x, &parts)
    }

    /// The same weights with every ReLU replaced by a softplus of this sharpness: the smooth twin
    /// whose gradients attacks follow.
    #[must_use]
    pub fn smooth_twin(&self, beta: f64) -> Self {
        let mut twin = self.clone();
        for node in &mut twin.nodes {
            if let Some(smooth) = node.layer.smooth(beta) {
                node.layer = smooth;
            }
        }
        twin
    }

    /// All parameters, in file order.
    #[must_use]
    pub fn parameters(&self) -> Vec<&Parameter> {
        let layers = self.nodes.iter();
        layers.flat_map(|node| node.layer.parameters()).collect()
    }

    /// The same, to change.
    #[must_use]
    pub fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        let layers = self.nodes.iter_mut();
        layers
            .flat_map(|node| node.layer.parameters_mut())
            .collect()
    }

    /// Lets losses of this network be differentiated in its weights.
    pub fn track(&mut self) {
        for parameter in self.parameters_mut() {
            if parameter.role == Role::Weight {
                parameter.value = parameter.value.clone().autodiff().require_grad();
            }
        }
    }

    /// Makes the weights constants again.
    pub fn untrack(&mut self) {
        for parameter in self.parameters_mut() {
            parameter.value = parameter.value.clone().without_autodiff();
        }
    }
}

/// The outputs of some first layers of a network.
fn run(
    nodes: &[Node],
    x: &Tensor<2>,
    with_statistics: bool,
    mut step: impl FnMut(&Node, Joined, &[Tensor<2>]) -> Tensor<2>,
) -> Vec<Tensor<2>> {
    let mut outputs: Vec<Tensor<2>> = Vec::with_capacity(nodes.len());
    for (node, joined) in nodes.iter().zip(Joined::of(nodes, with_statistics)) {
        interrupt::check();
        let inputs: Vec<_> = node
            .inputs
            .iter()
            .map(|source| match source {
                Source::Input => x.clone(),
                Source::Layer(place) => outputs[*place].clone(),
            })
            .collect();
        outputs.push(step(node, joined, &inputs));
    }
    outputs
}

/// The output of the last of some first layers. Every other output is let go with its last reader, so that a deep network takes the
/// memory of few layers.
fn forward(nodes: &[Node], x: Tensor<2>) -> Tensor<2> {
    let mut last_reader = vec![0; nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        for source in &node.inputs {
            if let Source::Layer(read) = source {
                last_reader[*read] = place;
            }
        }
    }
    let mut outputs: Vec<Option<Tensor<2>>> = Vec::with_capacity(nodes.len());
    let joined = Joined::of(nodes, false);
    for (place, (node, joined)) in nodes.iter().zip(joined).enumerate() {
        interrupt::check();
        let read = |source: &Source| match source {
            Source::Input => x.clone(),
            Source::Layer(read) => outputs[*read].clone().expect("it has a reader to come"),
        };
        let inputs: Vec<_> = node.inputs.iter().map(read).collect();
        for source in &node.inputs {
            if let Source::Layer(read) = source
                && last_reader[*read] == place
            {
                outputs[*read] = None;
            }
        }
        let output = match joined.linearise(node, &inputs) {
            Some((output, _)) => output,
            None => node.layer.forward(&inputs),
        };
        outputs.push(Some(output));
    }
    let last = outputs.pop().flatten();
    last.expect("the builder makes no network without a layer")
}

/// The output of the last layer; the builder makes no network without one.
fn last(mut outputs: Vec<Tensor<2>>) -> Tensor<2> {
    outputs.swap_remove(outputs.len() - 1)
}
