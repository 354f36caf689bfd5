//! A matrix that is read by rows, each from its first to its last number that is not zero.
//!
//! Fixed layers, as those of binned models, are zero nearly everywhere: a row of them has one number, and a feature reaches its own units only.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use std::ops::Range;

use crate::certify::DenseLayer;

pub(super) struct Matrix {
    values: Vec<f64>,
    pub(super) width: usize,
    /// Where each row is not zero.
    spans: Vec<Range<usize>>,
}

impl Matrix {
    pub(super) fn new(values: Vec<f64>, width: usize) -> Self {
        let span = |row: &[f64]| {
            let first = row.iter().position(|value| *value != 0.0);
            let last = row.iter().rposition(|value| *value != 0.0);
            first.unwrap_or(0)..last.map_or(0, |last| last + 1)
        };
        Self {
            spans: values.chunks(width.max(1)).map(span).collect(),
            values,
            width,
        }
    }

    /// Of each input of a layer, its weights to all outputs.
    pub(super) fn by_inputs(layer: &DenseLayer) -> Self {
        let (inputs, outputs) = (layer.inputs, layer.outputs());
        let mut values = vec![0.0; inputs * outputs];
        for output in 0..outputs {
            for input in 0..inputs {
                values[input * outputs + output] = layer.weight[output * inputs + input];
            }
        }
        Self::new(values, outputs)
    }

    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..][..self.width]
    }

    /// Where a row is not zero.
    #[inline(always)]
    pub(super) fn span(&self, row: usize) -> Range<usize> {
        self.spans[row].clone()
    }

    /// Adds a multiple of a row.
    #[inline(always)]
    pub(super) fn add(&self, row: usize, factor: f64, to: &mut [f64]) {
        if factor != 0.0 {
            let span = self.spans[row].clone();
            add_scaled(&mut to[span.clone()], factor, &self.row(row)[span]);
        }
    }

    /// The product of a row and a vector.
    #[inline(always)]
    pub(super) fn dot(&self, row: usize, with: &[f64]) -> f64 {
        let span = self.spans[row].clone();
        dot(&self.row(row)[span.clone()], &with[span])
    }
}

#[inline(always)]
pub(super) fn add_scaled(to: &mut [f64], factor: f64, what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += factor * what;
    }
}

/// In four sums, so that several go at once; their order is fixed.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a_parts, b_parts) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = a_parts.remainder().iter().zip(b_parts.remainder());
    let rest: f64 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_ends_of_a_row_change_nothing() {
        let matrix = Matrix::new(vec![0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 5);
        let with = [1.0, 10.0, 100.0, 1000.0, 10_000.0];
        assert!((matrix.dot(0, &with) - 3020.0).abs() < 1e-12);
        assert!(matrix.dot(1, &with).abs() < 1e-12);
        let mut sum = [1.0; 5];
        matrix.add(0, 2.0, &mut sum);
        matrix.add(1, 2.0, &mut sum);
        assert_eq!(
            sum.map(|one: f64| one.to_bits()),
            [1.0, 5.0, 1.0, 7.0, 1.0].map(f64::to_bits)
        );
    }
}
