//! A lens of tiles: the gradient of a chain, its signs or sizes the importances.

use thickset_engine::{Chain, Output, Tile};

use super::{Lens, Shown, Slope};

pub(super) struct ByTile<'c> {
    tile: Box<dyn Tile + 'c>,
    /// The most rows of a tile.
    rows: usize,
    of: Output,
    /// Explained, one a row.
    classes: Vec<usize>,
    /// Importances are sizes, else as they are.
    is_absolute: bool,
    direction: Vec<f64>,
}

impl<'c> ByTile<'c> {
    pub(super) fn new(chain: &'c Chain, of: Output, classes: &[usize], is_absolute: bool) -> Self {
        Self {
            tile: chain.tile(),
            rows: chain.rows(),
            of,
            classes: classes.to_vec(),
            is_absolute,
            direction: Vec::new(),
        }
    }

    /// Runs the tiles one after the other; `then` is called with each one's first row and importances.
    fn each_tile(
        &mut self,
        points: &[f64],
        shown: &mut Shown,
        mut then: impl FnMut(&mut dyn Tile, usize, &[f64]),
    ) {
        let features = points.len() / self.classes.len().max(1);
        shown.importance.clear();
        shown.logits.clear();
        let tiles = points
            .chunks(self.rows * features)
            .zip(self.classes.chunks(self.rows));
        for (number, (points, classes)) in tiles.enumerate() {
            self.tile.run(points, self.of, classes);
            let start = shown.importance.len();
            let gradient = self.tile.gradient().iter();
            if self.is_absolute {
                shown.importance.extend(gradient.map(|one| one.abs()));
            } else {
                shown.importance.extend(gradient);
            }
            shown.logits.extend_from_slice(self.tile.logits());
            then(
                self.tile.as_mut(),
                number * self.rows,
                &shown.importance[start..],
            );
        }
    }
}

impl Lens for ByTile<'_> {
    fn look(&mut self, points: &[f64], shown: &mut Shown) {
        self.each_tile(points, shown, |_, _, _| {});
    }

    fn follow(
        &mut self,
        points: &[f64],
        slope: &mut Slope<'_>,
        shown: &mut Shown,
        gradient: &mut Vec<f64>,
    ) {
        let features = points.len() / self.classes.len().max(1);
        let is_absolute = self.is_absolute;
        let mut direction = std::mem::take(&mut self.direction);
        gradient.resize(points.len(), 0.0);
        self.each_tile(points, shown, |tile, first, importance| {
            direction.resize(importance.len(), 0.0);
            let rows = importance
                .chunks(features)
                .zip(direction.chunks_mut(features));
            for (row, (importance, slopes)) in rows.enumerate() {
                slope(first + row, importance, slopes);
            }
            if is_absolute {
                // The size has no slope at 0. Without a branch, so that several go at once.
                for (slope, raw) in direction.iter_mut().zip(tile.gradient()) {
                    let up = if *raw > 0.0 { 1.0 } else { 0.0 };
                    let down = if *raw < 0.0 { 1.0 } else { 0.0 };
                    *slope *= up - down;
                }
            }
            let place = first * features..first * features + importance.len();
            tile.hessian_product(&direction, &mut gradient[place]);
        });
        self.direction = direction;
    }
}
