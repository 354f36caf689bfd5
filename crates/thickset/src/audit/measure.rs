//! Everything that is measured at the rows of one part: explanation, worst point, noise floor, thickness, faithfulness.
//!
//! A row's numbers depend neither on the rows beside it nor on threads: its draws come from streams named by its own
//! number, and networks give each row the same bits in any batch.

use thickset_engine::Network;

use super::plan::CheckedAudit;
use super::result::{AttackId, Row};
use crate::Result;
use crate::attack::Attacked;
use crate::attack::suite::MemberScore;
use crate::attack::threat::Norm;
use crate::attack::threat::ball::Surface;
use crate::check::as_f64;
use crate::explain::{Binding, Explained, Points};
use crate::host::read;
use crate::metric::measure;
use crate::metric::measure::thickness::{Neighbours, Survey};
use crate::metric::ranking::{self, TopK};
use crate::metric::thickness::Form;

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
    pub(super) rows: Points<'a>,
    pub(super) labels: &'a [Option<usize>],
}

impl CheckedAudit {
    pub(super) fn measure(&self, network: &Network, part: Part<'_>) -> Result<Measured> {
        let seed = self.config.seed;
        let explained = self.explain.attribute(network, part.rows, seed)?;
        let found = self.suite.perturb(network, part.rows, seed)?;
        let attacked = self.explained_at_worst(network, part.rows, &found.rows)?;
        let noise = self.noise(network, part.rows, &explained)?;
        let thickness = self.thickness(network, part.rows, &explained)?;
        let faithfulness = measure::faithfulness::measure(
            network,
            &self.explain,
            part.rows,
            &explained,
            self.counts,
        )?;
        let mut rows = Vec::with_capacity(explained.len());
        for (place, at_x) in explained.iter().enumerate() {
            let faithfulness = faithfulness[place];
            rows.push(Row {
                row: part.rows.ids[place] + 1,
                label: part.labels[place],
                class: at_x.class,
                probabilities: at_x.probabilities.clone(),
                top: self.top(&at_x.importance)?,
                attacked_top: self.top(&attacked[place].importance)?,
                precision: found.rows[place].precision,
                attack: AttackId::new(found.rows[place].attack)
                    .expect("the suite is of the registry's attacks"),
                first_change: found.rows[place].manipulation_epoch,
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
        rows: Points<'_>,
        attacked: &[Attacked],
    ) -> Result<Vec<Explained>> {
        let points: Vec<f64> = attacked
            .iter()
            .flat_map(|row| row.perturbed.iter().copied())
            .collect();
        let at = Points {
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

    /// The mean P@k over random points on the sphere of the threat set. Whether the prediction changes there does not
    /// matter: the class explained is the row's own.
    fn noise(
        &self,
        network: &Network,
        rows: Points<'_>,
        explained: &[Explained],
    ) -> Result<Vec<f64>> {
        let classes: Vec<usize> = explained.iter().map(|row| row.class).collect();
        let binding = Binding {
            classes: &classes,
            ids: rows.ids,
            seed: self.config.seed,
        };
        let bound = self.explain.bind(network, binding)?;
        let tops = explained
            .iter()
            .map(|row| TopK::of(&row.importance, self.k()))
            .collect::<Result<Vec<_>>>()?;
        let width = network.features();
        let ids = rows.ids.iter();
        let mut streams: Vec<_> = ids
            .map(|id| self.config.seed.stream_at("audit noise", *id))
            .collect();
        let mut points = vec![0.0; rows.values.len()];
        let mut kept = vec![0; streams.len()];
        for _ in 0..self.config.noise_draws {
            for (place, stream) in streams.iter_mut().enumerate() {
                let x = row_of(rows.values, place, width);
                let drawn = self.threat.draw(x, Surface::Sphere, stream);
                let point = &mut points[place * width..(place + 1) * width];
                self.threat.settle(x, &drawn, point);
            }
            let importance = read(bound.importance(network, network.batch(&points)));
            let rows = importance.chunks(self.names.len());
            for ((kept, top), row) in kept.iter_mut().zip(&tops).zip(rows) {
                *kept += top.kept(row)?;
            }
        }
        let all = as_f64(self.config.noise_draws * self.k());
        Ok(kept.into_iter().map(|kept| as_f64(kept) / all).collect())
    }

    /// The thickness in its probability form over gaussian neighbours. Immutable columns stay; whatever else the threat set
    /// forbids beside distance does not matter.
    fn thickness(
        &self,
        network: &Network,
        rows: Points<'_>,
        explained: &[Explained],
    ) -> Result<Vec<f64>> {
        let survey = Survey {
            k: self.k(),
            neighbours: Neighbours::Gaussian {
                count: self.config.thickness.neighbours,
                deviation: self.deviation(),
            },
            immutable: self.threat.immutable(),
            points: self.config.thickness.points,
            seed: self.config.seed,
            stream: "audit thickness",
        };
        let found = survey.measure(
            network,
            &self.explain,
            rows,
            explained,
            &[Form::Probability],
        )?;
        Ok(found.into_iter().map(|forms| forms[0].mean).collect())
    }

    /// Of one feature that moves, so that a neighbour's root mean square distance is the radius; for the largest norm, that of a
    /// uniform draw from the box.
    fn deviation(&self) -> f64 {
        let immutable = self.threat.immutable().iter();
        let features = immutable.filter(|stays| !**stays).count();
        let ball = self.config.suite.threat.ball;
        match ball.norm {
            Norm::L2 => ball.radius / as_f64(features).sqrt(),
            Norm::Linf => ball.radius / 3.0_f64.sqrt(),
        }
    }
}

fn row_of(values: &[f64], place: usize, width: usize) -> &[f64] {
    &values[place * width..(place + 1) * width]
}
