//! Rows that stand at another axis than the first: `torch.stack(…).mean(0)`, members of a bagging that are joined in front, scores of
//! classes one below the other. Numbers are kept with rows first; only the graph's axes are counted otherwise.

mod moved;

use super::join::join;
use super::shape::has_rows;
use super::{Lowering, Made, Value};
use crate::onnx::array::BATCH;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;
use moved::{resize, stacked, transpose};

/// A tensor whose rows are not first in the graph. Its own sizes are `[1, before…, after…]`.
#[derive(Clone, Debug)]
pub(in crate::onnx) struct Turned {
    made: Made,
    /// How many axes stand before the rows.
    before: usize,
    /// Those axes and the rows are one axis: one row's numbers are that far apart.
    is_merged: bool,
}

impl Turned {
    /// The sizes as the graph sees them, the rows by their stand-in.
    #[expect(clippy::cast_possible_wrap, reason = "sizes are bounded")]
    pub(super) fn sizes(&self) -> Vec<i64> {
        let size = |&size: &usize| size as i64;
        let (before, after) = self.made.dims[1..].split_at(self.before);
        let mut sizes: Vec<i64> = before.iter().map(size).collect();
        if self.is_merged {
            sizes = vec![sizes.iter().product::<i64>().saturating_mul(BATCH)];
        } else {
            sizes.push(BATCH);
        }
        sizes.extend(after.iter().map(size));
        sizes
    }

    /// An axis of the graph, as one of the tensor with rows first; 0 is the rows themselves.
    fn axis(&self, node: &Node, given: i64) -> Result<usize> {
        let at = super::shape::axis(node, given, self.made.dims.len())?;
        Ok(match at.cmp(&self.before) {
            std::cmp::Ordering::Less => at + 1,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => at,
        })
    }

    fn inner_axis(&self, node: &Node, given: i64) -> Result<usize> {
        match self.axis(node, given)? {
            0 => Err(across(node)),
            axis if !self.is_merged => Ok(axis),
            _ => Err(refused(node)),
        }
    }
}

/// The refusal of an operator that needs rows first.
pub(super) fn refused(node: &Node) -> crate::onnx::OnnxError {
    node.unsupported(
        "it reads a tensor whose rows are not at the first axis",
        "export with rows first (`batch_first=True`)",
    )
}

fn across(node: &Node) -> crate::onnx::OnnxError {
    node.unsupported(
        "it acts across rows, so that a row's prediction depends on the others",
        "",
    )
}

/// Values for all outputs, of operators that move the rows away from the first axis or read such a tensor.
pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Vec<Value>>> {
    let mut values = Vec::new();
    for place in 0..node.inputs.len() {
        values.push(match node.input(place) {
            Some(_) => Some(to.input(node, place)?),
            None => None,
        });
    }
    let turned = values.iter().flatten().find_map(|value| match value {
        Value::Turned(turned) => Some(turned.clone()),
        _ => None,
    });
    let first = values.first().cloned().flatten();
    let one = |value: Option<Value>| Ok(value.map(|value| vec![value]));
    match (node.operator.as_str(), first, &turned) {
        ("Transpose", Some(first), _) if has_rows(&first) => one(transpose(to, node, first)?),
        ("Reshape" | "Squeeze" | "Unsqueeze", Some(first), _) if has_rows(&first) => {
            one(resize(to, node, first)?)
        }
        ("Concat", Some(_), None) => one(stacked(to, node, &values)?),
        ("Concat", Some(_), Some(turned)) => {
            let axis = turned.inner_axis(node, node.int("axis", 1))?;
            let parts = values.into_iter().flatten();
            let parts = parts.map(|part| plain(node, turned, part));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let made = join(to, node, parts, i64::try_from(axis).unwrap_or(0))?;
            one(Some(again(node, made, turned, turned.before)?))
        }
        (_, _, Some(turned)) => read(to, node, values, turned),
        _ => Ok(None),
    }
}

/// A value with rows first, beside others of the same layout.
fn plain(node: &Node, like: &Turned, value: Value) -> Result<Value> {
    match value {
        Value::Turned(turned)
            if turned.before == like.before
                && turned.is_merged == like.is_merged
                && turned.made.dims.len() == like.made.dims.len() =>
        {
            Ok(Value::Tensor(turned.made))
        }
        Value::Constant(array) if array.len() == 1 && array.dims.len() <= 1 => {
            Ok(Value::Constant(array))
        }
        Value::Constant(array) if !like.is_merged => {
            let rank = like.made.dims.len();
            let mut sizes = vec![1; rank.saturating_sub(array.dims.len())];
            sizes.extend_from_slice(&array.dims);
            // The rows' own axis has one number for all of them; it moves to the front.
            if sizes.len() != rank || sizes.remove(like.before) != 1 {
                return Err(refused(node));
            }
            sizes.insert(0, 1);
            let moved = array.reshaped(sizes)?;
            Ok(Value::Constant(std::rc::Rc::new(moved)))
        }
        _ => Err(refused(node)),
    }
}

/// A result with rows first, as the graph has it.
fn again(node: &Node, value: Value, like: &Turned, before: usize) -> Result<Value> {
    match value {
        Value::Tensor(made) if before == 0 => Ok(Value::Tensor(made)),
        Value::Tensor(made) => Ok(Value::Turned(Turned {
            made,
            before,
            is_merged: like.is_merged,
        })),
        Value::Constant(array) => Ok(Value::Constant(array)),
        _ => Err(refused(node)),
    }
}

/// Rows and what is before and after them, of any value that has rows.
fn parts(to: &mut Lowering<'_>, node: &Node, value: Value) -> Result<Turned> {
    match value {
        Value::Turned(turned) => Ok(turned),
        value => {
            let made = to.made(node, value)?;
            if made.dims.first() != Some(&1) {
                return Err(refused(node));
            }
            Ok(Turned {
                made,
                before: 0,
                is_merged: false,
            })
        }
    }
}

/// An operator that reads such a tensor: computed with rows first, where its axes can be counted that way.
fn read(
    to: &mut Lowering<'_>,
    node: &Node,
    mut values: Vec<Option<Value>>,
    turned: &Turned,
) -> Result<Option<Vec<Value>>> {
    let mut changed = node.clone();
    let mut before = turned.before;
    let place = |axis: usize| i64::try_from(axis).unwrap_or(0);
    match node.operator.as_str() {
        "Identity" | "Cast" | "CastLike" | "Dropout" | "Relu" | "Sigmoid" | "Tanh"
        | "LeakyRelu" | "Softplus" | "Elu" | "Gelu" | "HardSigmoid" | "HardSwish" | "Mish"
        | "Selu" | "Celu" | "Softsign" | "Neg" | "Abs" | "Sqrt" | "Exp" | "Log" | "Reciprocal"
        | "Erf" | "Sin" | "Cos" | "Clip" | "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Max"
        | "Min" | "Sum" | "Mean" => {}
        "Softmax" | "LogSoftmax" | "LayerNormalization" => {
            let axis = turned.inner_axis(node, node.int("axis", -1))?;
            let is_layer = node.operator == "LayerNormalization";
            let has_meaning = if is_layer {
                axis > turned.before
            } else {
                to.graph.opset >= 13
            };
            if !has_meaning {
                return Err(refused(node));
            }
            changed.set_ints("axis", &[place(axis)]);
        }
        "Gather" => {
            let axis = turned.inner_axis(node, node.int("axis", 0))?;
            let Some(Value::Constant(indices)) = values.get(1).cloned().flatten() else {
                return Err(refused(node));
            };
            changed.set_ints("axis", &[place(axis)]);
            if axis <= turned.before {
                before = before + indices.dims.len() - 1;
            }
        }
        "MatMul" if turned.before + 1 < turned.made.dims.len() && !turned.is_merged => {
            let is_matrix = |value: &Option<Value>| matches!(value, Some(Value::Constant(array)) if array.dims.len() == 2);
            if !values.get(1).is_some_and(is_matrix) {
                return Err(refused(node));
            }
        }
        operator if operator.starts_with("Reduce") => {
            let given = match to.constant(node, 1)? {
                Some(axes) => Some(axes.to_whole()?),
                None => node.ints("axes"),
            };
            let Some(given) = given.filter(|axes| !axes.is_empty()) else {
                return Err(across(node));
            };
            let axes = given.iter().map(|&one| turned.inner_axis(node, one));
            let axes = axes.collect::<Result<Vec<_>>>()?;
            if node.int("keepdims", 1) == 0 {
                before -= axes.iter().filter(|&&axis| axis <= turned.before).count();
            }
            let axes: Vec<i64> = axes.into_iter().map(place).collect();
            changed.set_ints("axes", &axes);
            changed.inputs.truncate(1);
            values.truncate(1);
        }
        _ => return Err(refused(node)),
    }
    // Only what is computed along axes reads constants as they are.
    let is_by_number = !matches!(
        node.operator.as_str(),
        "Gather" | "MatMul" | "LayerNormalization" | "Clip"
    );
    let mut given = Vec::new();
    for (name, value) in changed.inputs.iter().zip(values) {
        if let Some(value) = value {
            let is_constant = matches!(value, Value::Constant(_));
            let value = if is_constant && !is_by_number {
                value
            } else {
                plain(node, turned, value)?
            };
            given.push((name.clone(), value));
        }
    }
    let made = to.with_values(given, |to| to.node(&changed))?;
    let made = made
        .into_iter()
        .map(|value| again(node, value, turned, before));
    made.collect::<Result<Vec<_>>>().map(Some)
}
