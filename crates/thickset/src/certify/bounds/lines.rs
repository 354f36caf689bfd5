//! Lines below and above hidden values, over all moves.

use super::super::network::DenseLayer;
use super::super::vector::add_scaled;
use super::FUNCTION_UNITS;
use super::activation::Activation;

/// A line in the move for each neuron: `slope d + offset`.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub slope: Vec<f64>,
    pub offset: Vec<f64>,
    pub inputs: usize,
}

impl Lines {
    pub(super) fn row(&self, neuron: usize) -> &[f64] {
        &self.slope[neuron * self.inputs..][..self.inputs]
    }

    /// Makes a line `by` times itself plus `offset`.
    fn scale(&mut self, neuron: usize, by: f64, offset: f64) {
        let start = neuron * self.inputs;
        for slope in &mut self.slope[start..start + self.inputs] {
            *slope *= by;
        }
        self.offset[neuron] = by * self.offset[neuron] + offset;
    }
}

/// Lines below and above a layer's outputs, given those of what it reads.
pub(super) fn layer_lines(layer: &DenseLayer, below: &Lines, above: &Lines) -> [Lines; 2] {
    let inputs = below.inputs;
    let empty = Lines {
        slope: vec![0.0; layer.outputs() * inputs],
        offset: layer.bias.clone(),
        inputs,
    };
    let mut found = [empty.clone(), empty];
    for (neuron, row) in layer.rows().enumerate() {
        for (place, &weight) in row.iter().enumerate() {
            let (lower, upper) = if weight >= 0.0 {
                (below, above)
            } else {
                (above, below)
            };
            for (found, read) in found.iter_mut().zip([lower, upper]) {
                found.offset[neuron] += weight * read.offset[place];
                let line = &mut found.slope[neuron * inputs..(neuron + 1) * inputs];
                add_scaled(line, weight, read.row(place));
            }
        }
    }
    found
}

/// Lines of the values behind an activation.
pub(super) fn activated(
    activation: Activation,
    mut low_lines: Lines,
    mut high_lines: Lines,
    low: &[f64],
    high: &[f64],
    unit: f64,
) -> [Lines; 2] {
    for neuron in 0..low.len() {
        let [(over, over_offset), (under, under_offset)] =
            activation.lines(low[neuron], high[neuron]);
        let size = activation
            .value(high[neuron])
            .abs()
            .max(low[neuron].abs())
            .max(high[neuron].abs());
        let error = FUNCTION_UNITS * unit * (size + activation.value(0.0) + f64::MIN_POSITIVE);
        // Slopes are not negative, so lines keep their sides.
        high_lines.scale(neuron, over, over_offset + error);
        low_lines.scale(neuron, under, under_offset - error);
    }
    [low_lines, high_lines]
}
