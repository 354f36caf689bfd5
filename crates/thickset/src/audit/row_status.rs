//! How rows stand at points near them: how much of their top-k sets is kept, and whether their classes are.

use super::measure::MeasuredRows;
use crate::Result;
use crate::attack::RowStatus;
use crate::explain::{Binding, ModelView, Points};
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

    /// How these rows stand at a point each. Where all points of a row were tried it is known; others are explained, by the classes of the
    /// rows themselves.
    pub(crate) fn at(&self, rows: &[usize], points: &[f64]) -> Result<Vec<RowStatus>> {
        let MeasuredRows {
            audit,
            network,
            chain,
            known,
            ..
        } = self.rows;
        let width = network.features();
        let mut status: Vec<Option<RowStatus>> = rows
            .iter()
            .zip(points.chunks(width))
            .map(|(row, point)| known[*row].as_ref().and_then(|known| known.at(point)))
            .collect();
        let asked: Vec<usize> = (0..status.len())
            .filter(|place| status[*place].is_none())
            .collect();
        if asked.is_empty() {
            return Ok(status.into_iter().flatten().collect());
        }
        let ids: Vec<u64> = rows.iter().map(|row| self.rows.rows.ids[*row]).collect();
        let (values, ids) = Points {
            values: points,
            ids: &ids,
        }
        .at(width, &asked);
        let classes: Vec<usize> = asked
            .iter()
            .map(|place| self.classes[rows[*place]])
            .collect();
        let binding = Binding {
            classes: &classes,
            ids: &ids,
            seed: audit.config.seed,
        };
        let mut view = ModelView::default();
        let mut probe = audit.explain.probe(network, chain.as_ref(), binding)?;
        probe.evaluate(&values, &mut view);
        let importances = view.importance.chunks(view.importance.len() / asked.len());
        let shown = importances.zip(view.logits.chunks(network.classes()));
        for (place, (importance, logits)) in asked.into_iter().zip(shown) {
            let row = rows[place];
            status[place] = Some(RowStatus {
                kept: self.tops[row].kept(importance)?,
                held: ranking::largest(logits)? == self.classes[row],
            });
        }
        Ok(status.into_iter().flatten().collect())
    }
}
