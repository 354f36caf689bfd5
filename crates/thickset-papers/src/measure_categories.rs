//! Measuring cells of whole categories: what another category in one column does to a row's salient set.

use thickset::Result;
use thickset::data::Schema;
use thickset::explain::{ExplainConfig, Points};
use thickset::metric::ranking::TopK;
use thickset_engine::Network;

use crate::count::as_f64;
use crate::measure::Measured;
use crate::seeded_dataset::SeededDataset;

/// P@k of each row's worst change of one column's category to another, numbers as they are and the prediction held; 1 where there is none.
pub(crate) fn worst_category(
    network: &Network,
    data: &SeededDataset,
    k: usize,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let schema = &data.dataset.schema;
    let explain = explain.check(schema)?;
    let features = network.features();
    let rows = data.rows();
    let own = explain.attribute(network, rows, data.seed)?;
    let groups = groups(schema);
    let mut worst = Vec::with_capacity(own.len());
    for ((x, id), own) in rows.values.chunks(features).zip(rows.ids).zip(&own) {
        let changed: Vec<f64> = changes(&groups, x).concat();
        let ids = vec![*id; changed.len() / features.max(1)];
        let points = Points {
            values: &changed,
            ids: &ids,
        };
        let top = TopK::of(&own.importance, k)?;
        let mut least = k;
        for other in explain.attribute(network, points, data.seed)? {
            if other.class == own.class {
                least = least.min(top.overlap(&TopK::of(&other.importance, k)?)?);
            }
        }
        worst.push(as_f64(least) / as_f64(k.max(1)));
    }
    let mut measured = Measured::default();
    measured.set_rows("precision", worst);
    Ok(measured)
}

/// The features of each column of categories.
fn groups(schema: &Schema) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, feature) in schema.features.iter().enumerate() {
        if let Some(group) = feature.group {
            groups.resize(groups.len().max(group + 1), Vec::new());
            groups[group].push(place);
        }
    }
    groups
}

/// The row with each other category of each column in turn.
fn changes(groups: &[Vec<usize>], x: &[f64]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for group in groups {
        let Some(was) = group.iter().copied().find(|feature| x[*feature] > 0.5) else {
            continue;
        };
        for &now in group.iter().filter(|now| **now != was) {
            let mut changed = x.to_vec();
            changed[was] = 0.0;
            changed[now] = 1.0;
            all.push(changed);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_category_of_every_column_is_tried_once() {
        let groups = [vec![1, 2, 3], vec![4, 5]];
        let x = [0.3, 0.0, 1.0, 0.0, 1.0, 0.0];
        let expected = [
            vec![0.3, 1.0, 0.0, 0.0, 1.0, 0.0],
            vec![0.3, 0.0, 0.0, 1.0, 1.0, 0.0],
            vec![0.3, 0.0, 1.0, 0.0, 0.0, 1.0],
        ];
        assert_eq!(changes(&groups, &x), expected);
        // A category outside of its groups has no 1 to move.
        assert!(changes(&groups, &[0.0; 6]).is_empty());
    }
}
