//! The library's one error type. Variants carry values; hints are the command line's business.

/// Anything a caller can cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was tried: `read`, `write`, `create`.
        action: &'static str,
        /// The file or folder.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;
