//! Everything that is measured at the rows of one part: explanation, worst point, noise floor, thickness, faithfulness.
//!
//! A row's numbers depend neither on the rows beside it nor on threads: its draws come from streams named by its own
//! number, and networks give each row the same bits in any batch.

use thickset_engine::Network;

use super::plan::CheckedAudit;
use super::result::Row;
use crate::attack::Attacked;
use crate::attack::suite::MemberScore;
use crate::attack::threat::Norm;
use crate::attack::threat::ball::Surface;
use crate::check::as_f64;
use crate::explain::{Binding, Explained, Explainer, Rows};
use crate::host::read;
use crate::metric::faithfulness::{self, Faithfulness, Layout, Removal};
use crate::metric::ranking::{self, TopK};
use crate::metric::thickness::{Form, Gauge};
use crate::{Result, Stream};

/// What one part of the rows came to.
pub(super) struct Measured {
    /// The rows in brief.
    pub(super) rows: Vec<Row>,
    /// Their importances.
    pub(super) importance: Vec<Vec<f64>>,
    /// What each member of the suite found alone.
    pub(super) members: Vec<MemberScore>,
}

/// Rows with their labels.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) labels: &'a [Option<usize>],
}

impl CheckedAudit {
    pub(super) fn measure(&self, network: &Network, part: Part<'_>) -> Result<Measured> {
        let seed = self.config.seed;
        let explained = self.explain.attribute(network, part.rows, seed)?;
        let found = self.suite.perturb(network, part.rows, seed)?;
        let attacked = self.explained_at_worst(network, part.rows, &found.rows)?;
        let around = Around::new(self, network, part.rows, &explained)?;
        let noise = around.noise()?;
        let thickness = around.thickness()?;
        let mut rows = Vec::with_capacity(explained.len());
        for (place, at_x) in explained.iter().enumerate() {
            let x = row_of(part.rows.values, place, network.features());
            let faithfulness = self.faithfulness(network, x, at_x)?;
            rows.push(Row {
                row: part.rows.ids[place] + 1,
                label: part.labels[place],
                class: at_x.class,
                probabilities: at_x.probabilities.clone(),
                top: self.top(&at_x.importance)?,
                attacked_top: self.top(&attacked[place].importance)?,
                precision: found.rows[place].precision,
                attack: found.rows[place].attack.into(),
                first_change: found.rows[place].first_change,
                noise: noise[place],
                thickness: thickness[place],
                dffot: faithfulness.dffot,
                comprehensiveness: faithfulness.comprehensiveness,
                sufficiency: faithfulness.sufficiency,
            });
        }
        Ok(Measured {
            rows,
            importance: explained.into_iter().map(|row| row.importance).collect(),
            members: found.members,
        })
    }

    /// The explanations of the rows' worst points.
    pub(super) fn explained_at_worst(
        &self,
        network: &Network,
        rows: Rows<'_>,
        attacked: &[Attacked],
    ) -> Result<Vec<Explained>> {
        let points: Vec<f64> = attacked
            .iter()
            .flat_map(|row| row.perturbed.iter().copied())
            .collect();
        let at = Rows {
            values: &points,
            ids: rows.ids,
        };
        self.explain.attribute(network, at, self.config.seed)
    }

    /// The top-k features, the most important first.
    fn top(&self, importance: &[f64]) -> Result<Vec<usize>> {
        let mut order = ranking::descending(importance)?;
        order.truncate(self.k());
        Ok(order)
    }

    /// DFFOT, COMP and SUFF. A removed feature is set to 0 in encoded units: the least training value of a number, no
    /// category, a pixel without light.
    fn faithfulness(&self, network: &Network, x: &[f64], at_x: &Explained) -> Result<Faithfulness> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rows are kept in f32, so this is exact"
        )]
        let x: Vec<f32> = x.iter().map(|value| *value as f32).collect();
        let order = ranking::descending(&at_x.importance)?;
        let removal = Removal {
            x: &x,
            baseline: &vec![0.0; x.len()],
            order: &order,
            layout: Layout::Groups(&self.inputs),
        };
        faithfulness::score(&removal, self.counts, &mut |rows| {
            let probabilities = read(network.probabilities(network.batch_f32(&rows.concat())));
            let rows = probabilities.chunks(network.classes());
            Ok(rows.map(<[f64]>::to_vec).collect())
        })
    }
}

fn row_of(values: &[f64], place: usize, width: usize) -> &[f64] {
    &values[place * width..(place + 1) * width]
}

/// The rows' neighbourhoods; explanations there are of the class predicted at the row itself.
struct Around<'a> {
    audit: &'a CheckedAudit,
    network: &'a Network,
    rows: Rows<'a>,
    explained: &'a [Explained],
    explainer: Explainer,
}

impl<'a> Around<'a> {
    fn new(
        audit: &'a CheckedAudit,
        network: &'a Network,
        rows: Rows<'a>,
        explained: &'a [Explained],
    ) -> Result<Self> {
        let classes: Vec<usize> = explained.iter().map(|row| row.class).collect();
        let binding = Binding {
            classes: &classes,
            ids: rows.ids,
            seed: audit.config.seed,
        };
        Ok(Self {
            explainer: audit.explain.bind(network, binding)?,
            audit,
            network,
            rows,
            explained,
        })
    }

    fn streams(&self, name: &str) -> Vec<Stream> {
        let ids = self.rows.ids.iter();
        ids.map(|id| self.audit.config.seed.stream_at(name, *id))
            .collect()
    }

    /// The importances at one point of every row.
    fn importance(&self, points: &[f64]) -> Vec<f64> {
        let points = self.network.batch(points);
        read(self.explainer.importance(self.network, points))
    }

    /// The mean P@k over random points on the sphere of the threat set. Whether the prediction changes there does not
    /// matter: the class explained is the row's own.
    fn noise(&self) -> Result<Vec<f64>> {
        let tops = self
            .explained
            .iter()
            .map(|row| TopK::of(&row.importance, self.audit.k()))
            .collect::<Result<Vec<_>>>()?;
        let width = self.network.features();
        let mut streams = self.streams("audit noise");
        let mut points = vec![0.0; self.rows.values.len()];
        let mut kept = vec![0; streams.len()];
        for _ in 0..self.audit.config.noise_draws {
            for (place, stream) in streams.iter_mut().enumerate() {
                let x = row_of(self.rows.values, place, width);
                let drawn = self.audit.threat.draw(x, Surface::Sphere, stream);
                let point = &mut points[place * width..(place + 1) * width];
                self.audit.threat.settle(x, &drawn, point);
            }
            let importance = self.importance(&points);
            let rows = importance.chunks(self.audit.names.len());
            for ((kept, top), row) in kept.iter_mut().zip(&tops).zip(rows) {
                *kept += top.kept(row)?;
            }
        }
        let all = as_f64(self.audit.config.noise_draws * self.audit.k());
        Ok(kept.into_iter().map(|kept| as_f64(kept) / all).collect())
    }

    /// The thickness in its probability form over gaussian neighbours, whatever the threat set forbids beside distance.
    fn thickness(&self) -> Result<Vec<f64>> {
        let k = self.audit.k();
        let gauges = self
            .explained
            .iter()
            .map(|row| Gauge::new(&row.importance, k, Form::Probability))
            .collect::<Result<Vec<_>>>()?;
        let deviation = self.deviation();
        let settings = self.audit.config.thickness;
        let mut streams = self.streams("audit thickness");
        let mut sums = vec![0.0; gauges.len()];
        let width = self.network.features();
        for _ in 0..settings.neighbours {
            let mut way = Vec::with_capacity(self.rows.values.len());
            for stream in &mut streams {
                way.extend((0..width).map(|_| deviation * stream.normal()));
            }
            for point in 0..settings.points {
                let t = (as_f64(point) + 0.5) / as_f64(settings.points);
                let on_way = self.rows.values.iter().zip(&way);
                let points: Vec<f64> = on_way.map(|(x, way)| x + t * way).collect();
                let importance = self.importance(&points);
                let rows = importance.chunks(self.audit.names.len());
                for ((sum, gauge), row) in sums.iter_mut().zip(&gauges).zip(rows) {
                    *sum += gauge.at(row)?;
                }
            }
        }
        let all = as_f64(settings.neighbours * settings.points);
        Ok(sums.into_iter().map(|sum| sum / all).collect())
    }

    /// Of one feature, so that a neighbour's root mean square distance is the radius; for the largest norm, that of a
    /// uniform draw from the box.
    fn deviation(&self) -> f64 {
        let ball = self.audit.config.suite.threat.ball;
        match ball.norm {
            Norm::L2 => ball.radius / as_f64(self.network.features()).sqrt(),
            Norm::Linf => ball.radius / 3.0_f64.sqrt(),
        }
    }
}
