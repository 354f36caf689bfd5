//! Everything that is measured at the rows of one part: explanation, worst point, and the figures of the table.
//!
//! A row's numbers depend neither on the rows beside it nor on threads: its draws come from streams named by its own
//! number, and networks give each row the same bits in any batch.

use std::cell::OnceCell;

use thickset_engine::{Chain, Network};

use super::certificate::Certificates;
use super::figure::explained::has_ranking;
use super::figure::{FIGURES, Figure, OfRow, RowFigures};
use super::plan::CheckedAudit;
use super::result::{AttackId, RowRecord};
use crate::Result;
use crate::attack::Attacked;
use crate::attack::every_point::KnownPoints;
use crate::attack::suite::MemberScore;
use crate::attack::threat::Norm;
use crate::certify::CertifiedWorstCase;
use crate::check::as_f64;
use crate::explain::{Explained, Points};
use crate::metric::faithfulness::Faithfulness;
use crate::metric::measure;
use crate::metric::measure::thickness::{Neighbours, ThicknessSampling};
use crate::metric::ranking;
use crate::metric::thickness::Form;

/// What one part of the rows came to.
pub(super) struct Measured {
    /// The rows in brief.
    pub(super) rows: Vec<RowRecord>,
    /// Their importances.
    pub(super) importance: Vec<Vec<f64>>,
    /// What each member of the suite found alone.
    pub(super) members: Vec<MemberScore>,
}

/// Rows with their labels.
#[derive(Clone, Copy)]
pub(super) struct LabelledRows<'a> {
    pub(super) rows: Points<'a>,
    pub(super) labels: &'a [Option<usize>],
}

/// What a figure can be read from: rows, their explanations, and their worst points.
pub(crate) struct MeasuredRows<'a> {
    /// The audit.
    pub(crate) audit: &'a CheckedAudit,
    /// The network that is audited.
    pub(crate) network: &'a Network,
    /// The rows.
    pub(crate) rows: Points<'a>,
    /// Their explanations.
    pub(crate) explained: Vec<Explained>,
    /// Their worst points.
    pub(crate) attacked: Vec<Attacked>,
    /// The explanations there.
    pub(crate) at_worst: Vec<Explained>,
    /// The network's fast path, if it has one that shows the explanation with the same bits.
    pub(super) chain: Option<Chain>,
    /// What was proved of the rows' worst cases, by the suite's last step or before they were attacked.
    pub(super) certified: Option<Vec<CertifiedWorstCase>>,
    /// Of rows all points of whose set were tried, how they stand there.
    pub(super) known: Vec<Option<KnownPoints>>,
    /// What else is proved.
    pub(super) certificates: Certificates,
    /// DFFOT, COMP and SUFF come from one run over the rows.
    faithfulness: OnceCell<Vec<Faithfulness>>,
}

impl CheckedAudit {
    /// Measures those figures that are `wanted`.
    pub(super) fn measure(
        &self,
        network: &Network,
        part: LabelledRows<'_>,
        wanted: impl Fn(&Figure) -> bool,
    ) -> Result<Measured> {
        let seed = self.config.seed;
        let explained = self.explain.attribute(network, part.rows, seed)?;
        let is_certified = |figure: &Figure| matches!(figure.of_row, OfRow::Certified(_));
        let is_asked = FIGURES.iter().any(|one| is_certified(one) && wanted(one));
        let certify = self.certify.as_ref().ok();
        let certify = certify.filter(|certify| is_asked && certify.fits(network).is_ok());
        let found = self
            .suite
            .perturb_after_proof(network, part.rows, seed, certify)?;
        let measured = MeasuredRows {
            audit: self,
            network,
            rows: part.rows,
            at_worst: self.explained_at_worst(network, part.rows, &found.rows)?,
            explained,
            attacked: found.rows,
            chain: self.explain.same_bits_chain(network),
            certified: found.certified.or(found.proved),
            known: found.known,
            certificates: Certificates::default(),
            faithfulness: OnceCell::new(),
        };
        let mut figures = vec![RowFigures::default(); part.labels.len()];
        for figure in FIGURES {
            if let (OfRow::Measured(measure), true) = (figure.of_row, wanted(figure)) {
                for (figures, value) in figures.iter_mut().zip(measure(&measured)?) {
                    figures.set(figure, value);
                }
            }
            if let (OfRow::Certified(of), true) = (figure.of_row, wanted(figure)) {
                let certificates = measured.certificates()?.unwrap_or_default();
                for (figures, certificate) in figures.iter_mut().zip(certificates) {
                    figures.set(figure, of(certificate));
                }
            }
        }
        let precision = measured.attacked.iter().map(|row| row.precision);
        let precision = measured.zero_without_ranking(precision.collect());
        let mut rows = Vec::with_capacity(figures.len());
        for (place, at_x) in measured.explained.iter().enumerate() {
            rows.push(RowRecord {
                row: part.rows.ids[place] + 1,
                label: part.labels[place],
                class: at_x.class,
                probabilities: at_x.probabilities.clone(),
                top: self.top(&at_x.importance)?,
                attacked_top: self.top(&measured.at_worst[place].importance)?,
                precision: precision[place],
                attack: AttackId::new(measured.attacked[place].attack)
                    .expect("the suite is of the registry's attacks"),
                first_change: measured.attacked[place].manipulation_epoch,
                figures: figures[place],
            });
        }
        let mut members = found.members;
        for precision in members.iter_mut().map(|member| &mut member.precision) {
            let ranked = measured.explained.iter();
            let ranked = ranked.map(|row| has_ranking(&row.importance));
            for (precision, is_ranked) in precision.iter_mut().zip(ranked) {
                *precision = precision.map(|value| if is_ranked { value } else { 0.0 });
            }
        }
        Ok(Measured {
            rows,
            importance: measured
                .explained
                .into_iter()
                .map(|row| row.importance)
                .collect(),
            members,
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
}

impl MeasuredRows<'_> {
    /// One of the three numbers of faithfulness of every row.
    pub(crate) fn faithful(&self, of: fn(&Faithfulness) -> f64) -> Result<Vec<f64>> {
        if let Some(found) = self.faithfulness.get() {
            return Ok(found.iter().map(of).collect());
        }
        let found = measure::faithfulness::measure(
            self.network,
            &self.audit.explain,
            self.rows,
            &self.explained,
            self.audit.counts,
        )?;
        Ok(self
            .faithfulness
            .get_or_init(|| found)
            .iter()
            .map(of)
            .collect())
    }

    /// The thickness in its probability form over gaussian neighbours. Immutable columns stay; whatever else the threat set
    /// forbids beside distance does not matter.
    pub(crate) fn thickness(&self) -> Result<Vec<f64>> {
        let config = &self.audit.config;
        let sampling = ThicknessSampling {
            k: self.audit.k(),
            neighbours: Neighbours::Gaussian {
                count: config.thickness.neighbours,
                deviation: self.deviation(),
            },
            immutable: self.audit.threat.immutable(),
            points: config.thickness.points,
            seed: config.seed,
            stream: "audit thickness",
        };
        let found = sampling.measure(
            self.network,
            &self.audit.explain,
            self.rows,
            &self.explained,
            &[Form::Probability],
        )?;
        let means = found.into_iter().map(|forms| forms[0].mean).collect();
        Ok(self.zero_without_ranking(means))
    }

    /// Of one feature that moves, so that a neighbour's root mean square distance is the radius; for the largest norm, that of a
    /// uniform draw from the box.
    fn deviation(&self) -> f64 {
        let immutable = self.audit.threat.immutable().iter();
        let features = immutable.filter(|stays| !**stays).count();
        let ball = self.audit.config.suite.threat.ball;
        match ball.norm {
            Norm::L2 => ball.radius / as_f64(features).sqrt(),
            Norm::Linf => ball.radius / 3.0_f64.sqrt(),
        }
    }

    /// A number for each row, with 0 for those whose importances rank nothing: what is not explained is not stable.
    pub(crate) fn zero_without_ranking(&self, mut values: Vec<f64>) -> Vec<f64> {
        for (value, row) in values.iter_mut().zip(&self.explained) {
            if !has_ranking(&row.importance) {
                *value = 0.0;
            }
        }
        values
    }
}
