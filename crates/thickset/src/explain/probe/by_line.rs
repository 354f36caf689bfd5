//! A probe by lines: contributions in a network of dense layers with `ReLU`, each feature's or summed over columns.

use thickset_engine::{Chain, Output, Tile};

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
    /// Importances are sizes, else as they are.
    is_absolute: bool,
    /// The features of each column, where importances are columns'.
    groups: Option<Vec<Vec<usize>>>,
}

impl<'c> ByLine<'c> {
    pub(super) fn new(
        lines: Lines,
        chain: &'c Chain,
        classes: &[usize],
        is_absolute: bool,
        groups: Option<Vec<Vec<usize>>>,
    ) -> Self {
        Self {
            lines,
            walk: Walk::default(),
            tile: chain.tile(),
            rows: chain.rows(),
            classes: classes.to_vec(),
            is_absolute,
            groups,
        }
    }

    /// Walks to every point; `then` is called with the row, its contributions by feature and its importances.
    fn each_row(
        &mut self,
        points: &[f64],
        view: &mut ModelView,
        mut then: impl FnMut(&Lines, &mut Walk, usize, &[f64], &[f64]),
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
            let size = |value: f64| if self.is_absolute { value.abs() } else { value };
            match &self.groups {
                None => view.importance.extend(raw.iter().map(|one| size(*one))),
                Some(groups) => view.importance.extend(
                    groups
                        .iter()
                        .map(|group| group.iter().map(|&feature| size(raw[feature])).sum::<f64>()),
                ),
            }
            then(
                &self.lines,
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
        self.each_row(points, view, |_, _, _, _, _| {});
    }

    fn gradient(
        &mut self,
        points: &[f64],
        row_gradient: &mut RowGradient<'_>,
        view: &mut ModelView,
        gradient: &mut Vec<f64>,
    ) {
        let classes = self.classes.clone();
        let groups = self.groups.clone();
        let is_absolute = self.is_absolute;
        let features = points.len() / classes.len().max(1);
        gradient.resize(points.len(), 0.0);
        let mut slopes = Vec::new();
        let mut weights = vec![0.0; features];
        self.walk.keeps_kinks = true;
        self.each_row(points, view, |lines, walk, row, raw, importance| {
            slopes.clear();
            slopes.resize(importance.len(), 0.0);
            row_gradient(row, importance, &mut slopes);
            match &groups {
                None => weights.copy_from_slice(&slopes),
                Some(groups) => {
                    for (group, slope) in groups.iter().zip(&slopes) {
                        for &feature in group {
                            weights[feature] = *slope;
                        }
                    }
                }
            }
            if is_absolute {
                for (weight, raw) in weights.iter_mut().zip(raw) {
                    // A size has no slope at 0.
                    *weight *= if *raw == 0.0 { 0.0 } else { raw.signum() };
                }
            }
            let out = &mut gradient[row * features..][..features];
            lines.gradient(&weights, walk, out);
        });
    }
}
