//! Normalisations: of batches (with the statistics of training), of layers, instances and groups, and to a norm of one.

use std::rc::Rc;

use thickset_engine::kernel::PoolShape;
use thickset_engine::layer::{Divisor, Form};

use super::arithmetic::binary;
use super::reduce::along;
use super::shape::axis;
use super::{Lowering, Made, Place, Value};
use crate::onnx::array::Array;
use crate::onnx::fold::expanded;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    Ok(Some(match node.operator.as_str() {
        "BatchNormalization" => batch(to, node)?,
        "LayerNormalization" => Value::Tensor(layer(to, node)?),
        "RMSNormalization" => root_mean_square(to, node)?,
        "InstanceNormalization" => Value::Tensor(groups(to, node, None)?),
        "GroupNormalization" => {
            let count = usize::try_from(node.int("num_groups", 0)).unwrap_or(0);
            Value::Tensor(groups(to, node, Some(count))?)
        }
        "LRN" => Value::Tensor(local_response(to, node)?),
        "Normalizer" => {
            let norm = node.text("norm").unwrap_or_else(|| "MAX".to_owned());
            Value::Tensor(norm_of_one(to, node, &norm, -1)?)
        }
        "LpNormalization" => {
            let norm = if node.int("p", 2) == 1 { "L1" } else { "L2" };
            Value::Tensor(norm_of_one(to, node, norm, node.int("axis", -1))?)
        }
        _ => return Ok(None),
    }))
}

/// With the statistics of training it is a scale and a shift for each channel.
fn batch(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let made_more = node.outputs.iter().skip(1).any(|output| !output.is_empty());
    if node.int("training_mode", 0) != 0 || (made_more && to.graph.opset < 14) {
        return Err(node.unsupported(
            "the model was exported in training mode",
            "export it in evaluation mode (`model.eval()`)",
        ));
    }
    let mut numbers = |place: usize| -> Result<Vec<f64>> {
        let array = to.constant(node, place)?;
        array
            .ok_or_else(|| node.broken(format!("input {place} is missing")))?
            .to_floats()
    };
    let [scale, shift, mean, variance] = [numbers(1)?, numbers(2)?, numbers(3)?, numbers(4)?];
    let channels = scale.len();
    if [shift.len(), mean.len(), variance.len()] != [channels; 3] {
        return Err(node.broken("its statistics differ in number"));
    }
    let epsilon = node.float("epsilon", 1e-5);
    let factors: Vec<f64> = (0..channels)
        .map(|at| scale[at] / (variance[at] + epsilon).sqrt())
        .collect();
    let shifts: Vec<f64> = (0..channels)
        .map(|at| shift[at] - mean[at] * factors[at])
        .collect();
    let value = to.input(node, 0)?;
    let dims = match &value {
        Value::Cells(cells) => cells.dims.clone(),
        Value::Tensor(made) => made.dims.clone(),
        _ => return Err(node.broken("it reads a row's numbers")),
    };
    if dims.get(1) != Some(&channels) {
        return Err(node.broken(format!("{channels} statistics for sizes {dims:?}")));
    }
    let mut sizes = vec![1; dims.len()];
    sizes[1] = channels;
    if let Value::Cells(_) = value {
        let constant =
            |values: Vec<f64>| Value::Constant(Rc::new(Array::floats(sizes.clone(), values)));
        let scaled = binary(to, node, "Mul", value, constant(factors))?;
        return binary(to, node, "Add", scaled, constant(shifts));
    }
    let made = to.made(node, value)?;
    let wide =
        |values: Vec<f64>| expanded(&Array::floats(sizes.clone(), values), &made.dims)?.to_floats();
    let (factors, shifts) = (wide(factors)?, wide(shifts)?);
    let reader = node.input(0).map(str::to_owned);
    let made = to.affine(&made, &factors, &shifts, reader.as_deref())?;
    Ok(Value::Tensor(made))
}

fn layer(to: &mut Lowering<'_>, node: &Node) -> Result<Made> {
    let made = to.tensor(node, 0)?;
    let along = axis(node, node.int("axis", -1), made.dims.len())?;
    if along == 0 {
        return Err(node.unsupported(
            "it acts across rows, so that a row's prediction depends on the others",
            "",
        ));
    }
    let inner = &made.dims[along..];
    let (runs, size) = (
        made.dims[..along].iter().product(),
        inner.iter().product::<usize>(),
    );
    let scale = to
        .constant(node, 1)?
        .ok_or_else(|| node.broken("its scale is missing"))?;
    let scale = expanded(&scale, inner)?.to_floats()?;
    let shift = match to.constant(node, 2)? {
        Some(shift) => expanded(&shift, inner)?.to_floats()?,
        None => vec![0.0; size],
    };
    let epsilon = node.float("epsilon", 1e-5);
    to.layer_norm(&made, (runs, size, epsilon), scale, shift)
}

/// Divided by the root of the mean square, then a scale for each number.
fn root_mean_square(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let made = to.tensor(node, 0)?;
    let first = axis(node, node.int("axis", -1), made.dims.len())?;
    if first == 0 {
        return Err(node.unsupported(
            "it acts across rows, so that a row's prediction depends on the others",
            "",
        ));
    }
    let axes: Vec<usize> = (first..made.dims.len()).collect();
    let squares = to.apply(Form::Power { exponent: 2.0 }, &made)?;
    let mean = along(to, node, &squares, &axes, "Mean")?;
    let shifted = to.affine(&mean, &[1.0], &[node.float("epsilon", 1e-5)], None)?;
    let share = to.apply(Form::Power { exponent: -0.5 }, &shifted)?;
    let normed = Value::Tensor(to.of_two(node, "Mul", &made, &share)?);
    let scale = to.input(node, 1)?;
    binary(to, node, "Mul", normed, scale)
}

impl Lowering<'_> {
    fn layer_norm(
        &mut self,
        made: &Made,
        (runs, size, epsilon): (usize, usize, f64),
        scale: Vec<f64>,
        shift: Vec<f64>,
    ) -> Result<Made> {
        let form = Form::LayerNorm {
            runs,
            size,
            epsilon,
        };
        let weights = vec![("weight", vec![size], scale), ("bias", vec![size], shift)];
        self.add_with(form, &[made], made.dims.clone(), weights)
    }
}

/// Each group of channels, or each channel, to mean 0 and variance 1, then a scale and a shift for each channel.
fn groups(to: &mut Lowering<'_>, node: &Node, count: Option<usize>) -> Result<Made> {
    let made = to.tensor(node, 0)?;
    if made.dims.len() < 2 {
        return Err(node.broken("it reads channels"));
    }
    let channels = made.dims[1];
    let count = count.unwrap_or(channels);
    if count == 0 || !channels.is_multiple_of(count) {
        return Err(node.broken(format!("{channels} channels in {count} groups")));
    }
    let scale = to
        .constant(node, 1)?
        .ok_or_else(|| node.broken("its scale is missing"))?
        .to_floats()?;
    let shift = to
        .constant(node, 2)?
        .ok_or_else(|| node.broken("its shift is missing"))?
        .to_floats()?;
    let runs = made.dims[0] * count;
    let size = made.features() / runs;
    let epsilon = node.float("epsilon", 1e-5);
    let normal = to.layer_norm(
        &made,
        (runs, size, epsilon),
        vec![1.0; size],
        vec![0.0; size],
    )?;
    let block = made.features() / made.dims[0] / channels;
    // Older operators have a scale for each group.
    let wide = |values: &[f64]| -> Result<Vec<f64>> {
        let per = match values.len() {
            length if length == channels => 1,
            length if length == count => channels / count,
            length => return Err(node.broken(format!("{length} scales for {channels} channels"))),
        };
        Ok((0..made.features())
            .map(|place| values[place / block % channels / per])
            .collect())
    };
    to.affine(&normal, &wide(&scale)?, &wide(&shift)?, None)
}

/// Divided by a power of the sum of squares of a few channels around each.
fn local_response(to: &mut Lowering<'_>, node: &Node) -> Result<Made> {
    let made = to.tensor(node, 0)?;
    let [1, channels, ref pixels @ ..] = made.dims[..] else {
        return Err(node.broken("it reads channels"));
    };
    let pixels: usize = pixels.iter().product();
    let size = usize::try_from(node.int("size", 0)).unwrap_or(0);
    if size == 0 || size > 2 * channels {
        return Err(node.broken(format!("{size} of {channels} channels")));
    }
    let shape = PoolShape {
        channels: 1,
        height: channels,
        width: pixels,
        window: [size, 1],
        stride: [1; 2],
        padding: [[(size - 1) / 2, size - 1 - (size - 1) / 2], [0; 2]],
    };
    let shape = shape.checked().map_err(|error| node.broken(error))?;
    let squares = to.apply(Form::Power { exponent: 2.0 }, &made)?;
    let divisor = Divisor::Window;
    let mean = to.apply(Form::SlidingAveragePool { shape, divisor }, &squares)?;
    let (alpha, bias) = (node.float("alpha", 1e-4), node.float("bias", 1.0));
    let sum = to.affine(&mean, &[alpha], &[bias], None)?;
    let exponent = -node.float("beta", 0.75);
    let share = to.apply(Form::Power { exponent }, &sum)?;
    to.of_two(node, "Mul", &made, &share)
}

/// Divided by a norm of the numbers along an axis.
fn norm_of_one(to: &mut Lowering<'_>, node: &Node, norm: &str, given: i64) -> Result<Made> {
    let made = to.tensor(node, 0)?;
    let along_axis = axis(node, given, made.dims.len())?;
    if along_axis == 0 {
        return Err(node.unsupported(
            "it acts across rows, so that a row's prediction depends on the others",
            "",
        ));
    }
    if norm == "L1" && sums_to_one(to, &made) {
        return Ok(made);
    }
    let axes = [along_axis];
    let size = match norm {
        "L2" => {
            let squares = to.apply(Form::Power { exponent: 2.0 }, &made)?;
            let sum = along(to, node, &squares, &axes, "Sum")?;
            to.apply(Form::SquareRoot, &sum)?
        }
        "L1" => {
            let sizes = to.apply(Form::Absolute, &made)?;
            along(to, node, &sizes, &axes, "Sum")?
        }
        // The largest number itself, as the format has it, not its size.
        "MAX" => along(to, node, &made, &axes, "Max")?,
        other => return Err(node.unsupported(format!("the norm `{other}`"), "")),
    };
    to.of_two(node, "Div", &made, &size)
}

/// Whether a tensor is a softmax, which has the norm already.
fn sums_to_one(to: &Lowering<'_>, made: &Made) -> bool {
    let form = |place: Place| match place {
        Place::Layer(layer) => Some(&to.layers[layer]),
        Place::Block(_) => None,
    };
    let Some(exp) = form(made.place).filter(|layer| layer.form == Form::Exp) else {
        return false;
    };
    form(exp.inputs[0]).is_some_and(|layer| {
        matches!(layer.form, Form::LogSoftmax { axis } if axis.before() == 1 && axis.after() == 1)
    })
}
