//! Convolutions of images, and of sequences as images of one row.

use thickset_engine::kernel::ConvShape;
use thickset_engine::layer::Form;

use super::{Lowering, MOST_FEATURES, Made, Value};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    if node.operator != "Conv" {
        return Ok(None);
    }
    let made = to.tensor(node, 0)?;
    let weight = to
        .constant(node, 1)?
        .ok_or_else(|| node.broken("its weights are missing"))?;
    let plane = Plane::new(node, &made)?;
    let Some((&out_channels, rest)) = weight.dims.split_first() else {
        return Err(node.broken("its weights have no sizes"));
    };
    let kernel = match (plane.is_line, rest) {
        (false, [_, rows, columns]) => [*rows, *columns],
        (true, [_, columns]) => [1, *columns],
        _ => {
            return Err(node.unsupported(
                format!(
                    "weights of {:?}; images and sequences are read",
                    weight.dims
                ),
                "",
            ));
        }
    };
    let window = Window::read(node, &plane, kernel)?;
    let groups = usize::try_from(node.int("group", 1)).unwrap_or(0);
    if groups == 0 || rest[0].checked_mul(groups) != Some(plane.channels) {
        return Err(node.broken(format!(
            "weights of {:?} for {} channels",
            weight.dims, plane.channels
        )));
    }
    let shape = ConvShape {
        in_channels: plane.channels,
        in_height: plane.height,
        in_width: plane.width,
        out_channels,
        kernel,
        stride: window.stride,
        padding: window.padding,
        dilation: window.dilation,
        groups,
    };
    let shape = shape.checked().map_err(|error| node.broken(error))?;
    let sizes = vec![out_channels, rest[0], kernel[0], kernel[1]];
    let mut weights = vec![("weight", sizes, weight.to_floats()?)];
    let bias = to.constant(node, 2)?;
    if let Some(bias) = &bias {
        if bias.len() != out_channels {
            return Err(node.broken(format!(
                "a bias of {:?} for {out_channels} channels",
                bias.dims
            )));
        }
        weights.push(("bias", vec![out_channels], bias.to_floats()?));
    }
    let form = Form::Conv2d {
        shape,
        bias: bias.is_some(),
    };
    let dims = plane.dims(out_channels, [shape.out_height(), shape.out_width()]);
    Ok(Some(Value::Tensor(to.add_with(
        form,
        &[&made],
        dims,
        weights,
    )?)))
}

/// The image that a tensor is.
pub(super) struct Plane {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    /// A sequence, whose only axis is the width.
    pub(super) is_line: bool,
}

impl Plane {
    pub(super) fn new(node: &Node, made: &Made) -> Result<Self> {
        match made.dims[..] {
            [1, channels, height, width] => Ok(Self {
                channels,
                height,
                width,
                is_line: false,
            }),
            [1, channels, width] => Ok(Self {
                channels,
                height: 1,
                width,
                is_line: true,
            }),
            _ => Err(node.unsupported(
                format!(
                    "it reads a tensor of {} axes; images (4) and sequences (3) are read",
                    made.dims.len()
                ),
                "",
            )),
        }
    }

    pub(super) fn dims(&self, channels: usize, [height, width]: [usize; 2]) -> Vec<usize> {
        if self.is_line {
            vec![1, channels, width]
        } else {
            vec![1, channels, height, width]
        }
    }
}

/// How windows move over a plane.
pub(super) struct Window {
    pub(super) stride: [usize; 2],
    pub(super) padding: [[usize; 2]; 2],
    pub(super) dilation: [usize; 2],
}

impl Window {
    pub(super) fn read(node: &Node, plane: &Plane, kernel: [usize; 2]) -> Result<Self> {
        let pair = |name: &str| -> Result<[usize; 2]> {
            let given = node.ints(name).unwrap_or_default();
            let size = |value: i64| {
                usize::try_from(value).map_err(|_| node.broken(format!("`{name}` is {value}")))
            };
            match (given[..].len(), plane.is_line) {
                (0, _) => Ok([1, 1]),
                (1, true) => Ok([1, size(given[0])?]),
                (2, false) => Ok([size(given[0])?, size(given[1])?]),
                (count, _) => Err(node.broken(format!("`{name}` has {count} numbers"))),
            }
        };
        let (stride, dilation) = (pair("strides")?, pair("dilations")?);
        if stride.contains(&0) || dilation.contains(&0) || kernel.contains(&0) {
            return Err(node.broken("a stride, a dilation or a window is zero"));
        }
        let is_large = |size: &usize| *size > MOST_FEATURES;
        if let Some(size) = [stride, dilation, kernel]
            .iter()
            .flatten()
            .find(|size| is_large(size))
        {
            return Err(node.broken(format!("a stride, a dilation or a window of {size}")));
        }
        let mut padding = [[0; 2]; 2];
        let mode = node.text("auto_pad").unwrap_or_default();
        match mode.as_str() {
            "" | "NOTSET" => {
                let pads = node.ints("pads").unwrap_or_default();
                let sides = pads.iter().map(|&pad| {
                    usize::try_from(pad)
                        .map_err(|_| node.unsupported(format!("a padding of {pad}"), ""))
                });
                let sides = sides.collect::<Result<Vec<_>>>()?;
                if let Some(size) = sides.iter().find(|size| is_large(size)) {
                    return Err(node.broken(format!("a padding of {size}")));
                }
                padding = match (sides[..].len(), plane.is_line) {
                    (0, _) => padding,
                    (2, true) => [[0, 0], [sides[0], sides[1]]],
                    (4, false) => [[sides[0], sides[2]], [sides[1], sides[3]]],
                    (count, _) => return Err(node.broken(format!("`pads` has {count} numbers"))),
                };
            }
            "VALID" => {}
            "SAME_UPPER" | "SAME_LOWER" => {
                for axis in 0..2 {
                    let size = if axis == 0 { plane.height } else { plane.width };
                    let reach = (kernel[axis] - 1).saturating_mul(dilation[axis]) + 1;
                    let windows = size.div_ceil(stride[axis]);
                    let needed = ((windows - 1) * stride[axis] + reach).saturating_sub(size);
                    let (less, more) = (needed / 2, needed - needed / 2);
                    padding[axis] = if mode == "SAME_UPPER" {
                        [less, more]
                    } else {
                        [more, less]
                    };
                }
            }
            other => return Err(node.unsupported(format!("`auto_pad` of `{other}`"), "")),
        }
        Ok(Self {
            stride,
            padding,
            dilation,
        })
    }
}
