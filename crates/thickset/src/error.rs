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

    /// No method of the registry has this id.
    #[error("there is no method `{given}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownMethod {
        /// What was asked for.
        given: String,
        /// A known id that looks like it.
        nearest: Option<String>,
    },

    /// The registry has no family of this name.
    #[error("there is no family `{given}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownFamily {
        /// What was asked for.
        given: String,
        /// A known name that looks like it.
        nearest: Option<String>,
    },

    /// A list that must have entries has none.
    #[error("{what} must not be empty")]
    Empty {
        /// What the list holds.
        what: &'static str,
    },

    /// Two things that belong together differ in length.
    #[error("{what} must have length {expected}, got {got}")]
    LengthMismatch {
        /// Which list is off.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        got: usize,
    },

    /// A NaN or an infinity where a number is needed.
    #[error("{what} must be finite, got {value} at index {index}")]
    NotFinite {
        /// Which list holds it.
        what: &'static str,
        /// Where.
        index: usize,
        /// The value found.
        value: f64,
    },

    /// A number lies outside what its formula allows.
    #[error("{what} must be {expected}, got {got}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// The allowed values in words.
        expected: &'static str,
        /// The value given.
        got: f64,
    },

    /// An index points past the end.
    #[error("{what} must be below {bound}, got {got}")]
    IndexOutOfRange {
        /// Which index.
        what: &'static str,
        /// The first value that is too large.
        bound: usize,
        /// The value given.
        got: usize,
    },

    /// A number of salient features that the number of features does not allow.
    #[error("k must lie in 1..={largest}, got {k}")]
    TopKOutOfRange {
        /// The number asked for.
        k: usize,
        /// The largest number allowed.
        largest: usize,
    },

    /// A numerical solver stopped without an answer.
    #[error("the solver of {problem} stopped without an answer: {status}")]
    Solver {
        /// What was to be solved.
        problem: &'static str,
        /// What the solver said.
        status: String,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;
