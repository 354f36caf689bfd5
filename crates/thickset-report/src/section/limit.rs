//! How much of what is not stable is the geometry of the rows.

use thickset::audit::Audit;

use crate::number::{count, percent};
use crate::prose::Nouns;

/// From here on the limit is 100% when it is written down.
const TELLING: f64 = 0.9995;

/// A sentence; none where the audit has no limit.
pub fn of(audit: &Audit) -> Option<String> {
    let limit = audit.limit.as_ref()?;
    let nouns = Nouns::of(audit);
    let of_rows = if limit.rows == audit.data.rows {
        format!("these {}", nouns.rows)
    } else {
        format!("the first {} {}", count(limit.rows), nouns.rows)
    };
    Some(if limit.mean < TELLING {
        format!(
            "Of {of_rows}, {} of the pairs are so near to each other that one point is within reach of both. Where their {} differ, it cannot have those of both, so no model \
             that gives these {} could keep more than {} on average: what is missing to 100% is the data, not the training.",
            percent(limit.near),
            nouns.reasons,
            nouns.reasons,
            percent(limit.mean),
        )
    } else {
        format!(
            "How near {of_rows} lie to each other does not stand against keeping 100% of these {}.",
            nouns.reasons,
        )
    })
}
