//! What an audit adds for tables whose contributions are handed out: columns, subgroups, and three people.

use super::{Model, Origin, ReasonsOptions};
use crate::audit::{Audit, AuditConfig};
use crate::audit::{AuditedRow, Columns, ReasonsRecord, sampled_people};
use crate::decision::DecisionConfig;
use crate::explain::{Points, chunk_rows};
use crate::{Result, Rows};

impl Model {
    /// The record; none where importances are no contributions of columns, or it is not clear which class they push towards.
    pub(super) fn reasons_record(
        &self,
        origin: &Origin,
        rows: &Rows<'_>,
        config: &AuditConfig,
        audit: &Audit,
    ) -> Result<Option<ReasonsRecord>> {
        let is_contributions = config.explain.explanation.behaviour().contributions();
        let explain = config.explain.check(rows.schema())?;
        let named = config.decision.adverse.clone();
        let second = || self.classes().get(1).filter(|_| self.classes().len() == 2);
        let named = named.or_else(|| second().cloned());
        let (Some(_), Some(_), Some(adverse)) =
            (is_contributions, explain.column_features(), named)
        else {
            return Ok(None);
        };
        let decision = DecisionConfig {
            adverse: Some(adverse),
            cutoff: config.decision.cutoff,
        };
        let decided = decision.of(self.classes())?;
        let mut columns = Columns::new(rows, self.description.encoding.as_ref());
        let mut audited = audit.rows.iter();
        let width = self.network.features();
        for part in rows.parts(chunk_rows(width)) {
            if !columns.wants_more() {
                break;
            }
            let (values, ids) = (part.gather(0..part.len()), part.ids());
            let points = Points {
                values: &values,
                ids: &ids,
            };
            let classes = vec![decided.adverse; ids.len()];
            let explained =
                explain.attribute_classes(&self.network, points, &classes, config.seed)?;
            for ((values, explained), row) in values.chunks(width).zip(&explained).zip(&mut audited)
            {
                let audited = AuditedRow {
                    probabilities: &row.probabilities,
                    label: row.label,
                    precision: row.precision,
                    is_adverse: decided.is_adverse(&row.probabilities),
                };
                columns.add(values, &explained.importance, &audited);
            }
        }
        let options = ReasonsOptions {
            k: Some(config.suite.k),
            decision,
            explain: super::ExplainOptions {
                explanation: Some(config.explain.explanation.clone()),
                reduce: Some(config.explain.reduce),
                per: Some(config.explain.per),
                seed: config.seed,
            },
            threat: Some(config.suite.threat.clone()),
            radius: Some(config.suite.threat.ball.radius),
            effort: config.suite.effort,
            ..ReasonsOptions::default()
        };
        let chosen = sampled_people(audit, decided.adverse, |row| decided.is_adverse(row));
        let places: Vec<usize> = chosen
            .iter()
            .filter_map(|row| usize::try_from(row.saturating_sub(1)).ok())
            .collect();
        let told = self.reasons_of(origin, &rows.only(&places)?, &options)?;
        Ok(Some(ReasonsRecord {
            adverse: told.adverse,
            reference: told.reference,
            columns: columns.finish(&told.reference_values)?,
            samples: told.rows,
            change: told.change,
        }))
    }
}
