//! Sums, means, maxima and norms over axes.

use thickset_engine::kernel::PoolShape;
use thickset_engine::layer::{Axis, Form};

use super::shape::{axis, places, steps};
use super::{Lowering, Made, Value};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    let Some(kind) = node.operator.strip_prefix("Reduce") else {
        return Ok(None);
    };
    let made = to.tensor(node, 0)?;
    let rank = made.dims.len();
    let given = match to.constant(node, 1)? {
        Some(axes) => Some(axes.to_whole()?),
        None => node.ints("axes"),
    };
    let mut axes: Vec<usize> = match given {
        Some(axes) if !axes.is_empty() => axes
            .iter()
            .map(|&one| axis(node, one, rank))
            .collect::<Result<_>>()?,
        _ if node.int("noop_with_empty_axes", 0) != 0 => return Ok(Some(Value::Tensor(made))),
        _ => (0..rank).collect(),
    };
    axes.sort_unstable();
    axes.dedup();
    if axes.contains(&0) {
        return Err(node.unsupported(
            "it acts across rows, so that a row's prediction depends on the others",
            "",
        ));
    }
    let reduced = match kind {
        "Sum" | "Mean" | "Max" => along(to, node, &made, &axes, kind)?,
        "Min" => {
            let negative = to.affine(&made, &[-1.0], &[0.0], None)?;
            let most = along(to, node, &negative, &axes, "Max")?;
            to.affine(&most, &[-1.0], &[0.0], None)?
        }
        "L1" => {
            let sizes = to.apply(Form::Absolute, &made)?;
            along(to, node, &sizes, &axes, "Sum")?
        }
        "L2" | "SumSquare" => {
            let squares = to.apply(Form::Power { exponent: 2.0 }, &made)?;
            let sum = along(to, node, &squares, &axes, "Sum")?;
            if kind == "L2" {
                to.apply(Form::SquareRoot, &sum)?
            } else {
                sum
            }
        }
        "Prod" => {
            let mut product = made.clone();
            for &axis in &axes {
                product = multiplied(to, node, &product, axis)?;
            }
            product
        }
        "LogSum" => {
            let sum = along(to, node, &made, &axes, "Sum")?;
            to.apply(Form::Log, &sum)?
        }
        "LogSumExp" => {
            // x - log softmax(x) is the same number at every place of the axes, and never overflows.
            let (before, size, after) = block(&made.dims, &axes)
                .ok_or_else(|| node.unsupported("its axes are not side by side", ""))?;
            let axis = Axis::new(before, size, after).map_err(|error| node.broken(error))?;
            let logs = to.apply(Form::LogSoftmax { axis }, &made)?;
            let rest = to.of_two(node, "Sub", &made, &logs)?;
            along(to, node, &rest, &axes, "Mean")?
        }
        _ => {
            return Err(node.unsupported(
                "it has no layer here",
                "write it with sums, means or maxima",
            ));
        }
    };
    let mut dims = made.dims.clone();
    for &axis in axes.iter().rev() {
        if node.int("keepdims", 1) == 0 {
            dims.remove(axis);
        } else {
            dims[axis] = 1;
        }
    }
    Ok(Some(Value::Tensor(Made {
        place: reduced.place,
        dims,
    })))
}

/// Axes that stand side by side as one: what is before, their size, what is after.
fn block(dims: &[usize], axes: &[usize]) -> Option<(usize, usize, usize)> {
    let (&first, &last) = (axes.first()?, axes.last()?);
    let product = |sizes: &[usize]| sizes.iter().product::<usize>();
    (last - first + 1 == axes.len()).then(|| {
        (
            product(&dims[..first]),
            product(&dims[first..=last]),
            product(&dims[last + 1..]),
        )
    })
}

/// The product along a short axis.
fn multiplied(to: &mut Lowering<'_>, node: &Node, made: &Made, axis: usize) -> Result<Made> {
    /// Products of more numbers than this say nothing in single precision.
    const MOST: usize = 64;
    let size = made.dims[axis];
    if size > MOST {
        return Err(node.unsupported(format!("a product of {size} numbers"), ""));
    }
    let mut dims = made.dims.clone();
    dims[axis] = 1;
    let step = steps(&made.dims);
    let mut product: Option<Made> = None;
    for along in 0..size {
        let order = places(&dims, |at| {
            let place =
                |(one, &at): (usize, &usize)| step[one] * if one == axis { along } else { at };
            at.iter().enumerate().map(place).sum()
        });
        let part = to.gathered(made, dims.clone(), &order)?;
        product = Some(match product {
            Some(product) => to.of_two(node, "Mul", &product, &part)?,
            None => part,
        });
    }
    product.ok_or_else(|| node.broken("a product of nothing"))
}

/// Over all axes; their sizes become 1.
pub(super) fn along(
    to: &mut Lowering<'_>,
    node: &Node,
    made: &Made,
    axes: &[usize],
    kind: &str,
) -> Result<Made> {
    let mut dims = made.dims.clone();
    if let Some((before, size, after)) = block(&made.dims, axes) {
        for &axis in axes {
            dims[axis] = 1;
        }
        let axis = Axis::new(before, size, after).map_err(|error| node.broken(error))?;
        if kind == "Max" {
            let shape = PoolShape {
                channels: before,
                height: size,
                width: after,
                window: [size, 1],
                stride: [size, 1],
                padding: [[0; 2]; 2],
            };
            let shape = shape.checked().map_err(|error| node.broken(error))?;
            return to.add(Form::MaxPool { shape }, &[made], dims);
        }
        let form = Form::Reduce {
            axis,
            mean: kind == "Mean",
        };
        return to.add(form, &[made], dims);
    }
    let mut reduced = made.clone();
    for &axis in axes {
        reduced = along(to, node, &reduced, &[axis], kind)?;
    }
    Ok(reduced)
}
