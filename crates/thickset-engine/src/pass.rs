//! One run of a network, kept so that derivatives in the input can be taken from it.
//!
//! [`Pass::input_gradient`] runs the pullbacks from the chosen output up to the input. What comes
//! out is an ordinary tensor; [`InputGradient::hessian_product`] then gives the exact product of the
//! output's Hessian with a direction by running the tangents of the same forward and pullbacks.

use std::cell::OnceCell;

use crate::tensor::{DType, Device, Tensor, TensorData};

use crate::kernel::{
    Dense, loss_seed, margin_product, on_cpu, probability_seed, probability_seed_tangent,
};
use crate::layer::{Layer as _, Linearised, Softmax};
use crate::network::{Network, Source};

/// Which scalar of a row is differentiated; the class is chosen per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The softmax probability of the class.
    Probability,
    /// The logit of the class.
    Logit,
    /// The cross-entropy with the class as label.
    Loss,
}

/// One row per class index: 1 at the class, 0 elsewhere, on the device and of the type given.
///
/// # Panics
/// If a class is not below `count`.
#[must_use]
pub fn one_hot(classes: &[usize], count: usize, dtype: DType, device: &Device) -> Tensor<2> {
    let mut values = vec![0.0_f32; classes.len() * count];
    for (row, &class) in classes.iter().enumerate() {
        assert!(class < count, "class {class} of {count}");
        values[row * count + class] = 1.0;
    }
    Tensor::from_data(
        TensorData::new(values, [classes.len(), count]),
        (device, dtype),
    )
}

/// A finished forward run with all that derivatives in the input need.
pub struct Pass<'n> {
    network: &'n Network,
    input: Tensor<2>,
    /// Where the network is a chain that few operations run as a whole.
    dense: Option<Dense>,
    layers: OnceCell<Layers>,
}

/// The outputs of every layer, and each layer linearised where it ran.
pub(crate) struct Layers {
    pub(crate) outputs: Vec<Tensor<2>>,
    pub(crate) linearised: Vec<Box<dyn Linearised>>,
}

impl<'n> Pass<'n> {
    /// A run of a piecewise linear chain; its layers run one by one only where something between them is asked for.
    pub(crate) fn of_dense(network: &'n Network, input: Tensor<2>, dense: Dense) -> Self {
        Self {
            network,
            input,
            dense: Some(dense),
            layers: OnceCell::new(),
        }
    }

    /// A run layer by layer.
    pub(crate) fn of_layers(network: &'n Network, input: Tensor<2>) -> Self {
        Self {
            layers: OnceCell::from(network.layers(&input)),
            network,
            input,
            dense: None,
        }
    }

    fn layers(&self) -> &Layers {
        self.layers.get_or_init(|| self.network.layers(&self.input))
    }

    /// `[rows, classes]`.
    #[must_use]
    pub fn logits(&self) -> Tensor<2> {
        if let Some(dense) = &self.dense {
            return dense.output();
        }
        let outputs = &self.layers().outputs;
        outputs[outputs.len() - 1].clone()
    }

    /// Softmax of the logits.
    #[must_use]
    pub fn probabilities(&self) -> Tensor<2> {
        Softmax.forward(&[self.logits()])
    }

    /// The network that ran.
    #[must_use]
    pub fn network(&self) -> &'n Network {
        self.network
    }

    /// The batch that it ran on.
    #[must_use]
    pub fn input(&self) -> Tensor<2> {
        self.input.clone()
    }

    /// What the last layer read.
    #[must_use]
    pub fn penultimate(&self) -> Tensor<2> {
        match self.read_by_last() {
            Source::Input => self.input.clone(),
            Source::Layer(place) => self.layers().outputs[place].clone(),
        }
    }

    /// The change of what the last layer reads when each row moves along its direction: a Jacobian times the direction,
    /// `[rows, units]`.
    #[must_use]
    pub fn penultimate_tangent(&self, direction: &Tensor<2>) -> Tensor<2> {
        match self.read_by_last() {
            Source::Input => direction.clone(),
            Source::Layer(place) => {
                let mut tangents = self.tangents_until(place + 1, direction);
                tangents.swap_remove(place)
            }
        }
    }

    /// The gradient in the input of a weighted sum of what the last layer reads: the same Jacobian, transposed, times the
    /// weights.
    #[must_use]
    pub fn penultimate_pullback(&self, weights: Tensor<2>) -> Tensor<2> {
        match self.read_by_last() {
            Source::Input => weights,
            Source::Layer(place) => self.pulled_back_from(place, weights).0,
        }
    }

    fn read_by_last(&self) -> Source {
        self.network.nodes[self.network.nodes.len() - 1].inputs[0]
    }

    /// The gradient in the input of each row's `output` for the class that `classes`, one-hot
    /// `[rows, classes]`, picks.
    #[must_use]
    pub fn input_gradient(&self, output: Output, classes: Tensor<2>) -> InputGradient<'_> {
        let head = Head::new(output, classes, self.logits());
        self.pulled_back(head)
    }

    /// The gradient of every logit: `[rows, classes, features]`.
    #[must_use]
    pub fn logit_jacobian(&self) -> Tensor<3> {
        let logits = self.logits();
        let ([rows, count], dtype) = (logits.dims(), logits.dtype());
        let gradients = (0..count)
            .map(|class| {
                let classes = one_hot(&vec![class; rows], count, dtype, &self.plain_device());
                let gradient = self.input_gradient(Output::Logit, classes).value();
                gradient.reshape([rows, 1, self.network.features()])
            })
            .collect();
        Tensor::cat(gradients, 1)
    }

    /// The change of the logits when each row moves along its direction: the Jacobian times the direction,
    /// `[rows, classes]`.
    #[must_use]
    pub fn logit_tangent(&self, direction: &Tensor<2>) -> Tensor<2> {
        if let Some(dense) = &self.dense {
            return dense.tangent(direction.clone());
        }
        let mut tangents = self.tangents(direction);
        tangents.swap_remove(tangents.len() - 1)
    }

    /// The change of each layer's output when the input moves along `direction`.
    fn tangents(&self, direction: &Tensor<2>) -> Vec<Tensor<2>> {
        self.tangents_until(self.network.nodes.len(), direction)
    }

    /// The same for the first `count` layers.
    fn tangents_until(&self, count: usize, direction: &Tensor<2>) -> Vec<Tensor<2>> {
        let mut tangents: Vec<Tensor<2>> = Vec::with_capacity(count);
        let linearised = &self.layers().linearised;
        for (node, at) in self.network.nodes.iter().zip(linearised).take(count) {
            tangents.push(at.tangent(&moved(&node.inputs, direction, &tangents)));
        }
        tangents
    }

    fn plain_device(&self) -> Device {
        self.input.device().without_autodiff()
    }

    fn pulled_back(&self, head: Head) -> InputGradient<'_> {
        let seed = head.seed.clone();
        let (value, adjoints) = match &self.dense {
            Some(dense) => (dense.pull_back(seed), Vec::new()),
            None => self.pulled_back_from(self.network.nodes.len() - 1, seed),
        };
        InputGradient {
            value,
            pass: self,
            head,
            adjoints,
        }
    }

    /// The gradient in the input of a layer's outputs times `seed`, and the adjoint of every layer on the way.
    fn pulled_back_from(
        &self,
        from: usize,
        seed: Tensor<2>,
    ) -> (Tensor<2>, Vec<Option<Tensor<2>>>) {
        let linearised = &self.layers().linearised;
        let mut adjoints: Vec<Option<Tensor<2>>> = vec![None; linearised.len()];
        let mut input = None;
        adjoints[from] = Some(seed);
        for (place, node) in self.network.nodes.iter().enumerate().take(from + 1).rev() {
            let Some(adjoint) = adjoints[place].clone() else {
                continue;
            };
            let shares = linearised[place].pullback(adjoint);
            hand_out(&node.inputs, shares, &mut adjoints, &mut input);
        }
        (input.unwrap_or_else(|| self.input.zeros_like()), adjoints)
    }
}

/// The tangents of what a layer reads.
fn moved(inputs: &[Source], direction: &Tensor<2>, tangents: &[Tensor<2>]) -> Vec<Tensor<2>> {
    let tangent_of = |source: &Source| match source {
        Source::Input => direction.clone(),
        Source::Layer(place) => tangents[*place].clone(),
    };
    inputs.iter().map(tangent_of).collect()
}

/// Adds each share to the adjoint of what it belongs to.
fn hand_out(
    inputs: &[Source],
    shares: Vec<Tensor<2>>,
    adjoints: &mut [Option<Tensor<2>>],
    input: &mut Option<Tensor<2>>,
) {
    for (source, share) in inputs.iter().zip(shares) {
        let adjoint = match source {
            Source::Input => &mut *input,
            Source::Layer(place) => &mut adjoints[*place],
        };
        *adjoint = Some(match adjoint.take() {
            Some(sum) => sum + share,
            None => share,
        });
    }
}

/// The chosen output as a function of the logits.
struct Head {
    output: Output,
    classes: Tensor<2>,
    logits: Tensor<2>,
    /// The output's gradient in the logits.
    seed: Tensor<2>,
}

impl Head {
    fn new(output: Output, classes: Tensor<2>, logits: Tensor<2>) -> Self {
        let seed = match output {
            Output::Probability => probability_seed(logits.clone(), classes.clone()),
            Output::Logit => classes.clone(),
            Output::Loss => loss_seed(logits.clone(), classes.clone()),
        };
        Self {
            output,
            classes,
            logits,
            seed,
        }
    }

    /// Whether the output depends on the input through the margin of two classes alone, whose gradient does not bend.
    fn depends_on_margin_only(&self, network: &Network) -> bool {
        network.classes() == 2 && network.is_piecewise_linear() && on_cpu(&self.logits)
    }

    /// The change of the seed when the logits move along `v`.
    fn seed_tangent(&self, v: Tensor<2>) -> Tensor<2> {
        let logits = self.logits.clone();
        match self.output {
            Output::Probability => probability_seed_tangent(logits, v, self.classes.clone()),
            Output::Logit => self.classes.zeros_like(),
            // `p` changes as the probability that the direction picks has its gradient.
            Output::Loss => probability_seed(logits, v),
        }
    }
}

/// An input gradient and what its own derivative needs.
pub struct InputGradient<'p> {
    value: Tensor<2>,
    pass: &'p Pass<'p>,
    head: Head,
    adjoints: Vec<Option<Tensor<2>>>,
}

impl InputGradient<'_> {
    /// `[rows, features]`.
    #[must_use]
    pub fn value(&self) -> Tensor<2> {
        self.value.clone()
    }

    /// The exact product of each row's Hessian with its direction, `[rows, features]` both.
    #[must_use]
    pub fn hessian_product(&self, direction: Tensor<2>) -> Tensor<2> {
        let pass = self.pass;
        if self.head.depends_on_margin_only(pass.network) {
            let given = [self.head.logits.clone(), self.value.clone(), direction];
            return margin_product(self.head.output, &self.head.classes, given);
        }
        if let Some(dense) = &pass.dense {
            let change = self.head.seed_tangent(dense.tangent(direction));
            return dense.pull_back(change);
        }
        let linearised = &pass.layers().linearised;
        let nodes = &pass.network.nodes;
        let tangents = pass.tangents(&direction);
        let mut changes: Vec<Option<Tensor<2>>> = vec![None; nodes.len()];
        let mut input = None;
        let logits_tangent = tangents[nodes.len() - 1].clone();
        changes[nodes.len() - 1] = Some(self.head.seed_tangent(logits_tangent));
        for (place, node) in nodes.iter().enumerate().rev() {
            let (Some(adjoint), Some(change)) = (&self.adjoints[place], changes[place].clone())
            else {
                continue;
            };
            let inputs = moved(&node.inputs, &direction, &tangents);
            let shares = linearised[place].pullback_tangent(&inputs, adjoint, change);
            hand_out(&node.inputs, shares, &mut changes, &mut input);
        }
        input.unwrap_or_else(|| direction.zeros_like())
    }

    /// The full Hessian of each row, `[rows, features, features]`; one product per feature.
    #[must_use]
    pub fn hessian(&self) -> Tensor<3> {
        let ([rows, n], dtype) = (self.value.dims(), self.value.dtype());
        let device = self.pass.plain_device();
        let columns = (0..n)
            .map(|feature| {
                let direction = one_hot(&vec![feature; rows], n, dtype, &device);
                self.hessian_product(direction).reshape([rows, 1, n])
            })
            .collect();
        Tensor::cat(columns, 1)
    }
}
