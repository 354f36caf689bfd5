//! Certificates as files: what is claimed of a row, and the splits by which it was proved.
//!
//! A proof says of one row and all its moves within a radius how many salient features can be lost at most. Beside the claim it
//! holds the tree of the search: which gate was split, then its open side, then its closed side, down to parts that need no
//! split. It holds no bounds: whoever [checks](super::check) it finds their own for every part.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ball::MoveNorm;
use super::case::{Case, Moves};
use super::explained::{Explained, Ranked, Scale};
use super::search::{Goal, Search};
use crate::{Error, Result};

/// The schema's number of a file of proofs.
pub const SCHEMA: u32 = 1;

/// The first line of a file of proofs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofHeader {
    /// [`SCHEMA`].
    pub thickset_proof: u32,
    /// The hash of the model's file, in hexadecimal.
    pub model_sha256: String,
}

/// What is claimed of one row, and how it was proved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The row's number in the file or dataset, counted from 1.
    pub row: u64,
    /// The row itself, in encoded units.
    pub x: Vec<f64>,
    /// The class that is predicted there.
    pub class: usize,
    /// The features that are salient there, in ascending order.
    pub salient: Vec<usize>,
    /// `probability`, `logit` or `loss`: of which output the gradient is ranked.
    pub of: Ranked,
    /// Whether features count by their absolute values.
    pub absolute: bool,
    /// The features that each importance sums, where importances are columns'.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub groups: Option<Vec<Vec<usize>>>,
    /// How moves are measured.
    pub norm: MoveNorm,
    /// Moves up to this size are meant.
    pub radius: f64,
    /// The least change of each feature; null where there is none.
    pub low: Vec<Option<f64>>,
    /// The greatest.
    pub high: Vec<Option<f64>>,
    /// Whether only moves that keep the predicted class are meant.
    pub hold: bool,
    /// The claim: no such move loses more salient features.
    pub lost_at_most: usize,
    /// The tree of the search, a part before its sides: the gate that is split, counted through all hidden layers, or -1 for a
    /// part without a split.
    pub splits: Vec<i64>,
}

/// How often a radius that rounding spoils is tried a little smaller, and by how much.
const TRIES: usize = 4;
const SMALLER: f64 = 1e-6;

impl Proof {
    /// Proves that moves of this case lose at most so many features; none where the search does not end within its limit.
    /// The radius may come out smaller by a few millionths, for rounding.
    pub(super) fn new(
        case: &Case<'_>,
        row: u64,
        of: Ranked,
        (radius, lost_at_most): (f64, usize),
        most_nodes: usize,
    ) -> Option<Self> {
        let mut radius = radius;
        let splits = (0..TRIES).find_map(|_| {
            let tree = tree(case, lost_at_most + 1, radius, most_nodes);
            if tree.is_none() {
                radius *= 1.0 - SMALLER;
            }
            tree
        })?;
        let finite = |values: &[f64]| -> Vec<Option<f64>> {
            let values = values.iter().copied();
            values
                .map(|value| value.is_finite().then_some(value))
                .collect()
        };
        Some(Self {
            row,
            x: case.x.to_vec(),
            class: case.class,
            salient: case.salient.clone(),
            of,
            absolute: case.explained.absolute,
            groups: case.explained.groups.clone(),
            norm: case.moves.norm,
            radius,
            low: finite(&case.moves.low),
            high: finite(&case.moves.high),
            hold: case.moves.hold,
            lost_at_most,
            splits,
        })
    }

    /// What the moves are.
    pub(super) fn moves(&self) -> Moves {
        let bounds = |values: &[Option<f64>], none: f64| -> Vec<f64> {
            values.iter().map(|value| value.unwrap_or(none)).collect()
        };
        Moves {
            norm: self.norm,
            radius: self.radius,
            low: bounds(&self.low, f64::NEG_INFINITY),
            high: bounds(&self.high, f64::INFINITY),
            hold: self.hold,
        }
    }

    /// Refuses numbers that fit no row of so many features.
    pub(super) fn check_shape(&self, features: usize, explained: &Explained) -> Result<()> {
        let refuse = |expected: &'static str, got: String| Error::CertifyInput { expected, got };
        for (what, length) in [
            ("rows as wide as the model's", self.x.len()),
            ("one least change a feature", self.low.len()),
            ("one greatest change a feature", self.high.len()),
        ] {
            if length != features {
                return Err(refuse(what, format!("{length} of {features}")));
            }
        }
        let is_row = self.x.iter().all(|value| value.is_finite());
        if !(is_row && self.radius >= 0.0 && self.radius.is_finite()) {
            return Err(refuse("finite rows and radii", format!("row {}", self.row)));
        }
        if explained.scale != Scale::One && explained.classes != 2 {
            return Err(refuse(
                "two classes, or logits",
                format!("row {}", self.row),
            ));
        }
        let inputs = self.groups.iter().flatten().flatten();
        if inputs.into_iter().any(|feature| *feature >= features) {
            return Err(refuse("features of the row", format!("row {}", self.row)));
        }
        Ok(())
    }
}

/// The tree of a search that found no way to lose `t` features.
fn tree(case: &Case<'_>, t: usize, radius: f64, most_nodes: usize) -> Option<Vec<i64>> {
    if case.explained.times_input {
        return None;
    }
    let largest = case.k.min(case.others.len());
    if t > largest {
        // No more than these can be lost by anything.
        return Some(vec![-1]);
    }
    let searched = Search::new(case, Goal::Any, t, radius).run(most_nodes);
    if !searched.is_finished || searched.witness.is_some() {
        return None;
    }
    let splits: BTreeMap<u64, (usize, u64)> = searched
        .splits
        .iter()
        .map(|split| (split.part, (split.gate, split.open_side)))
        .collect();
    let mut listed = Vec::new();
    let mut left = vec![0];
    while let Some(part) = left.pop() {
        match splits.get(&part) {
            Some(&(gate, open_side)) => {
                listed.push(i64::try_from(gate).ok()?);
                left.extend([open_side + 1, open_side]);
            }
            None => listed.push(-1),
        }
    }
    Some(listed)
}

#[cfg(test)]
mod tests {
    use super::super::network::{DenseLayer, DenseNetwork};
    use super::super::rounding::Arithmetic;
    use super::*;

    fn network(classes: usize) -> DenseNetwork {
        DenseNetwork {
            hidden: Vec::new(),
            head: DenseLayer {
                weight: (0..2 * classes).map(|_| 1.0).collect(),
                bias: vec![0.0; classes],
                inputs: 2,
            },
            arithmetic: Arithmetic::DOUBLE,
        }
    }

    /// Of a row of two features.
    fn proof() -> Proof {
        Proof {
            row: 1,
            x: vec![0.0, 0.0],
            class: 0,
            salient: vec![0],
            of: Ranked::Logit,
            absolute: true,
            groups: None,
            norm: MoveNorm::L2,
            radius: 0.1,
            low: vec![None, Some(-1.0)],
            high: vec![Some(2.0), None],
            hold: false,
            lost_at_most: 0,
            splits: vec![-1],
        }
    }

    #[test]
    fn a_proof_of_another_shape_is_refused() {
        let fits = |change: &dyn Fn(&mut Proof)| {
            let explained = Explained::new(&network(2), Ranked::Probability, 0).unwrap();
            let mut proof = proof();
            change(&mut proof);
            proof.check_shape(2, &explained).is_ok()
        };
        assert!(fits(&|_| ()));
        assert!(fits(&|proof| proof.radius = 0.0));
        assert!(fits(&|proof| proof.groups = Some(vec![vec![0, 1]])));
        assert!(!fits(&|proof| proof.x.push(0.0)));
        assert!(!fits(&|proof| proof.low.push(None)));
        assert!(!fits(&|proof| proof.high.truncate(1)));
        assert!(!fits(&|proof| proof.x[1] = f64::NAN));
        assert!(!fits(&|proof| proof.radius = -0.1));
        assert!(!fits(&|proof| proof.radius = f64::INFINITY));
        assert!(!fits(&|proof| proof.groups = Some(vec![vec![0, 2]])));
    }

    #[test]
    fn limits_that_are_not_stated_are_none() {
        let moves = proof().moves();
        assert_eq!(moves.low, [f64::NEG_INFINITY, -1.0]);
        assert_eq!(moves.high, [2.0, f64::INFINITY]);
    }

    #[test]
    fn of_many_classes_logits_can_be_proved() {
        let mut explained = Explained::new(&network(3), Ranked::Logit, 0).unwrap();
        assert!(proof().check_shape(2, &explained).is_ok());
        explained.scale = Scale::Probability;
        assert!(proof().check_shape(2, &explained).is_err());
    }
}
