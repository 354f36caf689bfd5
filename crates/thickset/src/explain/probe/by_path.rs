//! A probe by paths: integrated gradients in a chain of dense layers, each feature's or summed over columns. The points of a row's way run in tiles,
//! as many at a time as a tile has rows.

use thickset_engine::{Chain, Output, Tile};

use super::by_column::ByColumn;
use super::{ModelView, Probe, RowGradient};
use crate::check::as_f64;
use crate::explain::integrated_gradients::IntegratedGradientsConfig;

pub(super) struct ByPath<'c> {
    tile: Box<dyn Tile + 'c>,
    /// The most rows of a tile.
    rows: usize,
    of: Output,
    /// The value of every feature where ways start.
    baseline: f64,
    /// Where gradients are taken on a way, from 0 at its start to 1.
    places: Vec<f64>,
    /// Explained, one a row.
    classes: Vec<usize>,
    by_column: ByColumn,
    room: Room,
}

/// Room for one row.
#[derive(Default)]
struct Room {
    points: Vec<f64>,
    classes: Vec<usize>,
    way: Vec<f64>,
    mean: Vec<f64>,
    attribution: Vec<f64>,
    directions: Vec<f64>,
    products: Vec<f64>,
}

impl<'c> ByPath<'c> {
    pub(super) fn new(
        config: &IntegratedGradientsConfig,
        chain: &'c Chain,
        classes: &[usize],
        by_column: ByColumn,
    ) -> Self {
        Self {
            tile: chain.tile(),
            rows: chain.rows(),
            of: config.of.into(),
            baseline: config.baseline,
            places: config.rule.places(config.steps),
            classes: classes.to_vec(),
            by_column,
            room: Room::default(),
        }
    }

    /// Writes the logits of all points.
    fn logits(&mut self, points: &[f64], features: usize, view: &mut ModelView) {
        view.logits.clear();
        let tiles = points
            .chunks(self.rows * features)
            .zip(self.classes.chunks(self.rows));
        for (points, classes) in tiles {
            self.tile.run(points, self.of, classes);
            view.logits.extend_from_slice(self.tile.logits());
        }
    }

    /// Runs the places of a row's way, a tile of them at a time; `then` is called with each tile and its places.
    fn each_tile(&mut self, class: usize, mut then: impl FnMut(&mut dyn Tile, &[f64], &mut Room)) {
        for places in self.places.chunks(self.rows) {
            let room = &mut self.room;
            room.points.clear();
            for place in places {
                let points = room.way.iter().map(|way| self.baseline + place * way);
                room.points.extend(points);
            }
            room.classes.clear();
            room.classes.resize(places.len(), class);
            self.tile.run(&room.points, self.of, &room.classes);
            then(self.tile.as_mut(), places, room);
        }
    }

    /// The mean gradient on a row's way, what each feature is attributed, and the importances of that, appended.
    fn explain(&mut self, x: &[f64], class: usize, importance: &mut Vec<f64>) {
        let (features, share) = (x.len(), 1.0 / as_f64(self.places.len()));
        self.room.way.clear();
        let way = x.iter().map(|x| x - self.baseline);
        self.room.way.extend(way);
        self.room.mean.clear();
        self.room.mean.resize(features, 0.0);
        self.each_tile(class, |tile, _, room| {
            for gradient in tile.gradient().chunks(features) {
                add(&mut room.mean, gradient);
            }
        });
        let room = &mut self.room;
        room.attribution.clear();
        for (mean, way) in room.mean.iter_mut().zip(&room.way) {
            *mean *= share;
            room.attribution.push(*mean * way);
        }
        self.by_column.extend(importance, &room.attribution);
    }

    /// The gradient in the latest row of its importances, each times its slope: `u mean_j g_j + mean_j a_j H_j (u (x - b))`, with u the
    /// slopes in the attributions.
    fn pull_back(&mut self, class: usize, slopes: &[f64], out: &mut [f64]) {
        let (features, share) = (out.len(), 1.0 / as_f64(self.places.len()));
        let mut weights = vec![0.0; features];
        let given = &self.room.attribution;
        self.by_column.pull_back(slopes, given, &mut weights);
        for (out, (weight, mean)) in out.iter_mut().zip(weights.iter().zip(&self.room.mean)) {
            *out = weight * mean;
        }
        self.each_tile(class, |tile, places, room| {
            room.directions.clear();
            for place in places {
                let directions = weights.iter().zip(&room.way);
                let directions = directions.map(|(weight, way)| place * share * weight * way);
                room.directions.extend(directions);
            }
            room.products.resize(room.directions.len(), 0.0);
            tile.hessian_product(&room.directions, &mut room.products);
            for product in room.products.chunks(features) {
                add(out, product);
            }
        });
    }
}

fn add(sum: &mut [f64], more: &[f64]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

impl Probe for ByPath<'_> {
    fn evaluate(&mut self, points: &[f64], view: &mut ModelView) {
        let features = points.len() / self.classes.len().max(1);
        self.logits(points, features, view);
        view.importance.clear();
        for (row, x) in points.chunks(features.max(1)).enumerate() {
            self.explain(x, self.classes[row], &mut view.importance);
        }
    }

    fn gradient(
        &mut self,
        points: &[f64],
        row_gradient: &mut RowGradient<'_>,
        view: &mut ModelView,
        gradient: &mut Vec<f64>,
    ) {
        let features = points.len() / self.classes.len().max(1);
        self.logits(points, features, view);
        view.importance.clear();
        gradient.resize(points.len(), 0.0);
        let mut slopes = Vec::new();
        let rows = points.chunks(features.max(1));
        for (row, (x, out)) in rows.zip(gradient.chunks_mut(features.max(1))).enumerate() {
            let (class, start) = (self.classes[row], view.importance.len());
            self.explain(x, class, &mut view.importance);
            let importance = &view.importance[start..];
            slopes.clear();
            slopes.resize(importance.len(), 0.0);
            row_gradient(row, importance, &mut slopes);
            self.pull_back(class, &slopes, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::by_tensor::ByTensor;
    use super::*;
    use crate::Seed;
    use crate::data::{InputShape, Schema};
    use crate::explain::integrated_gradients::Rule;
    use crate::explain::reduce::ReductionConfig;
    use crate::explain::{Binding, ExplainConfig, ExplanationConfig, Of};
    use crate::model::{Fresh, MlpConfig, ModelConfig};

    #[test]
    fn it_shows_what_tensors_show_and_the_same_gradients() {
        let schema = Schema::table(&["a", "b", "c", "d", "e"]);
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: vec![9, 7],
            ..MlpConfig::default()
        });
        let network = model
            .network(&InputShape::Table, 5, 3, &mut Fresh::new(Seed::new(4)))
            .unwrap();
        let mut stream = Seed::new(5).stream("points");
        let points: Vec<f64> = (0..4 * 5).map(|_| stream.normal()).collect();
        let binding = Binding {
            classes: &[0, 2, 1, 0],
            ids: &[0, 1, 2, 3],
            seed: Seed::new(0),
        };
        // More steps than a tile has rows, and few; of `ReLU` networks and smooth ones.
        for (steps, rule, of, reduce, beta) in [
            (
                300,
                Rule::Midpoint,
                Of::Probability,
                ReductionConfig::Absolute,
                None,
            ),
            (7, Rule::Right, Of::Logit, ReductionConfig::Signed, None),
            (
                20,
                Rule::Midpoint,
                Of::Probability,
                ReductionConfig::Signed,
                Some(3.0),
            ),
        ] {
            let network = match beta {
                None => network.clone(),
                Some(beta) => network.smooth_twin(beta),
            };
            let chain = Chain::new(&network).unwrap();
            let config = ExplainConfig {
                explanation: ExplanationConfig::IntegratedGradients(IntegratedGradientsConfig {
                    steps,
                    rule,
                    of,
                    baseline: 0.25,
                }),
                reduce,
                ..ExplainConfig::default()
            };
            let explain = config.check(&schema).unwrap();
            let mut by_path = explain.probe(&network, Some(&chain), binding).unwrap();
            let mut by_tensor = ByTensor {
                network: &network,
                explainer: explain.bind(&network, binding).unwrap(),
            };
            let shown = |probe: &mut dyn Probe| {
                let (mut view, mut gradient) = (ModelView::default(), Vec::new());
                let mut slopes = |row: usize, importance: &[f64], slopes: &mut [f64]| {
                    for (place, (slope, one)) in slopes.iter_mut().zip(importance).enumerate() {
                        *slope = one + as_f64(place + row) - 2.0;
                    }
                };
                probe.gradient(&points, &mut slopes, &mut view, &mut gradient);
                let mut alone = ModelView::default();
                probe.evaluate(&points, &mut alone);
                assert_eq!(alone.importance, view.importance);
                [view.importance, view.logits, gradient]
            };
            let (found, expected) = (shown(by_path.as_mut()), shown(&mut by_tensor));
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    let near = 2e-4 * (1.0 + expected.abs());
                    assert!((found - expected).abs() < near, "{found} {expected}");
                }
            }
        }
    }
}
