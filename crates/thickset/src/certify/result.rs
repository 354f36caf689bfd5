//! What a certificate says of one row.

use serde::Serialize;

/// How much is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The number itself, up to the rounding of the deployed model.
    Exact,
    /// A bound that is proved, and no counterexample to meet it.
    Certified,
    /// The search ended before either; the bracket says what is known.
    Unknown,
}

impl Status {
    /// The word used in JSON and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Certified => "certified",
            Self::Unknown => "unknown",
        }
    }
}

/// A point at which the deployed model was run and its top-k set was another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counterexample {
    /// The row it was moved to, in encoded units, as the model was given it.
    pub point: Vec<f64>,
    /// The size of the move.
    pub size: f64,
    /// Salient features that are still among the first k.
    pub kept: usize,
}

/// The radius of a row: no smaller move changes its top-k set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CertifiedRadius {
    /// `exact`: the set changes at `counterexample` and not below `certified`, and rounding lies between; `certified`: it
    /// does not change up to the largest radius asked about.
    pub status: Status,
    /// No move smaller than this changes the set.
    pub certified: f64,
    /// The nearest change found.
    pub counterexample: Option<Counterexample>,
    /// Parts of the search.
    pub nodes: usize,
}

/// The worst case of a row within a radius.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CertifiedWorstCase {
    /// `exact`: both bounds are one number; `certified`: the lower one says more than nothing.
    pub status: Status,
    /// Every move keeps at least so many of the k.
    pub kept_at_least: usize,
    /// Some move keeps no more than so many.
    pub kept_at_most: usize,
    /// That move.
    pub counterexample: Option<Counterexample>,
    /// Parts of the search.
    pub nodes: usize,
}
