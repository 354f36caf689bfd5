//! Pooling of images and sequences.

use thickset_engine::kernel::PoolShape;
use thickset_engine::layer::{Divisor, Form};

use super::convolution::{Plane, Window};
use super::{Lowering, Value};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    let is_maximum = match node.operator.as_str() {
        "MaxPool" | "GlobalMaxPool" => true,
        "AveragePool" | "GlobalAveragePool" => false,
        _ => return Ok(None),
    };
    let made = to.tensor(node, 0)?;
    let plane = Plane::new(node, &made)?;
    let is_global = node.operator.starts_with("Global");
    let (window, mut sliding) = if is_global {
        let sliding = Window {
            stride: [1; 2],
            padding: [[0; 2]; 2],
            dilation: [1; 2],
        };
        ([plane.height, plane.width], sliding)
    } else {
        let kernel = node.ints("kernel_shape").unwrap_or_default();
        let size = |value: i64| usize::try_from(value).unwrap_or(0);
        let window = match (kernel[..].len(), plane.is_line) {
            (1, true) => [1, size(kernel[0])],
            (2, false) => [size(kernel[0]), size(kernel[1])],
            (count, _) => return Err(node.broken(format!("`kernel_shape` has {count} numbers"))),
        };
        (window, Window::read(node, &plane, window)?)
    };
    if sliding.dilation != [1, 1] {
        return Err(node.unsupported("windows with gaps are not read", ""));
    }
    let padding = sliding.padding;
    let extended = node.int("ceil_mode", 0) != 0 && extend(&mut sliding, &plane, window);
    let counts_padding = node.int("count_include_pad", 0) != 0;
    let shape = PoolShape {
        channels: plane.channels,
        height: plane.height,
        width: plane.width,
        window,
        stride: sliding.stride,
        padding: sliding.padding,
    };
    let shape = shape.checked().map_err(|error| node.broken(error))?;
    let form = if is_maximum {
        Form::MaxPool { shape }
    } else if is_global {
        Form::AveragePool {
            channels: plane.channels,
            height: plane.height,
            width: plane.width,
            window,
        }
    } else {
        let divisor = if counts_padding {
            Divisor::Window
        } else {
            Divisor::Pixels
        };
        Form::SlidingAveragePool { shape, divisor }
    };
    let out = [shape.out_height(), shape.out_width()];
    let dims = plane.dims(plane.channels, out);
    let pooled = to.add(form, &[&made], dims)?;
    if !(extended && counts_padding && !is_maximum) {
        return Ok(Some(Value::Tensor(pooled)));
    }
    // A last window that reaches beyond the padding counts only what is within it.
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    let share = |axis: usize, at: usize| {
        let size = [plane.height, plane.width][axis] + padding[axis][0] + padding[axis][1];
        let start = at * shape.stride[axis];
        let within = size.saturating_sub(start).clamp(1, window[axis]);
        window[axis] as f64 / within as f64
    };
    let scale: Vec<f64> = (0..pooled.features())
        .map(|place| share(0, place / out[1] % out[0]) * share(1, place % out[1]))
        .collect();
    to.affine(&pooled, &scale, &[0.0], None)
        .map(|made| Some(Value::Tensor(made)))
}

/// Pads the end so that a last window that reaches beyond the image is kept; whether that was needed.
fn extend(sliding: &mut Window, plane: &Plane, window: [usize; 2]) -> bool {
    let mut extended = false;
    for (axis, width) in window.into_iter().enumerate() {
        let size = if axis == 0 { plane.height } else { plane.width };
        let [before, after] = sliding.padding[axis];
        let stride = sliding.stride[axis];
        let mut windows = (size + before + after)
            .saturating_sub(width)
            .div_ceil(stride)
            + 1;
        // A window must begin within the image or before it.
        if (windows - 1) * stride >= size + before {
            windows -= 1;
        }
        let needed = ((windows.max(1) - 1) * stride + width).saturating_sub(size + before);
        if needed > after {
            sliding.padding[axis][1] = needed;
            extended = true;
        }
    }
    extended
}
