//! `Sign`, where it is no step: `sign(x) f(|x|)` with `f(0) = 0`, as one writes a logarithm of numbers of both signs.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::{Lowering, Value};
use crate::onnx::array::Array;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

/// What going through a node once more takes, in numbers that are computed.
const NODE: usize = 64;

/// The product of a sign and of numbers that are zero wherever the sign changes; `None` if the node is none.
///
/// # Errors
/// If the numbers cannot be read.
pub(super) fn product(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    let [a, b] = &node.inputs[..] else {
        return Ok(None);
    };
    // What is computed with zeros is not computed within itself again.
    if to.is_trial {
        return Ok(None);
    }
    let (of, other) = match (to.signs.get(a), to.signs.get(b)) {
        (Some(of), None) => (of.clone(), b),
        (None, Some(of)) => (of.clone(), a),
        _ => return Ok(None),
    };
    let decider = to.find(&of)?;
    let decider = to.made(node, decider)?;
    if !vanishes(to, &of, decider.dims.clone(), other)? {
        return Ok(None);
    }
    let size = match to.find(other)? {
        Value::Constant(_) => return Ok(None),
        size => to.made(node, size)?,
    };
    if size.dims != decider.dims {
        return Ok(None);
    }
    let opposite = to.affine(&size, &[-1.0], &[0.0], None)?;
    let dims = size.dims.clone();
    let made = to.add(Form::Select, &[&decider, &size, &opposite], dims)?;
    Ok(Some(Value::Tensor(made)))
}

/// Whether a value is zero where another is, computed with the other as a constant.
fn vanishes(to: &mut Lowering<'_>, of: &str, dims: Vec<usize>, value: &str) -> Result<bool> {
    let mut at_zero = Lowering::new(to.graph)?;
    at_zero.room = to.room.clone();
    at_zero.is_trial = true;
    let zeros = vec![0.0; dims.iter().product()];
    let zeros = Value::Constant(Rc::new(Array::floats(dims, zeros)));
    at_zero.values.insert(of.to_owned(), zeros);
    let found = at_zero.lower(value);
    // What this took is taken from what the file may take.
    to.room = at_zero.room;
    to.room.work(to.graph.nodes.len().saturating_mul(NODE))?;
    Ok(match found {
        Ok(Value::Constant(found)) => found
            .as_floats()
            .is_ok_and(|found| found.iter().all(|&one| one == 0.0)),
        _ => false,
    })
}
