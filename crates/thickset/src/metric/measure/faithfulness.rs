//! DFFOT, COMP and SUFF of rows of a network.
//!
//! A removed feature is set to 0 in encoded units: the least training value of a number, no category, a pixel without light.

use thickset_engine::Network;

use crate::Result;
use crate::explain::{CheckedExplain, Explained, Points};
use crate::host::read;
use crate::metric::faithfulness::{self, Counts, Faithfulness, Removal};
use crate::metric::ranking;

/// Rows whose inputs the network sees in one batch, where all of them are known beforehand.
const AT_ONCE: usize = 16;

/// The three numbers of every row, whose explanations are given. The explanation must be one of features.
///
/// # Errors
/// When rows, explanations and network do not fit each other, or something is not finite.
pub fn measure(
    network: &Network,
    explain: &CheckedExplain,
    rows: Points<'_>,
    explained: &[Explained],
    counts: Counts,
) -> Result<Vec<Faithfulness>> {
    rows.check(network)?;
    crate::check::check_length("the explanations", explained, rows.ids.len())?;
    let width = explained.first().map_or(0, |row| row.importance.len());
    let inputs: Vec<Vec<usize>> = (0..width).map(|index| explain.inputs(index)).collect();
    let baseline = vec![0.0; network.features()];
    let probabilities = |inputs: &[f32]| read(network.probabilities(network.batch_f32(inputs)));
    let classes = network.classes();
    let (features, mut found) = (network.features(), Vec::with_capacity(explained.len()));
    let of_row = |x: &[f64]| -> Vec<f32> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rows are kept in f32, so this is exact"
        )]
        x.iter().map(|value| *value as f32).collect()
    };
    let parts = rows.values.chunks(AT_ONCE * features);
    for (values, explained) in parts.zip(explained.chunks(AT_ONCE)) {
        let mut all = Vec::new();
        for (x, at_x) in values.chunks(features).zip(explained) {
            let removal = Removal {
                x: &of_row(x),
                baseline: &baseline,
                order: &ranking::descending(&at_x.importance)?,
                inputs: &inputs,
            };
            match counts {
                Counts::Every => removal.every(&mut all)?,
                Counts::Shares => {
                    let mut predict = |rows: &[Vec<f32>]| {
                        let probabilities = probabilities(&rows.concat());
                        let rows = probabilities.chunks(classes);
                        Ok(rows.map(<[f64]>::to_vec).collect())
                    };
                    found.push(faithfulness::score(&removal, counts, &mut predict)?);
                }
            }
        }
        if counts == Counts::Every {
            let of_row = (2 * width + 1) * classes;
            for row in probabilities(&all).chunks(of_row) {
                found.push(Faithfulness::of_every(row, classes)?);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use thickset_engine::TensorData;

    use super::*;
    use crate::Seed;
    use crate::data::{InputShape, Schema};
    use crate::explain::ExplainConfig;
    use crate::model::{Fresh, LinearConfig, ModelConfig};

    #[test]
    fn two_features_by_hand() {
        // Two classes with the logits 0 and z = log 3 (2 a - b). At (1, 1) z is log 3, so the second class has 3/4; the first
        // feature counts twice as much. Without it z is -log 3 and the class has 1/4, without both 1/2; with only the first
        // z is 2 log 3 and the class has 9/10.
        let model = ModelConfig::Linear(LinearConfig::default());
        let mut network = model
            .network(&InputShape::Table, 2, 2, &mut Fresh::new(Seed::new(1)))
            .unwrap();
        let log = 3.0_f32.ln();
        let weights = [vec![0.0, 0.0, 2.0 * log, -log], vec![0.0, 0.0]];
        let weights = weights.map(|part| TensorData::new(part.clone(), [part.len()]));
        network.set_parameter_values(&weights).unwrap();
        let explain = ExplainConfig::default()
            .check(&Schema::image(1, 1, 2, 255.0))
            .unwrap();
        let rows = Points {
            values: &[1.0, 1.0],
            ids: &[0],
        };
        let explained = explain.attribute(&network, rows, Seed::new(1)).unwrap();
        let found = measure(&network, &explain, rows, &explained, Counts::Every).unwrap()[0];
        // Probabilities are single precision.
        let is_near = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
        assert!(is_near(found.dffot, 0.5), "{found:?}");
        assert!(is_near(found.comprehensiveness, f64::midpoint(0.5, 0.25)));
        assert!(is_near(found.sufficiency, 0.15 / 2.0));
    }
}
