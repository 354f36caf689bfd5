//! One machine's part of an audit: what was measured at its rows, block by block, so that the parts of any number of machines make
//! the same bytes as one machine alone.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::certificate::{CertificateRecord, exact};
use super::figure::{FIGURES, Summary};
use super::folder::PART;
use super::plan::CheckedAudit;
use super::progress::{Event, Observer};
use super::reasons::ReasonRows;
use super::result::{AuditSettings, DataRecord, ModelRecord, WorstRow};
use super::row_list::RowList;
use super::run::{RunOptions, Session, check};
use super::running_totals::{BlockTotals, MemberTotals};
use super::target::AuditTarget;
use super::{gate, limit, linear, summary, theory};
use crate::check::as_f64;
use crate::data::hexadecimal;
use crate::decision::DecisionConfig;
use crate::model::Shard;
use crate::train::EpochRecord;
use crate::{Error, Result, Rows, file};

/// The version of this form.
const FORMAT: u32 = 2;

/// The part of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditPart {
    format: u32,
    /// Which part it is, and of how many.
    pub shard: Shard,
    /// The version of thickset that made it.
    pub version: String,
    /// The class of the processor's instructions, on which the last bits depend.
    pub instruction_set: String,
    /// The ids of the figures, in the table's order.
    figures: Vec<String>,
    pub(super) model: ModelRecord,
    /// Of all rows; but for the hash, which is put together of the blocks'.
    pub(super) data: DataRecord,
    pub(super) settings: AuditSettings,
    pub(super) require: Vec<String>,
    /// The hashes of its blocks of rows, in hexadecimal.
    pub(super) block_hashes: Vec<String>,
    /// The sums over its blocks.
    pub(super) blocks: Vec<BlockTotals>,
    pub(super) members: Vec<MemberTotals>,
    /// Its rows with the lowest P@k.
    pub(super) worst: Vec<WorstRow>,
    /// The linear baseline, which the first part has.
    pub(super) linear: Option<Summary>,
    /// The stability limit, which the part with the first rows has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) limit: Option<limit::LimitRecord>,
    /// The theory of the first rows, which the same part has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) theory: Option<theory::TheoryRecord>,
    /// Why there are no certificates; absent where there are.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) no_certificate: Option<String>,
    pub(super) training: Vec<EpochRecord>,
    pub(super) rows: RowList,
    /// What the record of reasons is made of, where there will be one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reasons: Option<ReasonRows>,
    /// The decision that the record is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    decision: Option<DecisionConfig>,
}

impl AuditPart {
    /// What was measured of its rows.
    pub(crate) fn records(&self) -> &RowList {
        &self.rows
    }

    /// Adds what the record of reasons is made of.
    pub(crate) fn add_reasons(
        &mut self,
        reasons: Option<ReasonRows>,
        decision: Option<DecisionConfig>,
    ) {
        self.reasons = reasons;
        self.decision = decision;
    }

    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Its bytes.
    ///
    /// # Panics
    /// Never: a part is plain data.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a part is plain data");
        bytes.push(b'\n');
        bytes
    }

    /// Reads a part; `path` is for messages.
    ///
    /// # Errors
    /// If the bytes are none.
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self> {
        let part: Self = serde_json::from_slice(bytes).map_err(|source| Error::ResultFile {
            path: path.to_owned(),
            what: "a part of an audit",
            source,
        })?;
        if part.format != FORMAT {
            return Err(Error::ResultSchema {
                path: path.to_owned(),
                expected: FORMAT,
                got: part.format,
            });
        }
        let places = part.shard.places(part.data.rows);
        let fits = part.shard.exists()
            && places.len() == part.rows.len()
            && part.blocks.len() == places.len().div_ceil(super::BLOCK)
            && part.block_hashes.len() == part.blocks.len();
        if !fits {
            return Err(Error::Parts {
                problem: format!(
                    "`{path}` says that it is {} of {} of {} rows, and has {} rows in {} blocks",
                    part.shard.number,
                    part.shard.of,
                    part.data.rows,
                    part.rows.len(),
                    part.blocks.len()
                ),
            });
        }
        Ok(part)
    }

    /// Reads a part's file.
    ///
    /// # Errors
    /// As [`AuditPart::parse`], and if it cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&file::read(path)?, &path.display().to_string())
    }

    /// Reads parts side by side, each a file or the folder that has it, and names each as its path: reading is most of what merging takes.
    ///
    /// # Errors
    /// As [`AuditPart::read`], for the first that cannot be read.
    pub fn read_all(paths: &[PathBuf]) -> Result<Vec<(String, Self)>> {
        let read = |path: &PathBuf| {
            let file = if path.is_dir() {
                path.join(PART)
            } else {
                path.clone()
            };
            Ok((path.display().to_string(), Self::read(&file)?))
        };
        let parts: Vec<Result<(String, Self)>> = paths.par_iter().map(read).collect();
        parts.into_iter().collect()
    }

    /// What differs between two parts that cannot be of one audit.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        if self.instruction_set != other.instruction_set {
            return Some(format!(
                "it was made with the instructions `{}`, the other with `{}`; the last bits depend on them, so run all parts with the same (THICKSET_INSTRUCTIONS=portable works everywhere)",
                self.instruction_set, other.instruction_set
            ));
        }
        let what = if self.version != other.version || self.figures != other.figures {
            "version of thickset"
        } else if self.model != other.model || self.training != other.training {
            "model"
        } else if self.data.rows != other.data.rows
            || self.data.name != other.data.name
            || self.data.split != other.data.split
            || self.data.part != other.data.part
            || self.data.shape != other.data.shape
            || self.data.features != other.data.features
        {
            "data"
        } else if self.settings != other.settings || self.require != other.require {
            "settings"
        } else if self.shard.of != other.shard.of {
            "number of parts"
        } else {
            return None;
        };
        Some(format!("it has another {what}"))
    }
}

/// How the audit of a part ended.
#[derive(Clone, Debug)]
pub enum PartOutcome {
    /// All of its rows are done.
    Done(Box<AuditPart>),
    /// The observer stopped it.
    Stopped,
}

/// Audits one machine's part: the target's rows are its own, `whole` are those of all machines.
///
/// # Errors
/// As for [`super::run`], and if the target's rows are not the part's.
pub fn run_part(
    audit: &CheckedAudit,
    target: &AuditTarget<'_>,
    shard: Shard,
    whole: WholeRows<'_>,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<PartOutcome> {
    let expected = shard.places(whole.count).len();
    if target.rows.len() != expected {
        return Err(Error::LengthMismatch {
            what: "the rows of a shard",
            expected,
            got: target.rows.len(),
        });
    }
    let donors = target.rows.donors(audit.config.suite.effort.donors());
    let audit = &audit.clone().with_donors(&donors)?;
    let block_hashes = target.block_hashes();
    let mut data = target.described_rows(&audit.names);
    let model = target.described_model();
    let mut session = Session::new(audit, target);
    session.totals.keep_blocks();
    let mut worst = Vec::new();
    // There may be more machines than blocks.
    if expected > 0 {
        check(audit, target)?;
        if session
            .restore_from(options, &model, &data, observer)?
            .is_break()
            || session.run(options.chunk, observer)?.is_break()
        {
            return Ok(PartOutcome::Stopped);
        }
        let places = session.worst();
        let event = Event::Worst { rows: places.len() };
        if observer.on_event(&event).is_break() {
            return Ok(PartOutcome::Stopped);
        }
        worst = session.worst_rows(&places)?;
    }
    let (mut of_limit, mut of_theory) = (None, None);
    if expected > 0 && shard.places(whole.count).start == 0 {
        of_limit = limit::of(audit, target)?;
        of_theory = theory::of(audit, target)?;
    }
    let mut of_linear = None;
    if let (1, Some(rows)) = (shard.number, whole.rows) {
        let all = AuditTarget {
            rows,
            ..target.clone()
        };
        let ControlFlow::Continue(found) = linear::baseline(audit, &all, observer)? else {
            return Ok(PartOutcome::Stopped);
        };
        of_linear = found;
    }
    data.rows = whole.count;
    data.sha256 = String::new();
    let (last, members) = session.totals.into_parts();
    let mut blocks = session.blocks;
    blocks.extend(last);
    Ok(PartOutcome::Done(Box::new(AuditPart {
        format: FORMAT,
        shard,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instruction_set: target.model.model.network.instruction_set().to_owned(),
        figures: FIGURES.iter().map(|figure| figure.id.to_owned()).collect(),
        model,
        data,
        settings: audit.settings(),
        require: audit.config.require.clone(),
        block_hashes,
        blocks,
        members,
        worst,
        linear: of_linear,
        limit: of_limit,
        theory: of_theory,
        no_certificate: audit.no_certificate(&target.model.model.network),
        training: target.model.training.clone(),
        rows: session.rows,
        reasons: None,
        decision: None,
    })))
}

/// The rows of all machines.
#[derive(Clone, Copy, Debug)]
pub struct WholeRows<'a> {
    /// How many there are.
    pub count: usize,
    /// They themselves, where they are at hand: the linear baseline is of them.
    pub rows: Option<Rows<'a>>,
}

/// The hash of rows that is made of the hashes of their blocks.
pub(super) fn hash_of_blocks<'a>(blocks: impl Iterator<Item = &'a String>) -> String {
    let mut hash = Sha256::new();
    for block in blocks {
        hash.update(block.as_bytes());
    }
    hexadecimal(&hash.finalize())
}

/// Puts the parts of an audit together, whatever their order; each with a name for messages.
///
/// # Errors
/// [`Error::Parts`] with the names of parts that are missing, double or of another audit.
pub fn merge(parts: Vec<(String, AuditPart)>) -> Result<super::Audit> {
    let refuse = |problem: String| Err(Error::Parts { problem });
    let mut parts = parts;
    parts.sort_by_key(|(_, part)| part.shard.number);
    let Some((first_name, first)) = parts.first() else {
        return refuse("there is none".to_owned());
    };
    for (name, part) in &parts[1..] {
        if let Some(difference) = part.difference(first) {
            return refuse(format!(
                "`{name}` does not belong to `{first_name}`: {difference}"
            ));
        }
    }
    if let Some(pair) = parts
        .windows(2)
        .find(|pair| pair[0].1.shard == pair[1].1.shard)
    {
        return refuse(format!(
            "`{}` and `{}` are both {} of {}",
            pair[0].0, pair[1].0, pair[0].1.shard.number, pair[0].1.shard.of
        ));
    }
    let of = first.shard.of;
    let has = |number: &usize| parts.iter().any(|(_, part)| part.shard.number == *number);
    let missing: Vec<usize> = (1..=of).filter(|number| !has(number)).collect();
    if !missing.is_empty() {
        let shown: Vec<String> = missing
            .iter()
            .take(20)
            .map(|number| format!("{number}/{of}"))
            .collect();
        let more = missing.len().saturating_sub(20);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        return refuse(format!(
            "{} missing: {}{more}",
            if missing.len() == 1 {
                "one is"
            } else {
                "some are"
            },
            shown.join(", ")
        ));
    }
    whole(parts.into_iter().map(|(_, part)| part).collect())
}

/// The audit of parts that are complete and in order.
fn whole(parts: Vec<AuditPart>) -> Result<super::Audit> {
    let mut parts = parts.into_iter();
    let Some(mut all) = parts.next() else {
        return Err(Error::Empty {
            what: "the parts of an audit",
        });
    };
    // Each part is gone once it is added, so that memory holds the rows once.
    all.rows
        .reserve(parts.as_slice().iter().map(|part| &part.rows));
    for part in parts {
        all.rows.append(&part.rows);
        all.blocks.extend(part.blocks);
        all.block_hashes.extend(part.block_hashes);
        all.worst.extend(part.worst);
        all.limit = all.limit.or(part.limit);
        all.theory = all.theory.or(part.theory);
        all.data.has_labels |= part.data.has_labels;
        match (&mut all.reasons, part.reasons) {
            (Some(all), Some(more)) => {
                all.rows.extend(more.rows);
                all.people.extend(more.people);
            }
            (reasons, _) => *reasons = None,
        }
        if all.members.is_empty() {
            all.members = part.members;
            continue;
        }
        for (sum, more) in all.members.iter_mut().zip(part.members) {
            sum.add(&more);
        }
    }
    let k = all.settings.k;
    let totals = super::running_totals::RunningTotals::of_parts(&all.blocks, all.members);
    let importances = totals.importance().len();
    let named = all.rows.iter().flat_map(|row| [row.top, row.attacked_top]);
    if let Some(beyond) = named.flatten().find(|feature| *feature >= importances) {
        return Err(Error::Parts {
            problem: format!(
                "a row names feature {beyond} as salient, and the parts have the importances of {importances}"
            ),
        });
    }
    let counts = summary::features(&all.rows, &totals);
    let found = summary::summary(&all.rows, &counts, k)?;
    let count = as_f64(all.rows.len());
    let rules = gate::parse(&all.require, &gate::figures())?;
    let mut places = super::run::worst_places(&all.rows);
    places.truncate(all.settings.worst);
    let numbers: Vec<u64> = all.rows.iter().map(|row| row.row).collect();
    let mut worst = Vec::with_capacity(places.len());
    for place in places {
        let row = numbers[place];
        let found = all.worst.iter().find(|worst| worst.row == row);
        worst.push(found.cloned().ok_or_else(|| Error::Parts {
            problem: format!("row {row} is among the worst, and no part describes it"),
        })?);
    }
    all.data.sha256 = hash_of_blocks(all.block_hashes.iter());
    let (reasons, decision) = (all.reasons.take(), all.decision.take());
    let mut audit = super::Audit {
        schema: super::result::SCHEMA,
        version: all.version,
        instruction_set: Some(all.instruction_set),
        model: all.model,
        data: all.data,
        settings: all.settings,
        gate: summary::gate(&rules, &found),
        summary: found,
        linear: all.linear,
        limit: all.limit,
        certificate: Some(CertificateRecord {
            absent: all.no_certificate,
            exact: exact(&all.rows),
        }),
        attacks: totals.attacks(k)?,
        features: counts,
        magnitudes: totals.magnitudes().iter().map(|sum| sum / count).collect(),
        worst,
        reasons: None,
        theory: all.theory,
        training: all.training,
        rows_file: None,
        rows: all.rows,
    };
    if audit.settings.decision.cutoff.is_some() {
        let decision = audit.settings.decision.of(&audit.model.classes)?;
        audit.restore_probabilities(&decision);
    }
    if let (Some(reasons), Some(decision)) = (reasons, decision) {
        let decision = decision.of(&audit.model.classes)?;
        audit.reasons = Some(reasons.record(&audit, decision)?);
    }
    Ok(audit)
}
