//! Sums, products, powers, comparisons and choices, of constants, cells and tensors in any combination.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::choice::{choice, comparison, step};
use super::{Cells, Lowering, Made, Value, trigonometric};
use crate::onnx::array::Array;
use crate::onnx::cell::Cell;
use crate::onnx::fold::{broadcast, expanded};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    Ok(Some(match node.operator.as_str() {
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Max" | "Min" | "Sum" | "Mean" => {
            let mut value = to.input(node, 0)?;
            for place in 1..node.inputs.len() {
                let other = to.input(node, place)?;
                value = binary(to, node, &node.operator, value, other)?;
            }
            if node.operator == "Mean" {
                #[expect(clippy::cast_precision_loss, reason = "few inputs")]
                let share = Array::floats(vec![], vec![1.0 / node.inputs.len() as f64]);
                value = binary(to, node, "Mul", value, Value::Constant(Rc::new(share)))?;
            }
            value
        }
        "Neg" | "Abs" | "Sqrt" | "Exp" | "Log" | "Reciprocal" | "Erf" | "Sin" | "Cos" | "IsNaN"
        | "Not" => {
            let value = to.input(node, 0)?;
            unary(to, node, &node.operator, value)?
        }
        // Rows are finite numbers or missing.
        "IsInf" => match to.input(node, 0)? {
            Value::Cells(cells) => Value::Cells(Rc::new(Cells {
                cells: vec![Cell::Constant(0.0); cells.cells.len()],
                dims: cells.dims.clone(),
            })),
            _ => return Ok(None),
        },
        operator if trigonometric::is_one(operator) => {
            let value = to.input(node, 0)?;
            let made = to.made(node, value)?;
            Value::Tensor(to.trigonometric(operator, &made)?)
        }
        "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" | "And" | "Or" | "Equal" => {
            let (a, b) = (to.input(node, 0)?, to.input(node, 1)?);
            comparison(to, node, &node.operator, a, b)?
        }
        "Where" => {
            let [condition, a, b] = [to.input(node, 0)?, to.input(node, 1)?, to.input(node, 2)?];
            choice(to, node, condition, a, b)?
        }
        "Clip" => clip(to, node)?,
        _ => return Ok(None),
    }))
}

/// A function of one number.
pub(super) fn unary(
    to: &mut Lowering<'_>,
    node: &Node,
    operator: &str,
    value: Value,
) -> Result<Value> {
    match value {
        Value::Cells(cells) if operator != "Erf" => {
            let made: Vec<Cell> = cells
                .cells
                .iter()
                .map(|cell| cell.clone().unary(operator))
                .collect();
            if made.iter().any(Cell::is_too_large) {
                let made = to.materialise(&cells)?;
                return unary(to, node, operator, Value::Tensor(made));
            }
            Ok(Value::Cells(Rc::new(Cells {
                cells: made,
                dims: cells.dims.clone(),
            })))
        }
        Value::Mask(made) if operator == "Not" => Ok(Value::Mask(to.not(&made)?)),
        value => {
            let made = to.made(node, value)?;
            Ok(Value::Tensor(to.function(node, operator, &made)?))
        }
    }
}

/// A function of two; comparisons are [`comparison`].
pub(super) fn binary(
    to: &mut Lowering<'_>,
    node: &Node,
    operator: &str,
    a: Value,
    b: Value,
) -> Result<Value> {
    if let Some(cells) = of_cells(operator, &a, &b)? {
        return Ok(Value::Cells(Rc::new(cells)));
    }
    match (a, b) {
        (Value::Mask(mask), other) | (other, Value::Mask(mask)) if operator == "Mul" => {
            let made = match other {
                // As TensorFlow's converter writes a choice of which one side is nothing.
                Value::Constant(zeros) if zeros.as_floats()?.iter().all(|&value| value == 0.0) => {
                    let dims = broadcast(&mask.dims, &zeros.dims)?;
                    return Ok(Value::Constant(Rc::new(
                        expanded(&zeros, &dims)?.into_owned(),
                    )));
                }
                Value::Constant(_) | Value::Mask(_) => return Err(step(node)),
                other => to.made(node, other)?,
            };
            let zero = Value::Constant(Rc::new(Array::floats(vec![], vec![0.0])));
            choice(to, node, Value::Mask(mask), Value::Tensor(made), zero)
        }
        (Value::Constant(a), b) => {
            let b = to.made(node, b)?;
            to.with_constant(node, operator, &b, &a, true)
                .map(Value::Tensor)
        }
        (a, Value::Constant(b)) => {
            let a = to.made(node, a)?;
            to.with_constant(node, operator, &a, &b, false)
                .map(Value::Tensor)
        }
        (a, b) => {
            let (a, b) = (to.made(node, a)?, to.made(node, b)?);
            to.of_two(node, operator, &a, &b).map(Value::Tensor)
        }
    }
}

/// Both as cells, if each number of the result depends on one column.
pub(super) fn of_cells(operator: &str, a: &Value, b: &Value) -> Result<Option<Cells>> {
    let dims = |value: &Value| match value {
        Value::Constant(array) => Some(array.dims.clone()),
        Value::Cells(cells) => Some(cells.dims.clone()),
        _ => None,
    };
    let (Some(first), Some(second)) = (dims(a), dims(b)) else {
        return Ok(None);
    };
    let made = broadcast(&first, &second)?;
    // Where cells would be repeated, columns begin to meet: that is the network's work.
    for (value, dims) in [(a, &first), (b, &second)] {
        if matches!(value, Value::Cells(_)) && (dims.len() != made.len() || *dims != made) {
            return Ok(None);
        }
    }
    let cells = |value: &Value| -> Result<Vec<Cell>> {
        Ok(match value {
            Value::Cells(cells) => cells.cells.clone(),
            Value::Constant(array) => {
                let values = expanded(array, &made)?.to_floats()?;
                values.into_iter().map(Cell::Constant).collect()
            }
            _ => Vec::new(),
        })
    };
    let pairs = cells(a)?.into_iter().zip(cells(b)?);
    let joined: Option<Vec<Cell>> = pairs.map(|(a, b)| Cell::binary(operator, &a, &b)).collect();
    let joined = joined.filter(|cells| !cells.iter().any(Cell::is_too_large));
    Ok(joined.map(|cells| Cells { cells, dims: made }))
}

fn clip(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let mut bound = |place: usize, name: &str, open: f64| match to.constant(node, place)? {
        Some(array) => array.to_number(),
        None => Ok(node.float(name, open)),
    };
    let least = bound(1, "min", f64::NEG_INFINITY)?;
    let most = bound(2, "max", f64::INFINITY)?;
    match to.input(node, 0)? {
        Value::Cells(cells) => {
            let clip = |cell: &Cell| Cell::Clip {
                of: Rc::new(cell.clone()),
                least,
                most,
            };
            Ok(Value::Cells(Rc::new(Cells {
                cells: cells.cells.iter().map(clip).collect(),
                dims: cells.dims.clone(),
            })))
        }
        value => {
            let made = to.made(node, value)?;
            to.clipped(&made, least, most).map(Value::Tensor)
        }
    }
}

impl Lowering<'_> {
    /// Clipped to a range; below zero alone it is `ReLU`.
    pub(in crate::onnx) fn clipped(&mut self, made: &Made, least: f64, most: f64) -> Result<Made> {
        // Exporters write an open end as the largest number.
        const OPEN: f64 = 3.4e38;
        let end = |value: f64| (value.abs() < OPEN).then_some(value);
        let form = match (end(least), end(most)) {
            (None, None) => return Ok(made.clone()),
            (Some(0.0), None) => Form::Relu,
            (least, most) => Form::Clip { least, most },
        };
        self.apply(form, made)
    }

    /// A function of single numbers.
    pub(in crate::onnx) fn function(
        &mut self,
        node: &Node,
        operator: &str,
        made: &Made,
    ) -> Result<Made> {
        let form = match operator {
            "Neg" => return self.affine(made, &[-1.0], &[0.0], None),
            "Abs" => Form::Absolute,
            "Sqrt" => Form::SquareRoot,
            "Exp" => Form::Exp,
            "Log" => Form::Log,
            "Reciprocal" => Form::Power { exponent: -1.0 },
            "Erf" => Form::Erf,
            "Sin" => Form::Sine,
            "Cos" => {
                let turned = self.affine(made, &[1.0], &[std::f64::consts::FRAC_PI_2], None)?;
                return self.apply(Form::Sine, &turned);
            }
            _ => return Err(step(node)),
        };
        self.apply(form, made)
    }

    /// A constant for every row, beside a tensor that says how many rows there are.
    pub(in crate::onnx) fn constant_layer(
        &mut self,
        like: &Made,
        dims: Vec<usize>,
        values: Vec<f64>,
    ) -> Result<Made> {
        let features = values.len();
        let weights = vec![("value", vec![features], values)];
        self.add_with(Form::Constant { features }, &[like], dims, weights)
    }

    pub(super) fn like(&mut self, made: &Made, value: f64) -> Result<Made> {
        self.constant_layer(made, made.dims.clone(), vec![value; made.features()])
    }

    /// Positive where the decider is not.
    pub(super) fn not(&mut self, decider: &Made) -> Result<Made> {
        let (minus, plus) = (self.like(decider, -1.0)?, self.like(decider, 1.0)?);
        self.add(
            Form::Select,
            &[decider, &minus, &plus],
            decider.dims.clone(),
        )
    }

    /// A condition on columns, as a decider.
    pub(super) fn materialised_mask(&mut self, node: &Node, cells: &Cells) -> Result<Made> {
        let mut parts: Option<(Rc<str>, Vec<Cell>, Vec<Cell>)> = None;
        for cell in &cells.cells {
            let Cell::Binary(operator, a, b) = cell else {
                return Err(step(node));
            };
            let (known, first, second) =
                parts.get_or_insert_with(|| (Rc::clone(operator), Vec::new(), Vec::new()));
            if known != operator {
                return Err(step(node));
            }
            first.push((**a).clone());
            second.push((**b).clone());
        }
        let Some((operator, a, b)) = parts else {
            return Err(step(node));
        };
        let dims = &cells.dims;
        let side = |cells: Vec<Cell>| Cells {
            cells,
            dims: dims.clone(),
        };
        let (a, b) = (self.materialise(&side(a))?, self.materialise(&side(b))?);
        match comparison(self, node, &operator, Value::Tensor(a), Value::Tensor(b))? {
            Value::Mask(made) => Ok(made),
            _ => Err(step(node)),
        }
    }
}
