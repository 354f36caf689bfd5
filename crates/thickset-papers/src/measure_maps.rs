//! Measuring cells of pictures: one row before and after an attack, and how importances fall from rank to rank.

use thickset::Result;
use thickset::attack::AttackConfig;
use thickset::explain::{ExplainConfig, Points};
use thickset::metric::ranking::descending;
use thickset_engine::Network;

use crate::count::as_f64;
use crate::measure::Measured;
use crate::seeded_dataset::SeededDataset;

/// One of the attacked rows, by its place: `input` and `importance`, both also at the worst point, and P@k there.
pub(crate) fn maps(
    network: &Network,
    data: &SeededDataset,
    attack: &AttackConfig,
    explain: &ExplainConfig,
    place: usize,
) -> Result<Measured> {
    let features = network.features();
    let rows = data.rows();
    let row = Points {
        values: &rows.values[place * features..(place + 1) * features],
        ids: &rows.ids[place..=place],
    };
    let attack = attack.check(explain, &data.dataset.schema)?;
    let found = attack.perturb(network, row, data.seed)?;
    let mut measured = Measured::default();
    for found in found {
        let importance = |values: &[f64]| -> Result<Vec<f64>> {
            let point = Points { values, ..row };
            let classes = [found.class];
            let explained = attack
                .explain()
                .attribute_classes(network, point, &classes, data.seed)?;
            Ok(explained
                .into_iter()
                .flat_map(|one| one.importance)
                .collect())
        };
        measured.set_rows("importance", importance(row.values)?);
        measured.set_rows("attacked importance", importance(&found.perturbed)?);
        measured.set("precision", found.precision);
        measured.set_rows("attacked input", found.perturbed);
    }
    measured.set_rows("input", row.values.to_vec());
    Ok(measured)
}

/// Importances in falling order, as shares of each row's largest: their mean, least and most at each rank.
pub(crate) fn magnitudes(
    network: &Network,
    data: &SeededDataset,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let explain = explain.check(&data.dataset.schema)?;
    let explained = explain.attribute(network, data.rows(), data.seed)?;
    let mut sorted = Vec::with_capacity(explained.len());
    for row in &explained {
        let order = descending(&row.importance)?;
        let most = order.first().map_or(0.0, |&first| row.importance[first]);
        let share = |&place: &usize| {
            if most > 0.0 {
                row.importance[place] / most
            } else {
                0.0
            }
        };
        sorted.push(order.iter().map(share).collect::<Vec<f64>>());
    }
    let ranks = sorted.first().map_or(0, Vec::len);
    let at = |rank: usize| sorted.iter().map(move |row| row[rank]);
    let mut measured = Measured::default();
    let mean = |rank: usize| at(rank).sum::<f64>() / as_f64(sorted.len());
    measured.set_rows("mean", (0..ranks).map(mean).collect());
    let least = |rank: usize| at(rank).fold(f64::INFINITY, f64::min);
    measured.set_rows("least", (0..ranks).map(least).collect());
    let most = |rank: usize| at(rank).fold(f64::NEG_INFINITY, f64::max);
    measured.set_rows("most", (0..ranks).map(most).collect());
    Ok(measured)
}
