//! How rows come to stand at another axis than the first, and back.

use super::{Turned, again, parts, refused};
use crate::onnx::array::BATCH;
use crate::onnx::lower::join::join;
use crate::onnx::lower::resized::target_sizes;
use crate::onnx::lower::shape::{axis, dims, has_rows, places, steps};
use crate::onnx::lower::{Lowering, Made, Value};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn transpose(to: &mut Lowering<'_>, node: &Node, value: Value) -> Result<Option<Value>> {
    let rank = match &value {
        Value::Turned(turned) => turned.made.dims.len(),
        value => dims(value).len(),
    };
    let order = node.ints("perm").unwrap_or_else(|| {
        let rank = i64::try_from(rank).unwrap_or(0);
        (0..rank).rev().collect()
    });
    let is_turned = matches!(value, Value::Turned(_));
    // What moves no rows, or is no order of axes at all, is not ours.
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let is_order =
        sorted.iter().zip(0..).all(|(&axis, place)| axis == place) && sorted.len() == rank;
    if !is_order || (!is_turned && order.first() == Some(&0)) {
        return if is_turned {
            Err(refused(node))
        } else {
            Ok(None)
        };
    }
    let turned = parts(to, node, value)?;
    if turned.is_merged {
        return Err(refused(node));
    }
    let axes = order.iter().map(|&axis| turned.axis(node, axis));
    let axes = axes.collect::<Result<Vec<_>>>()?;
    let before = axes.iter().position(|&axis| axis == 0).unwrap_or(0);
    let inner: Vec<usize> = std::iter::once(0)
        .chain(axes.into_iter().filter(|&axis| axis != 0))
        .collect();
    let made = &turned.made;
    let sizes: Vec<usize> = inner.iter().map(|&axis| made.dims[axis]).collect();
    let step = steps(&made.dims);
    let order = places(&sizes, |at| {
        let place = at.iter().zip(&inner).map(|(at, &axis)| at * step[axis]);
        place.sum()
    });
    let made = to.gathered(made, sizes, &order)?;
    again(node, Value::Tensor(made), &turned, before).map(Some)
}

/// Other sizes of the same numbers in the same order, if the rows are or come to stand behind another axis.
pub(super) fn resize(to: &mut Lowering<'_>, node: &Node, value: Value) -> Result<Option<Value>> {
    let sizes = match node.operator.as_str() {
        "Reshape" => target_sizes(to, node, &value)?,
        operator => {
            let given = match to.constant(node, 1)? {
                Some(axes) => Some(axes.to_whole()?),
                None => node.ints("axes"),
            };
            match squeezed(node, operator == "Squeeze", Lowering::sizes(&value), given)? {
                Some(sizes) => sizes,
                None => return Ok(None),
            }
        }
    };
    let is_turned = matches!(value, Value::Turned(_));
    let rows = sizes.iter().position(|&size| size == BATCH);
    let others = sizes.iter().filter(|&&size| size >= BATCH).count();
    if !is_turned && (sizes.first().is_some_and(|&first| first >= BATCH) || rows.is_none()) {
        return Ok(None);
    }
    let turned = parts(to, node, value)?;
    let apart: usize = turned.made.dims[1..=turned.before].iter().product();
    let Some(rows) = rows.filter(|_| others == 1) else {
        return Err(refused(node));
    };
    let mut made = vec![1];
    let inner = sizes[..rows].iter().chain(&sizes[rows + 1..]);
    made.extend(inner.map(|&size| usize::try_from(size).unwrap_or(0)));
    let before: usize = made[1..=rows].iter().product();
    if before != apart || made.iter().product::<usize>() != turned.made.features() {
        return Err(node.unsupported(
            "it mixes rows, so that a row's prediction depends on the others",
            "export with a first axis of rows that every layer keeps",
        ));
    }
    let made = Made {
        place: turned.made.place,
        dims: made,
    };
    let like = Turned {
        is_merged: false,
        ..turned
    };
    again(node, Value::Tensor(made), &like, rows).map(Some)
}

/// Sizes without axes of one number, or with more of them; `None` where the usual way says what is wrong.
fn squeezed(
    node: &Node,
    is_squeeze: bool,
    mut sizes: Vec<i64>,
    given: Option<Vec<i64>>,
) -> Result<Option<Vec<i64>>> {
    let rank = sizes.len()
        + if is_squeeze {
            0
        } else {
            given.as_ref().map_or(0, Vec::len)
        };
    let axes = given.map(|axes| {
        let axes = axes.iter().map(|&one| axis(node, one, rank));
        axes.collect::<Result<Vec<_>>>()
    });
    let mut axes = match axes {
        Some(axes) => axes?,
        None if is_squeeze => (0..rank).filter(|&axis| sizes[axis] == 1).collect(),
        None => return Ok(None),
    };
    axes.sort_unstable();
    axes.dedup();
    if !is_squeeze {
        for axis in axes {
            if axis > sizes.len() {
                return Ok(None);
            }
            sizes.insert(axis, 1);
        }
        return Ok(Some(sizes));
    }
    for axis in axes.into_iter().rev() {
        if sizes.remove(axis) != 1 {
            return Ok(None);
        }
    }
    Ok(Some(sizes))
}

/// Rows of several tensors one below the other: each row's numbers are then that far apart.
pub(super) fn stacked(
    to: &mut Lowering<'_>,
    node: &Node,
    values: &[Option<Value>],
) -> Result<Option<Value>> {
    let values: Vec<&Value> = values.iter().flatten().collect();
    let rank = dims(values[0]).len();
    let is_first = axis(node, node.int("axis", 1), rank)? == 0;
    if !is_first || !values.iter().all(|value| has_rows(value)) || values.len() < 2 {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for value in values {
        let mut made = to.made(node, value.clone())?;
        if made.dims.first() != Some(&1) {
            return Err(refused(node));
        }
        made.dims.insert(0, 1);
        parts.push(Value::Tensor(made));
    }
    match join(to, node, parts, 1)? {
        Value::Tensor(made) => Ok(Some(Value::Turned(Turned {
            made,
            before: 1,
            is_merged: true,
        }))),
        _ => Err(refused(node)),
    }
}
