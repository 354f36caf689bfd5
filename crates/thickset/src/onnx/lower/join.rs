//! Values side by side: of constants, cells and tensors in any mixture.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::shape::{axis, dims, has_rows, places, steps};
use super::{Cells, Lowering, Made, Value};
use crate::onnx::array::{Array, Data};
use crate::onnx::cell::Cell;
use crate::onnx::fold::check_made;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn concat(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let mut parts = Vec::new();
    for place in 0..node.inputs.len() {
        parts.push(to.input(node, place)?);
    }
    join(to, node, parts, node.int("axis", 1))
}

/// Values side by side along an axis.
pub(super) fn join(
    to: &mut Lowering<'_>,
    node: &Node,
    parts: Vec<Value>,
    along: i64,
) -> Result<Value> {
    let rows = parts.iter().any(has_rows);
    let mut parts = parts;
    if rows {
        for part in &mut parts {
            if let Value::Constant(array) = part
                && let Some(one) = to.of_one_row(array)
            {
                *part = Value::Constant(Rc::new(one));
            }
        }
    }
    let first = parts
        .first()
        .ok_or_else(|| node.broken("there is nothing to join"))?;
    let rank = dims(first).len();
    let axis = axis(node, along, rank)?;
    if rows && axis == 0 {
        return Err(node.unsupported("it joins rows of several inputs", ""));
    }
    let all: Vec<Vec<usize>> = parts.iter().map(dims).collect();
    let sizes = joined_sizes(node, &all, axis)?;
    if rows {
        check_made(&sizes)?;
    } else {
        // Weights in one piece: no more than the file has room for.
        to.room.check(
            sizes
                .iter()
                .fold(1, |product: usize, &size| product.saturating_mul(size)),
        )?;
        if axis == 0 {
            return constants_joined(node, &parts, sizes, None);
        }
    }
    let order = joined_order(&all, &sizes, axis);
    if !rows {
        return constants_joined(node, &parts, sizes, Some(&order));
    }
    let only_cells = parts
        .iter()
        .all(|part| matches!(part, Value::Cells(_) | Value::Constant(_)));
    if only_cells {
        let mut cells = Vec::new();
        for part in &parts {
            match part {
                Value::Cells(part) => cells.extend(part.cells.iter().cloned()),
                Value::Constant(array) => {
                    cells.extend(array.to_floats()?.into_iter().map(Cell::Constant));
                }
                _ => {}
            }
        }
        let cells = Rc::new(Cells {
            dims: vec![cells.len()],
            cells,
        });
        return to.pick(Value::Cells(cells), sizes, &order);
    }
    let masks = parts.iter().all(|part| matches!(part, Value::Mask(_)));
    let is_tensor = |part: &&Value| !matches!(part, Value::Constant(_));
    let like = parts.iter().find(is_tensor).cloned();
    let mut made: Vec<Made> = Vec::new();
    for part in parts {
        made.push(match (part, &like) {
            (Value::Mask(made), _) if masks => made,
            (Value::Constant(array), Some(like)) => {
                // The same for every row.
                let like = to.made(node, like.clone())?;
                to.constant_layer(&like, array.dims.clone(), array.to_floats()?)?
            }
            (other, _) => to.made(node, other)?,
        });
    }
    let inputs: Vec<&Made> = made.iter().collect();
    let joined = if let [only] = inputs[..] {
        only.clone()
    } else {
        to.add(Form::Concatenate, &inputs, vec![1, order.len()])?
    };
    let made = to.gathered(&joined, sizes, &order)?;
    Ok(if masks {
        Value::Mask(made)
    } else {
        Value::Tensor(made)
    })
}

/// The sizes of all parts side by side along an axis.
fn joined_sizes(node: &Node, all: &[Vec<usize>], axis: usize) -> Result<Vec<usize>> {
    let mut joined = all[0].clone();
    for sizes in all {
        let fits = sizes.len() == joined.len()
            && (0..sizes.len()).all(|at| at == axis || sizes[at] == joined[at]);
        if !fits {
            return Err(node.broken(format!(
                "sizes {sizes:?} and {:?} cannot be joined along axis {axis}",
                all[0]
            )));
        }
    }
    joined[axis] = all.iter().map(|sizes| sizes[axis]).sum();
    Ok(joined)
}

/// For each place of the result, where its number is in all parts one after the other.
fn joined_order(all: &[Vec<usize>], joined: &[usize], axis: usize) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut start = 0;
    for part in all {
        starts.push(start);
        start += part.iter().product::<usize>();
    }
    let all_steps: Vec<Vec<usize>> = all.iter().map(|sizes| steps(sizes)).collect();
    places(joined, |at| {
        let (mut part, mut along) = (0, at[axis]);
        while along >= all[part][axis] {
            along -= all[part][axis];
            part += 1;
        }
        let place: usize = (0..at.len())
            .map(|one| all_steps[part][one] * if one == axis { along } else { at[one] })
            .sum();
        starts[part] + place
    })
}

pub(super) fn constants_joined(
    node: &Node,
    parts: &[Value],
    sizes: Vec<usize>,
    order: Option<&[usize]>,
) -> Result<Value> {
    let arrays = parts.iter().filter_map(|part| match part {
        Value::Constant(array) => Some(array),
        _ => None,
    });
    let arrays: Vec<&Rc<Array>> = arrays.collect();
    let is_text = arrays
        .iter()
        .any(|array| matches!(array.data, Data::Text(_)));
    let is_whole = arrays
        .iter()
        .all(|array| matches!(array.data, Data::Whole(_)));
    if is_text {
        return Err(node.unsupported("it joins constant texts", ""));
    }
    let flat = if is_whole {
        let mut values = Vec::new();
        for array in arrays {
            values.extend(array.to_whole()?);
        }
        Array::list(values)
    } else {
        let mut values = Vec::new();
        for array in arrays {
            values.extend(array.to_floats()?);
        }
        Array::floats(vec![values.len()], values)
    };
    let joined = match order {
        Some(order) => flat.picked(sizes, order.iter().copied()),
        None => flat.reshaped(sizes)?,
    };
    Ok(Value::Constant(Rc::new(joined)))
}
