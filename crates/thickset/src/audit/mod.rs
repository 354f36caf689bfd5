//! Audits: how far a model's explanations can be trusted, row by row and over all.
//!
//! [`AuditConfig`] is what a user asks for, [`CheckedAudit`] is that after it was checked against the rows' schema, and
//! [`run`] audits the model of an [`AuditTarget`] on its rows, chunk by chunk. What comes out, an [`Audit`], depends on the
//! settings, the model and the rows alone: not on threads, chunks, or whether the audit was killed and continued.

pub mod certificate;
pub mod compare;
pub mod figure;
pub mod gate;
pub mod limit;
pub mod linear;
pub mod result;
pub mod theory;

mod folder;
mod gradient_free;
pub(crate) mod measure;
pub mod part;
mod plan;
mod progress;
mod reasons;
mod row_file;
mod row_list;
mod row_status;
mod run;
mod running_totals;
mod summary;
mod target;

pub use folder::{AuditFolder, PART};
pub use gradient_free::{
    Answers, GradientFreeAudit, GradientFreeConfig, GradientFreeRow, PointOrigin, gradient_free,
    gradient_free_observed,
};
pub use part::{AuditPart, PartOutcome, WholeRows, merge, run_part};
pub use plan::{AuditConfig, CheckedAudit};
pub(crate) use progress::read_signed_lines;
pub use progress::{Event, Observer, ResumeFile, ResumeKey};
pub use reasons::{BinRecord, ColumnRecord, ReasonsRecord};
pub(crate) use reasons::{Person, ReasonRows, SampledRow, chosen_people, step as sample_step};
pub use result::Audit;
pub use row_list::RowList;
pub use run::{Outcome, RunOptions, run};
pub(crate) use running_totals::BLOCK;
pub use target::{AuditTarget, NamedModel};

#[cfg(test)]
mod tests;
