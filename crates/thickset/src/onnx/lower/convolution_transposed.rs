//! `ConvTranspose`: images and sequences made larger by a convolution.

use thickset_engine::kernel::ConvShape;
use thickset_engine::layer::Form;

use super::convolution::{Plane, Window};
use super::shape::places;
use super::{Lowering, MOST_FEATURES, Value};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    if node.operator != "ConvTranspose" {
        return Ok(None);
    }
    transposed(to, node).map(Some)
}

/// A convolution turned round: the numbers with zeros between and around them, and then an ordinary one whose windows are mirrored.
fn transposed(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let made = to.tensor(node, 0)?;
    let weight = to
        .constant(node, 1)?
        .ok_or_else(|| node.broken("its weights are missing"))?;
    let plane = Plane::new(node, &made)?;
    let kernel = match (plane.is_line, &weight.dims[..]) {
        (false, [_, _, rows, columns]) => [*rows, *columns],
        (true, [_, _, columns]) => [1, *columns],
        _ => return Err(node.broken(format!("weights of {:?}", weight.dims))),
    };
    let groups = usize::try_from(node.int("group", 1)).unwrap_or(0);
    let (inputs, each) = (weight.dims[0], weight.dims[1]);
    if groups == 0 || inputs != plane.channels || !inputs.is_multiple_of(groups) {
        return Err(node.broken(format!(
            "weights of {:?} for {} channels",
            weight.dims, plane.channels
        )));
    }
    if node
        .ints("output_shape")
        .is_some_and(|sizes| !sizes.is_empty())
    {
        return Err(node.unsupported("its sizes are given by `output_shape`", "give its paddings"));
    }
    let window = Window::read(node, &plane, kernel)?;
    let size = [plane.height, plane.width];
    let Spread {
        sizes: spread,
        before,
    } = Spread::new(node, &plane, &window, kernel)?;
    let dims = vec![1, plane.channels, spread[0], spread[1]];
    crate::onnx::fold::check_made(&dims)?;
    let outside = made.features();
    let order = places(&dims, |at| {
        let mut place = at[1];
        for axis in 0..2 {
            let moved = to_signed(at[2 + axis]) - before[axis];
            let stride = to_signed(window.stride[axis]);
            let inner = usize::try_from(moved / stride).unwrap_or(usize::MAX);
            if moved < 0 || moved % stride != 0 || inner >= size[axis] {
                return outside;
            }
            place = place * size[axis] + inner;
        }
        place
    });
    let zero = to.constant_layer(&made, vec![1, 1], vec![0.0])?;
    let both = to.add(Form::Concatenate, &[&made, &zero], vec![1, outside + 1])?;
    let spread_out = to.gathered(&both, dims, &order)?;
    let shape = ConvShape {
        in_channels: plane.channels,
        in_height: spread[0],
        in_width: spread[1],
        out_channels: each * groups,
        kernel,
        stride: [1; 2],
        padding: [[0; 2]; 2],
        dilation: window.dilation,
        groups,
    };
    let shape = shape.checked().map_err(|error| node.broken(error))?;
    // From [inputs, outputs of a group] to [outputs, inputs of a group], mirrored.
    let values = weight.to_floats()?;
    let own = inputs / groups;
    let turned = places(&[each * groups, own, kernel[0], kernel[1]], |at| {
        let (group, output) = (at[0] / each, at[0] % each);
        let row = (group * own + at[1]) * each + output;
        (row * kernel[0] + kernel[0] - 1 - at[2]) * kernel[1] + kernel[1] - 1 - at[3]
    });
    let sizes = vec![each * groups, own, kernel[0], kernel[1]];
    let turned = turned.into_iter().map(|place| values[place]).collect();
    let mut weights = vec![("weight", sizes, turned)];
    let bias = to.constant(node, 2)?;
    if let Some(bias) = &bias {
        if bias.len() != each * groups {
            return Err(node.broken(format!("a bias of {:?}", bias.dims)));
        }
        weights.push(("bias", vec![each * groups], bias.to_floats()?));
    }
    let form = Form::Conv2d {
        shape,
        bias: bias.is_some(),
    };
    let dims = plane.dims(each * groups, [shape.out_height(), shape.out_width()]);
    to.add_with(form, &[&spread_out], dims, weights)
        .map(Value::Tensor)
}

/// Where the numbers lie once there are zeros between and around them.
struct Spread {
    /// Rows and columns.
    sizes: [usize; 2],
    /// Zeros before the first row and column; fewer than none where some are cut off.
    before: [i64; 2],
}

impl Spread {
    fn new(node: &Node, plane: &Plane, window: &Window, kernel: [usize; 2]) -> Result<Self> {
        let mode = node.text("auto_pad").unwrap_or_default();
        let more = node.ints("output_padding").unwrap_or_default();
        let size = [plane.height, plane.width];
        let mut sizes = [0; 2];
        let mut before = [0_i64; 2];
        for axis in 0..2 {
            let reach = to_signed((kernel[axis] - 1) * window.dilation[axis]);
            let stretched = to_signed((size[axis] - 1) * window.stride[axis] + 1);
            let place = if plane.is_line {
                axis.checked_sub(1)
            } else {
                Some(axis)
            };
            let extra = place
                .and_then(|place| more.get(place))
                .copied()
                .unwrap_or(0);
            if !(0..=to_signed(MOST_FEATURES)).contains(&extra) {
                return Err(node.broken(format!("an output padding of {extra}")));
            }
            let [first, last] = match mode.as_str() {
                "" | "NOTSET" | "VALID" => window.padding[axis].map(to_signed),
                // As many numbers as windows take steps.
                mode => {
                    let whole = stretched + reach + extra;
                    let cut = (whole - to_signed(size[axis] * window.stride[axis])).max(0);
                    let (less, rest) = (cut / 2, cut - cut / 2);
                    if mode == "SAME_UPPER" {
                        [less, rest]
                    } else {
                        [rest, less]
                    }
                }
            };
            before[axis] = reach - first;
            let length = stretched + 2 * reach - first - last + extra;
            sizes[axis] = usize::try_from(length)
                .ok()
                .filter(|&length| length > 0)
                .ok_or_else(|| node.broken("nothing is left"))?;
        }
        Ok(Self { sizes, before })
    }
}

fn to_signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
