//! The options that attacks share, each by name, so that an attack can say which of them it uses.

/// A setting that stands beside an attack's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackOption {
    /// How the prediction is kept.
    Constraint,
    /// How hard the suite tries.
    Effort,
    /// Which predictions of a pair are kept beside its own.
    PairPredictions,
    /// One attack for each of several radii.
    Radii,
    /// The radius of the ball.
    Radius,
    /// Runs.
    Restarts,
    /// Directions from importances as shares of their sum.
    Shares,
    /// The largest change of a feature in a step.
    StepCap,
    /// The length of a step.
    StepSize,
    /// Steps of a run.
    Steps,
    /// Directions from a smooth twin.
    Surrogate,
}

impl AttackOption {
    /// In kebab-case, as on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constraint => "constraint",
            Self::Effort => "effort",
            Self::PairPredictions => "pair-predictions",
            Self::Radii => "radii",
            Self::Radius => "radius",
            Self::Restarts => "restarts",
            Self::Shares => "shares",
            Self::StepCap => "step-cap",
            Self::StepSize => "step-size",
            Self::Steps => "steps",
            Self::Surrogate => "surrogate",
        }
    }
}
