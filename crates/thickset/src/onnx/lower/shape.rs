//! Operators that move, repeat or drop numbers and compute none: of constants, cells and tensors alike.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::cut::{depth_to_space, expand, pad, slice, split};
use super::gather::gather;
use super::join::concat;
use super::resized::{flatten, reshape, squeeze};
use super::{Cells, Lowering, Made, Place, RawColumn, Value};
use crate::onnx::array::Array;
use crate::onnx::cell::{Cell, Key};
use crate::onnx::fold::check_made;
use crate::onnx::problem::{Result, WITHOUT_GRADIENT, broken};
use crate::onnx::read::Node;

/// What nothing here can read.
pub(super) const NOT_FIRST: &str = "rows are not at the first axis";

/// The type of true and false.
const BOOL: i64 = 9;

/// Values for all outputs of the node, if it is one of this family.
pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Vec<Value>>> {
    let one = |value: Value| Ok(Some(vec![value]));
    match node.operator.as_str() {
        "Identity" | "ZipMap" => one(to.input(node, 0)?),
        "Dropout" => one(dropout(to, node)?),
        "Cast" | "CastLike" => one(cast(to, node)?),
        "Reshape" => one(reshape(to, node)?),
        "Flatten" => one(flatten(to, node)?),
        "Squeeze" | "Unsqueeze" => one(squeeze(to, node)?),
        "Transpose" => one(transpose(to, node)?),
        "Concat" | "FeatureVectorizer" => one(concat(to, node)?),
        "Gather" | "ArrayFeatureExtractor" => one(gather(to, node)?),
        "Slice" => one(slice(to, node)?),
        "Split" => split(to, node).map(Some),
        "Expand" | "Tile" => one(expand(to, node)?),
        "Pad" => one(pad(to, node)?),
        "DepthToSpace" => one(depth_to_space(to, node)?),
        _ => Ok(None),
    }
}

/// The sizes of a value, the rows as 1 or as how often each row has them.
pub(super) fn dims(value: &Value) -> Vec<usize> {
    match value {
        Value::Constant(array) => array.dims.clone(),
        Value::Cells(cells) => cells.dims.clone(),
        Value::Tensor(made) | Value::Mask(made) => made.dims.clone(),
        // Nothing that counts axes from the rows reads it.
        Value::Turned(_) => Vec::new(),
    }
}

/// Whether its first axis is that of the rows.
pub(super) fn has_rows(value: &Value) -> bool {
    !matches!(value, Value::Constant(_))
}

/// An axis as the file counts it, from the end if negative.
pub(super) fn axis(node: &Node, axis: i64, rank: usize) -> Result<usize> {
    let counted = if axis < 0 {
        axis + i64::try_from(rank).unwrap_or(0)
    } else {
        axis
    };
    usize::try_from(counted)
        .ok()
        .filter(|&axis| axis < rank)
        .ok_or_else(|| node.broken(format!("axis {axis} of {rank}")))
}

/// The same, of a value whose rows must stay what they are.
pub(super) fn inner_axis(node: &Node, value: &Value, given: i64, rank: usize) -> Result<usize> {
    let axis = axis(node, given, rank)?;
    if axis == 0 && has_rows(value) {
        return Err(node.unsupported(
            "it acts across rows, so that a row's prediction depends on the others",
            "",
        ));
    }
    Ok(axis)
}

impl Lowering<'_> {
    /// The numbers at these places, with these sizes.
    pub(in crate::onnx) fn pick(
        &mut self,
        value: Value,
        dims: Vec<usize>,
        places: &[usize],
    ) -> Result<Value> {
        // Numbers in another order take no more room than they have.
        if places.len() > super::size(&value) {
            check_made(&dims)?;
        }
        if let Value::Cells(_) = value {
            super::check_cells(&dims)?;
        }
        Ok(match value {
            Value::Constant(array) => {
                Value::Constant(Rc::new(array.picked(dims, places.iter().copied())))
            }
            Value::Cells(cells) => Value::Cells(Rc::new(Cells {
                cells: places
                    .iter()
                    .map(|&place| cells.cells[place].clone())
                    .collect(),
                dims,
            })),
            Value::Tensor(made) => Value::Tensor(self.gathered(&made, dims, places)?),
            Value::Mask(made) => Value::Mask(self.gathered(&made, dims, places)?),
            Value::Turned(_) => return Err(broken(NOT_FIRST)),
        })
    }

    /// A layer that takes these numbers of a tensor; none where they are all of them in order.
    pub(in crate::onnx) fn gathered(
        &mut self,
        made: &Made,
        dims: Vec<usize>,
        places: &[usize],
    ) -> Result<Made> {
        let features = made.features();
        let is_same =
            places.len() == features && places.iter().enumerate().all(|(at, &place)| at == place);
        if is_same {
            return Ok(Made {
                place: made.place,
                dims,
            });
        }
        // One gather of another is one gather.
        if let Place::Layer(layer) = made.place
            && let Form::Gather { indices, features } = &self.layers[layer].form
        {
            let composed: Vec<usize> = places.iter().map(|&place| indices[place]).collect();
            let before = Made {
                place: self.layers[layer].inputs[0],
                dims: vec![*features],
            };
            return self.gathered(&before, dims, &composed);
        }
        let form = Form::Gather {
            features,
            indices: places.to_vec(),
        };
        self.add(form, &[made], dims)
    }
}

fn dropout(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let is_training = match to.constant(node, 2)? {
        Some(flag) => flag.to_number()? != 0.0,
        None => false,
    };
    if is_training {
        return Err(node.unsupported(
            "the model was exported in training mode",
            "export it in evaluation mode (`model.eval()`)",
        ));
    }
    to.input(node, 0)
}

fn cast(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let kind = if node.operator == "CastLike" {
        1
    } else {
        node.int("to", 0)
    };
    let whole = matches!(kind, 2..=7 | 12 | 13);
    let columns = to.columns.clone();
    match value {
        Value::Cells(cells) => {
            let cast = |cell: &Cell| match (kind, cell) {
                (1..=7 | 11..=13, Cell::Binary(..)) if as_category(&columns, cell).is_some() => {
                    Ok(as_category(&columns, cell).unwrap_or_else(|| cell.clone()))
                }
                (1 | 11, _)
                | (8, Cell::Text { .. })
                | (
                    BOOL,
                    Cell::Binary(..) | Cell::Unary(..) | Cell::Lookup { .. } | Cell::Constant(_),
                ) => Ok(cell.clone()),
                (8, Cell::Column(column)) => Ok(Cell::Text {
                    column: *column,
                    replaced: Vec::new(),
                }),
                (_, Cell::Column(column)) if columns[*column].is_whole => Ok(cell.clone()),
                _ if whole => Ok(cell.clone().unary("ToWhole")),
                (10 | 16, _) => Err(half(node)),
                _ => Err(node.unsupported(format!("a column is cast to element type {kind}"), "")),
            };
            let made = cells.cells.iter().map(cast).collect::<Result<_>>()?;
            Ok(Value::Cells(Rc::new(Cells {
                cells: made,
                dims: cells.dims.clone(),
            })))
        }
        Value::Mask(_) => Ok(value),
        Value::Tensor(_) if matches!(kind, 1 | 11) => Ok(value),
        // Whether a number is not zero, of one that never is.
        Value::Tensor(made) if kind == BOOL && to.is_positive(made.place) => {
            let ones = vec![1.0; made.features()];
            let ones = Array::floats(made.dims, ones);
            Ok(Value::Constant(Rc::new(ones)))
        }
        Value::Tensor(_) if matches!(kind, 10 | 16) => Err(half(node)),
        Value::Tensor(_) => Err(node.unsupported(
            "cut to whole numbers, a step function has no gradient",
            WITHOUT_GRADIENT,
        )),
        Value::Constant(_) => Err(node.broken("a constant that cannot be cast")),
        Value::Turned(_) => Err(super::turned::refused(node)),
    }
}

/// Whether a column of whole numbers has one value, as a category that has a number for it.
fn as_category(columns: &[RawColumn], cell: &Cell) -> Option<Cell> {
    let Cell::Binary(operator, a, b) = cell else {
        return None;
    };
    let (of, value) = match (&**operator, &**a, &**b) {
        ("Equal", of, Cell::Constant(value)) | ("Equal", Cell::Constant(value), of) => (of, *value),
        _ => return None,
    };
    let column = of.column()?;
    let is_plain = match of {
        Cell::Column(_) => columns[column].is_whole,
        Cell::Unary(operator, of) => &**operator == "ToWhole" && matches!(**of, Cell::Column(_)),
        _ => false,
    };
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole")]
    (is_plain && value.fract() == 0.0 && value.abs() < 9e15).then(|| Cell::Lookup {
        column,
        keys: Rc::new(vec![Key::Whole(value as i64)]),
        values: std::iter::once(1.0).collect(),
        otherwise: 0.0,
    })
}

fn half(node: &Node) -> crate::onnx::OnnxError {
    node.unsupported(
        "it casts to half precision",
        "export the model in single precision (float32)",
    )
}

/// The distance between neighbours along each axis.
pub(super) fn steps(dims: &[usize]) -> Vec<usize> {
    let mut steps = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        steps[axis - 1] = steps[axis] * dims[axis];
    }
    steps
}

/// For every place of `dims`, what `place` makes of its coordinates.
pub(super) fn places(dims: &[usize], mut place: impl FnMut(&[usize]) -> usize) -> Vec<usize> {
    let count = dims.iter().product();
    let mut at = vec![0; dims.len()];
    let mut places = Vec::with_capacity(count);
    for _ in 0..count {
        places.push(place(&at));
        for axis in (0..dims.len()).rev() {
            at[axis] += 1;
            if at[axis] < dims[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
    places
}

fn transpose(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let from = dims(&value);
    let rank = from.len();
    let order = match node.ints("perm") {
        Some(order) => order
            .iter()
            .map(|&one| axis(node, one, rank))
            .collect::<Result<Vec<_>>>()?,
        None => (0..rank).rev().collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return Err(node.broken(format!("{order:?} is no order of {rank} axes")));
    }
    if has_rows(&value) && order.first() != Some(&0) {
        return Err(node.unsupported(
            "it moves the rows to another axis",
            "export with rows first (`batch_first=True`)",
        ));
    }
    let sizes: Vec<usize> = order.iter().map(|&axis| from[axis]).collect();
    let step = steps(&from);
    let places = places(&sizes, |at| {
        at.iter()
            .zip(&order)
            .map(|(at, &axis)| at * step[axis])
            .sum()
    });
    to.pick(value, sizes, &places)
}
