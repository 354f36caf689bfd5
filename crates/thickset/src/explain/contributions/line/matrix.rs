//! A matrix that is read by rows.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use crate::certify::DenseLayer;

pub(super) struct Matrix {
    values: Vec<f64>,
    pub(super) width: usize,
}

impl Matrix {
    pub(super) fn new(values: Vec<f64>, width: usize) -> Self {
        Self { values, width }
    }

    /// Of each input of a layer, its weights to all outputs.
    pub(super) fn by_inputs(layer: &DenseLayer) -> Self {
        let columns = (0..layer.inputs).flat_map(|input| layer.rows().map(move |row| row[input]));
        Self::new(columns.collect(), layer.outputs())
    }

    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..][..self.width]
    }
}
