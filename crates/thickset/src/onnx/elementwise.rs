//! Arithmetic of constants: functions of single numbers, of two with broadcasting, and matrix products.

use std::borrow::Cow;

use super::array::{Array, Data};
use super::fold::{cast, check_made, like};
use super::problem::{Result, broken};

/// The most products that a matrix product of constants may take.
const MOST_STEPS: usize = 1 << 30;

/// A function of one number.
pub(super) fn unary(operator: &str, value: f64) -> f64 {
    match operator {
        "Neg" => -value,
        "Abs" => value.abs(),
        "Sqrt" => value.sqrt(),
        "Exp" => value.exp(),
        "Log" => value.ln(),
        "Reciprocal" => value.recip(),
        "Floor" => value.floor(),
        "Ceil" => value.ceil(),
        "Round" => value.round_ties_even(),
        "Not" => f64::from(u8::from(value == 0.0)),
        "Sigmoid" => 1.0 / (1.0 + (-value).exp()),
        "Tanh" => value.tanh(),
        "Relu" => value.max(0.0),
        "Erf" => libm::erf(value),
        "Sin" => value.sin(),
        "Cos" => value.cos(),
        "Softplus" => value.max(0.0) + (-value.abs()).exp().ln_1p(),
        "Sign" => {
            if value == 0.0 {
                0.0
            } else {
                value.signum()
            }
        }
        "IsNaN" => f64::from(u8::from(value.is_nan())),
        _ => value,
    }
}

/// A function of two numbers; comparisons give 0 and 1.
#[expect(clippy::float_cmp, reason = "the operator compares exactly")]
pub(super) fn of_two(operator: &str, a: f64, b: f64) -> f64 {
    let truth = |is: bool| f64::from(u8::from(is));
    match operator {
        "Add" | "Sum" | "Mean" => a + b,
        "Sub" => a - b,
        "Mul" => a * b,
        "Div" => a / b,
        "Pow" => a.powf(b),
        "Min" => a.min(b),
        "Max" => a.max(b),
        "Mod" => a.rem_euclid(b),
        "Equal" => truth(a == b),
        "Less" => truth(a < b),
        "Greater" => truth(a > b),
        "LessOrEqual" => truth(a <= b),
        "GreaterOrEqual" => truth(a >= b),
        "And" => truth(a != 0.0 && b != 0.0),
        _ => truth(a != 0.0 || b != 0.0),
    }
}

pub(super) fn binary(operator: &str, a: &Array, b: &Array) -> Result<Array> {
    let dims = broadcast(&a.dims, &b.dims)?;
    if dims != a.dims && dims != b.dims {
        check_made(&dims)?;
    }
    if let (Data::Whole(first), Data::Whole(second)) = (&a.data, &b.data)
        && matches!(operator, "Add" | "Sub" | "Mul" | "Div")
    {
        // Exact, since sizes stand for the number of rows by a large one.
        let of_two = |(a, b): (i64, i64)| match operator {
            "Add" => Ok(a.wrapping_add(b)),
            "Sub" => Ok(a.wrapping_sub(b)),
            "Mul" => Ok(a.wrapping_mul(b)),
            _ => a
                .checked_div(b)
                .ok_or_else(|| broken("a constant is divided by zero")),
        };
        let values = repeated(first, &a.dims, &dims)?
            .zip(repeated(second, &b.dims, &dims)?)
            .map(of_two)
            .collect::<Result<_>>()?;
        return Ok(Array::whole(dims, values));
    }
    let (first, second) = (a.as_floats()?, b.as_floats()?);
    let values = repeated(&first, &a.dims, &dims)?
        .zip(repeated(&second, &b.dims, &dims)?)
        .map(|(a, b)| of_two(operator, a, b))
        .collect();
    let is_comparison = matches!(
        operator,
        "Equal" | "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" | "And" | "Or"
    );
    if is_comparison {
        return cast(&Array::floats(dims, values), 9);
    }
    Ok(like(a, dims, values))
}

/// Values of smaller sizes one after the other as larger sizes repeat them.
fn repeated<'a, T: Copy>(
    values: &'a [T],
    from: &[usize],
    to: &[usize],
) -> Result<Box<dyn Iterator<Item = T> + 'a>> {
    if from == to {
        return Ok(Box::new(values.iter().copied()));
    }
    let places = broadcast_places(from, to)?;
    Ok(Box::new(places.map(|place| values[place])))
}

/// The sizes that two have in common, those of one repeated where they are 1.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |dims: &[usize], axis: usize| {
        let before = rank - dims.len();
        axis.checked_sub(before).map_or(1, |axis| dims[axis])
    };
    (0..rank)
        .map(|axis| match (size(a, axis), size(b, axis)) {
            (a, b) if a == b => Ok(a),
            (1, b) => Ok(b),
            (a, 1) => Ok(a),
            _ => Err(broken(format!("sizes {a:?} and {b:?} do not fit together"))),
        })
        .collect()
}

/// The array repeated to these sizes.
pub(super) fn expanded<'a>(array: &'a Array, dims: &[usize]) -> Result<Cow<'a, Array>> {
    if array.dims == dims {
        return Ok(Cow::Borrowed(array));
    }
    check_made(dims)?;
    let places = broadcast_places(&array.dims, dims)?;
    Ok(Cow::Owned(array.picked(dims.to_vec(), places)))
}

/// For each place of the larger sizes, the place of the smaller ones that is repeated there.
pub(super) fn broadcast_places(
    from: &[usize],
    to: &[usize],
) -> Result<impl Iterator<Item = usize> + use<>> {
    if broadcast(from, to)? != to {
        return Err(broken(format!(
            "sizes {from:?} cannot be repeated to {to:?}"
        )));
    }
    let before = to.len() - from.len();
    let mut steps = vec![0; to.len()];
    let mut step = 1;
    for axis in (0..from.len()).rev() {
        if from[axis] != 1 {
            steps[before + axis] = step;
        }
        step *= from[axis];
    }
    let (sizes, mut at, mut place) = (to.to_vec(), vec![0_usize; to.len()], 0);
    let next = move |_| {
        let here = place;
        for axis in (0..sizes.len()).rev() {
            at[axis] += 1;
            place += steps[axis];
            if at[axis] < sizes[axis] {
                break;
            }
            place -= steps[axis] * sizes[axis];
            at[axis] = 0;
        }
        here
    };
    Ok((0..to.iter().product::<usize>()).map(next))
}

/// The product of two matrices; `None` for more than two axes.
pub(super) fn matrix_product(a: &Array, b: &Array) -> Result<Option<Array>> {
    let ([rows, inner], [other, columns]) = (&a.dims[..], &b.dims[..]) else {
        return Ok(None);
    };
    if inner != other {
        return Err(broken(format!(
            "matrices of {:?} and {:?} have no product",
            a.dims, b.dims
        )));
    }
    check_made(&[*rows, *columns])?;
    if rows.saturating_mul(*columns).saturating_mul(*inner) > MOST_STEPS {
        return Err(broken("a product of constants is too large"));
    }
    let (first, second) = (a.as_floats()?, b.as_floats()?);
    let mut values = vec![0.0; rows * columns];
    // Line by line of the second, as it lies in memory.
    for (line, made) in values.chunks_exact_mut((*columns).max(1)).enumerate() {
        for k in 0..*inner {
            let factor = first[line * inner + k];
            let of_k = &second[k * columns..][..*columns];
            for (sum, value) in made.iter_mut().zip(of_k) {
                *sum += factor * value;
            }
        }
    }
    Ok(Some(like(a, vec![*rows, *columns], values)))
}
