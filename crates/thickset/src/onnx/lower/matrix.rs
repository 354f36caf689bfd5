//! Products of matrices: dense layers, and products of two tensors of a row.

use thickset_engine::layer::{Form, ProductShape};

use super::{Lowering, Made, Value};
use crate::onnx::array::Array;
use crate::onnx::fold::{broadcast, expanded};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    let made = match node.operator.as_str() {
        "Gemm" => gemm(to, node)?,
        "MatMul" => product(to, node)?,
        _ => return Ok(None),
    };
    Ok(Some(Value::Tensor(made)))
}

/// The transpose of a matrix.
fn transposed(values: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let mut turned = Vec::with_capacity(values.len());
    for column in 0..columns {
        turned.extend((0..rows).map(|row| values[row * columns + column]));
    }
    turned
}

impl Lowering<'_> {
    /// A dense layer along the last axis, `weight` `[outputs, inputs]`.
    pub(in crate::onnx) fn dense(
        &mut self,
        made: &Made,
        weight: Vec<f64>,
        bias: Vec<f64>,
    ) -> Result<Made> {
        let outputs = bias.len();
        let (last, before) = made.dims.split_last().unwrap_or((&1, &[]));
        let (inputs, runs) = (*last, before.iter().product::<usize>());
        let mut dims = before.to_vec();
        dims.push(outputs);
        let weights = vec![
            ("weight", vec![outputs, inputs], weight),
            ("bias", vec![outputs], bias),
        ];
        let form = if runs == 1 {
            Form::Linear { inputs, outputs }
        } else {
            Form::LinearRuns {
                runs,
                inputs,
                outputs,
            }
        };
        self.add_with(form, &[made], dims, weights)
    }
}

fn gemm(to: &mut Lowering<'_>, node: &Node) -> Result<Made> {
    let made = to.tensor(node, 0)?;
    let weight = to
        .constant(node, 1)?
        .ok_or_else(|| node.broken("its second input is missing"))?;
    let ([_, inputs], [rows, columns]) = (&made.dims[..], &weight.dims[..]) else {
        return Err(node.broken(format!(
            "it multiplies matrices, got {:?} and {:?}",
            made.dims, weight.dims
        )));
    };
    if node.int("transA", 0) != 0 {
        return Err(node.unsupported("it turns rows into columns", ""));
    }
    let is_turned = node.int("transB", 0) != 0;
    let (inner, outputs) = if is_turned {
        (*columns, *rows)
    } else {
        (*rows, *columns)
    };
    if inner != *inputs {
        return Err(node.broken(format!("{inputs} numbers meet {inner} weights")));
    }
    let alpha = node.float("alpha", 1.0);
    let values = weight.to_floats()?;
    let mut values = if is_turned {
        values
    } else {
        transposed(&values, *rows, *columns)
    };
    for value in &mut values {
        *value *= alpha;
    }
    let beta = node.float("beta", 1.0);
    let computed = match node.input(2) {
        Some(_) => Some(to.input(node, 2)?),
        None => None,
    };
    let (bias, later) = match computed {
        None => (vec![0.0; outputs], None),
        Some(Value::Constant(array)) => {
            let bias = expanded(&array, &broadcast(&array.dims, &[1, outputs])?)?;
            if bias.len() != outputs {
                return Err(
                    node.broken(format!("a bias of {:?} for {outputs} outputs", array.dims))
                );
            }
            (
                bias.to_floats()?
                    .into_iter()
                    .map(|value| value * beta)
                    .collect(),
                None,
            )
        }
        Some(other) => (vec![0.0; outputs], Some(other)),
    };
    let dense = to.dense(&made, values, bias)?;
    match later {
        None => Ok(dense),
        Some(other) => {
            let other = to.made(node, other)?;
            let scaled = to.affine(&other, &[beta], &[0.0], None)?;
            to.of_two(node, "Add", &dense, &scaled)
        }
    }
}

fn product(to: &mut Lowering<'_>, node: &Node) -> Result<Made> {
    match (to.input(node, 0)?, to.input(node, 1)?) {
        (a, Value::Constant(b)) => {
            let a = to.made(node, a)?;
            with_matrix(to, node, &a, &b)
        }
        (Value::Constant(a), b) => {
            let b = to.made(node, b)?;
            if a.dims.len() < 2 {
                return Err(node.unsupported(format!("a constant of {:?} comes first", a.dims), ""));
            }
            let &[rows, inner] = matrix(&a) else {
                let a = several(to, node, &b, &a)?;
                return of_tensors(to, node, &a, &b);
            };
            if b.dims.len() < 3 || b.dims[b.dims.len() - 2] != inner {
                return Err(node.unsupported(
                    "it mixes rows, so that a row's prediction depends on the others",
                    "",
                ));
            }
            let turned = to.swapped(&b)?;
            let dense = to.dense(&turned, a.to_floats()?, vec![0.0; rows])?;
            to.swapped(&dense)
        }
        (a, b) => {
            let (a, b) = (to.made(node, a)?, to.made(node, b)?);
            of_tensors(to, node, &a, &b)
        }
    }
}

/// The sizes of a constant without axes of one in front of its matrix.
fn matrix(array: &Array) -> &[usize] {
    let mut sizes = &array.dims[..];
    while let [1, rest @ ..] = sizes
        && rest.len() >= 2
    {
        sizes = rest;
    }
    sizes
}

/// Several constant matrices, one for each place of the inner axes of a tensor, as a tensor that is the same for every row.
fn several(to: &mut Lowering<'_>, node: &Node, like: &Made, array: &Array) -> Result<Made> {
    let (rank, own) = (like.dims.len(), array.dims.len());
    let is_of_rows = own > rank || (own == rank && array.dims[0] != 1);
    if is_of_rows {
        return Err(node.unsupported(
            format!("a constant of {:?} has a matrix for each row", array.dims),
            "",
        ));
    }
    let mut dims = vec![1; rank - own];
    dims.extend_from_slice(&array.dims);
    to.constant_layer(like, dims, array.to_floats()?)
}

fn with_matrix(to: &mut Lowering<'_>, node: &Node, a: &Made, b: &Array) -> Result<Made> {
    let mut sizes = matrix(b).to_vec();
    let is_vector = sizes.len() == 1;
    if is_vector {
        sizes.push(1);
    }
    let [inner, outputs] = sizes[..] else {
        let b = several(to, node, a, b)?;
        return of_tensors(to, node, a, &b);
    };
    if a.dims.len() < 2 || a.dims[a.dims.len() - 1] != inner {
        return Err(node.broken(format!("{:?} and {:?} have no product", a.dims, b.dims)));
    }
    let weight = transposed(&b.to_floats()?, inner, outputs);
    let mut made = to.dense(a, weight, vec![0.0; outputs])?;
    if is_vector {
        made.dims.pop();
    }
    Ok(made)
}

fn of_tensors(to: &mut Lowering<'_>, node: &Node, a: &Made, b: &Made) -> Result<Made> {
    let rank = a.dims.len();
    if rank < 3 || b.dims.len() != rank {
        return Err(node.unsupported(
            "it mixes rows, so that a row's prediction depends on the others",
            "",
        ));
    }
    let before = broadcast(&a.dims[..rank - 2], &b.dims[..rank - 2])?;
    let wide = |made: &Made| {
        let mut dims = before.clone();
        dims.extend_from_slice(&made.dims[rank - 2..]);
        dims
    };
    let (a_dims, b_dims) = (wide(a), wide(b));
    let (a, b) = (
        to.repeated(node, a, &a_dims)?,
        to.repeated(node, b, &b_dims)?,
    );
    let (rows, inner, columns) = (a_dims[rank - 2], a_dims[rank - 1], b_dims[rank - 1]);
    if inner != b_dims[rank - 2] {
        return Err(node.broken(format!("{:?} and {:?} have no product", a.dims, b.dims)));
    }
    let shape = ProductShape {
        pairs: before.iter().product(),
        rows,
        inner,
        columns,
    };
    let mut dims = before;
    dims.extend([rows, columns]);
    to.add(Form::MatrixProduct(shape), &[&a, &b], dims)
}
