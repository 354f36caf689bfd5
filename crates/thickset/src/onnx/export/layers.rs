//! Each layer's form as operators of version 17.

#![expect(clippy::cast_possible_wrap, reason = "sizes are far below 2^63")]

use thickset_engine::kernel::PoolShape;
use thickset_engine::layer::{Divisor, Form};

use super::compound::{
    adjacency, cosine, gated_linear, gates, gelu, pairwise_coupling, yeo_johnson,
};
use super::writer::{Setting, Writer};

/// Added to variances by batch normalisation.
const BATCH_EPSILON: f64 = 1e-5;

fn pair([a, b]: [usize; 2]) -> Setting {
    Setting::Ints(vec![a as i64, b as i64])
}

fn pads([[top, bottom], [left, right]]: [[usize; 2]; 2]) -> Setting {
    Setting::Ints([top, left, bottom, right].map(|side| side as i64).to_vec())
}

/// Writes the layer at this place, which makes `features` numbers a row of inputs of which the first has `read`; the name of its
/// output comes back.
#[expect(clippy::too_many_lines, reason = "one arm a layer")]
pub(super) fn write(
    w: &mut Writer,
    place: usize,
    form: &Form,
    inputs: &[String],
    features: usize,
    read: usize,
) -> String {
    let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let x = names[0];
    let parameter = |name: &str| format!("layers.{place}.{name}");
    let (weight, bias) = (parameter("weight"), parameter("bias"));
    match form {
        Form::Absolute => w.node("Abs", &[x], &[]),
        Form::Arctangent => w.node("Atan", &[x], &[]),
        Form::InverseSinh => w.node("Asinh", &[x], &[]),
        Form::Relu => w.node("Relu", &[x], &[]),
        Form::Sigmoid => w.node("Sigmoid", &[x], &[]),
        Form::Tanh => w.node("Tanh", &[x], &[]),
        Form::Exp => w.node("Exp", &[x], &[]),
        Form::Log => w.node("Log", &[x], &[]),
        Form::Erf => w.node("Erf", &[x], &[]),
        Form::Sine => w.node("Sin", &[x], &[]),
        Form::SquareRoot => w.node("Sqrt", &[x], &[]),
        Form::HardSwish => w.node("HardSwish", &[x], &[]),
        Form::Selu => w.node("Selu", &[x], &[]),
        Form::Add => w.node("Add", &names, &[]),
        Form::Multiply => w.node("Mul", &names, &[]),
        Form::Concatenate => w.node("Concat", &names, &[("axis", 1_i64.into())]),
        Form::Softmax => w.node("Softmax", &[x], &[("axis", 1_i64.into())]),
        Form::LeakyRelu { alpha } => w.node("LeakyRelu", &[x], &[("alpha", (*alpha).into())]),
        Form::Elu { alpha } => w.node("Elu", &[x], &[("alpha", (*alpha).into())]),
        Form::HardSigmoid { alpha, beta } => w.node(
            "HardSigmoid",
            &[x],
            &[("alpha", (*alpha).into()), ("beta", (*beta).into())],
        ),
        Form::Softplus { beta } => {
            let beta = w.number(*beta);
            let scaled = w.node("Mul", &[x, &beta], &[]);
            let soft = w.node("Softplus", &[&scaled], &[]);
            w.node("Div", &[&soft, &beta], &[])
        }
        Form::Silu => {
            let gate = w.node("Sigmoid", &[x], &[]);
            w.node("Mul", &[x, &gate], &[])
        }
        Form::Mish => {
            let soft = w.node("Softplus", &[x], &[]);
            let gate = w.node("Tanh", &[&soft], &[]);
            w.node("Mul", &[x, &gate], &[])
        }
        Form::Gelu { tanh } => gelu(w, x, *tanh),
        Form::Clip { least, most } => {
            let mut bound =
                |value: &Option<f64>| value.map(|value| w.number(value)).unwrap_or_default();
            let (least, most) = (bound(least), bound(most));
            w.node("Clip", &[x, &least, &most], &[])
        }
        Form::Power { exponent } => {
            let exponent = w.number(*exponent);
            w.node("Pow", &[x, &exponent], &[])
        }
        Form::Linear { .. } => w.node("Gemm", &[x, &weight, &bias], &[("transB", 1_i64.into())]),
        Form::LinearRuns { inputs, .. } => {
            let runs = w.reshape(x, &[*inputs]);
            let made = w.node(
                "Gemm",
                &[&runs, &weight, &bias],
                &[("transB", 1_i64.into())],
            );
            w.reshape(&made, &[features])
        }
        Form::Conv2d {
            shape,
            bias: with_bias,
        } => {
            let image = w.reshape(x, &[shape.in_channels, shape.in_height, shape.in_width]);
            let mut inputs = vec![image.as_str(), weight.as_str()];
            if *with_bias {
                inputs.push(&bias);
            }
            let settings = [
                ("kernel_shape", pair(shape.kernel)),
                ("strides", pair(shape.stride)),
                ("dilations", pair(shape.dilation)),
                ("pads", pads(shape.padding)),
                ("group", (shape.groups as i64).into()),
            ];
            let made = w.node("Conv", &inputs, &settings);
            w.reshape(&made, &[features])
        }
        Form::MaxPool { shape } => pool(w, x, "MaxPool", shape, &[], features),
        Form::SlidingAveragePool { shape, divisor } => {
            let counts = i64::from(*divisor == Divisor::Window);
            pool(
                w,
                x,
                "AveragePool",
                shape,
                &[("count_include_pad", counts.into())],
                features,
            )
        }
        Form::AveragePool {
            channels,
            height,
            width,
            window,
        } => {
            let shape = PoolShape {
                channels: *channels,
                height: *height,
                width: *width,
                window: *window,
                stride: *window,
                padding: [[0; 2]; 2],
            };
            pool(w, x, "AveragePool", &shape, &[], features)
        }
        Form::BatchNorm { channels } => {
            let blocks = w.reshape(x, &[*channels, features / channels]);
            let (mean, variance) = (parameter("running_mean"), parameter("running_var"));
            let made = w.node(
                "BatchNormalization",
                &[&blocks, &weight, &bias, &mean, &variance],
                &[("epsilon", BATCH_EPSILON.into())],
            );
            w.reshape(&made, &[features])
        }
        Form::ChannelAffine { channels, .. } => {
            let blocks = w.reshape(x, &[*channels, features / channels]);
            let (scale, shift) = (
                w.resized(&weight, &[*channels, 1]),
                w.resized(&bias, &[*channels, 1]),
            );
            let scaled = w.node("Mul", &[&blocks, &scale], &[]);
            let made = w.node("Add", &[&scaled, &shift], &[]);
            w.reshape(&made, &[features])
        }
        Form::Prelu { channels } => {
            let blocks = w.reshape(x, &[*channels, features / channels]);
            let slope = w.resized(&weight, &[*channels, 1]);
            let made = w.node("PRelu", &[&blocks, &slope], &[]);
            w.reshape(&made, &[features])
        }
        Form::Constant { .. } => {
            let value = parameter("value");
            let first = w.whole(&[0]);
            let rows = w.node("Gather", &[x, &first], &[("axis", 1_i64.into())]);
            let zero = w.number(0.0);
            let zeros = w.node("Mul", &[&rows, &zero], &[]);
            w.node("Add", &[&zeros, &value], &[])
        }
        Form::Gather { indices, .. } => {
            let indices: Vec<i64> = indices.iter().map(|&index| index as i64).collect();
            let indices = w.whole(&indices);
            w.node("Gather", &[x, &indices], &[("axis", 1_i64.into())])
        }
        Form::Select => {
            let zero = w.number(0.0);
            let is_first = w.node("Greater", &[x, &zero], &[]);
            w.node("Where", &[&is_first, names[1], names[2]], &[])
        }
        Form::LogSoftmax { axis } => {
            let blocks = w.reshape(x, &[axis.before(), axis.size(), axis.after()]);
            let made = w.node("LogSoftmax", &[&blocks], &[("axis", 2_i64.into())]);
            w.reshape(&made, &[features])
        }
        Form::Reduce { axis, mean } => {
            let blocks = w.reshape(x, &[axis.before(), axis.size(), axis.after()]);
            let made = if *mean {
                w.node(
                    "ReduceMean",
                    &[&blocks],
                    &[("axes", vec![2_i64].into()), ("keepdims", 1_i64.into())],
                )
            } else {
                let axes = w.whole(&[2]);
                w.node(
                    "ReduceSum",
                    &[&blocks, &axes],
                    &[("keepdims", 1_i64.into())],
                )
            };
            w.reshape(&made, &[features])
        }
        Form::LayerNorm {
            runs,
            size,
            epsilon,
        } => {
            let blocks = w.reshape(x, &[*runs, *size]);
            let made = w.node(
                "LayerNormalization",
                &[&blocks, &weight, &bias],
                &[("axis", (-1_i64).into()), ("epsilon", (*epsilon).into())],
            );
            w.reshape(&made, &[features])
        }
        Form::MatrixProduct(shape) => {
            let a = w.reshape(x, &[shape.pairs, shape.rows, shape.inner]);
            let b = w.reshape(names[1], &[shape.pairs, shape.inner, shape.columns]);
            let made = w.node("MatMul", &[&a, &b], &[]);
            w.reshape(&made, &[features])
        }
        Form::YeoJohnson { .. } => yeo_johnson(w, x, &parameter("lambda")),
        Form::PairSplit => w.reshape(x, &[features]),
        Form::PairwiseCoupling => pairwise_coupling(w, x),
        // Its number of rounds has no bound that could be written out; models that have it are refused before.
        Form::StoppedCoupling { .. } => w.node("Identity", &[x], &[]),
        Form::Gates { blocks, gating, .. } => {
            let (weight, bias) = (parameter("score_weight"), parameter("score_bias"));
            let scores = w.node("Gemm", &[x, &weight, &bias], &[("transB", 1_i64.into())]);
            gates(w, &scores, blocks, *gating)
        }
        Form::GatedLinear {
            features: inputs,
            gates,
            classes,
        } => {
            let gated = (parameter("gated_weight"), parameter("gated_bias"));
            let plain = w.node("Gemm", &[x, &weight, &bias], &[("transB", 1_i64.into())]);
            gated_linear(
                w,
                (x, names[1]),
                &plain,
                (&gated.0, &gated.1),
                [*inputs, *gates, *classes],
            )
        }
        Form::Cosine => cosine(w, x, read),
        Form::Adjacency { nodes } => adjacency(w, x, *nodes),
        Form::GraphConv {
            nodes,
            inputs: read,
            outputs,
        } => {
            let transform = |w: &mut Writer, x: &str| {
                let per_node = w.reshape(x, &[*read]);
                let turned = w.node("Transpose", &[&weight], &[("perm", vec![1_i64, 0].into())]);
                let made = w.node("MatMul", &[&per_node, &turned], &[]);
                w.reshape(&made, &[*nodes, *outputs])
            };
            let mixed = match names[..] {
                [adjacency, values] => {
                    let made = transform(w, values);
                    let adjacency = w.reshape(adjacency, &[*nodes, *nodes]);
                    w.node("MatMul", &[&adjacency, &made], &[])
                }
                _ => transform(w, x),
            };
            let shifted = w.node("Add", &[&mixed, &bias], &[]);
            w.reshape(&shifted, &[features])
        }
        Form::NodeMean { nodes } => {
            let blocks = w.reshape(x, &[*nodes, features]);
            let made = w.node(
                "ReduceMean",
                &[&blocks],
                &[("axes", vec![1_i64].into()), ("keepdims", 0_i64.into())],
            );
            w.reshape(&made, &[features])
        }
    }
}

fn pool(
    w: &mut Writer,
    x: &str,
    operator: &str,
    shape: &PoolShape,
    more: &[(&str, Setting)],
    features: usize,
) -> String {
    let image = w.reshape(x, &[shape.channels, shape.height, shape.width]);
    let mut settings = vec![
        ("kernel_shape", pair(shape.window)),
        ("strides", pair(shape.stride)),
        ("pads", pads(shape.padding)),
    ];
    settings.extend(more.iter().cloned());
    let made = w.node(operator, &[&image], &settings);
    w.reshape(&made, &[features])
}
