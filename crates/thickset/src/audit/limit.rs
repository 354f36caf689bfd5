//! The stability limit of an audit: how high mean P@k can be at all, for a model that tells these rows these reasons.
//!
//! Two rows of one class count as near where the point midway between them is in the threat set of both and is of their class too: no set of
//! reasons there can be both rows' own. See [`stability_limit`](crate::metric::stability_limit).

use serde::{Deserialize, Serialize};

use super::plan::CheckedAudit;
use super::target::AuditTarget;
use crate::Result;
use crate::explain::{Explained, Points};
use crate::host::read;
use crate::metric::ranking::{TopK, largest};
use crate::metric::stability_limit::{self, NearPair};

/// The most rows that it is of: the first block of the audited, which one machine has whole, however many share an audit. Its cost grows with their
/// square.
pub const MOST_ROWS: usize = super::BLOCK;

/// The most numbers of these rows together, so that images are compared in no more time.
const MOST_VALUES: usize = 1 << 20;

/// What the geometry of the rows allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitRecord {
    /// The highest mean P@k, in `[0, 1]`.
    pub mean: f64,
    /// The share of all pairs of rows that are near.
    pub near: f64,
    /// The rows that it is of.
    pub rows: usize,
}

/// The limit of a target's first rows, which are the audit's first; none of a single row.
pub(super) fn of(audit: &CheckedAudit, target: &AuditTarget<'_>) -> Result<Option<LimitRecord>> {
    let network = &target.model.model.network;
    let features = network.features();
    let most = MOST_ROWS.min(MOST_VALUES / features.max(1));
    let rows = target.rows.len().min(most);
    if rows < 2 {
        return Ok(None);
    }
    let values = target.rows.gather(0..rows);
    let ids: Vec<u64> = (0..rows).map(|place| target.rows.id(place)).collect();
    let points = Points {
        values: &values,
        ids: &ids,
    };
    let explained = audit
        .explain
        .attribute(network, points, audit.config.seed)?;
    let x = |row: usize| &values[row * features..(row + 1) * features];
    let midway = |pair: &NearPair| -> Vec<f64> {
        let both = x(pair.first).iter().zip(x(pair.second));
        both.map(|(x, y)| f64::midpoint(*x, *y)).collect()
    };
    let mut pairs = Vec::new();
    for second in 1..rows {
        let reach = audit.threat.largest_move(x(second));
        for first in 0..second {
            if explained[first].class != explained[second].class {
                continue;
            }
            let both = x(first).iter().zip(x(second));
            let square: f64 = both.map(|(x, y)| (x - y) * (x - y)).sum();
            if square.sqrt() > 2.0 * reach {
                continue;
            }
            let pair = NearPair { first, second };
            let between = midway(&pair);
            if [first, second]
                .iter()
                .all(|row| audit.threat.is_settled(x(*row), &between))
            {
                pairs.push(pair);
            }
        }
    }
    let pairs = of_one_class(network, &explained, &pairs, midway)?;
    let sets = explained.iter();
    let sets: Vec<TopK> = sets
        .map(|row| TopK::of(&row.importance, audit.k()))
        .collect::<Result<_>>()?;
    let limit = stability_limit::score(&sets, &pairs)?;
    Ok(Some(LimitRecord {
        mean: limit.mean,
        near: limit.near,
        rows,
    }))
}

/// The pairs whose class holds midway.
fn of_one_class(
    network: &thickset_engine::Network,
    explained: &[Explained],
    pairs: &[NearPair],
    midway: impl Fn(&NearPair) -> Vec<f64>,
) -> Result<Vec<NearPair>> {
    /// Points that are in memory at once, and run through the network together.
    const AT_ONCE: usize = 256;
    let mut kept = Vec::new();
    for pairs in pairs.chunks(AT_ONCE) {
        let points: Vec<f64> = pairs.iter().flat_map(&midway).collect();
        let probabilities = read(network.probabilities(network.batch(&points)));
        for (row, pair) in probabilities.chunks(network.classes()).zip(pairs) {
            if largest(row)? == explained[pair.first].class {
                kept.push(*pair);
            }
        }
    }
    Ok(kept)
}
