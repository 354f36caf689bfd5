//! A probe by tiles: the gradient of a chain, its signs or sizes the importances.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};
use thickset_engine::{Chain, Output, Tile};

use super::{ModelView, Probe, RowGradient};

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
        view: &mut ModelView,
        mut then: impl FnMut(&mut dyn Tile, usize, &[f64]),
    ) {
        let features = points.len() / self.classes.len().max(1);
        view.importance.clear();
        view.logits.clear();
        let tiles = points
            .chunks(self.rows * features)
            .zip(self.classes.chunks(self.rows));
        for (number, (points, classes)) in tiles.enumerate() {
            self.tile.run(points, self.of, classes);
            let start = view.importance.len();
            view.importance.extend_from_slice(self.tile.gradient());
            if self.is_absolute {
                vectorised(TakeSizes(&mut view.importance[start..]));
            }
            view.logits.extend_from_slice(self.tile.logits());
            then(
                self.tile.as_mut(),
                number * self.rows,
                &view.importance[start..],
            );
        }
    }
}

impl Probe for ByTile<'_> {
    fn evaluate(&mut self, points: &[f64], view: &mut ModelView) {
        self.each_tile(points, view, |_, _, _| {});
    }

    fn gradient(
        &mut self,
        points: &[f64],
        row_gradient: &mut RowGradient<'_>,
        view: &mut ModelView,
        gradient: &mut Vec<f64>,
    ) {
        let features = points.len() / self.classes.len().max(1);
        let is_absolute = self.is_absolute;
        let mut direction = std::mem::take(&mut self.direction);
        gradient.resize(points.len(), 0.0);
        self.each_tile(points, view, |tile, first, importance| {
            direction.resize(importance.len(), 0.0);
            let rows = importance
                .chunks(features)
                .zip(direction.chunks_mut(features));
            for (row, (importance, slopes)) in rows.enumerate() {
                row_gradient(first + row, importance, slopes);
            }
            if is_absolute {
                vectorised(TurnBySigns {
                    numbers: tile.gradient(),
                    slopes: &mut direction,
                });
            }
            let place = first * features..first * features + importance.len();
            tile.hessian_product(&direction, &mut gradient[place]);
        });
        self.direction = direction;
    }
}

/// Numbers become their sizes.
struct TakeSizes<'a>(&'a mut [f64]);

impl VectorLoop for TakeSizes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for number in self.0 {
            *number = number.abs();
        }
    }
}

/// Slopes in the sizes of numbers become slopes in the numbers. A size has no slope at 0.
struct TurnBySigns<'a> {
    numbers: &'a [f64],
    slopes: &'a mut [f64],
}

impl VectorLoop for TurnBySigns<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (slope, number) in self.slopes.iter_mut().zip(self.numbers) {
            // Without a branch, so that several go at once.
            let up = if *number > 0.0 { 1.0 } else { 0.0 };
            let down = if *number < 0.0 { 1.0 } else { 0.0 };
            *slope *= up - down;
        }
    }
}
