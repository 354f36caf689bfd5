//! Rows that stand at another axis than the first, or share an axis: `torch.stack(…).mean(0)`, members of a bagging that are joined in
//! front, heads of attention. Numbers are kept with rows first; only the graph's axes are counted otherwise.

mod moved;

use super::join::join;
use super::shape::{has_rows, places, steps};
use super::{Lowering, Made, Value};
use crate::onnx::array::BATCH;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;
use moved::{resize, stacked, transpose};

/// A tensor whose rows are not the first axis alone. In the graph's order its parts are sizes and, among them, the rows; the tensor's own
/// sizes are 1 and those parts without the rows. Each axis of the graph is one part, but the rows' own may have several.
#[derive(Clone, Debug)]
pub(in crate::onnx) struct Turned {
    made: Made,
    /// The axis of the graph that the rows belong to; each before it is one part.
    axis: usize,
    /// Parts of that axis that stand before and behind the rows: 0 or 1 of each.
    outer: usize,
    inner: usize,
}

impl Turned {
    /// The sizes as the graph sees them, the rows by their stand-in.
    #[expect(clippy::cast_possible_wrap, reason = "sizes are bounded")]
    pub(super) fn sizes(&self) -> Vec<i64> {
        let parts: Vec<i64> = self.made.dims[1..]
            .iter()
            .map(|&size| size as i64)
            .collect();
        let (before, rest) = parts.split_at(self.axis);
        let (own, after) = rest.split_at(self.outer + self.inner);
        let own = own
            .iter()
            .fold(BATCH, |product, &size| product.saturating_mul(size));
        [before, &[own], after].concat()
    }

    /// How many numbers each row has.
    pub(super) fn features(&self) -> usize {
        self.made.features()
    }

    fn rank(&self) -> usize {
        self.made.dims.len() - self.outer - self.inner
    }

    /// An axis of the graph other than the rows', as one of the tensor's own.
    fn inner_axis(&self, node: &Node, given: i64) -> Result<usize> {
        let at = super::shape::axis(node, given, self.rank())?;
        match at.cmp(&self.axis) {
            std::cmp::Ordering::Less => Ok(at + 1),
            std::cmp::Ordering::Equal => Err(node.unsupported(
                "it acts across rows, so that a row's prediction depends on the others",
                "",
            )),
            std::cmp::Ordering::Greater => Ok(at + self.outer + self.inner),
        }
    }

    /// How many numbers of a row stand before the next row's, and how many belong together behind.
    pub(super) fn around(&self) -> (usize, usize) {
        let (before, after) = self.made.dims[1..].split_at(self.axis + self.outer);
        (before.iter().product(), after.iter().product())
    }

    /// The same layout, as far as numbers of two tensors meet.
    fn is_like(&self, other: &Self) -> bool {
        (self.axis, self.outer, self.inner, self.rank())
            == (other.axis, other.outer, other.inner, other.rank())
    }

    /// As a value: an ordinary tensor where the rows have come to stand first.
    fn value(self) -> Value {
        if self.axis > 0 || self.outer > 0 {
            return Value::Turned(self);
        }
        let mut made = self.made;
        if self.inner == 1 {
            made.dims.remove(0);
        }
        Value::Tensor(made)
    }
}

/// The refusal of an operator that needs rows first.
pub(super) fn refused(node: &Node) -> crate::onnx::OnnxError {
    node.unsupported(
        "it reads a tensor whose rows are not at the first axis",
        "export with rows first (`batch_first=True`)",
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
            one(Some(again(node, made, turned, turned.axis)?))
        }
        ("GatherND", Some(_), Some(turned)) => one(Some(gathered(to, node, &values, turned)?)),
        ("Gemm" | "MatMul", Some(Value::Turned(turned)), _) => {
            one(Some(dense(to, node, values, &turned)?))
        }
        (_, _, Some(turned)) => read(to, node, values, turned),
        _ => Ok(None),
    }
}

/// Rows and what is around them, of any value that has rows.
fn parts(to: &mut Lowering<'_>, node: &Node, value: Value) -> Result<Turned> {
    match value {
        Value::Turned(turned) => Ok(turned),
        value => {
            let mut made = to.made(node, value)?;
            let inner = usize::from(made.dims.first() != Some(&1));
            if inner == 1 {
                made.dims.insert(0, 1);
            }
            Ok(Turned {
                made,
                axis: 0,
                outer: 0,
                inner,
            })
        }
    }
}

/// A value with rows first, beside others of the same layout.
fn plain(node: &Node, like: &Turned, value: Value) -> Result<Value> {
    match value {
        Value::Turned(turned) if turned.is_like(like) => Ok(Value::Tensor(turned.made)),
        Value::Constant(array) if array.len() == 1 && array.dims.len() <= 1 => {
            Ok(Value::Constant(array))
        }
        Value::Constant(array) => {
            let rank = like.rank();
            let mut sizes = vec![1; rank.saturating_sub(array.dims.len())];
            sizes.extend_from_slice(&array.dims);
            // The rows' own axis has one number for all of them; it moves to the front.
            if sizes.len() != rank || sizes.remove(like.axis) != 1 {
                return Err(refused(node));
            }
            for _ in 0..like.outer + like.inner {
                sizes.insert(like.axis, 1);
            }
            sizes.insert(0, 1);
            let moved = std::rc::Rc::unwrap_or_clone(array).reshaped(sizes)?;
            Ok(Value::Constant(std::rc::Rc::new(moved)))
        }
        _ => Err(refused(node)),
    }
}

/// A result with rows first, as the graph has it.
fn again(node: &Node, value: Value, like: &Turned, axis: usize) -> Result<Value> {
    match value {
        Value::Tensor(made) => Ok(Turned {
            made,
            axis,
            ..like.clone()
        }
        .value()),
        Value::Constant(array) => Ok(Value::Constant(array)),
        _ => Err(refused(node)),
    }
}

/// A constant matrix applied to the last axis.
fn dense(
    to: &mut Lowering<'_>,
    node: &Node,
    values: Vec<Option<Value>>,
    turned: &Turned,
) -> Result<Value> {
    let others = values.iter().skip(1).flatten();
    let is_matrix = others
        .clone()
        .all(|value| matches!(value, Value::Constant(_)));
    let is_last = turned.axis + 1 == turned.rank();
    let (Some(&last), true, false) = (turned.made.dims.last(), is_matrix, is_last) else {
        return Err(refused(node));
    };
    if last == 0 {
        return Err(node.broken("it reads no numbers"));
    }
    let mut flat = turned.made.clone();
    flat.dims = vec![flat.features() / last, last];
    let given = vec![(node.inputs[0].clone(), Value::Tensor(flat))];
    let made = to.with_values(given, |to| to.node(node))?;
    let Some(Value::Tensor(made)) = made.into_iter().next() else {
        return Err(refused(node));
    };
    let (mut dims, outputs) = (turned.made.dims.clone(), made.dims.last().copied());
    dims.pop();
    dims.extend(outputs.filter(|_| made.dims.len() == 2));
    let made = Made {
        place: made.place,
        dims,
    };
    again(node, Value::Tensor(made), turned, turned.axis)
}

/// `GatherND` of constant places along the axes before the rows.
fn gathered(
    to: &mut Lowering<'_>,
    node: &Node,
    values: &[Option<Value>],
    turned: &Turned,
) -> Result<Value> {
    let Some(Some(Value::Constant(indices))) = values.get(1) else {
        return Err(refused(node));
    };
    let count = indices.dims.last().copied().unwrap_or(0);
    if node.int("batch_dims", 0) != 0 || count == 0 || count > turned.axis {
        return Err(refused(node));
    }
    let from = &turned.made.dims;
    let step = steps(from);
    let mut starts = Vec::new();
    for place in indices.to_whole()?.chunks(count) {
        let mut start = 0;
        for (axis, &index) in place.iter().enumerate() {
            let size = i64::try_from(from[axis + 1]).unwrap_or(0);
            let counted = if index < 0 { index + size } else { index };
            let inside = usize::try_from(counted)
                .ok()
                .filter(|&at| at < from[axis + 1]);
            let inside = inside.ok_or_else(|| node.broken(format!("index {index} of {size}")))?;
            start += inside * step[axis + 1];
        }
        starts.push(start);
    }
    let (outer, rest) = (&indices.dims[..indices.dims.len() - 1], &from[1 + count..]);
    let mut sizes = vec![starts.len()];
    sizes.extend_from_slice(rest);
    let order = places(&sizes, |at| {
        let inner = at[1..].iter().zip(&step[1 + count..]);
        starts[at[0]] + inner.map(|(at, step)| at * step).sum::<usize>()
    });
    let dims = [&[1], outer, rest].concat();
    let made = to.gathered(&turned.made, dims, &order)?;
    let axis = turned.axis - count + outer.len();
    again(node, Value::Tensor(made), turned, axis)
}

/// An operator that reads such a tensor: computed with rows first, where its axes can be counted that way.
fn read(
    to: &mut Lowering<'_>,
    node: &Node,
    mut values: Vec<Option<Value>>,
    turned: &Turned,
) -> Result<Option<Vec<Value>>> {
    let mut changed = node.clone();
    let mut rows = turned.axis;
    let place = |axis: usize| i64::try_from(axis).unwrap_or(0);
    match node.operator.as_str() {
        "Identity" | "Cast" | "CastLike" | "Dropout" | "Relu" | "Sigmoid" | "Tanh"
        | "LeakyRelu" | "Softplus" | "Elu" | "Gelu" | "HardSigmoid" | "HardSwish" | "Mish"
        | "Selu" | "Celu" | "Softsign" | "Neg" | "Abs" | "Sqrt" | "Exp" | "Log" | "Reciprocal"
        | "Erf" | "Sin" | "Cos" | "Atan" | "Asinh" | "Clip" | "Add" | "Sub" | "Mul" | "Div"
        | "Pow" | "Max" | "Min" | "Sum" | "Mean" => {}
        "Softmax" | "LogSoftmax" | "LayerNormalization" => {
            let axis = turned.inner_axis(node, node.int("axis", -1))?;
            let is_layer = node.operator == "LayerNormalization";
            let is_behind = axis > turned.axis + turned.outer + turned.inner;
            let has_meaning = if is_layer {
                is_behind
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
            if axis <= turned.axis {
                rows = rows + indices.dims.len() - 1;
            }
        }
        "Split" => {
            let axis = turned.inner_axis(node, node.int("axis", 0))?;
            changed.set_ints("axis", &[place(axis)]);
        }
        "Slice" => {
            let given = match to.constant(node, 3)? {
                Some(axes) => axes.to_whole()?,
                None => match (node.ints("axes"), to.constant(node, 1)?) {
                    (Some(axes), _) => axes,
                    (None, Some(starts)) => (0..i64::try_from(starts.len()).unwrap_or(0)).collect(),
                    (None, None) => return Err(refused(node)),
                },
            };
            let axes = given
                .iter()
                .map(|&one| turned.inner_axis(node, one).map(place));
            changed.set_ints("axes", &axes.collect::<Result<Vec<_>>>()?);
            if let Some(axes) = changed.inputs.get_mut(3) {
                axes.clear();
            }
        }
        operator if operator.starts_with("Reduce") => {
            let given = match to.constant(node, 1)? {
                Some(axes) => Some(axes.to_whole()?),
                None => node.ints("axes"),
            };
            let given = given
                .filter(|axes| !axes.is_empty())
                .unwrap_or_else(|| vec![place(rows)]);
            let axes = given.iter().map(|&one| turned.inner_axis(node, one));
            let axes = axes.collect::<Result<Vec<_>>>()?;
            if node.int("keepdims", 1) == 0 {
                rows -= axes.iter().filter(|&&axis| axis <= turned.axis).count();
            }
            changed.set_ints("axes", &axes.into_iter().map(place).collect::<Vec<_>>());
            changed.inputs.truncate(1);
            values.truncate(1);
        }
        _ => return Err(refused(node)),
    }
    // What reads constants as places, ends or weights reads them as they are.
    let is_by_number = !matches!(
        node.operator.as_str(),
        "Gather" | "LayerNormalization" | "Clip" | "Split" | "Slice"
    );
    let mut given = Vec::new();
    for (name, value) in changed.inputs.iter().zip(values) {
        if let Some(value) = value.filter(|_| !name.is_empty()) {
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
        .map(|value| again(node, value, turned, rows));
    made.collect::<Result<Vec<_>>>().map(Some)
}
