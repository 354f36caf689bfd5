//! How rows stand at points near them: how much of their top-k sets is kept, and whether their classes are.

use super::measure::MeasuredRows;
use crate::Result;
use crate::attack::RowStatus;
use crate::explain::Points;
use crate::metric::ranking::{self, TopK};

/// The top-k sets and classes of a part's rows, to compare others with.
pub(crate) struct Compared<'m> {
    rows: &'m MeasuredRows<'m>,
    classes: Vec<usize>,
    tops: Vec<TopK>,
}

impl<'m> Compared<'m> {
    pub(crate) fn new(rows: &'m MeasuredRows<'m>) -> Result<Self> {
        let tops = rows.explained.iter();
        let tops = tops.map(|row| TopK::of(&row.importance, rows.audit.k()));
        Ok(Self {
            classes: rows.explained.iter().map(|row| row.class).collect(),
            tops: tops.collect::<Result<_>>()?,
            rows,
        })
    }

    /// How the rows stand at these points, one a row. Where all points of a row were tried it is known; others are explained, by the classes of the
    /// rows themselves.
    pub(crate) fn at(&self, points: &[f64]) -> Result<Vec<RowStatus>> {
        let MeasuredRows {
            audit,
            network,
            rows,
            known,
            ..
        } = self.rows;
        let width = network.features();
        let known = points.chunks(width).zip(known);
        let mut status: Vec<Option<RowStatus>> = known
            .map(|(point, known)| known.as_ref().and_then(|known| known.at(point)))
            .collect();
        let asked: Vec<usize> = (0..status.len())
            .filter(|row| status[*row].is_none())
            .collect();
        if asked.is_empty() {
            return Ok(status.into_iter().flatten().collect());
        }
        let points = Points {
            values: points,
            ids: rows.ids,
        };
        let (values, ids) = points.at(width, &asked);
        let at = Points {
            values: &values,
            ids: &ids,
        };
        let classes: Vec<usize> = asked.iter().map(|row| self.classes[*row]).collect();
        let seed = audit.config.seed;
        let found = audit
            .explain
            .attribute_classes(network, at, &classes, seed)?;
        for (row, found) in asked.into_iter().zip(found) {
            status[row] = Some(RowStatus {
                kept: self.tops[row].kept(&found.importance)?,
                held: ranking::largest(&found.probabilities)? == self.classes[row],
            });
        }
        Ok(status.into_iter().flatten().collect())
    }
}
