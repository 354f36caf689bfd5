//! Decisions: which class is adverse, and from which probability on a row is refused.
//!
//! With two classes, `p >= cutoff` holds just where the adverse logit, lowered by `ln(cutoff / (1 - cutoff))`, leads. So a decision is
//! the prediction of the same network with another last bias: attacks, certificates and audits that keep a prediction keep the
//! decision when they are given that network. Scores differ by a constant, contributions and rankings not at all.

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

use crate::{Error, Result};

/// A decision as a configuration states it: `decision = { adverse = "default", cutoff = 0.2 }`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionConfig {
    /// The name of the class that a person would rather not be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adverse: Option<String>,
    /// The least probability of the adverse class at which a row is decided against; the most probable class decides where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cutoff: Option<f64>,
}

/// A decision that fits a model's classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The adverse class.
    pub adverse: usize,
    /// The least probability at which it is decided; the most probable class decides where absent.
    pub cutoff: Option<f64>,
}

impl DecisionConfig {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is given over what else is said.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            adverse: self.adverse.clone().or_else(|| other.adverse.clone()),
            cutoff: self.cutoff.or(other.cutoff),
        }
    }

    /// Refuses a cut-off that is no probability between 0 and 1.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn check(&self) -> Result<()> {
        match self.cutoff {
            Some(cutoff) if !(cutoff > 0.0 && cutoff < 1.0) => Err(Error::OutOfRange {
                what: "`cutoff`",
                expected: "between 0 and 1",
                got: cutoff,
            }),
            _ => Ok(()),
        }
    }

    /// The decision of a model with these classes.
    ///
    /// # Errors
    /// If the adverse class is not named or not known, or the cut-off does not fit.
    pub fn of(&self, classes: &[String]) -> Result<Decision> {
        self.check()?;
        let Some(name) = &self.adverse else {
            return Err(Error::NoAdverseClass {
                known: classes.to_vec(),
            });
        };
        let adverse = classes.iter().position(|class| class == name);
        let adverse = adverse.ok_or_else(|| Error::NoSuchClass {
            name: name.clone(),
            known: classes.to_vec(),
        })?;
        if self.cutoff.is_some() && classes.len() != 2 {
            return Err(Error::CutoffClasses {
                classes: classes.len(),
            });
        }
        Ok(Decision {
            adverse,
            cutoff: self.cutoff,
        })
    }
}

impl Decision {
    /// Whether a row with these probabilities is decided against.
    #[must_use]
    pub fn is_adverse(&self, probabilities: &[f64]) -> bool {
        let own = probabilities[self.adverse];
        match self.cutoff {
            Some(cutoff) => own >= cutoff,
            None => probabilities.iter().enumerate().all(|(class, other)| {
                // The lower class leads among equals, as in predictions.
                class == self.adverse || own > *other || (own >= *other && self.adverse < class)
            }),
        }
    }

    /// By how much the adverse logit is lowered.
    fn shift(&self) -> f64 {
        self.cutoff
            .map_or(0.0, |cutoff| (cutoff / (1.0 - cutoff)).ln())
    }

    /// The network whose most probable class is the decision.
    ///
    /// # Errors
    /// [`Error::CutoffNetwork`] where its last layer has no bias of the classes to lower.
    pub fn network(&self, network: &Network) -> Result<Network> {
        let shift = self.shift();
        if shift == 0.0 {
            return Ok(network.clone());
        }
        let mut lowered = network.clone();
        let mut change = vec![0.0; network.classes()];
        change[self.adverse] = -shift;
        let last = lowered.parameters_mut().pop();
        let last =
            last.filter(|last| last.name.ends_with("bias") && last.shape == [network.classes()]);
        let Some(bias) = last else {
            return Err(Error::CutoffNetwork);
        };
        let change = network.tensor(change, bias.value.dims());
        bias.value = bias.value.clone() + change;
        Ok(lowered)
    }

    /// The probabilities before the logit was lowered, given those after it.
    #[must_use]
    pub fn own_probabilities(&self, shifted: &[f64]) -> Vec<f64> {
        let shift = self.shift();
        if shift == 0.0 || shifted.len() != 2 {
            return shifted.to_vec();
        }
        let other = 1 - self.adverse;
        let (adverse, other_one) = (shifted[self.adverse] * shift.exp(), shifted[other]);
        let mut own = vec![0.0; 2];
        own[self.adverse] = adverse / (adverse + other_one);
        own[other] = other_one / (adverse + other_one);
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::read;
    use crate::toy;

    fn decision(cutoff: f64) -> Decision {
        let config = DecisionConfig {
            adverse: Some("bad".to_owned()),
            cutoff: Some(cutoff),
        };
        config.of(&["good".to_owned(), "bad".to_owned()]).unwrap()
    }

    #[test]
    fn the_lowered_network_predicts_the_decision_and_its_probabilities_lead_back() {
        // At the toy's row the second class has probability 1/4.
        let network = toy::network();
        let x = || network.batch(&toy::row());
        for (cutoff, is_adverse) in [(0.2, true), (0.24, true), (0.26, false), (0.5, false)] {
            let decision = decision(cutoff);
            let own = read(network.probabilities(x()));
            assert_eq!(decision.is_adverse(&own), is_adverse, "{cutoff}");
            let lowered = decision.network(&network).unwrap();
            let shifted = read(lowered.probabilities(x()));
            assert_eq!(shifted[1] > shifted[0], is_adverse, "{cutoff}: {shifted:?}");
            toy::assert_close(&decision.own_probabilities(&shifted), &own);
        }
    }

    #[test]
    fn what_cannot_be_decided_is_refused() {
        let classes = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let of = |adverse: Option<&str>, cutoff| {
            let config = DecisionConfig {
                adverse: adverse.map(str::to_owned),
                cutoff,
            };
            config.of(&classes)
        };
        assert!(matches!(of(None, None), Err(Error::NoAdverseClass { .. })));
        assert!(matches!(
            of(Some("d"), None),
            Err(Error::NoSuchClass { .. })
        ));
        assert!(matches!(
            of(Some("a"), Some(0.2)),
            Err(Error::CutoffClasses { .. })
        ));
        assert!(matches!(
            of(Some("a"), Some(1.0)),
            Err(Error::OutOfRange { .. })
        ));
        assert!(of(Some("a"), None).is_ok());
    }
}
