//! Runs an audit: chunk after chunk of rows, then what needs all of them.

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};
use thickset_engine::Network;

use super::certificate::{CertificateRecord, exact};
use super::figure::FIGURES;
use super::figure::explained::has_ranking;
use super::measure::{LabelledRows, Measured};
use super::plan::CheckedAudit;
use super::progress::{Chunk, Event, Observer, Partial, ResumeFile};
use super::result::{self, Audit, AuditSettings, RowRecord, SCHEMA, WorstRow};
use super::row_list::RowList;
use super::running_totals::{BlockTotals, RunningTotals};
use super::target::AuditTarget;
use super::{limit, linear, summary, theory};
use crate::attack::suite::Effort;
use crate::attack::{changes, own_values};
use crate::check::as_f64;
use crate::data::hexadecimal;
use crate::explain::{Points, chunk_rows};
use crate::metric::thickness;
use crate::{Error, Result};

/// Parts that each thread takes of a chunk of a quick audit: its rows take so little time that threads would often wait for one another.
const QUICK_PARTS: usize = 4;

/// The most changes of a worst row that are listed; an attack on an image changes every pixel.
const MOST_CHANGES: usize = 50;

/// How an audit runs; nothing of it changes what comes out.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Where the rows done so far are kept, so that a killed audit can continue; nowhere if absent.
    pub resume: Option<ResumeFile>,
    /// Rows between two writes; a few hundred for each thread if absent, of a quick audit about a thousand.
    pub chunk: Option<usize>,
}

/// How an audit ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// All rows are done.
    Done(Box<Audit>),
    /// The observer stopped it.
    Stopped,
}

/// Audits the model of a target on its rows.
///
/// # Errors
/// When rows do not fit the model, something is not finite, or the file of the rows done cannot be read or written.
pub fn run(
    audit: &CheckedAudit,
    target: &AuditTarget<'_>,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    check(audit, target)?;
    let donors = target.rows.donors(audit.config.suite.effort.donors());
    let audit = &audit.clone().with_donors(&donors)?;
    let model = target.described_model();
    let data = target.described_rows(&audit.names);
    let mut session = Session::new(audit, target);
    if session
        .restore_from(options, &model, &data, observer)?
        .is_break()
    {
        return Ok(Outcome::Stopped);
    }
    if session.run(options.chunk, observer)?.is_break() {
        return Ok(Outcome::Stopped);
    }
    let ControlFlow::Continue(linear) = linear::baseline(audit, target, observer)? else {
        return Ok(Outcome::Stopped);
    };
    let limit = limit::of(audit, target)?;
    let theory = theory::of(audit, target)?;
    let worst = session.worst();
    if observer
        .on_event(&Event::Worst { rows: worst.len() })
        .is_break()
    {
        return Ok(Outcome::Stopped);
    }
    let worst = session.worst_rows(&worst)?;
    let Session { rows, totals, .. } = session;
    let counts = summary::features(&rows, &totals);
    let found = summary::summary(&rows, &counts, audit.k())?;
    let count = as_f64(rows.len());
    Ok(Outcome::Done(Box::new(Audit {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instruction_set: Some(target.model.model.network.instruction_set().to_owned()),
        model,
        data,
        settings: audit.settings(),
        gate: summary::gate(&audit.rules, &found),
        summary: found,
        linear,
        limit,
        certificate: Some(CertificateRecord {
            absent: audit.no_certificate(&target.model.model.network),
            exact: exact(&rows),
        }),
        attacks: totals.attacks(audit.k())?,
        features: counts,
        magnitudes: totals.magnitudes().iter().map(|sum| sum / count).collect(),
        worst,
        reasons: None,
        theory,
        training: target.model.training.clone(),
        rows_file: None,
        rows,
    })))
}

/// Refuses rows that do not fit the model.
pub(super) fn check(audit: &CheckedAudit, target: &AuditTarget<'_>) -> Result<()> {
    let network = &target.model.model.network;
    let (expected, got) = (network.features(), target.rows.schema().len());
    if expected != got {
        return Err(Error::RowWidth { expected, got });
    }
    if target.rows.is_empty() {
        return Err(Error::Empty {
            what: "the rows to audit",
        });
    }
    let classes = network.classes();
    let labels = (0..target.rows.len()).filter_map(|place| target.rows.label(place));
    if let Some(got) = labels.into_iter().find(|label| *label >= classes) {
        return Err(Error::IndexOutOfRange {
            what: "a label",
            bound: classes,
            got,
        });
    }
    // A k that fits the explanation was checked with the plan; this is for plans made for other rows.
    let inputs = (0..audit.names.len()).map(|index| audit.explain.inputs(index).len());
    let features: usize = inputs.sum();
    if features != expected {
        return Err(Error::RowWidth {
            expected,
            got: features,
        });
    }
    Ok(())
}

/// Distinguishes this audit from every other: what the rows' results depend on, and nothing else.
fn fingerprint(
    audit: &CheckedAudit,
    target: &AuditTarget<'_>,
    model: &result::ModelRecord,
    data: &result::DataRecord,
) -> String {
    let mut hash = Sha256::new();
    // How many rows are described further changes none of them.
    let settings = AuditSettings {
        worst: 0,
        theory: 0,
        ..audit.settings()
    };
    let parts = (
        env!("CARGO_PKG_VERSION"),
        target.model.model.network.instruction_set(),
        &model.sha256,
        &data.sha256,
        settings,
        FIGURES.iter().map(|figure| figure.id).collect::<Vec<_>>(),
    );
    hash.update(serde_json::to_vec(&parts).expect("settings are plain data"));
    for place in 0..target.rows.len() {
        hash.update(target.rows.id(place).to_le_bytes());
    }
    for value in target.rows.donors(audit.donors) {
        hash.update(value.to_le_bytes());
    }
    hexadecimal(&hash.finalize())
}

/// An audit while it runs.
pub(super) struct Session<'a> {
    audit: &'a CheckedAudit,
    target: &'a AuditTarget<'a>,
    pub(super) rows: RowList,
    pub(super) totals: RunningTotals,
    /// The blocks that are whole, where they are kept.
    pub(super) blocks: Vec<BlockTotals>,
    partial: Option<Partial>,
}

impl<'a> Session<'a> {
    pub(super) fn new(audit: &'a CheckedAudit, target: &'a AuditTarget<'a>) -> Self {
        Self {
            audit,
            target,
            rows: RowList::default(),
            totals: RunningTotals::default(),
            blocks: Vec::new(),
            partial: None,
        }
    }

    /// Takes up what an earlier session has done, if there is a file for that.
    pub(super) fn restore_from(
        &mut self,
        options: &RunOptions,
        model: &result::ModelRecord,
        data: &result::DataRecord,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>> {
        let Some(resume) = &options.resume else {
            return Ok(ControlFlow::Continue(()));
        };
        let fingerprint = fingerprint(self.audit, self.target, model, data);
        self.restore(resume, &fingerprint, observer)
    }

    fn network(&self) -> &Network {
        &self.target.model.model.network
    }

    /// Takes up what an earlier session has done.
    fn restore(
        &mut self,
        resume: &ResumeFile,
        fingerprint: &str,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>> {
        let (partial, found) = Partial::open(resume, fingerprint)?;
        self.partial = Some(partial);
        // Without rows there are no totals, and what is to be kept of them stays as it was asked for.
        if !found.rows.is_empty() {
            self.rows = found.rows;
            self.totals = found.totals;
            self.blocks = found.blocks;
        }
        let shown = resume.path.display().to_string();
        if let Some(problem) = found.put_aside {
            let event = Event::Anew {
                path: &shown,
                problem,
            };
            return Ok(observer.on_event(&event));
        }
        if let Some(problem) = found.problem {
            let event = Event::Dropped {
                path: &shown,
                problem: &problem,
            };
            return Ok(observer.on_event(&event));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Audits the rows that are left.
    pub(super) fn run(
        &mut self,
        chunk: Option<usize>,
        observer: &mut dyn Observer,
    ) -> Result<ControlFlow<()>> {
        let all = self.target.rows.len();
        let begin = Event::Begin {
            rows: all,
            done: self.rows.len(),
        };
        if observer.on_event(&begin).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let parts = match self.audit.config.suite.effort {
            Effort::Quick => QUICK_PARTS,
            Effort::Standard | Effort::Thorough => 1,
        };
        let usual = parts * rayon::current_num_threads() * chunk_rows(self.network().features());
        let size = chunk.unwrap_or(usual).max(1);
        let mut sum: f64 = self.rows.iter().map(|row| row.precision).sum();
        while self.rows.len() < all {
            let start = self.rows.len();
            let mut rows = Vec::new();
            for measured in self.chunk(start..(start + size).min(all))? {
                self.totals.add(&measured, self.audit.k());
                rows.extend(measured.rows);
            }
            sum += rows.iter().map(|row| row.precision).sum::<f64>();
            let line = Chunk {
                rows,
                totals: std::mem::take(&mut self.totals),
            };
            if let Some(partial) = &mut self.partial {
                partial.append(&line)?;
            }
            self.totals = line.totals;
            self.blocks.extend(self.totals.drain_blocks());
            self.rows.extend(line.rows);
            let event = Event::Rows {
                done: self.rows.len(),
                rows: all,
                precision_at_k: sum / as_f64(self.rows.len()),
            };
            if observer.on_event(&event).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The rows at these places, measured in parallel parts.
    fn chunk(&self, places: Range<usize>) -> Result<Vec<Measured>> {
        let parts = parts(places.len(), self.network().features());
        let parts = parts.into_par_iter().map(|part| {
            let places = places.start + part.start..places.start + part.end;
            let (values, ids) = self.gather(places.clone());
            let labels: Vec<Option<usize>> =
                places.map(|place| self.target.rows.label(place)).collect();
            let rows = Points {
                values: &values,
                ids: &ids,
            };
            let part = LabelledRows {
                rows,
                labels: &labels,
            };
            self.audit.measure(self.network(), part, |_| true)
        });
        parts.collect()
    }

    fn gather(&self, places: impl Iterator<Item = usize> + Clone) -> (Vec<f64>, Vec<u64>) {
        let ids = places.clone().map(|place| self.target.rows.id(place));
        (self.target.rows.gather(places.clone()), ids.collect())
    }

    /// The places of the worst rows that are described.
    pub(super) fn worst(&self) -> Vec<usize> {
        let mut places = worst_places(&self.rows);
        places.truncate(self.audit.config.worst);
        places
    }

    /// Those rows in full. They are attacked once more, which gives the same points: so nothing of the size of a row needs
    /// to be kept while the others are audited.
    pub(super) fn worst_rows(&self, places: &[usize]) -> Result<Vec<WorstRow>> {
        let parts = parts(places.len(), self.network().features());
        let parts = parts.into_par_iter().map(|part| {
            let places = &places[part];
            let (values, ids) = self.gather(places.iter().copied());
            let rows = Points {
                values: &values,
                ids: &ids,
            };
            let network = self.network();
            let seed = self.audit.config.seed;
            let before = self.audit.explain.attribute(network, rows, seed)?;
            let attacked = self.audit.suite.perturb(network, rows, seed)?.rows;
            let after = self.audit.explained_at_worst(network, rows, &attacked)?;
            let schema = self.target.rows.schema();
            let mut described = Vec::with_capacity(places.len());
            for (place, (before, after)) in before.into_iter().zip(after).enumerate() {
                let x = &values[place * schema.len()..(place + 1) * schema.len()];
                let attacked = &attacked[place];
                let mut changes = changes(schema, x, &attacked.perturbed);
                changes.truncate(MOST_CHANGES);
                let given = self.target.rows.given(places[place]).unwrap_or_default();
                own_values(schema, &given, &mut changes);
                described.push(WorstRow {
                    row: ids[place] + 1,
                    class: before.class,
                    // As in the list of rows: where all importances are equal there is no set to keep.
                    precision: if has_ranking(&before.importance) {
                        attacked.precision
                    } else {
                        0.0
                    },
                    probability: before.probabilities[before.class],
                    attacked_probability: after.probabilities[before.class],
                    values: x.to_vec(),
                    attacked_values: attacked.perturbed.clone(),
                    importance: before.importance,
                    attacked_importance: after.importance,
                    changes,
                });
            }
            Ok(described)
        });
        let described = parts.collect::<Result<Vec<_>>>()?;
        Ok(described.into_iter().flatten().collect())
    }
}

/// The places of rows, the worst first: the lowest P@k, of equals the lowest thickness, of equals the first.
pub(super) fn worst_places(rows: &RowList) -> Vec<usize> {
    let of_row = |row: RowRecord| {
        let thickness = thickness::FIGURE.of_row(&row);
        (row.precision, thickness.unwrap_or(f64::NAN))
    };
    let figures: Vec<(f64, f64)> = rows.iter().map(of_row).collect();
    let mut places: Vec<usize> = (0..figures.len()).collect();
    places.sort_by(|&a, &b| {
        let ((precision, thickness), other) = (figures[a], figures[b]);
        let by_precision = precision.total_cmp(&other.0);
        by_precision.then(thickness.total_cmp(&other.1))
    });
    places
}

/// Parts of so many rows, one a thread at least, and none larger than what stays in a processor's cache.
pub(super) fn parts(rows: usize, features: usize) -> Vec<Range<usize>> {
    let share = rows.div_ceil(rayon::current_num_threads());
    let size = share.clamp(1, chunk_rows(features));
    (0..rows)
        .step_by(size)
        .map(|start| start..(start + size).min(rows))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_into_parts_that_cover_them_once() {
        let parts = parts(1000, 4);
        let mut next = 0;
        for part in &parts {
            assert_eq!(part.start, next);
            assert!(part.end > part.start);
            next = part.end;
        }
        assert_eq!(next, 1000);
    }

    #[test]
    fn the_worst_rows_come_first_and_are_told_in_full() {
        let model = crate::audit::tests::kinked();
        let schema = crate::audit::tests::schema();
        let rows = crate::Rows::new(&[2.0, 1.0, 0.3, 1.0, 0.25, 2.0, 0.4, 2.0], &schema).unwrap();
        let target = crate::audit::tests::target(&model, rows);
        let checked = crate::audit::tests::config().check(&schema).unwrap();
        let mut silent = |_: &Event<'_>| ControlFlow::Continue(());
        let mut session = Session::new(&checked, &target);
        assert!(session.run(Some(3), &mut silent).unwrap().is_continue());
        let places = worst_places(&session.rows);
        assert_eq!((places.len(), places[3]), (4, 0));
        assert_eq!(session.worst(), places[..2]);
        let told = session.worst_rows(&[2]).unwrap();
        assert_eq!(
            (told[0].row, told[0].values.as_slice()),
            (3, &[0.25, 2.0][..])
        );
    }

    #[test]
    fn of_equal_rows_the_thinner_and_then_the_first_is_worse() {
        let row = |precision: f64, thickness: f64| RowRecord {
            row: 1,
            label: None,
            class: 0,
            probabilities: Vec::new(),
            top: Vec::new(),
            attacked_top: Vec::new(),
            precision,
            attack: result::AttackId::new("random").unwrap(),
            first_change: None,
            figures: crate::audit::figure::RowFigures::default()
                .with(&thickness::FIGURE, thickness),
        };
        let rows = [row(1.0, 0.1), row(0.5, 0.9), row(0.5, 0.2), row(0.5, 0.2)];
        let rows: RowList = rows.into_iter().collect();
        assert_eq!(worst_places(&rows), [2, 3, 1, 0]);
    }

    #[test]
    fn a_row_without_a_ranking_is_told_with_the_precision_it_counts_with() {
        let model = crate::audit::tests::kinked();
        let schema = crate::audit::tests::schema();
        // Both gates are closed, so all importances are zero, here and around.
        let rows = crate::Rows::new(&[-2.0, -2.0], &schema).unwrap();
        let target = crate::audit::tests::target(&model, rows);
        let checked = crate::audit::tests::config().check(&schema).unwrap();
        let mut silent = |_: &Event<'_>| ControlFlow::Continue(());
        let mut session = Session::new(&checked, &target);
        assert!(session.run(None, &mut silent).unwrap().is_continue());
        let listed = session.rows.iter().next().unwrap().precision;
        let told = session.worst_rows(&[0]).unwrap()[0].precision;
        assert_eq!((listed, told), (0.0, 0.0));
    }
}
