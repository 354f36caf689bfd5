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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(slope: &[f64], offset: &[f64]) -> Lines {
        Lines {
            slope: slope.to_vec(),
            offset: offset.to_vec(),
            inputs: slope.len() / offset.len(),
        }
    }

    #[test]
    fn a_negative_weight_takes_the_line_of_the_other_side() {
        let layer = DenseLayer {
            weight: vec![2.0, -3.0, -1.0, 4.0],
            bias: vec![10.0, 20.0],
            inputs: 2,
        };
        let below = lines(&[1.0, 2.0, 3.0, 4.0], &[1.0, -1.0]);
        let above = lines(&[5.0, 6.0, 7.0, 8.0], &[2.0, 3.0]);
        let [low, high] = layer_lines(&layer, &below, &above);
        // Twice the first from below less three times the second from above, and so on.
        assert_eq!(low.slope, [-19.0, -20.0, 7.0, 10.0]);
        assert_eq!(low.offset, [3.0, 14.0]);
        assert_eq!(high.slope, [1.0, 0.0, 27.0, 30.0]);
        assert_eq!(high.offset, [17.0, 31.0]);
        assert_eq!(
            (high.row(0), high.row(1)),
            (&[1.0, 0.0][..], &[27.0, 30.0][..])
        );
    }

    #[test]
    fn lines_behind_an_activation_are_widened_by_its_rounding() {
        // The second is always open. The first lies between -5 and 3: its chord is 3/8 z + 15/8, its tangent in the middle is 0.
        let before = lines(&[1.0, 2.0, 8.0, 16.0], &[7.0, 4.0]);
        let (low, high) = ([1.0, -5.0], [3.0, 3.0]);
        let unit = 1.0 / 1024.0;
        let [below, above] = activated(Activation::Relu, before.clone(), before, &low, &high, unit);
        // 32 units of the largest size that is read or given.
        let errors = [3.0 / 32.0, 5.0 / 32.0];
        assert_eq!(below.slope, [1.0, 2.0, 0.0, 0.0]);
        assert_eq!(below.offset, [7.0 - errors[0], -errors[1]]);
        assert_eq!(above.slope, [1.0, 2.0, 3.0, 6.0]);
        assert_eq!(above.offset, [7.0 + errors[0], 1.5 + 1.875 + errors[1]]);
    }

    #[test]
    fn what_an_activation_gives_at_zero_is_rounded_too() {
        let before = lines(&[0.0], &[0.0]);
        let activated = |activation| {
            let [below, above] = activated(
                activation,
                before.clone(),
                before.clone(),
                &[0.0],
                &[0.0],
                1.0 / 1024.0,
            );
            (below.offset[0], above.offset[0])
        };
        let (below, above) = activated(Activation::Relu);
        assert!(below < 0.0 && above > 0.0, "{below} {above}");
        // ln 2, counted as what is given and as what zero gives.
        let (below, above) = activated(Activation::Softplus { beta: 1.0 });
        let error = 2.0 * std::f64::consts::LN_2 / 32.0;
        assert!((below - (std::f64::consts::LN_2 - error)).abs() < 1e-12);
        assert!((above - (std::f64::consts::LN_2 + error)).abs() < 1e-12);
    }
}
