//! The head's functions over all rows of arrays, computed in `f64` whatever the arrays' type.

#![expect(
    clippy::many_single_char_names,
    reason = "the names of the formulas of this family"
)]

use super::Softmax;
use crate::kernel::storage::size;
use crate::tensor::{Array, Element as _};

/// The mean over rows of the cross-entropy.
pub(super) fn entropy(z: &Array, c: &Array) -> Array {
    let [rows, classes] = size(z);
    let (like, z, c) = (z, values(z), values(c));
    let mut sum = 0.0;
    let mut p = vec![0.0; classes];
    for (z, c) in z.chunks(classes).zip(c.chunks(classes)) {
        let surprises = Softmax::new(z, &mut p).surprises(z);
        sum += surprises.zip(c).map(|(one, c)| c * one).sum::<f64>();
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "batches are far below 2^53 rows"
    )]
    array(vec![sum / rows as f64], [1], like)
}

/// `p - c`.
pub(super) fn residuals(z: &Array, c: &Array) -> Array {
    by_row(&[z, c], |[z, c], p, out| {
        Softmax::new(z, p).residual(c, 1.0, out);
    })
}

/// `p (c - <p, c>)`.
pub(super) fn seeds(z: &Array, c: &Array) -> Array {
    by_row(&[z, c], |[z, c], p, out| Softmax::new(z, p).tilt(c, out))
}

/// The change of the seeds when `z` moves along `v`.
pub(super) fn seeds_tangent(z: &Array, v: &Array, c: &Array) -> Array {
    let mut q = vec![0.0; size(z)[1]];
    by_row(&[z, v, c], |[z, v, c], p, out| {
        Softmax::new(z, p).tilt_tangent(v, c, &mut q, out);
    })
}

/// The gradient of the cross-entropy in `z`, times the one number in `g`.
pub(super) fn entropy_gradient(z: &Array, c: &Array, g: &Array) -> Array {
    let share = row_share(g, size(z)[0]);
    by_row(&[z, c], |[z, c], p, out| {
        Softmax::new(z, p).residual(c, c.iter().sum(), out);
        for out in out {
            *out *= share;
        }
    })
}

/// The gradient of the cross-entropy in `c`, times the one number in `g`: `-log p` over the number of rows.
pub(super) fn entropy_class_gradient(z: &Array, g: &Array) -> Array {
    let share = row_share(g, size(z)[0]);
    by_row(&[z], |[z], p, out| {
        let surprises = Softmax::new(z, p).surprises(z);
        for (out, surprise) in out.iter_mut().zip(surprises) {
            *out = share * surprise;
        }
    })
}

/// The gradient of `<seeds, h>` in `z`.
pub(super) fn seed_gradient(z: &Array, c: &Array, h: &Array) -> Array {
    let mut r = vec![0.0; size(z)[1]];
    by_row(&[z, c, h], |[z, c, h], p, out| {
        Softmax::new(z, p).covariance_gradient(c, h, &mut r, out);
    })
}

/// The change of [`seed_gradient`] when `z` moves along `v`.
pub(super) fn seed_gradient_tangent(z: &Array, v: &Array, c: &Array, h: &Array) -> Array {
    let [mut q, mut r, mut change] = [const { Vec::new() }; 3];
    for room in [&mut q, &mut r, &mut change] {
        room.resize(size(z)[1], 0.0);
    }
    by_row(&[z, v, c, h], |[z, v, c, h], p, out| {
        let room = [&mut q[..], &mut r, &mut change];
        Softmax::new(z, p).covariance_gradient_tangent(v, c, h, room, out);
    })
}

/// What one of so many rows has of the one number in `g`.
#[expect(
    clippy::cast_precision_loss,
    reason = "batches are far below 2^53 rows"
)]
fn row_share(g: &Array, rows: usize) -> f64 {
    values(g)[0] / rows as f64
}

/// Runs `work(rows of each array, room for probabilities, output row)` over rows.
fn by_row<const N: usize>(
    arrays: &[&Array; N],
    mut work: impl FnMut([&[f64]; N], &mut [f64], &mut [f64]),
) -> Array {
    let [rows, classes] = size(arrays[0]);
    let all = arrays.map(values);
    let mut p = vec![0.0; classes];
    let mut out = vec![0.0; rows * classes];
    for (row, out) in out.chunks_mut(classes).enumerate() {
        let place = row * classes..(row + 1) * classes;
        work(
            std::array::from_fn(|place_of| &all[place_of][place.clone()]),
            &mut p,
            out,
        );
    }
    array(out, [rows, classes], arrays[0])
}

fn values(array: &Array) -> Vec<f64> {
    array.numbers().read()
}

/// An array of the type of `like`.
fn array<const D: usize>(values: Vec<f64>, size: [usize; D], like: &Array) -> Array {
    Array::of(f64::into_numbers(values).cast(like.dtype()), size.into())
}
