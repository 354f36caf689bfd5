//! Each layer's form as operators of version 17.

#![expect(clippy::cast_possible_wrap, reason = "sizes are far below 2^63")]

use thickset_engine::kernel::PoolShape;
use thickset_engine::layer::{Divisor, Form};

use super::writer::{Setting, Writer};

/// Added to the product of lengths by the cosine layer, and to variances by batch normalisation.
const COSINE_EPSILON: f64 = 1e-12;
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
        Form::Relu => w.node("Relu", &[x], &[]),
        Form::Sigmoid => w.node("Sigmoid", &[x], &[]),
        Form::Tanh => w.node("Tanh", &[x], &[]),
        Form::Exp => w.node("Exp", &[x], &[]),
        Form::Log => w.node("Log", &[x], &[]),
        Form::Erf => w.node("Erf", &[x], &[]),
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

fn gelu(w: &mut Writer, x: &str, tanh: bool) -> String {
    let half = w.number(0.5);
    let one = w.number(1.0);
    let inner = if tanh {
        // tanh(sqrt(2 / pi) (x + 0.044715 x^3))
        let (three, factor, root) = (
            w.number(3.0),
            w.number(0.044_715),
            w.number((2.0 / std::f64::consts::PI).sqrt()),
        );
        let cube = w.node("Pow", &[x, &three], &[]);
        let cube = w.node("Mul", &[&cube, &factor], &[]);
        let sum = w.node("Add", &[x, &cube], &[]);
        let scaled = w.node("Mul", &[&sum, &root], &[]);
        w.node("Tanh", &[&scaled], &[])
    } else {
        let root = w.number(std::f64::consts::SQRT_2);
        let scaled = w.node("Div", &[x, &root], &[]);
        w.node("Erf", &[&scaled], &[])
    };
    let sum = w.node("Add", &[&inner, &one], &[]);
    let product = w.node("Mul", &[x, &sum], &[]);
    w.node("Mul", &[&product, &half], &[])
}

fn yeo_johnson(w: &mut Writer, x: &str, lambda: &str) -> String {
    let (zero, one, two, minus) = (w.number(0.0), w.number(1.0), w.number(2.0), w.number(-1.0));
    let least = w.number(1e-6);
    let is_negative = w.node("Less", &[x, &zero], &[]);
    let other = w.node("Sub", &[&two, lambda], &[]);
    let power = w.node("Where", &[&is_negative, &other, lambda], &[]);
    let size = w.node("Abs", &[x], &[]);
    let size = w.node("Add", &[&size, &one], &[]);
    let log = w.node("Log", &[&size], &[]);
    let distance = w.node("Abs", &[&power], &[]);
    let is_log = w.node("Less", &[&distance, &least], &[]);
    let divisor = w.node("Where", &[&is_log, &one, &power], &[]);
    let exponent = w.node("Mul", &[&log, &divisor], &[]);
    let grown = w.node("Exp", &[&exponent], &[]);
    let grown = w.node("Sub", &[&grown, &one], &[]);
    let by_power = w.node("Div", &[&grown, &divisor], &[]);
    let made = w.node("Where", &[&is_log, &log, &by_power], &[]);
    let sign = w.node("Where", &[&is_negative, &minus, &one], &[]);
    w.node("Mul", &[&made, &sign], &[])
}

/// Rows `2 r` and `2 r + 1`, of `width` numbers each, are the two sides.
fn cosine(w: &mut Writer, x: &str, width: usize) -> String {
    let pairs = w.reshape(x, &[2, width]);
    let side = |w: &mut Writer, place: i64| {
        let index = w.whole(&[place]);
        let made = w.node("Gather", &[&pairs, &index], &[("axis", 1_i64.into())]);
        w.reshape(&made, &[width])
    };
    let (u, v) = (side(w, 0), side(w, 1));
    let axes = w.whole(&[1]);
    let dot = |w: &mut Writer, a: &str, b: &str| {
        let product = w.node("Mul", &[a, b], &[]);
        w.node(
            "ReduceSum",
            &[&product, &axes],
            &[("keepdims", 1_i64.into())],
        )
    };
    let (product, first, second) = (dot(w, &u, &v), dot(w, &u, &u), dot(w, &v, &v));
    let lengths = w.node("Mul", &[&first, &second], &[]);
    let epsilon = w.number(COSINE_EPSILON);
    let lengths = w.node("Add", &[&lengths, &epsilon], &[]);
    let root = w.node("Sqrt", &[&lengths], &[]);
    w.node("Div", &[&product, &root], &[])
}

/// `r_i S_ij r_j` with `S = A + I` and `r` one over the root of the sum of `|S_ij|`.
fn adjacency(w: &mut Writer, x: &str, nodes: usize) -> String {
    let edges = nodes * (nodes - 1) / 2;
    // The diagonal is a column of ones after the last edge.
    let (first, zero, one) = (w.whole(&[0]), w.number(0.0), w.number(1.0));
    let ones = w.node("Gather", &[x, &first], &[("axis", 1_i64.into())]);
    let ones = w.node("Mul", &[&ones, &zero], &[]);
    let ones = w.node("Add", &[&ones, &one], &[]);
    let all = w.node("Concat", &[x, &ones], &[("axis", 1_i64.into())]);
    let mut places = vec![edges as i64; nodes * nodes];
    let mut edge = 0;
    for i in 0..nodes {
        for j in i + 1..nodes {
            places[i * nodes + j] = edge;
            places[j * nodes + i] = edge;
            edge += 1;
        }
    }
    let places = w.whole(&places);
    let flat = w.node("Gather", &[&all, &places], &[("axis", 1_i64.into())]);
    let matrix = w.reshape(&flat, &[nodes, nodes]);
    let sizes = w.node("Abs", &[&matrix], &[]);
    let axes = w.whole(&[2]);
    let degree = w.node("ReduceSum", &[&sizes, &axes], &[("keepdims", 1_i64.into())]);
    let root = w.node("Sqrt", &[&degree], &[]);
    let turned = w.node("Transpose", &[&root], &[("perm", vec![0_i64, 2, 1].into())]);
    let scaled = w.node("Div", &[&matrix, &root], &[]);
    let scaled = w.node("Div", &[&scaled, &turned], &[]);
    w.reshape(&scaled, &[nodes * nodes])
}
