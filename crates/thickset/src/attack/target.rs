//! The target attack: raises the importances of chosen features, whoever is salient now.
//!
//! Without a choice they are the runners-up: the features ranked k+1 to 2k at x.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::goal::{Goal, Goals, Weighted};
use super::{Attack, AttackOption, Plan, Setup, descent};
use crate::explain::CheckedExplain;
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info, Setting, nearest};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "target",
    label: "Targeted attack",
    family: Family::Attack,
    summary: "Raises the importances of chosen features, or of the runners-up",
    formula: "max_x' sum_{i in A} I_i(x')",
    source: "Ghorbani et al. 2019, section 3",
    direction: None,
    cost: "one explanation and one Hessian product a step",
    defaults: &[Setting::new(
        "features",
        "names of the features to raise; the ranks k+1 to 2k when empty",
    )],
};

/// The features to raise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TargetConfig {
    /// Their names; the runners-up when empty.
    pub features: Vec<String>,
}

impl Attack for TargetConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        descent::OPTIONS
    }

    fn plan(&self, setup: &Setup<'_>) -> Result<Plan> {
        Ok(Plan::Descent(Arc::new(Raise(self.places(setup.explain)?))))
    }
}

/// The places of the features to raise; the runners-up where there are none.
#[derive(Debug)]
struct Raise(Option<Vec<usize>>);

impl Goals for Raise {
    fn check_width(&self, importances: usize) -> Result<()> {
        let beyond = |features: &Vec<usize>| {
            let mut features = features.iter();
            features.find(|feature| **feature >= importances).copied()
        };
        match self.0.as_ref().and_then(beyond) {
            None => Ok(()),
            Some(got) => Err(Error::IndexOutOfRange {
                what: "a unit to raise",
                bound: importances,
                got,
            }),
        }
    }

    fn goal(&self, reference: &[f64], top: &TopK) -> Box<dyn Goal> {
        Box::new(weights(self.0.as_deref(), reference, top))
    }
}

impl TargetConfig {
    fn places(&self, explain: &CheckedExplain) -> Result<Option<Vec<usize>>> {
        if self.features.is_empty() {
            return Ok(None);
        }
        let known = explain.names(0);
        let place = |name: &String| {
            if explain.config().explanation.is_of_units() {
                return unit(name);
            }
            let place = known.iter().position(|known| known == name);
            place.ok_or_else(|| Error::UnknownFeature {
                what: "feature",
                name: name.clone(),
                nearest: nearest(name, known.iter().map(String::as_str)),
            })
        };
        self.features
            .iter()
            .map(place)
            .collect::<Result<Vec<_>>>()
            .map(Some)
    }
}

/// The number in `unit[3]`; how many units there are, only the network knows.
fn unit(name: &str) -> Result<usize> {
    let number = name
        .strip_prefix("unit[")
        .and_then(|rest| rest.strip_suffix(']'));
    number
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| Error::UnknownFeature {
            what: "feature",
            name: name.to_owned(),
            nearest: Some("unit[0]".to_owned()),
        })
}

fn weights(features: Option<&[usize]>, reference: &[f64], top: &TopK) -> Weighted {
    let mut weights = vec![0.0; reference.len()];
    if let Some(features) = features {
        for &feature in features {
            weights[feature] = -1.0;
        }
        return Weighted(weights);
    }
    let mut others: Vec<usize> = (0..reference.len())
        .filter(|feature| !top.contains(*feature))
        .collect();
    // Adding 0 makes -0 and 0 one value, as in every ranking here.
    let value = |feature: usize| reference[feature] + 0.0;
    others.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
    for &feature in others.iter().take(top.k()) {
        weights[feature] = -1.0;
    }
    Weighted(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_zeros_are_a_tie() {
        let reference = [1.0, -0.0, 0.0];
        let top = TopK::of(&reference, 1).unwrap();
        assert_eq!(weights(None, &reference, &top).0, [0.0, -1.0, 0.0]);
    }

    #[test]
    fn without_a_choice_the_runners_up_are_raised() {
        let reference = [0.1, 5.0, 0.3, 4.0, 0.2];
        let top = TopK::of(&reference, 2).unwrap();
        assert_eq!(
            weights(None, &reference, &top).0,
            [0.0, 0.0, -1.0, 0.0, -1.0]
        );
        assert_eq!(
            weights(Some(&[0]), &reference, &top).0,
            [-1.0, 0.0, 0.0, 0.0, 0.0]
        );
    }

    #[test]
    fn features_are_found_by_name_and_must_be_there() {
        let explain = crate::explain::ExplainConfig::default();
        let explain = explain.check(&crate::toy::schema()).unwrap();
        let places = |features: &[&str]| {
            let features = features.iter().map(|name| (*name).to_owned()).collect();
            TargetConfig { features }.places(&explain)
        };
        assert_eq!(places(&[]).unwrap(), None);
        assert_eq!(places(&["x2", "x0"]).unwrap(), Some(vec![2, 0]));
        assert!(places(&["x3"]).is_err());
        assert!(Raise(Some(vec![2, 0])).check_width(3).is_ok());
        assert!(Raise(Some(vec![3])).check_width(3).is_err());
        assert!(Raise(None).check_width(3).is_ok());
    }

    #[test]
    fn a_unit_is_named_by_its_number() {
        assert_eq!(unit("unit[7]").unwrap(), 7);
        for name in ["unit[]", "unit[x]", "7", "unit[7"] {
            assert!(unit(name).is_err(), "{name}");
        }
    }
}
