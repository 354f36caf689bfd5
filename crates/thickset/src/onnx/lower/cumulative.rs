//! `CumSum`: sums of all numbers up to each one along an axis, as a dense layer of zeros and ones.

use super::einsum::with_constant;
use super::shape::inner_axis;
use super::{Lowering, Value};
use crate::onnx::array::Array;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

/// The longest axis that is summed along; the layer has its square of weights.
const LONGEST: usize = 1 << 11;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    if node.operator != "CumSum" {
        return Ok(None);
    }
    let made = to.tensor(node, 0)?;
    let axis = match to.constant(node, 1)? {
        Some(axis) => axis.to_whole()?,
        None => Vec::new(),
    };
    let &[axis] = axis.as_slice() else {
        return Err(node.broken(format!("one axis is expected, got {axis:?}")));
    };
    let rank = made.dims.len();
    let axis = inner_axis(node, &Value::Tensor(made.clone()), axis, rank)?;
    let size = made.dims[axis];
    if size > LONGEST || rank > 8 {
        return Err(node.unsupported(format!("it sums along {size} numbers of {rank} axes"), ""));
    }
    let (own, reversed) = (node.int("exclusive", 0) == 0, node.int("reverse", 0) != 0);
    let counts = |from: usize, to: usize| {
        let (from, to) = if reversed { (to, from) } else { (from, to) };
        f64::from(u8::from(from < to || (own && from == to)))
    };
    let values = (0..size * size).map(|at| counts(at / size, at % size));
    let ones = Array::floats(vec![size, size], values.collect());
    let letters: Vec<char> = "abcdefgh".chars().take(rank).collect();
    let mut output = letters.clone();
    output[axis] = 'z';
    let summed = with_constant(
        to,
        node,
        (&made, &letters),
        (&ones, &[letters[axis], 'z']),
        &output,
    )?;
    Ok(Some(Value::Tensor(summed)))
}
