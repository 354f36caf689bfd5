//! Bounds of one margin's gradient: the first layer's chords are added up before their slope in the move is bounded.

use super::super::network::DenseLayer;
use super::super::rounding::{SEARCH_UNIT, gamma};
use super::super::vector::add_scaled;
use super::BoundedRow;
use super::interval::{GateBounds, Interval};

/// Bounds of one margin's gradient, ready for pairs of features.
pub(super) struct MarginGradient<'b> {
    row: &'b BoundedRow<'b>,
    radius: f64,
    layer: Option<&'b DenseLayer>,
    /// Each feature's chord gradient at the row.
    value: Vec<f64>,
    /// How it moves with d, `[features, features]`.
    slope: Vec<f64>,
    /// Of each neuron: what the chord leaves out.
    doubt: Vec<f64>,
    /// Of each feature.
    rounding: Vec<f64>,
}

impl BoundedRow<'_> {
    /// What the first layer makes of one margin's gradient.
    pub(super) fn gradient<'b>(
        &'b self,
        seed: &Interval,
        gates: &[GateBounds],
        first: &[f64],
        radius: f64,
    ) -> MarginGradient<'b> {
        let dense = &self.network.dense;
        let arithmetic = dense.arithmetic;
        let unit = arithmetic.unit + SEARCH_UNIT;
        let mut above = seed.clone();
        let layers = dense.hidden.iter().zip(gates);
        for (layer, gates) in layers.skip(1).rev() {
            above = above.through(gates, unit).back(layer, arithmetic);
        }
        let features = dense.features();
        let (Some(layer), Some(gates)) = (dense.hidden.first(), gates.first()) else {
            // A linear model: the seed is the gradient.
            return MarginGradient {
                row: self,
                radius,
                layer: None,
                value: above.center.clone(),
                slope: vec![0.0; features * features],
                doubt: Vec::new(),
                rounding: above.reach,
            };
        };
        let mut found = MarginGradient {
            row: self,
            radius,
            layer: Some(layer),
            value: vec![0.0; features],
            slope: vec![0.0; features * features],
            doubt: Vec::with_capacity(layer.outputs()),
            rounding: vec![0.0; features],
        };
        let summed = gamma(layer.outputs() + 4, unit);
        for (neuron, row) in layer.rows().enumerate() {
            let (center, reach) = (above.center[neuron], above.reach[neuron]);
            let gate = gates.chord[neuron] * first[neuron] + gates.offset[neuron];
            let slope = center * gates.chord[neuron];
            // The gate beside its chord, and what comes from above beside its center.
            found
                .doubt
                .push(center.abs() * gates.error[neuron] + gates.high[neuron] * reach);
            let size = (center.abs() + reach) * gates.high[neuron].max(gate.abs());
            let moved = slope.abs() * self.moves.most(row, radius).abs();
            for feature in 0..features {
                let weight = row[feature];
                found.value[feature] += weight * center * gate;
                found.rounding[feature] += summed * weight.abs() * (size + moved) + arithmetic.tiny;
                let line = &mut found.slope[feature * features..(feature + 1) * features];
                add_scaled(line, weight * slope, row);
            }
        }
        found
    }
}

impl MarginGradient<'_> {
    /// The least of `sign g_ahead + other g_behind`.
    pub(super) fn least(&self, ahead: usize, behind: usize, sign: f64, other: f64) -> f64 {
        let features = self.value.len();
        let line = |feature: usize| &self.slope[feature * features..(feature + 1) * features];
        let falling: Vec<f64> = line(ahead)
            .iter()
            .zip(line(behind))
            .map(|(first, second)| -(sign * first + other * second))
            .collect();
        let doubt: f64 = self.layer.map_or(0.0, |layer| {
            let rows = layer.rows().zip(&self.doubt);
            rows.map(|(row, doubt)| (sign * row[ahead] + other * row[behind]).abs() * doubt)
                .sum()
        });
        let value = sign * self.value[ahead] + other * self.value[behind];
        let rounding = 2.0 * (self.rounding[ahead] + self.rounding[behind])
            + gamma(features + self.doubt.len(), SEARCH_UNIT) * (value.abs() + doubt);
        value - self.row.moves.most(&falling, self.radius) - doubt - rounding
    }
}
