//! A checker of [proofs](super::proof) that shares no bound with the search that made them.
//!
//! It follows the tree of splits. Of every part without a split it finds bounds of its own: of each pre-activation over the ball
//! and the part's half-spaces by a dual of its own, lines through later layers, intervals of what lies behind each gate, and pair by
//! pair whether the order can change. A part that is not closed so is split further, up to a limit. With the search it shares the
//! reading of the network and the a-priori bounds on the rounding of the deployed model ([`super::rounding`]); the row's class and
//! salient features are the deployed model's own.
//!
//! Everything proved is a sum whose rounding is taken off: see [`Dual::value`].

mod dual;
mod part;

use thickset_engine::{Chain, Network};

use self::part::Checker;
use super::case::Deployed as _;
use super::deployed::DeployedChain;
use super::explained::Explained;
use super::network::DenseNetwork;
use super::proof::Proof;
use crate::metric::ranking::TopK;
use crate::{Error, Result};

/// What came of checking a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The claim holds.
    Holds,
    /// It was not shown, for this reason.
    NotShown(String),
}

/// Parts that are split beyond the proof's own before a proof counts as not shown.
const MOST_PARTS: usize = 20_000;

/// A model whose proofs can be checked.
pub struct ProofChecker {
    dense: DenseNetwork,
    chain: Chain,
}

impl ProofChecker {
    /// Of this network.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] where there are no proofs of such networks.
    pub fn new(network: &Network) -> Result<Self> {
        Ok(Self {
            dense: DenseNetwork::of(network)?,
            chain: Chain::new(network).ok_or_else(|| Error::CertifyInput {
                expected: "networks that are chains of layers",
                got: "a network of another kind".to_owned(),
            })?,
        })
    }

    /// Whether a proof holds for the deployed model.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] where the proof is of rows or explanations that do not fit the model.
    pub fn check(&self, proof: &Proof) -> Result<Checked> {
        let refuse = |expected: &'static str, got: String| Error::CertifyInput { expected, got };
        if proof.class >= self.dense.classes() {
            return Err(refuse("classes of the model", proof.class.to_string()));
        }
        let mut explained = Explained::new(&self.dense, proof.of, proof.class)
            .ok_or_else(|| refuse("two classes, or logits", format!("row {}", proof.row)))?;
        explained.absolute = proof.absolute;
        explained.groups.clone_from(&proof.groups);
        proof.check_shape(self.dense.features(), &explained)?;
        let deployed = DeployedChain {
            chain: &self.chain,
            arithmetic: self.dense.arithmetic,
            ranked: proof.of,
            explained: &explained,
        };
        let is_given = |value: &f64| deployed.nearest_input(*value).to_bits() == value.to_bits();
        if !proof.x.iter().all(is_given) {
            return Ok(Checked::NotShown(
                "the row is not one that the model can be given".to_owned(),
            ));
        }
        let (class, importance) = deployed.run(&proof.x, proof.class);
        if class != proof.class {
            return Ok(Checked::NotShown(format!(
                "the model predicts class {class}, not {}",
                proof.class
            )));
        }
        let top = TopK::of(&importance, proof.salient.len())?;
        if !top.iter().eq(proof.salient.iter().copied()) {
            return Ok(Checked::NotShown("other features are salient".to_owned()));
        }
        Ok(follow(&self.dense, &explained, proof))
    }
}

/// Follows the tree of a proof.
pub(super) fn follow(network: &DenseNetwork, explained: &Explained, proof: &Proof) -> Checked {
    let mut checker = Checker::new(network, explained, proof, MOST_PARTS);
    match checker.follow(&proof.splits) {
        Ok(()) => Checked::Holds,
        Err(problem) => Checked::NotShown(problem.to_owned()),
    }
}
