//! DFFOT, COMP and SUFF of rows of a network.
//!
//! A removed feature is set to 0 in encoded units: the least training value of a number, no category, a pixel without light.

use thickset_engine::Network;

use crate::Result;
use crate::explain::{CheckedExplain, Explained, Points};
use crate::host::read;
use crate::metric::faithfulness::{self, Counts, Faithfulness, Removal};
use crate::metric::ranking;

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
    let mut predict = |rows: &[Vec<f32>]| {
        let probabilities = read(network.probabilities(network.batch_f32(&rows.concat())));
        let rows = probabilities.chunks(network.classes());
        Ok(rows.map(<[f64]>::to_vec).collect())
    };
    rows.values
        .chunks(network.features())
        .zip(explained)
        .map(|(x, at_x)| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rows are kept in f32, so this is exact"
            )]
            let x: Vec<f32> = x.iter().map(|value| *value as f32).collect();
            let removal = Removal {
                x: &x,
                baseline: &baseline,
                order: &ranking::descending(&at_x.importance)?,
                inputs: &inputs,
            };
            faithfulness::score(&removal, counts, &mut predict)
        })
        .collect()
}
