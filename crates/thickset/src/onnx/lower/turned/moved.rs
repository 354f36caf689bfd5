//! How rows come to stand at another axis than the first, and back.

use super::{Turned, parts, refused};
use crate::onnx::array::BATCH;
use crate::onnx::lower::extent::sizes;
use crate::onnx::lower::join::join;
use crate::onnx::lower::resized::target_sizes;
use crate::onnx::lower::shape::{axis, dims, has_rows, places, steps};
use crate::onnx::lower::{Lowering, Made, Value};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn transpose(to: &mut Lowering<'_>, node: &Node, value: Value) -> Result<Option<Value>> {
    let is_turned = matches!(value, Value::Turned(_));
    let rank = match &value {
        Value::Turned(turned) => turned.rank(),
        value => dims(value).len(),
    };
    let order: Vec<usize> = match node.ints("perm") {
        Some(order) => {
            let axes = order.iter().map(|&one| axis(node, one, rank));
            axes.collect::<Result<_>>()?
        }
        None => (0..rank).rev().collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return Err(node.broken(format!("{order:?} is no order of {rank} axes")));
    }
    // What moves no rows is not ours.
    if !is_turned && order.first() == Some(&0) {
        return Ok(None);
    }
    let turned = parts(to, node, value)?;
    let own = turned.outer + turned.inner;
    let mut inner = vec![0];
    for &axis in &order {
        match axis.cmp(&turned.axis) {
            std::cmp::Ordering::Less => inner.push(axis + 1),
            std::cmp::Ordering::Equal => inner.extend(axis + 1..=axis + own),
            std::cmp::Ordering::Greater => inner.push(axis + own),
        }
    }
    let from = &turned.made.dims;
    let sizes: Vec<usize> = inner.iter().map(|&axis| from[axis]).collect();
    let step = steps(from);
    let places = places(&sizes, |at| {
        at.iter()
            .zip(&inner)
            .map(|(at, &axis)| at * step[axis])
            .sum()
    });
    let made = to.gathered(&turned.made, sizes, &places)?;
    let axis = order.iter().position(|&axis| axis == turned.axis);
    let moved = Turned {
        made,
        axis: axis.unwrap_or(0),
        ..turned
    };
    Ok(Some(moved.value()))
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
            let (from, is_one) = (sizes(&value), to.fixed_rows() == Some(1));
            match squeezed(node, operator == "Squeeze", from, given, is_one)? {
                Some(sizes) => sizes,
                None => return Ok(None),
            }
        }
    };
    let is_turned = matches!(value, Value::Turned(_));
    let is_rows = |&size: &i64| size >= BATCH && size % BATCH == 0;
    // One row alone may be said to stand at any axis of size one, so at the first.
    if let Value::Turned(turned) = &value
        && to.fixed_rows() == Some(1)
        && sizes.first() == Some(&BATCH)
    {
        let dims = sizes[1..]
            .iter()
            .map(|&size| usize::try_from(size).unwrap_or(0));
        let made = Made {
            place: turned.made.place,
            dims: std::iter::once(1).chain(dims).collect(),
        };
        return Ok(Some(Value::Tensor(made)));
    }
    // Rows that stay first are read in the usual way.
    if !is_turned && sizes.first().is_some_and(is_rows) {
        if node.operator == "Reshape" || to.fixed_rows() != Some(1) {
            return Ok(None);
        }
        let dims = sizes.iter().enumerate().map(|(axis, &size)| {
            let own = if axis == 0 { size / BATCH } else { size };
            usize::try_from(own).unwrap_or(0)
        });
        return Lowering::resized(value, dims.collect()).map(Some);
    }
    let mixed = || {
        node.unsupported(
            "it mixes rows, so that a row's prediction depends on the others",
            "export with a first axis of rows that every layer keeps",
        )
    };
    let rows = sizes.iter().position(is_rows).ok_or_else(mixed)?;
    let size = |&size: &i64| usize::try_from(size).unwrap_or(0);
    let before: Vec<usize> = sizes[..rows].iter().map(size).collect();
    let after: Vec<usize> = sizes[rows + 1..].iter().map(size).collect();
    let turned = parts(to, node, value)?;
    // What the rows' axis has besides rows is what is left of the numbers on either side.
    let (first, last) = turned.around();
    let (outer, inner): (usize, usize) = (before.iter().product(), after.iter().product());
    let fits = outer > 0 && inner > 0 && first % outer == 0 && last % inner == 0;
    if !fits || size(&(sizes[rows] / BATCH)) != (first / outer) * (last / inner) {
        return Err(mixed());
    }
    let (outer, inner) = (first / outer, last / inner);
    let own = [outer, inner].into_iter().filter(|&size| size > 1);
    let dims: Vec<usize> = std::iter::once(1)
        .chain(before)
        .chain(own)
        .chain(after)
        .collect();
    let moved = Turned {
        made: Made {
            place: turned.made.place,
            dims,
        },
        axis: rows,
        outer: usize::from(outer > 1),
        inner: usize::from(inner > 1),
    };
    Ok(Some(moved.value()))
}

/// Sizes without axes of one number, or with more of them; `None` where the usual way says what is wrong.
fn squeezed(
    node: &Node,
    is_squeeze: bool,
    mut sizes: Vec<i64>,
    given: Option<Vec<i64>>,
    is_one_row: bool,
) -> Result<Option<Vec<i64>>> {
    let more = given.as_ref().map_or(0, Vec::len);
    let rank = sizes.len() + if is_squeeze { 0 } else { more };
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
        // One row alone stands at the first axis again.
        if is_one_row
            && sizes.first() == Some(&1)
            && let Some(axis) = sizes.iter().position(|&size| size >= BATCH)
        {
            sizes[axis] /= BATCH;
            sizes[0] = BATCH;
        }
        return Ok(Some(sizes));
    }
    for axis in axes.into_iter().rev() {
        let size = sizes.remove(axis);
        if size == BATCH && is_one_row && !sizes.is_empty() {
            // The axis of one row is gone: its numbers count along the next.
            let next = axis.min(sizes.len() - 1);
            sizes[next] *= BATCH;
        } else if size != 1 {
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
    let Some(first) = values.first() else {
        return Ok(None);
    };
    let is_first = axis(node, node.int("axis", 1), dims(first).len())? == 0;
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
            axis: 0,
            outer: 1,
            inner: 0,
        }))),
        _ => Err(refused(node)),
    }
}
