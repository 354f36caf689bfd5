//! How large values are, in numbers that are kept or computed: what [`Room`](crate::onnx::room::Room) counts.

use super::Value;
use crate::onnx::array::BATCH;
use crate::onnx::cell::Cell;
use crate::onnx::problem::{Result, broken};
use crate::onnx::read::Node;

/// What a cell takes in memory, in numbers.
pub(super) const CELL: usize = 32;
/// The most columns of a table, and the most numbers that are made of columns at once: a small image of four channels is a table too.
const MOST_CELLS: usize = 1 << 18;

/// Refuses more numbers of columns than any table has.
pub(super) fn check_cells(dims: &[usize]) -> Result<()> {
    let count = dims.iter().fold(1_usize, |product, &size| {
        product.saturating_mul(size.max(1))
    });
    if count > MOST_CELLS {
        return Err(broken(format!(
            "columns become numbers of the sizes {dims:?}, more than {MOST_CELLS}"
        )));
    }
    Ok(())
}

/// What a product of constant matrices takes beside its numbers; eight products are as quick as one number that is moved.
pub(super) fn products(node: &Node, made: &[Value], read: usize) -> usize {
    match made {
        [Value::Constant(array)] if node.operator == "MatMul" => {
            // Each number of it is a sum along the inner axis, of which both matrices have one line.
            let lines: usize = array.dims.iter().sum();
            (read / lines.max(1)).saturating_mul(array.len()) / 8
        }
        _ => 0,
    }
}

/// How many numbers a value is.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Constant(array) => array.len(),
        Value::Cells(cells) => {
            let one = |cell: &Cell| match cell {
                Cell::Lookup { values, .. } => CELL + values.stored(),
                _ => CELL,
            };
            cells.cells.iter().map(one).sum()
        }
        Value::Tensor(made) | Value::Mask(made) => made.features(),
        Value::Turned(turned) => turned.features(),
    }
}

/// How many of them stay in memory; those of tensors are made when the network runs.
pub(super) fn kept(value: &Value) -> usize {
    match value {
        Value::Constant(_) | Value::Cells(_) => size(value),
        _ => 0,
    }
}

/// The sizes of a value as the graph sees them, the rows by their stand-in.
#[expect(clippy::cast_possible_wrap, reason = "sizes are bounded")]
pub(super) fn sizes(value: &Value) -> Vec<i64> {
    let of_rows = |dims: &[usize]| {
        let mut sizes: Vec<i64> = dims.iter().map(|&size| size as i64).collect();
        if let Some(first) = sizes.first_mut() {
            *first = first.saturating_mul(BATCH);
        }
        sizes
    };
    match value {
        Value::Constant(array) => array.dims.iter().map(|&size| size as i64).collect(),
        Value::Cells(cells) => of_rows(&cells.dims),
        Value::Tensor(made) | Value::Mask(made) => of_rows(&made.dims),
        Value::Turned(turned) => turned.sizes(),
    }
}

/// Numbers that attention is told to leave out are written as the least there is; far below any score is as good, and finite.
pub(super) fn masked(values: &mut [f64]) {
    const FAR_BELOW: f64 = -1e30;
    for value in values {
        if *value == f64::NEG_INFINITY {
            *value = FAR_BELOW;
        }
    }
}
