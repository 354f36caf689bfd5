//! What can go wrong.

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An empty list of audits.
    #[error("expected at least one audit, got none")]
    NothingAudited,
    /// A file of a newer version.
    #[error(
        "expected {what} results of schema {known} or older, got schema {got}; a newer thickset made them"
    )]
    Schema {
        /// `audit` or `bench`.
        what: &'static str,
        /// The newest schema that is understood.
        known: u32,
        /// The file's.
        got: u32,
    },
    /// The page could not be written.
    #[error("the page could not be written")]
    Page(#[from] askama::Error),
}

pub fn check_schema(what: &'static str, got: u32, known: u32) -> Result<(), Error> {
    if got > known {
        return Err(Error::Schema { what, known, got });
    }
    Ok(())
}
