//! A probe by lines: contributions in a network of dense layers with `ReLU`, each feature's or summed over columns.

use thickset_engine::{Chain, Output, Tile};

use super::by_column::ByColumn;
use super::{ModelView, Probe, RowGradient};
use crate::explain::contributions::line::{Lines, Walk};

pub(super) struct ByLine<'c> {
    lines: Lines,
    walk: Walk,
    /// For the logits, which are the network's own.
    tile: Box<dyn Tile + 'c>,
    /// The most rows of a tile.
    rows: usize,
    /// Explained, one a row.
    classes: Vec<usize>,
    by_column: ByColumn,
}

impl<'c> ByLine<'c> {
    pub(super) fn new(
        lines: Lines,
        chain: &'c Chain,
        classes: &[usize],
        by_column: ByColumn,
    ) -> Self {
        Self {
            lines,
            walk: Walk::default(),
            tile: chain.tile(),
            rows: chain.rows(),
            classes: classes.to_vec(),
            by_column,
        }
    }

    /// Walks to every point; `then` is called with the row, its contributions by feature and its importances.
    fn each_row(
        &mut self,
        points: &[f64],
        view: &mut ModelView,
        mut then: impl FnMut(&Lines, &ByColumn, &mut Walk, usize, &[f64], &[f64]),
    ) {
        let features = points.len() / self.classes.len().max(1);
        view.importance.clear();
        view.logits.clear();
        let tiles = points
            .chunks(self.rows * features)
            .zip(self.classes.chunks(self.rows));
        for (points, classes) in tiles {
            self.tile.run(points, Output::Logit, classes);
            view.logits.extend_from_slice(self.tile.logits());
        }
        let mut raw = vec![0.0; features];
        let rows = points.chunks(features.max(1)).zip(&self.classes);
        for (row, (x, &class)) in rows.enumerate() {
            self.lines.contributions(x, class, &mut self.walk, &mut raw);
            let start = view.importance.len();
            self.by_column.extend(&mut view.importance, &raw);
            then(
                &self.lines,
                &self.by_column,
                &mut self.walk,
                row,
                &raw,
                &view.importance[start..],
            );
        }
    }
}

impl Probe for ByLine<'_> {
    fn evaluate(&mut self, points: &[f64], view: &mut ModelView) {
        self.walk.keeps_kinks = false;
        self.each_row(points, view, |_, _, _, _, _, _| {});
    }

    fn gradient(
        &mut self,
        points: &[f64],
        row_gradient: &mut RowGradient<'_>,
        view: &mut ModelView,
        gradient: &mut Vec<f64>,
    ) {
        let features = points.len() / self.classes.len().max(1);
        gradient.resize(points.len(), 0.0);
        let mut slopes = Vec::new();
        let mut weights = vec![0.0; features];
        self.walk.keeps_kinks = true;
        self.each_row(
            points,
            view,
            |lines, by_column, walk, row, raw, importance| {
                slopes.clear();
                slopes.resize(importance.len(), 0.0);
                row_gradient(row, importance, &mut slopes);
                by_column.pull_back(&slopes, raw, &mut weights);
                let out = &mut gradient[row * features..][..features];
                lines.gradient(&weights, walk, out);
            },
        );
    }
}
