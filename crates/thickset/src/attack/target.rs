//! The target attack: raises the importances of chosen features, whoever is salient now.
//!
//! Without a choice they are the runners-up: the features ranked k+1 to 2k at x.

use serde::{Deserialize, Serialize};

use super::goal::Weighted;
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
    defaults: &[Setting {
        name: "features",
        value: "[]",
        meaning: "names of the features to raise; the ranks k+1 to 2k when empty",
    }],
};

/// The features to raise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Their names; the runners-up when empty.
    pub features: Vec<String>,
}

impl Config {
    pub(super) fn check(&self, explain: &CheckedExplain) -> Result<Option<Vec<usize>>> {
        if self.features.is_empty() {
            return Ok(None);
        }
        let known = explain.names(0);
        let place = |name: &String| {
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

pub(super) fn goal(features: Option<&[usize]>, reference: &[f64], top: &TopK) -> Weighted {
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
    others.sort_by(|&a, &b| reference[b].total_cmp(&reference[a]).then(a.cmp(&b)));
    for &feature in others.iter().take(top.k()) {
        weights[feature] = -1.0;
    }
    Weighted(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_the_runners_up_are_raised() {
        let reference = [0.1, 5.0, 0.3, 4.0, 0.2];
        let top = TopK::of(&reference, 2).unwrap();
        assert_eq!(goal(None, &reference, &top).0, [0.0, 0.0, -1.0, 0.0, -1.0]);
        assert_eq!(
            goal(Some(&[0]), &reference, &top).0,
            [-1.0, 0.0, 0.0, 0.0, 0.0]
        );
    }
}
