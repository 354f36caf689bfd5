//! `Einsum`: products of tensors whose axes have letters, two at a time: each becomes a dense layer (with a constant) or a product of matrices.

use thickset_engine::layer::{Form, ProductShape};

use super::shape::{places, steps};
use super::{Lowering, Made, Value};
use crate::onnx::array::Array;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    if node.operator != "Einsum" {
        return Ok(None);
    }
    let text = node.text("equation").unwrap_or_default();
    let text: String = text
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let Some((inputs, output)) = text.split_once("->") else {
        return Err(unread(node, &text));
    };
    let inputs: Vec<Vec<char>> = inputs.split(',').map(|one| one.chars().collect()).collect();
    let output: Vec<char> = output.chars().collect();
    let is_plain = |letters: &Vec<char>| {
        let is_once = |(at, letter): (usize, &char)| !letters[..at].contains(letter);
        letters.iter().all(char::is_ascii_alphabetic) && letters.iter().enumerate().all(is_once)
    };
    if inputs.len() != node.inputs.len() || !inputs.iter().chain([&output]).all(is_plain) {
        return Err(unread(node, &text));
    }
    let values = (0..inputs.len()).map(|place| to.input(node, place));
    let values = values.collect::<Result<Vec<_>>>()?;
    for (value, letters) in values.iter().zip(&inputs) {
        let rank = super::shape::dims(value).len();
        if rank != letters.len() {
            return Err(node.broken(format!("{rank} axes for the letters {letters:?}")));
        }
    }
    let mut parts: Vec<(Value, Vec<char>)> = values.into_iter().zip(inputs).collect();
    // What a row computes first, then one after the other.
    parts.sort_by_key(|(value, _)| matches!(value, Value::Constant(_)));
    let mut rest = parts.into_iter();
    let Some((first, mut letters)) = rest.next() else {
        return Err(unread(node, &text));
    };
    let mut made = to.made(node, first)?;
    if rest.len() == 0 {
        made = summed(to, node, &made, &letters, &output)?;
    }
    while let Some((value, others)) = rest.next() {
        // All that is still read, of both.
        let later: Vec<char> = rest
            .as_slice()
            .iter()
            .flat_map(|(_, one)| one.clone())
            .collect();
        let is_read = |one: &&char| output.contains(one) || later.contains(one);
        let kept = if later.is_empty() {
            output.clone()
        } else {
            let new = others.iter().filter(|one| !letters.contains(one));
            letters.iter().chain(new).filter(is_read).copied().collect()
        };
        made = pair(to, node, (&made, &letters), (value, &others), &kept)?;
        letters = kept;
    }
    Ok(Some(Value::Tensor(made)))
}

/// A tensor with a constant, or with another tensor of the same rows.
fn pair(
    to: &mut Lowering<'_>,
    node: &Node,
    (made, a): (&Made, &[char]),
    (value, b): (Value, &[char]),
    output: &[char],
) -> Result<Made> {
    if let Value::Constant(array) = value {
        return with_constant(to, node, (made, a), (&array, b), output);
    }
    let other = to.made(node, value)?;
    if a.first() != b.first() || a.first() != output.first() {
        return Err(mixed(node));
    }
    product(to, node, (made, a), (&other, b), output)
}

fn unread(node: &Node, text: &str) -> crate::onnx::OnnxError {
    node.unsupported(
        format!(
            "the equation `{text}`; products of tensors with each letter once in each are read"
        ),
        "write it with MatMul, Transpose and sums",
    )
}

fn mixed(node: &Node) -> crate::onnx::OnnxError {
    node.unsupported(
        "it mixes rows, so that a row's prediction depends on the others",
        "export with a first axis of rows that every layer keeps",
    )
}

/// The sizes of letters.
fn size(made: &[usize], letters: &[char], letter: char) -> usize {
    let place = letters.iter().position(|&one| one == letter);
    place.map_or(1, |place| made[place])
}

/// Axes in another order.
fn ordered(to: &mut Lowering<'_>, made: &Made, letters: &[char], order: &[char]) -> Result<Made> {
    let sizes: Vec<usize> = order
        .iter()
        .map(|&one| size(&made.dims, letters, one))
        .collect();
    let step = steps(&made.dims);
    let step: Vec<usize> = order
        .iter()
        .map(|one| {
            let place = letters.iter().position(|known| known == one);
            place.map_or(0, |place| step[place])
        })
        .collect();
    let order = places(&sizes, |at| {
        at.iter().zip(&step).map(|(at, step)| at * step).sum()
    });
    to.gathered(made, sizes, &order)
}

/// Letters that the output does not have are summed over.
fn summed(
    to: &mut Lowering<'_>,
    node: &Node,
    made: &Made,
    letters: &[char],
    output: &[char],
) -> Result<Made> {
    if letters.first() != output.first() || output.iter().any(|one| !letters.contains(one)) {
        return Err(mixed(node));
    }
    let gone = letters.iter().copied().filter(|one| !output.contains(one));
    let order: Vec<char> = output.iter().copied().chain(gone).collect();
    let mut made = ordered(to, made, letters, &order)?;
    if order.len() > output.len() {
        let axes: Vec<usize> = (output.len()..order.len()).collect();
        made = super::reduce::along(to, node, &made, &axes, "Sum")?;
        made.dims.truncate(output.len());
    }
    Ok(made)
}

/// A tensor and a constant without rows: a dense layer where they share only what is summed over.
pub(super) fn with_constant(
    to: &mut Lowering<'_>,
    node: &Node,
    (made, a): (&Made, &[char]),
    (array, b): (&Array, &[char]),
    output: &[char],
) -> Result<Made> {
    let Some(&rows) = a.first().filter(|rows| output.first() == Some(rows)) else {
        return Err(mixed(node));
    };
    if b.contains(&rows) {
        return Err(mixed(node));
    }
    let shared = |one: &&char| a.contains(*one);
    if b.iter().filter(shared).any(|one| output.contains(one)) {
        let letters: Vec<char> = std::iter::once(rows).chain(b.iter().copied()).collect();
        let mut dims = vec![1];
        dims.extend_from_slice(&array.dims);
        let constant = to.constant_layer(made, dims, array.to_floats()?)?;
        return product(to, node, (made, a), (&constant, &letters), output);
    }
    let inner: Vec<char> = b.iter().copied().filter(|one| a.contains(one)).collect();
    let outer: Vec<char> = b.iter().copied().filter(|one| !a.contains(one)).collect();
    let kept: Vec<char> = a
        .iter()
        .copied()
        .filter(|one| !inner.contains(one))
        .collect();
    if kept.iter().chain(&outer).any(|one| !output.contains(one)) {
        return Err(node.unsupported("a letter is summed over in one of them alone", ""));
    }
    let product = |letters: &[char]| -> usize {
        letters
            .iter()
            .map(|&one| size(&array.dims, b, one))
            .product()
    };
    let (read, outputs) = (product(&inner), product(&outer));
    let order: Vec<char> = kept.iter().chain(&inner).copied().collect();
    let mut first = ordered(to, made, a, &order)?;
    if first.features() % read.max(1) != 0
        || inner
            .iter()
            .any(|&one| size(&made.dims, a, one) != size(&array.dims, b, one))
    {
        return Err(node.broken("a letter has two sizes"));
    }
    let mut dims = first.dims[..kept.len()].to_vec();
    first.dims.clone_from(&dims);
    first.dims.push(read);
    // The constant as `[outer, inner]`.
    let order: Vec<char> = outer.iter().chain(&inner).copied().collect();
    let step = steps(&array.dims);
    let sizes: Vec<usize> = order.iter().map(|&one| size(&array.dims, b, one)).collect();
    let step: Vec<usize> = order
        .iter()
        .map(|one| {
            b.iter()
                .position(|known| known == one)
                .map_or(0, |place| step[place])
        })
        .collect();
    let values = array.to_floats()?;
    let weight = places(&sizes, |at| {
        at.iter().zip(&step).map(|(at, step)| at * step).sum()
    });
    let weight = weight.into_iter().map(|place| values[place]).collect();
    let mut dense = to.dense(&first, weight, vec![0.0; outputs])?;
    dims.extend(outer.iter().map(|&one| size(&array.dims, b, one)));
    dense.dims = dims;
    let letters: Vec<char> = kept.into_iter().chain(outer).collect();
    ordered(to, &dense, &letters, output)
}

/// Two tensors of the same rows, as products of matrices.
fn product(
    to: &mut Lowering<'_>,
    node: &Node,
    (first, a): (&Made, &[char]),
    (second, b): (&Made, &[char]),
    output: &[char],
) -> Result<Made> {
    let letters = |of: &[char], is: &dyn Fn(&char) -> bool| -> Vec<char> {
        of.iter().copied().filter(|one| is(one)).collect()
    };
    let pairs = letters(a, &|one| b.contains(one) && output.contains(one));
    let inner = letters(a, &|one| b.contains(one) && !output.contains(one));
    let rows = letters(a, &|one| !b.contains(one));
    let columns = letters(b, &|one| !a.contains(one));
    if rows.iter().chain(&columns).any(|one| !output.contains(one)) {
        return Err(node.unsupported("a letter is summed over in one of them alone", ""));
    }
    for one in pairs.iter().chain(&inner) {
        if size(&first.dims, a, *one) != size(&second.dims, b, *one) {
            return Err(node.broken(format!("the letter `{one}` has two sizes")));
        }
    }
    let count = |letters: &[char]| -> usize {
        let of = |&one: &char| size(&first.dims, a, one).max(size(&second.dims, b, one));
        letters.iter().map(of).product()
    };
    let shape = ProductShape {
        pairs: count(&pairs),
        rows: count(&rows),
        inner: count(&inner),
        columns: count(&columns),
    };
    let left = ordered(
        to,
        first,
        a,
        &[pairs.clone(), rows.clone(), inner.clone()].concat(),
    )?;
    let right = ordered(
        to,
        second,
        b,
        &[pairs.clone(), inner, columns.clone()].concat(),
    )?;
    let made = [pairs, rows, columns].concat();
    let dims = made
        .iter()
        .map(|&one| size(&first.dims, a, one).max(size(&second.dims, b, one)));
    let product = to.add(Form::MatrixProduct(shape), &[&left, &right], dims.collect())?;
    ordered(to, &product, &made, output)
}
