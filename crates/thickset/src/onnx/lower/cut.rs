//! Parts of values, repetitions, and numbers around them.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::shape::{axis, dims, has_rows, inner_axis, places, steps};
use super::{Cells, Lowering, MOST_FEATURES, Value, check_cells};
use crate::onnx::array::BATCH;
use crate::onnx::cell::Cell;
use crate::onnx::fold::{broadcast, broadcast_places, check_made, expanded};
use crate::onnx::problem::{Result, broken};
use crate::onnx::read::Node;

impl Lowering<'_> {
    /// The same number for every row, if that is what the node makes.
    pub(super) fn constant_rows(&mut self, node: &Node) -> Result<Option<Cells>> {
        let sizes = self.constant(node, 0)?;
        let sizes = sizes.map_or(Ok(Vec::new()), |sizes| sizes.to_whole())?;
        let Some((&rows, rest)) = sizes.split_first().filter(|(rows, _)| **rows >= BATCH) else {
            return Ok(None);
        };
        let mut dims = vec![usize::try_from(rows / BATCH).unwrap_or(1)];
        dims.extend(crate::onnx::fold::to_sizes(rest)?);
        check_cells(&dims)?;
        let value = match node.tensor("value") {
            Some(tensor) => self.graph.array(tensor)?.to_number()?,
            None => 0.0,
        };
        let cells = vec![Cell::Constant(value); dims.iter().product()];
        Ok(Some(Cells { cells, dims }))
    }
}

pub(super) fn slice(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
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
            // TensorFlow writes an open end as the largest number of 32 bits.
            let is_open = end >= BATCH || end >= i64::from(i32::MAX);
            let is_whole = to
                .fixed_rows()
                .is_some_and(|rows| i64::try_from(rows).is_ok_and(|rows| end >= rows));
            if start == 0 && (is_open || is_whole) && step == 1 {
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

pub(super) fn split(to: &mut Lowering<'_>, node: &Node) -> Result<Vec<Value>> {
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

pub(super) fn expand(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let from = dims(&value);
    let given = to
        .constant(node, 1)?
        .ok_or_else(|| node.broken("the sizes are missing"))?
        .to_whole()?;
    let is_expand = node.operator == "Expand";
    if let (Value::Constant(array), true) = (&value, is_expand)
        && let Some((&rows, rest)) = given.split_first().filter(|(rows, _)| **rows >= BATCH)
    {
        // The same numbers for every row.
        let mut sizes = vec![usize::try_from(rows / BATCH).unwrap_or(1)];
        sizes.extend(crate::onnx::fold::to_sizes(rest)?);
        let sizes = broadcast(&array.dims, &sizes)?;
        check_cells(&sizes)?;
        let values = expanded(array, &sizes)?.to_floats()?;
        let cells = Cells {
            cells: values.into_iter().map(Cell::Constant).collect(),
            dims: sizes,
        };
        return Ok(Value::Cells(Rc::new(cells)));
    }
    if given.iter().skip(1).any(|&size| size >= BATCH) {
        return Err(node.unsupported(
            "it repeats numbers for rows that are not at the first axis",
            "export with rows first (`batch_first=True`)",
        ));
    }
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
    to.pick(value, sizes, &order.collect::<Vec<_>>())
}

pub(super) fn pad(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
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
    let most = i64::try_from(MOST_FEATURES).unwrap_or(i64::MAX);
    if let Some(pad) = pads.iter().find(|pad| !(-most..=most).contains(pad)) {
        return Err(node.broken(format!("a padding of {pad}")));
    }
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
            usize::try_from(size + before[axis] + after[axis]).unwrap_or(0)
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
                    "wrap" if size > 0 => inner.rem_euclid(size),
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

pub(super) fn depth_to_space(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let block = usize::try_from(node.int("blocksize", 0)).unwrap_or(0);
    let [rows, channels, height, width] = dims(&value)[..] else {
        return Err(node.broken("it reads images"));
    };
    if block == 0 || block > channels || !channels.is_multiple_of(block * block) {
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
