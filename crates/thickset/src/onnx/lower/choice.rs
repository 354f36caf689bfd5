//! Comparisons as conditions, and the choice between two values by one.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::arithmetic::{binary, of_cells};
use super::{Cells, Lowering, Value};
use crate::onnx::array::{Array, Data};
use crate::onnx::cell::Cell;
use crate::onnx::fold::{broadcast, broadcast_places, expanded};
use crate::onnx::problem::{Result, WITHOUT_GRADIENT};
use crate::onnx::read::Node;

pub(super) fn step(node: &Node) -> crate::onnx::OnnxError {
    node.unsupported(
        "it counts true and false as numbers: a step function has no gradient",
        WITHOUT_GRADIENT,
    )
}

pub(super) fn comparison(
    to: &mut Lowering<'_>,
    node: &Node,
    operator: &str,
    a: Value,
    b: Value,
) -> Result<Value> {
    if let Some(cells) = of_cells(operator, &a, &b)? {
        return Ok(Value::Cells(Rc::new(cells)));
    }
    if let ("Equal", Value::Cells(cells), Value::Constant(array))
    | ("Equal", Value::Constant(array), Value::Cells(cells)) = (operator, &a, &b)
        && let Some(cells) = equal(cells, array)?
    {
        return Ok(Value::Cells(Rc::new(cells)));
    }
    if let (Value::Mask(a), Value::Mask(b)) = (&a, &b) {
        let fixed = to.like(a, if operator == "And" { -1.0 } else { 1.0 })?;
        let inputs = match operator {
            "And" => [a, b, &fixed],
            "Or" => [a, &fixed, b],
            _ => return Err(step(node)),
        };
        return Ok(Value::Mask(to.add(
            Form::Select,
            &inputs,
            a.dims.clone(),
        )?));
    }
    let swapped = matches!(operator, "Less" | "GreaterOrEqual");
    let (larger, smaller) = if swapped { (b, a) } else { (a, b) };
    let difference = match operator {
        "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" => {
            binary(to, node, "Sub", larger, smaller)?
        }
        _ => return Err(step(node)),
    };
    let decider = to.made(node, difference)?;
    Ok(Value::Mask(match operator {
        "Less" | "Greater" => decider,
        _ => to.not(&decider)?,
    }))
}

/// Each column compared with several numbers, as one writes 0 and 1 for each of its values.
fn equal(cells: &Cells, array: &Array) -> Result<Option<Cells>> {
    let dims = broadcast(&cells.dims, &array.dims)?;
    if dims.len() != cells.dims.len() || dims.first() != cells.dims.first() {
        return Ok(None);
    }
    super::check_cells(&dims)?;
    let places = broadcast_places(&cells.dims, &dims)?;
    let values = expanded(array, &dims)?.to_floats()?;
    let pairs = places.zip(values);
    let compared = pairs
        .map(|(place, value)| Cell::binary("Equal", &cells.cells[place], &Cell::Constant(value)));
    let cells: Option<Vec<Cell>> = compared.collect();
    Ok(cells.map(|cells| Cells { cells, dims }))
}

/// `a` where the condition holds, else `b`.
pub(super) fn choice(
    to: &mut Lowering<'_>,
    node: &Node,
    condition: Value,
    a: Value,
    b: Value,
) -> Result<Value> {
    if let (Value::Cells(condition), Value::Constant(with), Value::Cells(of)) = (&condition, &a, &b)
        && let Some(cells) = text_filled_in(condition, with, of)
    {
        return Ok(Value::Cells(Rc::new(cells)));
    }
    if let Value::Cells(condition) = &condition
        && let (Some(first), Some(second)) = (as_cells(&a, condition), as_cells(&b, condition))
    {
        let parts = condition.cells.iter().zip(first.into_iter().zip(second));
        let cells: Vec<Cell> = parts
            .map(|(condition, (a, b))| selected(condition, a, b))
            .collect();
        let columns = |cell: &Cell| match cell {
            Cell::Select(parts) => {
                let mut columns: Vec<usize> = parts.iter().filter_map(Cell::column).collect();
                columns.dedup();
                columns.len() <= 1
            }
            _ => true,
        };
        if cells
            .iter()
            .all(|cell| columns(cell) && !cell.is_too_large())
        {
            let dims = condition.dims.clone();
            return Ok(Value::Cells(Rc::new(Cells { cells, dims })));
        }
    }
    let sizes = |value: &Value| match value {
        Value::Constant(array) => array.dims.clone(),
        Value::Cells(cells) => cells.dims.clone(),
        Value::Tensor(made) | Value::Mask(made) => made.dims.clone(),
        Value::Turned(_) => Vec::new(),
    };
    let dims = broadcast(&broadcast(&sizes(&condition), &sizes(&a))?, &sizes(&b))?;
    let condition = match condition {
        Value::Mask(made) => made,
        Value::Constant(array) => {
            // A fixed choice: the decider is a constant.
            let like = match (&a, &b) {
                (Value::Constant(_), other) | (other, _) => to.made(node, other.clone())?,
            };
            let values = expanded(&array, &dims)?.to_floats()?;
            let values = values
                .into_iter()
                .map(|value| if value == 0.0 { -1.0 } else { 1.0 })
                .collect();
            to.constant_layer(&like, dims.clone(), values)?
        }
        Value::Cells(cells) => to.materialised_mask(node, &cells)?,
        Value::Tensor(_) => return Err(node.broken("its condition must be true and false")),
        Value::Turned(_) => return Err(super::turned::refused(node)),
    };
    let condition = to.repeated(node, &condition, &dims)?;
    let side = |to: &mut Lowering<'_>, value: Value| match value {
        Value::Constant(array) => {
            let values = expanded(&array, &dims)?.to_floats()?;
            to.constant_layer(&condition, dims.clone(), values)
        }
        Value::Mask(_) => Err(step(node)),
        other => {
            let made = to.made(node, other)?;
            to.repeated(node, &made, &dims)
        }
    };
    let (a, b) = (side(to, a)?, side(to, b)?);
    Ok(Value::Tensor(to.add(
        Form::Select,
        &[&condition, &a, &b],
        dims,
    )?))
}

/// One of two numbers of a column; a missing number is filled in where that is what is decided.
fn selected(condition: &Cell, a: Cell, b: Cell) -> Cell {
    // Whether a number is missing exactly where another is.
    let is_same = |of: &Cell, other: &Cell| {
        let line = other.line().filter(|line| line.stands_in.is_none());
        of == other
            || matches!((of, line), (Cell::Column(column), Some(line)) if *column == line.column)
    };
    let filled = |of: Cell, with: f64| Cell::Replace {
        of: Rc::new(of),
        missing: f64::NAN,
        with,
    };
    if let Cell::Constant(truth) = condition {
        return if *truth == 0.0 { b } else { a };
    }
    if let Cell::Unary(operator, of) = condition {
        match (&**operator, &**of, &a, &b) {
            ("IsNaN", of, Cell::Constant(with), _) if is_same(of, &b) => return filled(b, *with),
            ("Not", Cell::Unary(operator, of), _, Cell::Constant(with))
                if &**operator == "IsNaN" && is_same(of, &a) =>
            {
                return filled(a, *with);
            }
            _ => {}
        }
    }
    Cell::Select(Rc::new([condition.clone(), a, b]))
}

/// Texts of columns where some count as others, as scikit-learn's imputer of texts is written.
fn text_filled_in(condition: &Cells, with: &Array, of: &Cells) -> Option<Cells> {
    let with = expanded(with, &of.dims).ok()?;
    let Data::Text(texts) = &with.data else {
        return None;
    };
    if condition.dims != of.dims {
        return None;
    }
    let pairs = condition.cells.iter().zip(&of.cells).zip(texts);
    let filled = pairs.map(|((condition, of), with)| match (condition, of) {
        (
            Cell::Lookup {
                column,
                keys,
                values,
                otherwise: 0.0,
            },
            Cell::Text {
                column: own,
                replaced,
            },
        ) if column == own => {
            let mut replaced = replaced.clone();
            for (key, _) in keys
                .iter()
                .zip(values.iter())
                .filter(|(_, value)| *value != 0.0)
            {
                replaced.push((key.text(), with.clone()));
            }
            Some(Cell::Text {
                column: *own,
                replaced,
            })
        }
        _ => None,
    });
    Some(Cells {
        cells: filled.collect::<Option<_>>()?,
        dims: of.dims.clone(),
    })
}

/// A value as cells of the same sizes as others.
pub(super) fn as_cells(value: &Value, like: &Cells) -> Option<Vec<Cell>> {
    match value {
        Value::Cells(cells) if cells.dims == like.dims => Some(cells.cells.clone()),
        Value::Constant(array) => {
            let values = expanded(array, &like.dims).ok()?.to_floats().ok()?;
            Some(values.into_iter().map(Cell::Constant).collect())
        }
        _ => None,
    }
}
