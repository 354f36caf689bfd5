//! Activations: the functions between layers. They are the network's own, so cells of columns become features before them.

use thickset_engine::layer::{Axis, Form};

use super::shape::{axis, places, steps};
use super::{Lowering, Made, Value};
use crate::onnx::fold::expanded;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

/// The constants of `Selu`, which the format states in single precision.
const SELU: (f64, f64) = (1.673_263_192_176_818_8, 1.050_701_022_148_132_3);

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    let alpha = |default: f64| node.float("alpha", default);
    let form = match node.operator.as_str() {
        "Relu" => Form::Relu,
        "Sigmoid" => Form::Sigmoid,
        "Tanh" => Form::Tanh,
        "LeakyRelu" => Form::LeakyRelu { alpha: alpha(0.01) },
        "Softplus" => Form::Softplus { beta: 1.0 },
        "Elu" => Form::Elu { alpha: alpha(1.0) },
        "Gelu" => Form::Gelu {
            tanh: node.text("approximate").as_deref() == Some("tanh"),
        },
        "HardSigmoid" => Form::HardSigmoid {
            alpha: alpha(0.2),
            beta: node.float("beta", 0.5),
        },
        "HardSwish" => Form::HardSwish,
        "Mish" => Form::Mish,
        "Selu" | "Celu" | "Swish" | "PRelu" | "ThresholdedRelu" | "Softsign" | "Softmax"
        | "LogSoftmax" => {
            let made = to.tensor(node, 0)?;
            return composed(to, node, &made).map(|made| Some(Value::Tensor(made)));
        }
        _ => return Ok(None),
    };
    let made = to.tensor(node, 0)?;
    to.apply(form, &made).map(|made| Some(Value::Tensor(made)))
}

fn composed(to: &mut Lowering<'_>, node: &Node, made: &Made) -> Result<Made> {
    match node.operator.as_str() {
        "Selu" => {
            let (alpha, gamma) = (node.float("alpha", SELU.0), node.float("gamma", SELU.1));
            if (alpha - SELU.0).abs() < 1e-6 && (gamma - SELU.1).abs() < 1e-6 {
                return to.apply(Form::Selu, made);
            }
            let elu = to.apply(Form::Elu { alpha }, made)?;
            to.affine(&elu, &[gamma], &[0.0], None)
        }
        "Celu" => {
            let alpha = node.float("alpha", 1.0);
            let scaled = to.affine(made, &[1.0 / alpha], &[0.0], None)?;
            let elu = to.apply(Form::Elu { alpha: 1.0 }, &scaled)?;
            to.affine(&elu, &[alpha], &[0.0], None)
        }
        "Swish" => {
            let alpha = node.float("alpha", 1.0);
            let scaled = to.affine(made, &[alpha], &[0.0], None)?;
            let gate = to.apply(Form::Sigmoid, &scaled)?;
            to.add(Form::Multiply, &[made, &gate], made.dims.clone())
        }
        "PRelu" => {
            let slope = to.constant(node, 1)?;
            let slope = slope.ok_or_else(|| node.broken("its slope is missing"))?;
            let values = expanded(&slope, &made.dims)?.to_floats()?;
            to.prelu(made, &values)
        }
        "ThresholdedRelu" => {
            let alpha = node.float("alpha", 1.0);
            let decider = to.affine(made, &[1.0], &[-alpha], None)?;
            let zeros = to.constant_layer(made, made.dims.clone(), vec![0.0; made.features()])?;
            to.add(Form::Select, &[&decider, made, &zeros], made.dims.clone())
        }
        "Softsign" => {
            let size = to.apply(Form::Absolute, made)?;
            let size = to.affine(&size, &[1.0], &[1.0], None)?;
            let share = to.apply(Form::Power { exponent: -1.0 }, &size)?;
            to.add(Form::Multiply, &[made, &share], made.dims.clone())
        }
        operator => {
            let logs = log_softmax(to, node, made)?;
            if operator == "LogSoftmax" {
                return Ok(logs);
            }
            to.apply(Form::Exp, &logs)
        }
    }
}

impl Lowering<'_> {
    fn prelu(&mut self, made: &Made, slopes: &[f64]) -> Result<Made> {
        let features = made.features();
        let mut channels = features;
        let mut product = 1;
        for size in std::iter::once(1).chain(made.dims.iter().copied()) {
            product *= size;
            let block = features / product;
            if (0..features)
                .all(|place| slopes[place].to_bits() == slopes[place / block * block].to_bits())
            {
                channels = product;
                break;
            }
        }
        let block = features / channels;
        let values = (0..channels)
            .map(|channel| slopes[channel * block])
            .collect();
        let weights = vec![("weight", vec![channels], values)];
        self.add_with(
            Form::Prelu { channels },
            &[made],
            made.dims.clone(),
            weights,
        )
    }
}

/// Along one axis; before operators of version 13, along all axes from there on.
fn log_softmax(to: &mut Lowering<'_>, node: &Node, made: &Made) -> Result<Made> {
    let rank = made.dims.len();
    let is_old = to.graph.opset < 13;
    let along = axis(node, node.int("axis", if is_old { 1 } else { -1 }), rank)?;
    if along == 0 {
        return Err(node.unsupported(
            "it acts across rows, so that a row's prediction depends on the others",
            "",
        ));
    }
    let product = |sizes: &[usize]| sizes.iter().product::<usize>();
    let (size, after) = if is_old {
        (product(&made.dims[along..]), 1)
    } else {
        (made.dims[along], product(&made.dims[along + 1..]))
    };
    let axis =
        Axis::new(product(&made.dims[..along]), size, after).map_err(|error| node.broken(error))?;
    to.apply(Form::LogSoftmax { axis }, made)
}

impl Lowering<'_> {
    /// The last two axes of a tensor exchanged.
    pub(in crate::onnx) fn swapped(&mut self, made: &Made) -> Result<Made> {
        let mut dims = made.dims.clone();
        let rank = dims.len();
        dims.swap(rank - 2, rank - 1);
        let step = steps(&made.dims);
        let order = places(&dims, |at| {
            let place = |(axis, &at): (usize, &usize)| {
                let from = match axis {
                    axis if axis + 1 == rank => rank - 2,
                    axis if axis + 2 == rank => rank - 1,
                    axis => axis,
                };
                step[from] * at
            };
            at.iter().enumerate().map(place).sum()
        });
        self.gathered(made, dims, &order)
    }
}
