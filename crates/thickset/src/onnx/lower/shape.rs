//! Operators that move, repeat or drop numbers and compute none: of constants, cells and tensors alike.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::{Cells, Lowering, Made, Place, Value};
use crate::onnx::array::{Array, BATCH, Data};
use crate::onnx::cell::{Cell, Key};
use crate::onnx::fold::{broadcast, broadcast_places, check_made};
use crate::onnx::problem::{Result, WITHOUT_GRADIENT, broken};
use crate::onnx::read::Node;

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
fn dims(value: &Value) -> Vec<usize> {
    match value {
        Value::Constant(array) => array.dims.clone(),
        Value::Cells(cells) => cells.dims.clone(),
        Value::Tensor(made) | Value::Mask(made) => made.dims.clone(),
    }
}

/// Whether its first axis is that of the rows.
fn has_rows(value: &Value) -> bool {
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
fn inner_axis(node: &Node, value: &Value, given: i64, rank: usize) -> Result<usize> {
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
        check_made(&dims)?;
        Ok(match value {
            Value::Constant(array) => Value::Constant(Rc::new(array.picked(dims, places))),
            Value::Cells(cells) => Value::Cells(Rc::new(Cells {
                cells: places
                    .iter()
                    .map(|&place| cells.cells[place].clone())
                    .collect(),
                dims,
            })),
            Value::Tensor(made) => Value::Tensor(self.gathered(&made, dims, places)?),
            Value::Mask(made) => Value::Mask(self.gathered(&made, dims, places)?),
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

    /// The same numbers with other sizes.
    fn resized(value: Value, dims: Vec<usize>) -> Result<Value> {
        Ok(match value {
            Value::Constant(array) => Value::Constant(Rc::new(array.reshaped(dims)?)),
            Value::Cells(cells) => Value::Cells(Rc::new(Cells {
                cells: cells.cells.clone(),
                dims,
            })),
            Value::Tensor(made) => Value::Tensor(Made { dims, ..made }),
            Value::Mask(made) => Value::Mask(Made { dims, ..made }),
        })
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
                (1 | 11, _) | (8, Cell::Text { .. }) | (9, Cell::Binary(..) | Cell::Unary(..)) => {
                    Ok(cell.clone())
                }
                (8, Cell::Column(column)) => Ok(Cell::Text {
                    column: *column,
                    replaced: Vec::new(),
                }),
                (_, Cell::Column(column)) if columns[*column].is_whole => Ok(cell.clone()),
                _ if whole => Ok(cell.clone().unary("ToWhole")),
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
        Value::Tensor(_) if matches!(kind, 10 | 16) => Err(node.unsupported(
            "it casts to half precision",
            "export the model in single precision (float32)",
        )),
        Value::Tensor(_) => Err(node.unsupported(
            "cut to whole numbers, a step function has no gradient",
            WITHOUT_GRADIENT,
        )),
        Value::Constant(_) => Err(node.broken("a constant that cannot be cast")),
    }
}

fn reshape(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let target = to.constant(node, 1)?;
    let target = match target {
        Some(target) => target.to_whole()?,
        None => node
            .ints("shape")
            .ok_or_else(|| node.broken("the new sizes are missing"))?,
    };
    let from = Lowering::sizes(&value);
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
    if let (Some(rows), Some(first)) = (to.fixed_rows(), sizes.first_mut())
        && has_rows(&value)
        && i64::try_from(rows).is_ok_and(|rows| rows == *first)
    {
        *first = BATCH;
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

fn flatten(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let sizes = dims(&value);
    let rank = sizes.len();
    let given = node.int("axis", 1);
    let at = usize::try_from(if given < 0 {
        given + i64::try_from(rank).unwrap_or(0)
    } else {
        given
    })
    .unwrap_or(rank + 1);
    if at > rank || (at == 0 && has_rows(&value)) {
        return Err(node.broken(format!("axis {given} of {rank}")));
    }
    let product = |sizes: &[usize]| sizes.iter().product::<usize>();
    Lowering::resized(value, vec![product(&sizes[..at]), product(&sizes[at..])])
}

fn squeeze(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
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

fn concat(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
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
    let first = parts
        .first()
        .ok_or_else(|| node.broken("there is nothing to join"))?;
    let rank = dims(first).len();
    let axis = axis(node, along, rank)?;
    let rows = parts.iter().any(has_rows);
    if rows && axis == 0 {
        return Err(node.unsupported("it joins rows of several inputs", ""));
    }
    let all: Vec<Vec<usize>> = parts.iter().map(dims).collect();
    for sizes in &all {
        let fits = sizes.len() == rank && (0..rank).all(|at| at == axis || sizes[at] == all[0][at]);
        if !fits {
            return Err(node.broken(format!(
                "sizes {sizes:?} and {:?} cannot be joined along axis {axis}",
                all[0]
            )));
        }
    }
    let mut sizes = all[0].clone();
    sizes[axis] = all.iter().map(|sizes| sizes[axis]).sum();
    check_made(&sizes)?;
    // For each place of the result, which part it comes from and where in all parts one after the other.
    let mut starts = Vec::new();
    let mut start = 0;
    for part in &all {
        starts.push(start);
        start += part.iter().product::<usize>();
    }
    let all_steps: Vec<Vec<usize>> = all.iter().map(|sizes| steps(sizes)).collect();
    let order = places(&sizes, |at| {
        let (mut part, mut along) = (0, at[axis]);
        while along >= all[part][axis] {
            along -= all[part][axis];
            part += 1;
        }
        let place: usize = (0..rank)
            .map(|one| all_steps[part][one] * if one == axis { along } else { at[one] })
            .sum();
        starts[part] + place
    });
    if !rows {
        return constants_joined(node, &parts, sizes, &order);
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
    let made: Vec<Made> = parts
        .into_iter()
        .map(|part| match part {
            Value::Mask(made) if masks => Ok(made),
            Value::Constant(_) => {
                Err(node.unsupported("it joins a constant with a row's numbers", ""))
            }
            other => to.made(node, other),
        })
        .collect::<Result<_>>()?;
    let inputs: Vec<&Made> = made.iter().collect();
    let joined = if let [only] = inputs[..] {
        only.clone()
    } else {
        to.add(Form::Concatenate, &inputs, vec![1, start])?
    };
    let made = to.gathered(&joined, sizes, &order)?;
    Ok(if masks {
        Value::Mask(made)
    } else {
        Value::Tensor(made)
    })
}

fn constants_joined(
    node: &Node,
    parts: &[Value],
    sizes: Vec<usize>,
    order: &[usize],
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
    Ok(Value::Constant(Rc::new(flat.picked(sizes, order))))
}

fn gather(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let indices = to.input(node, 1)?;
    let from = dims(&value);
    let rank = from.len();
    let is_extractor = node.operator == "ArrayFeatureExtractor";
    let along = if is_extractor {
        -1
    } else {
        node.int("axis", 0)
    };
    let indices = match (&value, indices) {
        (_, Value::Constant(indices)) => indices,
        (Value::Constant(table), Value::Cells(cells)) if !is_extractor => {
            return embedding(node, table, &cells);
        }
        _ => {
            return Err(node.unsupported("its indices are computed from the row", WITHOUT_GRADIENT));
        }
    };
    let axis = inner_axis(node, &value, along, rank)?;
    let size = i64::try_from(from[axis]).unwrap_or(0);
    let chosen = indices.to_whole()?.into_iter().map(|index| {
        let counted = if index < 0 { index + size } else { index };
        let inside = usize::try_from(counted)
            .ok()
            .filter(|&index| index < from[axis]);
        inside.ok_or_else(|| node.broken(format!("index {index} of {size}")))
    });
    let chosen: Vec<usize> = chosen.collect::<Result<_>>()?;
    let middle = if is_extractor {
        vec![chosen.len()]
    } else {
        indices.dims.clone()
    };
    let mut sizes = from.clone();
    sizes.splice(axis..=axis, [chosen.len()]);
    let step = steps(&from);
    check_made(&sizes)?;
    let places = places(&sizes, |at| {
        let place =
            |(one, at): (usize, &usize)| step[one] * if one == axis { chosen[*at] } else { *at };
        at.iter().enumerate().map(place).sum()
    });
    let mut made = from;
    made.splice(axis..=axis, middle);
    to.pick(value, made, &places)
}

/// Numbers of a table by a column of whole numbers.
fn embedding(node: &Node, table: &Array, cells: &Cells) -> Result<Value> {
    if node.int("axis", 0) != 0 || table.dims.is_empty() {
        return Err(node.unsupported("its indices are computed from the row", ""));
    }
    let (count, width) = (table.dims[0], table.dims[1..].iter().product::<usize>());
    check_made(&[cells.cells.len(), count, width])?;
    let keys: Rc<Vec<Key>> = Rc::new(
        (0..count)
            .map(|key| Key::Whole(i64::try_from(key).unwrap_or(0)))
            .collect(),
    );
    let values = table.to_floats()?;
    let mut made = Vec::new();
    for cell in &cells.cells {
        let column = match cell {
            Cell::Column(column) => *column,
            Cell::Unary(operator, of)
                if &**operator == "ToWhole" && matches!(**of, Cell::Column(_)) =>
            {
                of.column().unwrap_or(0)
            }
            Cell::Lookup {
                column,
                keys,
                values: index,
                otherwise,
            } => {
                made.extend(composed(
                    node,
                    *column,
                    keys,
                    index,
                    *otherwise,
                    &values,
                    (count, width),
                )?);
                continue;
            }
            _ => {
                return Err(
                    node.unsupported("its indices are computed from the row", WITHOUT_GRADIENT)
                );
            }
        };
        made.extend((0..width).map(|at| Cell::Lookup {
            column,
            keys: Rc::clone(&keys),
            values: (0..count).map(|key| values[key * width + at]).collect(),
            otherwise: 0.0,
        }));
    }
    let mut dims = cells.dims.clone();
    dims.extend_from_slice(&table.dims[1..]);
    Ok(Value::Cells(Rc::new(Cells { cells: made, dims })))
}

/// The rows of a table that a category's own numbers name.
fn composed(
    node: &Node,
    column: usize,
    keys: &Rc<Vec<Key>>,
    index: &[f64],
    otherwise: f64,
    table: &[f64],
    (count, width): (usize, usize),
) -> Result<Vec<Cell>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "checked to be a row"
    )]
    let row = |index: f64| {
        let is_row = index.fract() == 0.0 && index >= 0.0 && index < count as f64;
        if is_row {
            Ok(index as usize)
        } else {
            Err(node.broken(format!("index {index} of {count}")))
        }
    };
    let rows = index
        .iter()
        .map(|&index| row(index))
        .collect::<Result<Vec<_>>>()?;
    let unseen = row(otherwise).ok();
    let cell = |at: usize| Cell::Lookup {
        column,
        keys: Rc::clone(keys),
        values: rows.iter().map(|row| table[row * width + at]).collect(),
        otherwise: unseen.map_or(0.0, |row| table[row * width + at]),
    };
    Ok((0..width).map(cell).collect())
}

fn slice(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let from = dims(&value);
    let rank = from.len();
    let mut list = |place: usize, name: &str| -> Result<Option<Vec<i64>>> {
        match to.constant(node, place)? {
            Some(array) => Ok(Some(array.to_whole()?)),
            None => Ok(node.ints(name)),
        }
    };
    let starts = list(1, "starts")?.ok_or_else(|| node.broken("starts are missing"))?;
    let ends = list(2, "ends")?.ok_or_else(|| node.broken("ends are missing"))?;
    let axes =
        list(3, "axes")?.unwrap_or_else(|| (0..i64::try_from(starts.len()).unwrap_or(0)).collect());
    let steps_given = list(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    if ends.len() != starts.len() || axes.len() != starts.len() || steps_given.len() != starts.len()
    {
        return Err(node.broken("starts, ends, axes and steps differ in number"));
    }
    let mut chosen: Vec<Vec<usize>> = from.iter().map(|&size| (0..size).collect()).collect();
    for (((&start, &end), &along), &step) in starts.iter().zip(&ends).zip(&axes).zip(&steps_given) {
        let at = axis(node, along, rank)?;
        let size = i64::try_from(from[at]).unwrap_or(0);
        if at == 0 && has_rows(&value) {
            if start == 0 && end >= BATCH && step == 1 {
                continue;
            }
            return Err(node.unsupported("it takes some of the rows", ""));
        }
        if step == 0 {
            return Err(node.broken("a step of 0"));
        }
        let counted = |place: i64| {
            if place < 0 {
                place.saturating_add(size)
            } else {
                place
            }
        };
        let (start, end) = if step > 0 {
            (counted(start).clamp(0, size), counted(end).clamp(0, size))
        } else {
            (
                counted(start).clamp(-1, size - 1),
                if end < -size {
                    -1
                } else {
                    counted(end).clamp(-1, size - 1)
                },
            )
        };
        let mut places = Vec::new();
        let mut place = start;
        while (step > 0 && place < end) || (step < 0 && place > end) {
            places.push(usize::try_from(place).unwrap_or(0));
            place = place.saturating_add(step);
        }
        chosen[at] = places;
    }
    let sizes: Vec<usize> = chosen.iter().map(Vec::len).collect();
    let step = steps(&from);
    let order = places(&sizes, |at| {
        at.iter()
            .enumerate()
            .map(|(axis, &at)| step[axis] * chosen[axis][at])
            .sum()
    });
    to.pick(value, sizes, &order)
}

fn split(to: &mut Lowering<'_>, node: &Node) -> Result<Vec<Value>> {
    let value = to.input(node, 0)?;
    let from = dims(&value);
    let along = inner_axis(node, &value, node.int("axis", 0), from.len())?;
    let count = node.outputs.len();
    let given = match to.constant(node, 1)? {
        Some(sizes) => Some(sizes.to_whole()?),
        None => node.ints("split"),
    };
    let parts = if let Some(sizes) = given {
        crate::onnx::fold::to_sizes(&sizes)?
    } else {
        let size = from[along].div_ceil(count.max(1));
        (0..count)
            .map(|part| size.min(from[along].saturating_sub(part * size)))
            .collect()
    };
    if parts.len() != count || parts.iter().sum::<usize>() != from[along] {
        return Err(node.broken(format!("{} cannot be split into {parts:?}", from[along])));
    }
    let step = steps(&from);
    let mut start = 0;
    let mut values = Vec::new();
    for part in parts {
        let mut sizes = from.clone();
        sizes[along] = part;
        let order = places(&sizes, |at| {
            let place = |(one, &at): (usize, &usize)| {
                step[one] * if one == along { at + start } else { at }
            };
            at.iter().enumerate().map(place).sum()
        });
        values.push(to.pick(value.clone(), sizes, &order)?);
        start += part;
    }
    Ok(values)
}

fn expand(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let from = dims(&value);
    let given = to
        .constant(node, 1)?
        .ok_or_else(|| node.broken("the sizes are missing"))?
        .to_whole()?;
    let is_expand = node.operator == "Expand";
    let mut target = Vec::new();
    for (place, &size) in given.iter().enumerate() {
        let is_rows = has_rows(&value) && place == 0 && given.len() == from.len();
        target.push(match size {
            // The rows themselves, or as many of them as there are.
            size if is_rows && is_expand && (size == 1 || size >= BATCH) => from[0],
            size => usize::try_from(size).map_err(|_| node.broken(format!("a size of {size}")))?,
        });
    }
    if !is_expand {
        if target.len() != from.len() || (has_rows(&value) && target[0] != 1) {
            return Err(node.broken("repetitions do not fit its sizes"));
        }
        let sizes: Vec<usize> = from
            .iter()
            .zip(&target)
            .map(|(size, times)| size.saturating_mul(*times))
            .collect();
        check_made(&sizes)?;
        let step = steps(&from);
        let order = places(&sizes, |at| {
            at.iter()
                .enumerate()
                .map(|(axis, at)| step[axis] * (at % from[axis]))
                .sum()
        });
        return to.pick(value, sizes, &order);
    }
    let sizes = broadcast(&from, &target)?;
    if has_rows(&value) && sizes.len() != from.len() {
        return Err(node.unsupported("it moves the rows to another axis", ""));
    }
    check_made(&sizes)?;
    let order = broadcast_places(&from, &sizes)?;
    to.pick(value, sizes, &order)
}

fn pad(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let made = to.tensor(node, 0)?;
    let pads = match to.constant(node, 1)? {
        Some(pads) => pads.to_whole()?,
        None => node.ints("pads").unwrap_or_default(),
    };
    let value = match to.constant(node, 2)? {
        Some(value) => value.to_number()?,
        None => node.float("value", 0.0),
    };
    let mode = node.text("mode").unwrap_or_else(|| "constant".to_owned());
    let rank = made.dims.len();
    let axes = match to.constant(node, 3)? {
        Some(axes) => axes
            .to_whole()?
            .into_iter()
            .map(|one| axis(node, one, rank))
            .collect::<Result<Vec<_>>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(node.broken(format!("{} paddings for {} axes", pads.len(), axes.len())));
    }
    let (mut before, mut after) = (vec![0_i64; rank], vec![0_i64; rank]);
    for (place, &axis) in axes.iter().enumerate() {
        before[axis] = pads[place];
        after[axis] = pads[place + axes.len()];
    }
    if before[0] != 0 || after[0] != 0 {
        return Err(node.unsupported("it adds rows", ""));
    }
    let sizes: Vec<usize> = (0..rank)
        .map(|axis| {
            let size = i64::try_from(made.dims[axis]).unwrap_or(0);
            usize::try_from(
                size.saturating_add(before[axis])
                    .saturating_add(after[axis]),
            )
            .unwrap_or(0)
        })
        .collect();
    check_made(&sizes)?;
    let features = made.features();
    let step = steps(&made.dims);
    let outside = features;
    let mut unknown = false;
    let order = places(&sizes, |at| {
        let mut place = 0;
        for axis in 0..rank {
            let size = i64::try_from(made.dims[axis]).unwrap_or(0);
            let mut inner = i64::try_from(at[axis]).unwrap_or(0) - before[axis];
            if !(0..size).contains(&inner) {
                inner = match mode.as_str() {
                    "constant" => return outside,
                    "edge" => inner.clamp(0, size - 1),
                    "reflect" if size > 1 => {
                        let period = 2 * (size - 1);
                        let folded = inner.rem_euclid(period);
                        folded.min(period - folded)
                    }
                    _ => {
                        unknown = true;
                        0
                    }
                };
            }
            place += step[axis] * usize::try_from(inner).unwrap_or(0);
        }
        place
    });
    if unknown {
        return Err(node.unsupported(format!("padding by `{mode}` is not read"), ""));
    }
    let padded = to.add_with(
        Form::Constant { features: 1 },
        &[&made],
        vec![1, 1],
        vec![("value", vec![1], vec![value])],
    )?;
    let both = to.add(Form::Concatenate, &[&made, &padded], vec![1, features + 1])?;
    Ok(Value::Tensor(to.gathered(&both, sizes, &order)?))
}

fn depth_to_space(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let block = usize::try_from(node.int("blocksize", 0)).unwrap_or(0);
    let [rows, channels, height, width] = dims(&value)[..] else {
        return Err(node.broken("it reads images"));
    };
    if block == 0 || !channels.is_multiple_of(block * block) {
        return Err(node.broken(format!("{channels} channels and a block of {block}")));
    }
    let made = channels / (block * block);
    let is_columns_first = node.text("mode").as_deref() == Some("CRD");
    let sizes = vec![rows, made, height * block, width * block];
    let order = places(&sizes, |at| {
        let (inner_row, inner_column) = (at[2] % block, at[3] % block);
        let channel = if is_columns_first {
            at[1] * block * block + inner_row * block + inner_column
        } else {
            (inner_row * block + inner_column) * made + at[1]
        };
        ((at[0] * channels + channel) * height + at[2] / block) * width + at[3] / block
    });
    if rows != 1 {
        return Err(broken("images within rows"));
    }
    to.pick(value, sizes, &order)
}
