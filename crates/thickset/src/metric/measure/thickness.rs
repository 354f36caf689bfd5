//! Thickness of rows of a network, towards neighbours that are drawn or given.
//!
//! The ways lead from each row to its neighbours `x' ~ D` (R2ET Def. 4.1): gaussian, uniform in a ball, or given, such as
//! adversarial points. On every way the class explained is the one predicted at the row itself.

use rayon::prelude::*;
use thickset_engine::{Chain, Network};

use crate::attack::threat::BallConfig;
use crate::attack::threat::ball::Surface;
use crate::check::{as_f64, check_length, check_not_empty};
use crate::explain::{Binding, CheckedExplain, Explained, ModelView, Points, chunk_rows};
use crate::metric::thickness::{Form, RankGaps, Sum, Thickness};
use crate::{Error, Result, Seed, Stream};

/// D: where the neighbours of a row lie.
#[derive(Clone, Copy, Debug)]
pub enum Neighbours<'a> {
    /// Normal in every feature.
    Gaussian {
        /// How many.
        count: usize,
        /// The standard deviation of a feature.
        deviation: f64,
    },
    /// Uniform in the ball around the row.
    Uniform {
        /// How many.
        count: usize,
        /// The ball.
        ball: BallConfig,
    },
    /// These: every entry has one point for each of the rows, row-major.
    Given(&'a [Vec<f64>]),
}

impl Neighbours<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Gaussian { count, .. } | Self::Uniform { count, .. } => *count,
            Self::Given(points) => points.len(),
        }
    }

    /// Draws the way from a row of so many features to a neighbour; nothing where neighbours are given.
    fn draw(&self, features: usize, stream: &mut Stream, way: &mut Vec<f64>) {
        match self {
            Self::Gaussian { deviation, .. } => {
                way.extend((0..features).map(|_| deviation * stream.normal()));
            }
            Self::Uniform { ball, .. } => {
                let (still, free) = (vec![0.0; features], vec![true; features]);
                way.extend(ball.draw(&still, &free, Surface::Ball, stream));
            }
            Self::Given(_) => {}
        }
    }
}

/// How thickness is measured.
#[derive(Clone, Copy, Debug)]
pub struct ThicknessSampling<'a> {
    /// Salient features.
    pub k: usize,
    /// Where the ways lead.
    pub neighbours: Neighbours<'a>,
    /// Features that drawn neighbours have in common with the row; none if empty.
    pub immutable: &'a [bool],
    /// Points of each way, `t = (j + 1/2) / points`.
    pub points: usize,
    /// Decides the draws.
    pub seed: Seed,
    /// The name of the rows' streams.
    pub stream: &'a str,
}

impl ThicknessSampling<'_> {
    /// The thickness of every row, whose explanations are given, in each of the forms: `[row][form]`. Higher is more stable.
    ///
    /// # Errors
    /// When rows, explanations, neighbours and network do not fit each other, there is no neighbour or no point, `k` is not in
    /// `1..importances`, or something is not finite.
    pub fn measure(
        &self,
        network: &Network,
        explain: &CheckedExplain,
        rows: Points<'_>,
        explained: &[Explained],
        forms: &[Form],
    ) -> Result<Vec<Vec<Thickness>>> {
        rows.check(network)?;
        check_length("the explanations", explained, rows.ids.len())?;
        for (what, got) in [
            ("the neighbours of a row", self.neighbours.count()),
            ("the points of a way", self.points),
        ] {
            if got == 0 {
                return Err(Error::Empty { what });
            }
        }
        if let Neighbours::Given(points) = self.neighbours {
            for points in points {
                check_length("the neighbours of the rows", points, rows.values.len())?;
            }
        }
        check_not_empty("the forms of thickness", forms)?;
        let chain = explain.same_bits_chain(network);
        let (features, count) = (network.features(), chunk_rows(network.features()));
        let parts: Vec<_> = rows
            .parts(features, count)
            .zip(explained.chunks(count))
            .enumerate()
            .collect();
        let found = parts.into_par_iter().map(|(place, (rows, explained))| {
            let first = place * count * features;
            self.of_part(
                (network, chain.as_ref()),
                explain,
                rows,
                explained,
                forms,
                first,
            )
        });
        let found = found.collect::<Result<Vec<_>>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The rows of one part, which start at this place of the neighbours' lists.
    fn of_part(
        &self,
        (network, chain): (&Network, Option<&Chain>),
        explain: &CheckedExplain,
        rows: Points<'_>,
        explained: &[Explained],
        forms: &[Form],
        first: usize,
    ) -> Result<Vec<Vec<Thickness>>> {
        let classes: Vec<usize> = explained.iter().map(|row| row.class).collect();
        let binding = Binding {
            classes: &classes,
            ids: rows.ids,
            seed: self.seed,
        };
        let mut probe = explain.probe(network, chain, binding)?;
        let mut view = ModelView::default();
        let mut points = vec![0.0; rows.values.len()];
        let gaps = explained
            .iter()
            .map(|row| {
                let gaps = |form: &Form| RankGaps::new(&row.importance, self.k, *form);
                forms.iter().map(gaps).collect::<Result<Vec<_>>>()
            })
            .collect::<Result<Vec<_>>>()?;
        let mut sums = vec![vec![Sum::default(); forms.len()]; explained.len()];
        let ids = rows.ids.iter();
        let mut streams: Vec<_> = ids
            .map(|id| self.seed.stream_at(self.stream, *id))
            .collect();
        let features = network.features();
        for neighbour in 0..self.neighbours.count() {
            let mut way = Vec::with_capacity(rows.values.len());
            if let Neighbours::Given(points) = self.neighbours {
                let ends = &points[neighbour][first..first + rows.values.len()];
                way.extend(ends.iter().zip(rows.values).map(|(end, x)| end - x));
            }
            for stream in &mut streams {
                let start = way.len();
                self.neighbours.draw(features, stream, &mut way);
                for (way, _) in way[start..]
                    .iter_mut()
                    .zip(self.immutable)
                    .filter(|(_, stays)| **stays)
                {
                    *way = 0.0;
                }
            }
            for point in 0..self.points {
                let t = (as_f64(point) + 0.5) / as_f64(self.points);
                let on_way = rows.values.iter().zip(&way);
                for (point, (x, way)) in points.iter_mut().zip(on_way) {
                    *point = x + t * way;
                }
                probe.evaluate(&points, &mut view);
                let importance = &view.importance;
                let width = importance.len() / explained.len();
                let all = sums.iter_mut().zip(&gaps);
                for ((sums, gaps), importance) in all.zip(importance.chunks(width)) {
                    for (sum, gaps) in sums.iter_mut().zip(gaps) {
                        sum.add(gaps.thickness_at(importance)?);
                    }
                }
            }
            for sum in sums.iter_mut().flatten() {
                sum.end_way(self.points);
            }
        }
        let all = self.neighbours.count() * self.points;
        let of_row = |sums: Vec<Sum>| sums.into_iter().map(|sum| sum.thickness(all)).collect();
        Ok(sums.into_iter().map(of_row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::threat::Norm;
    use crate::data::{InputShape, Schema};
    use crate::explain::ExplainConfig;
    use crate::metric::thickness::score;
    use crate::model::{Fresh, LinearConfig, MlpConfig, ModelConfig};

    const FORMS: [Form; 4] = [
        Form::Gap,
        Form::Probability,
        Form::AveragePrecision,
        Form::Discounted,
    ];

    /// A network, what explains it, and 300 rows. An 8x8 image is the shortest schema to state; the models take it as a table.
    fn case(model: &ModelConfig) -> (Network, CheckedExplain, Vec<f64>) {
        let network = model
            .network(&InputShape::Table, 64, 2, &mut Fresh::new(Seed::new(3)))
            .unwrap();
        let explain = ExplainConfig::default()
            .check(&Schema::image(1, 8, 8, 255.0))
            .unwrap();
        let mut stream = Seed::new(4).stream("x");
        let x: Vec<f64> = (0..300 * 64).map(|_| stream.uniform()).collect();
        (network, explain, x)
    }

    fn measured(
        model: &ModelConfig,
        range: std::ops::Range<usize>,
        of: Neighbours<'_>,
    ) -> Vec<Vec<Thickness>> {
        let (network, explain, x) = case(model);
        let ids: Vec<u64> = (0..300).collect();
        let rows = Points {
            values: &x[range.start * 64..range.end * 64],
            ids: &ids[range],
        };
        let explained = explain.attribute(&network, rows, Seed::new(1)).unwrap();
        let sampling = ThicknessSampling {
            k: 8,
            neighbours: of,
            immutable: &[],
            points: 3,
            seed: Seed::new(1),
            stream: "test",
        };
        sampling
            .measure(&network, &explain, rows, &explained, &FORMS)
            .unwrap()
    }

    fn uniform(norm: Norm) -> Neighbours<'static> {
        Neighbours::Uniform {
            count: 2,
            ball: BallConfig { norm, radius: 0.7 },
        }
    }

    const GAUSSIAN: Neighbours<'static> = Neighbours::Gaussian {
        count: 2,
        deviation: 0.5,
    };

    #[test]
    fn no_neighbour_changes_the_ranking_of_a_linear_model() {
        let model = ModelConfig::Linear(LinearConfig::default());
        let given = [vec![0.5; 20 * 64]];
        for of in [
            GAUSSIAN,
            uniform(Norm::L2),
            uniform(Norm::Linf),
            Neighbours::Given(&given),
        ] {
            for forms in measured(&model, 0..20, of) {
                let kept = forms[1];
                assert!((kept.mean, kept.least) == (1.0, 1.0), "{kept:?}");
                assert!(forms[0].least <= forms[0].mean && forms[0].least > 0.0);
            }
        }
    }

    #[test]
    fn the_batch_changes_no_bit() {
        let model = ModelConfig::Mlp(MlpConfig::default());
        for of in [GAUSSIAN, uniform(Norm::L2)] {
            let together = measured(&model, 0..300, of);
            for range in [0..1, 254..259] {
                assert!(measured(&model, range.clone(), of) == together[range]);
            }
        }
    }

    #[test]
    fn given_ways_are_walked_from_each_row_to_its_own_neighbours() {
        let model = ModelConfig::Mlp(MlpConfig::default());
        let (network, explain, x) = case(&model);
        // Neighbours at 0.9 x and 0.8 x, so that points of the ways are multiples of the row too.
        let scaled = |scale: f64, x: &[f64]| -> Vec<f64> { x.iter().map(|x| scale * x).collect() };
        let given = [scaled(0.9, &x), scaled(0.8, &x)];
        let found = measured(&model, 0..300, Neighbours::Given(&given));
        let mut compared = 0;
        for row in [0, 1, 150, 298, 299] {
            let explained = |scale: f64| {
                let values = scaled(scale, &x[row * 64..(row + 1) * 64]);
                let rows = Points {
                    values: &values,
                    ids: &[row as u64],
                };
                explain.attribute(&network, rows, Seed::new(1)).unwrap()
            };
            let at_x = explained(1.0).remove(0);
            let way =
                |reach: f64| [0.5, 1.5, 2.5].map(|point| explained(1.0 - reach * point / 3.0));
            let ways: Vec<Vec<Explained>> = [0.1, 0.2].map(|reach| way(reach).concat()).to_vec();
            // A point of another class is explained for that one here, for the row's there.
            if ways.iter().flatten().any(|point| point.class != at_x.class) {
                continue;
            }
            compared += 1;
            let of_way =
                |way: Vec<Explained>| way.into_iter().map(|point| point.importance).collect();
            let ways: Vec<Vec<Vec<f64>>> = ways.into_iter().map(of_way).collect();
            for (form, found) in FORMS.iter().zip(&found[row]) {
                let expected = score(&ways, &at_x.importance, 8, *form).unwrap();
                for (found, expected) in
                    [(found.mean, expected.mean), (found.least, expected.least)]
                {
                    // Points are rounded to single precision.
                    assert!(
                        (found - expected).abs() <= 1e-5 * expected.abs(),
                        "{found} {expected}"
                    );
                }
            }
        }
        assert!(compared > 0);
    }

    #[test]
    fn uniform_neighbours_fill_the_ball_and_stay_in_it() {
        for norm in [Norm::L2, Norm::Linf] {
            let ball = BallConfig { norm, radius: 0.7 };
            let mut stream = Seed::new(5).stream("draws");
            let mut far = 0.0_f64;
            for _ in 0..200 {
                let mut way = Vec::new();
                uniform(norm).draw(3, &mut stream, &mut way);
                let size = ball.size(&[0.0; 3], &way);
                assert!(size <= 0.7 + 1e-12, "{size}");
                far = far.max(size);
            }
            assert!(far > 0.65, "{far}");
        }
    }

    #[test]
    fn gaussian_neighbours_lie_a_normal_number_of_deviations_away() {
        let neighbours = Neighbours::Gaussian {
            count: 1,
            deviation: 2.0,
        };
        let mut way = Vec::new();
        neighbours.draw(3, &mut Seed::new(1).stream("x"), &mut way);
        let mut stream = Seed::new(1).stream("x");
        let expected: Vec<f64> = (0..3).map(|_| 2.0 * stream.normal()).collect();
        assert_eq!(way, expected);
    }
}
