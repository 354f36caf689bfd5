//! Operators of constants alone, computed when the file is read: shapes, indices, and weights that an exporter left in pieces.

#![expect(clippy::cast_possible_wrap, reason = "sizes are far below 2^63")]

use std::rc::Rc;

use super::array::{Array, Data, single};
use super::elementwise::{binary, matrix_product};
pub(super) use super::elementwise::{broadcast, broadcast_places, expanded, of_two, unary};
use super::problem::{Result, broken};
use super::read::{Graph, Node};

/// The most numbers that an operator may make of smaller constants.
pub(super) const MOST_MADE: usize = 1 << 22;

/// What the operator makes of constants; `None` if it is not one that is computed here.
///
/// # Errors
/// If it cannot be computed of what it is given.
#[expect(clippy::too_many_lines, reason = "one arm an operator")]
pub(super) fn fold(
    graph: &Graph,
    node: &Node,
    inputs: &[Option<Rc<Array>>],
) -> Result<Option<Vec<Array>>> {
    let first = || -> Result<&Array> {
        let first = inputs.first().and_then(Option::as_deref);
        first.ok_or_else(|| node.broken("its first input is missing"))
    };
    let input = |place: usize| inputs.get(place).and_then(Option::as_deref);
    let one = |array: Array| Ok(Some(vec![array]));
    match node.operator.as_str() {
        "Constant" => one(constant(graph, node)?),
        "Identity" | "Dropout" => one(first()?.clone()),
        "ConstantOfShape" => {
            let dims = to_sizes(&first()?.to_whole()?)?;
            check_made(&dims)?;
            let value = match node.tensor("value") {
                Some(tensor) => graph.array(tensor)?,
                None => Array::floats(vec![1], vec![0.0]),
            };
            let count = dims.iter().product::<usize>();
            one(value.picked(dims, std::iter::repeat_n(0, count)))
        }
        "Cast" | "CastLike" => {
            let to = if node.operator == "Cast" {
                node.int("to", 0)
            } else {
                let like = input(1).ok_or_else(|| node.broken("its second input is missing"))?;
                match &like.data {
                    Data::Float {
                        is_double: false, ..
                    } => 1,
                    Data::Float {
                        is_double: true, ..
                    } => 11,
                    Data::Whole(_) => 7,
                    Data::Text(_) => 8,
                }
            };
            one(cast(first()?, to)?)
        }
        "Shape" => {
            let dims = first()?.dims.iter();
            one(shape_part(node, dims.map(|&size| size as i64).collect()))
        }
        "Size" => one(Array::whole(vec![], vec![first()?.len() as i64])),
        "Range" => {
            let number = |place: usize| {
                input(place).map_or(Err(broken("a range has three ends")), Array::to_number)
            };
            let (start, end, step) = (number(0)?, number(1)?, number(2)?);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "bounded just below"
            )]
            let count = ((end - start) / step).ceil().clamp(0.0, 1e9) as usize;
            check_made(&[count])?;
            #[expect(clippy::cast_precision_loss, reason = "few numbers")]
            let values: Vec<f64> = (0..count)
                .map(|place| start + place as f64 * step)
                .collect();
            one(like(first()?, vec![count], values))
        }
        "Neg" | "Abs" | "Sqrt" | "Exp" | "Log" | "Reciprocal" | "Floor" | "Ceil" | "Round"
        | "Not" | "Sigmoid" | "Tanh" | "Relu" | "Erf" | "Sign" | "Sin" | "Cos" | "Softplus" => {
            let array = first()?;
            let values = array.as_floats()?;
            let values = values.iter().map(|&value| unary(&node.operator, value));
            one(like(array, array.dims.clone(), values.collect()))
        }
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Min" | "Max" | "Mod" | "Equal" | "Less"
        | "Greater" | "LessOrEqual" | "GreaterOrEqual" | "And" | "Or" | "Sum" | "Mean" => {
            let mut result = first()?.clone();
            for place in 1..inputs.len() {
                let other = input(place).ok_or_else(|| node.broken("an input is missing"))?;
                result = binary(&node.operator, &result, other)?;
            }
            if node.operator == "Mean" {
                #[expect(clippy::cast_precision_loss, reason = "few inputs")]
                let count = inputs.len() as f64;
                let values = result.as_floats()?;
                let values = values.iter().map(|value| value / count).collect();
                result = like(&result, result.dims.clone(), values);
            }
            one(result)
        }
        "Where" => {
            let [Some(condition), Some(a), Some(b)] = inputs else {
                return Err(node.broken("it takes three inputs"));
            };
            let dims = broadcast(&broadcast(&condition.dims, &a.dims)?, &b.dims)?;
            check_made(&dims)?;
            let [condition, first, second] = [condition, a, b].map(|array| expanded(array, &dims));
            let (condition, first, second) = (condition?, first?, second?);
            let (first, second) = (first.as_floats()?, second.as_floats()?);
            let condition = condition.as_floats()?;
            let chosen = condition.iter().zip(first.iter().zip(&*second));
            let values = chosen.map(|(&condition, (&a, &b))| if condition == 0.0 { b } else { a });
            one(like(a, dims, values.collect()))
        }
        "Trilu" => one(triangle(node, first()?, input(1))?),
        "MatMul" => {
            let [Some(a), Some(b)] = inputs else {
                return Ok(None);
            };
            matrix_product(a, b).map(|made| made.map(|made| vec![made]))
        }
        "Clip" => {
            let array = first()?;
            let bound = |place: usize, name: &str, open: f64| match input(place) {
                Some(bound) => bound.to_number(),
                None => Ok(node.float(name, open)),
            };
            let (least, most) = (
                bound(1, "min", f64::NEG_INFINITY)?,
                bound(2, "max", f64::INFINITY)?,
            );
            let values = array.to_floats()?.into_iter();
            let values = values.map(|value| value.max(least).min(most)).collect();
            one(like(array, array.dims.clone(), values))
        }
        operator if operator.starts_with("Reduce") => {
            let array = first()?;
            let given = match input(1) {
                Some(axes) => Some(axes.to_whole()?),
                None => node.ints("axes"),
            };
            let given = given.filter(|axes| !axes.is_empty());
            if given.is_none() && node.int("noop_with_empty_axes", 0) != 0 {
                return one(array.clone());
            }
            let made = reduced(node, array, given)?;
            Ok(made.map(|made| vec![made]))
        }
        _ => Ok(None),
    }
}

/// Sums, products and the like over axes, or over all of them; `None` for those that are not computed here.
fn reduced(node: &Node, array: &Array, given: Option<Vec<i64>>) -> Result<Option<Array>> {
    let rank = array.dims.len();
    let is_gone: Vec<bool> = match given {
        None => vec![true; rank],
        Some(axes) => {
            let mut is_gone = vec![false; rank];
            for axis in axes {
                let counted = if axis < 0 { axis + rank as i64 } else { axis };
                let place = usize::try_from(counted).ok().filter(|&place| place < rank);
                let place = place.ok_or_else(|| node.broken(format!("axis {axis} of {rank}")))?;
                is_gone[place] = true;
            }
            is_gone
        }
    };
    let kept = |axis: usize| if is_gone[axis] { 1 } else { array.dims[axis] };
    let sizes: Vec<usize> = (0..rank).map(kept).collect();
    let count = sizes.iter().product::<usize>();
    let values = array.as_floats()?;
    let groups = || broadcast_places(&sizes, &array.dims);
    // From a first number on, one number after the other into its group.
    let over = |first: f64, join: &dyn Fn(f64, f64) -> f64| -> Result<Vec<f64>> {
        let mut made = vec![first; count];
        for (group, &value) in groups()?.zip(&*values) {
            made[group] = join(made[group], value);
        }
        Ok(made)
    };
    let sum = |of: fn(f64) -> f64| over(0.0, &|sum, value| sum + of(value));
    let each = |made: Result<Vec<f64>>, of: &dyn Fn(f64) -> f64| -> Result<Vec<f64>> {
        Ok(made?.into_iter().map(of).collect())
    };
    #[expect(clippy::cast_precision_loss, reason = "few numbers")]
    let numbers = (values.len() / count.max(1)) as f64;
    let made: Result<Vec<f64>> = match node.operator.as_str() {
        "ReduceSum" => sum(|value| value),
        "ReduceMean" => each(sum(|value| value), &|sum| sum / numbers),
        "ReduceProd" => over(1.0, &|product, value| product * value),
        "ReduceMax" => over(f64::NEG_INFINITY, &f64::max),
        "ReduceMin" => over(f64::INFINITY, &f64::min),
        "ReduceL1" => sum(f64::abs),
        "ReduceL2" => each(sum(|value| value * value), &f64::sqrt),
        "ReduceSumSquare" => sum(|value| value * value),
        "ReduceLogSum" => each(sum(|value| value), &f64::ln),
        "ReduceLogSumExp" => {
            let most = over(f64::NEG_INFINITY, &f64::max)?;
            let mut sums = vec![0.0; count];
            for (group, &value) in groups()?.zip(&*values) {
                sums[group] += (value - most[group]).exp();
            }
            let pairs = most.into_iter().zip(sums);
            Ok(pairs
                .map(|(most, sum): (f64, f64)| most + sum.ln())
                .collect())
        }
        _ => return Ok(None),
    };
    let values = made?;
    let dims = if node.int("keepdims", 1) == 0 {
        (0..rank)
            .filter(|&axis| !is_gone[axis])
            .map(|axis| array.dims[axis])
            .collect()
    } else {
        sizes
    };
    Ok(Some(like(array, dims, values)))
}

/// The numbers on one side of a diagonal of matrices, zeros on the other.
fn triangle(node: &Node, array: &Array, diagonal: Option<&Array>) -> Result<Array> {
    let &[.., rows, columns] = array.dims.as_slice() else {
        return Err(node.broken("it reads no matrices"));
    };
    let shift = match diagonal.map(Array::to_whole).transpose()?.as_deref() {
        None => 0,
        Some(&[shift]) => shift,
        Some(more) => return Err(node.broken(format!("one diagonal is expected, got {more:?}"))),
    };
    let is_upper = node.int("upper", 1) != 0;
    let is_kept = |at: usize| {
        let (row, column) = (at / columns % rows, at % columns);
        let above = (column as i64).saturating_sub(row as i64);
        if is_upper {
            above >= shift
        } else {
            above <= shift
        }
    };
    let values = array.as_floats()?;
    let values = values.iter().enumerate();
    let values = values.map(|(at, &value)| if is_kept(at) { value } else { 0.0 });
    Ok(like(array, array.dims.clone(), values.collect()))
}

fn constant(graph: &Graph, node: &Node) -> Result<Array> {
    if let Some(tensor) = node.tensor("value") {
        return graph.array(tensor);
    }
    if node.has("value_float") {
        return Ok(Array::floats(vec![], vec![node.float("value_float", 0.0)]));
    }
    if node.has("value_floats") {
        let values = node.floats("value_floats");
        return Ok(Array::floats(vec![values.len()], values));
    }
    if node.has("value_int") {
        return Ok(Array::whole(vec![], vec![node.int("value_int", 0)]));
    }
    if let Some(values) = node.ints("value_ints") {
        return Ok(Array::list(values));
    }
    let texts = node.texts("value_strings");
    let texts = node.text("value_string").map_or(texts, |text| vec![text]);
    if texts.is_empty() {
        return Err(node.broken("it has no value"));
    }
    Ok(Array {
        dims: vec![texts.len()],
        data: Data::Text(texts),
    })
}

/// The part of sizes that `Shape` asks for.
pub(super) fn shape_part(node: &Node, sizes: Vec<i64>) -> Array {
    let rank = sizes.len() as i64;
    let place = |place: i64| {
        usize::try_from(if place < 0 { place + rank } else { place }.clamp(0, rank)).unwrap_or(0)
    };
    let (start, end) = (place(node.int("start", 0)), place(node.int("end", rank)));
    Array::list(
        sizes
            .get(start..end.max(start))
            .unwrap_or_default()
            .to_vec(),
    )
}

/// Sizes as the file has them, none negative.
pub(super) fn to_sizes(values: &[i64]) -> Result<Vec<usize>> {
    let size = |&value: &i64| {
        usize::try_from(value)
            .map_err(|_| broken(format!("a size must not be negative, got {value}")))
    };
    values.iter().map(size).collect()
}

/// Refuses to make more numbers than any model needs.
pub(super) fn check_made(dims: &[usize]) -> Result<()> {
    // A size of 0 must not hide others whose product is none that can be counted.
    let count = dims.iter().fold(1_usize, |product, &size| {
        product.saturating_mul(size.max(1))
    });
    if count > MOST_MADE {
        return Err(broken(format!(
            "a constant of the sizes {dims:?} would have more than {MOST_MADE} numbers"
        )));
    }
    Ok(())
}

/// Values of the element type of another array.
#[expect(clippy::cast_possible_truncation, reason = "whole numbers of the file")]
pub(super) fn like(array: &Array, dims: Vec<usize>, values: Vec<f64>) -> Array {
    let data = match &array.data {
        Data::Whole(_) | Data::Text(_) => {
            Data::Whole(values.into_iter().map(|value| value as i64).collect())
        }
        Data::Float {
            is_double: true, ..
        } => Data::Float {
            values,
            is_double: true,
        },
        Data::Float { .. } => Data::Float {
            values: values.into_iter().map(single).collect(),
            is_double: false,
        },
    };
    Array { dims, data }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast to whole numbers cuts"
)]
pub(super) fn cast(array: &Array, to: i64) -> Result<Array> {
    let data = match (to, &array.data) {
        (8, Data::Text(_)) => array.data.clone(),
        (8, Data::Whole(values)) => Data::Text(values.iter().map(i64::to_string).collect()),
        (1, _) => Data::Float {
            values: array.to_floats()?.into_iter().map(single).collect(),
            is_double: false,
        },
        (11, _) => Data::Float {
            values: array.to_floats()?,
            is_double: true,
        },
        (2..=7 | 12 | 13, _) => Data::Whole(
            array
                .to_floats()?
                .into_iter()
                .map(|value| value as i64)
                .collect(),
        ),
        (9, _) => Data::Whole(
            array
                .to_floats()?
                .into_iter()
                .map(|value| i64::from(value != 0.0))
                .collect(),
        ),
        _ => {
            return Err(broken(format!(
                "a constant cannot be cast to element type {to}"
            )));
        }
    };
    Ok(Array {
        dims: array.dims.clone(),
        data,
    })
}
