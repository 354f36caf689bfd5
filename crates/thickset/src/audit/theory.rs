//! What R2ET's theory says of an audit's first rows ([`crate::theory`]), where it is asked for: it costs a second derivative a feature at five
//! points of each row, and the multi-objective attack.

use serde::{Deserialize, Serialize};

use super::plan::CheckedAudit;
use super::target::AuditTarget;
use crate::Result;
use crate::attack::moo::MooConfig;
use crate::explain::Points;
use crate::model::theory::{TheoryPlan, of_points};
use crate::theory::TheoryRow;

/// The most rows that it is of: the first block of the audited, which one machine has whole, however many share an audit.
pub const MOST_ROWS: usize = super::BLOCK;

/// The theory of some rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TheoryRecord {
    /// ε: radius of the l2 ball, in encoded units. Every feature may move in it, whatever the audit's attacks may change.
    pub radius: f64,
    /// The audit's first rows, in their order.
    pub rows: Vec<RowTheory>,
}

/// The theory of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowTheory {
    /// Its number in the file or dataset, counted from 1.
    pub row: u64,
    /// What the theory says of it.
    #[serde(flatten)]
    pub theory: TheoryRow,
}

/// The theory of a target's first rows, which are the audit's first; none where it is not asked for.
pub(super) fn of(audit: &CheckedAudit, target: &AuditTarget<'_>) -> Result<Option<TheoryRecord>> {
    let rows = target.rows.len().min(audit.config.theory);
    if rows == 0 {
        return Ok(None);
    }
    let values = target.rows.gather(0..rows);
    let ids: Vec<u64> = (0..rows).map(|place| target.rows.id(place)).collect();
    let points = Points {
        values: &values,
        ids: &ids,
    };
    let plan = TheoryPlan {
        k: audit.k(),
        radius: audit.config.suite.threat.ball.radius,
        attack: MooConfig::default(),
        seed: audit.config.seed,
    };
    let network = &target.model.model.network;
    let found = of_points(network, &audit.explain, points, &plan)?;
    let rows = ids.into_iter().zip(found);
    Ok(Some(TheoryRecord {
        radius: plan.radius,
        rows: rows
            .map(|(id, theory)| RowTheory {
                row: id + 1,
                theory,
            })
            .collect(),
    }))
}
