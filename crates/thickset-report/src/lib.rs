//! Turns the JSON of an audit or a bench into one self-contained HTML file.
//!
//! The file needs no network, no script and no font of its own: it can be mailed, printed and read on a phone. A strict
//! content security policy inside it says so to the browser too, for the names in it come from other people's files.
//!
//! Plots are static SVG, drawn by the small modules of `plot`. A plotting library such as plotly would put more than 3 MB of
//! JavaScript into every report, would not draw without it, and its plots say nothing to a screen reader; ours are a few
//! kilobytes each, follow the reader's colour scheme, and carry a title, a description and their values as text.
//!
//! The pages are askama templates in `templates/`: checked when they are compiled, with every text escaped.

mod cell;
mod chart;
mod direction;
mod error;
mod number;
mod page;
mod picture;
mod plot;
mod prose;
mod section;

use askama::Template as _;
use thickset::audit::{Audit, GradientFreeAudit};
use thickset::bench::Bench;
use thickset::reasons::{Reasons, RowReasons};

use direction::isolated;

pub use error::Error;
pub use section::reproduce::quoted;

/// The page of one audit, or of several: models on the same rows are put side by side before each is described in full.
///
/// # Errors
/// When there is no audit, or one is of a newer schema than this version knows.
pub fn audit(audits: &[Audit]) -> Result<String, Error> {
    if audits.is_empty() {
        return Err(Error::NothingAudited);
    }
    let known = thickset::audit::result::SCHEMA;
    for audit in audits {
        error::check_schema("audit", audit.schema, known)?;
    }
    Ok(isolated(page::audit::Page::new(audits).render()?))
}

/// The page of an audit that had no gradient to follow: it says first what such an audit cannot.
///
/// # Errors
/// When the page cannot be made.
pub fn gradient_free(audit: &GradientFreeAudit) -> Result<String, Error> {
    Ok(isolated(page::gradient_free::Page::new(audit).render()?))
}

/// A letter with the reasons of one row, to be printed.
///
/// # Errors
/// When the page cannot be made.
pub fn letter(reasons: &Reasons, row: &RowReasons) -> Result<String, Error> {
    Ok(isolated(page::letter::Page::new(reasons, row).render()?))
}

/// The page of a bench.
///
/// # Errors
/// When it is of a newer schema than this version knows.
pub fn bench(bench: &Bench) -> Result<String, Error> {
    error::check_schema("bench", bench.schema, thickset::bench::SCHEMA)?;
    Ok(isolated(page::bench::Page::new(bench).render()?))
}
