//! What `thickset audit` does with a run's model unless told otherwise.

use serde::{Deserialize, Serialize};

use crate::attack::suite::Effort;
use crate::audit::gate;
use crate::check::check_positive;
use crate::{Error, Result};

/// Defaults of an audit, and what the model must reach.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditDefaults {
    /// Salient features; the run's own where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// How hard the suite tries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Radius of the ball in encoded units; the dataset's own, or 0.5, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// What must hold, like `p_at_k>=0.9`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<String>,
}

impl AuditDefaults {
    /// Whether nothing is said, so that a configuration need not mention it.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses impossible settings and requirements that cannot be read.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::Requirement`].
    pub fn check(&self) -> Result<()> {
        if self.k == Some(0) {
            return Err(Error::OutOfRange {
                what: "`audit.k`",
                expected: "at least 1",
                got: 0.0,
            });
        }
        if let Some(radius) = self.radius {
            check_positive("`audit.radius`", radius)?;
        }
        gate::parse(&self.require, &gate::figures()).map(drop)
    }
}
