//! The same numbers in the same order, with other sizes.

use std::rc::Rc;

use super::extent::sizes;
use super::shape::{NOT_FIRST, dims, has_rows, inner_axis};
use super::{Cells, Lowering, Made, Value};
use crate::onnx::array::BATCH;
use crate::onnx::problem::{Result, WITHOUT_GRADIENT, broken};
use crate::onnx::read::Node;

impl Lowering<'_> {
    /// The same numbers with other sizes.
    pub(super) fn resized(value: Value, dims: Vec<usize>) -> Result<Value> {
        if dims.contains(&0) {
            // Nothing may have sizes whose product cannot be counted.
            crate::onnx::fold::check_made(&dims)?;
        }
        Ok(match value {
            Value::Constant(array) => {
                Value::Constant(Rc::new(Rc::unwrap_or_clone(array).reshaped(dims)?))
            }
            Value::Cells(cells) => Value::Cells(Rc::new(Cells {
                cells: cells.cells.clone(),
                dims,
            })),
            Value::Tensor(made) => Value::Tensor(Made { dims, ..made }),
            Value::Mask(made) => Value::Mask(Made { dims, ..made }),
            Value::Turned(_) => return Err(broken(NOT_FIRST)),
        })
    }
}

/// The sizes that a `Reshape` asks for, the rows by their stand-in.
pub(super) fn target_sizes(to: &mut Lowering<'_>, node: &Node, value: &Value) -> Result<Vec<i64>> {
    let target = to.constant(node, 1)?;
    let target = match target {
        Some(target) => target.to_whole()?,
        None => node
            .ints("shape")
            .ok_or_else(|| node.broken("the new sizes are missing"))?,
    };
    let from = sizes(value);
    let mut sizes = target;
    for (place, size) in sizes.iter_mut().enumerate() {
        if *size == 0 && node.int("allowzero", 0) == 0 {
            *size = *from
                .get(place)
                .ok_or_else(|| node.broken("a size of 0 has no size to keep"))?;
        }
    }
    let count = |sizes: &[i64]| {
        sizes.iter().fold(1_i128, |product, &size| {
            product.saturating_mul(i128::from(size))
        })
    };
    let all = count(&from);
    if let Some(rows) = to.fixed_rows().filter(|_| has_rows(value))
        && sizes.iter().all(|&size| size < BATCH)
    {
        let numbers = all / i128::from(BATCH);
        return with_rows(node, value, sizes, numbers, rows);
    }
    if let Some(open) = sizes.iter().position(|&size| size == -1) {
        sizes[open] = 1;
        let rest = count(&sizes);
        if rest <= 0 || all % rest != 0 {
            return Err(node.broken(format!("sizes {from:?} cannot become {sizes:?}")));
        }
        sizes[open] = i64::try_from(all / rest).unwrap_or(0);
    }
    if count(&sizes) != all {
        return Err(node.broken("the number of values changes"));
    }
    Ok(sizes)
}

/// Sizes of a file that fixes the number of rows, with the stand-in where the rows are: on the axis that leaves as many numbers before
/// each row, and behind it, as there are. Of one row alone the first axis is theirs, if it is one.
fn with_rows(
    node: &Node,
    value: &Value,
    mut sizes: Vec<i64>,
    numbers: i128,
    rows: usize,
) -> Result<Vec<i64>> {
    let count = |sizes: &[i64]| {
        sizes.iter().fold(1_i128, |product, &size| {
            product.saturating_mul(i128::from(size))
        })
    };
    let counted = i128::try_from(rows).unwrap_or(i128::MAX);
    let all = numbers.saturating_mul(counted);
    if let Some(open) = sizes.iter().position(|&size| size == -1) {
        sizes[open] = 1;
        let rest = count(&sizes);
        if rest <= 0 || all % rest != 0 {
            return Err(node.broken(format!("{all} numbers cannot become {sizes:?}")));
        }
        sizes[open] = i64::try_from(all / rest).unwrap_or(0);
    }
    if count(&sizes) != all || sizes.iter().any(|&size| size < 1) {
        return Err(node.broken("the number of values changes"));
    }
    let (first, last) = match value {
        Value::Turned(turned) => turned.around(),
        value => (1, dims(value).iter().product()),
    };
    let [first, last] = [first, last].map(|size| i128::try_from(size).unwrap_or(i128::MAX));
    // Features stand last, and stay what they are where there is a choice.
    let fits = |axis: usize| -> Option<(bool, bool, bool)> {
        let (before, after) = (count(&sizes[..axis]), count(&sizes[axis + 1..]));
        let is_whole = first % before == 0 && last % after == 0;
        let own = (first / before) * (last / after);
        (is_whole && i128::from(sizes[axis]) == own * counted).then_some((
            axis > 0 && axis + 1 == sizes.len(),
            before != first,
            own != 1,
        ))
    };
    let axis = if rows == 1 && sizes.first() == Some(&1) {
        0
    } else {
        let all = (0..sizes.len()).filter_map(|axis| Some((fits(axis)?, axis)));
        let best = all.min();
        let (_, axis) = best.ok_or_else(|| {
            node.unsupported(
                "it mixes rows, so that a row's prediction depends on the others",
                "export with a first axis of rows that every layer keeps",
            )
        })?;
        axis
    };
    sizes[axis] = sizes[axis] / i64::try_from(rows).unwrap_or(1) * BATCH;
    Ok(sizes)
}

pub(super) fn reshape(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let sizes = target_sizes(to, node, &value)?;
    if !has_rows(&value) {
        return Lowering::resized(value, crate::onnx::fold::to_sizes(&sizes)?);
    }
    let first = sizes.first().copied().unwrap_or(0);
    if first < BATCH || first % BATCH != 0 || sizes[1..].iter().any(|&size| size >= BATCH) {
        return Err(node.unsupported(
            "it mixes rows, so that a row's prediction depends on the others",
            "export with a first axis of rows that every layer keeps",
        ));
    }
    let mut dims = crate::onnx::fold::to_sizes(&sizes)?;
    dims[0] = usize::try_from(first / BATCH).unwrap_or(1);
    Lowering::resized(value, dims)
}

pub(super) fn flatten(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let sizes = dims(&value);
    let rank = sizes.len();
    let given = node.int("axis", 1);
    let at = usize::try_from(if given < 0 {
        given.saturating_add(i64::try_from(rank).unwrap_or(0))
    } else {
        given
    })
    .unwrap_or(rank + 1);
    if at > rank {
        return Err(node.broken(format!("axis {given} of {rank}")));
    }
    if at == 0 && has_rows(&value) {
        return Err(node.unsupported(
            "it lays all rows out as one",
            format!("a QuantileTransformer does so: scale with another transformer, or {WITHOUT_GRADIENT}"),
        ));
    }
    let product = |sizes: &[usize]| sizes.iter().product::<usize>();
    Lowering::resized(value, vec![product(&sizes[..at]), product(&sizes[at..])])
}

pub(super) fn squeeze(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let given = match to.constant(node, 1)? {
        Some(axes) => Some(axes.to_whole()?),
        None => node.ints("axes"),
    };
    let mut sizes = dims(&value);
    let first = usize::from(has_rows(&value));
    if node.operator == "Squeeze" {
        let rank = sizes.len();
        let mut axes: Vec<usize> = match given {
            Some(axes) => axes
                .iter()
                .map(|&one| inner_axis(node, &value, one, rank))
                .collect::<Result<_>>()?,
            None => (first..rank).filter(|&axis| sizes[axis] == 1).collect(),
        };
        axes.sort_unstable();
        axes.dedup();
        for axis in axes.into_iter().rev() {
            if sizes.remove(axis) != 1 {
                return Err(node.broken(format!("axis {axis} is not 1")));
            }
        }
    } else {
        let given = given.ok_or_else(|| node.broken("the axes are missing"))?;
        let rank = sizes.len() + given.len();
        let mut axes = given
            .iter()
            .map(|&one| inner_axis(node, &value, one, rank))
            .collect::<Result<Vec<_>>>()?;
        axes.sort_unstable();
        for axis in axes {
            if axis > sizes.len() {
                return Err(node.broken(format!("axis {axis} of {rank}")));
            }
            sizes.insert(axis, 1);
        }
    }
    Lowering::resized(value, sizes)
}
