//! Rows that are searched, gate by gate, around each choice of their categories.

use rayon::prelude::*;
use thickset_engine::{Chain, Network};

use super::super::case::{Case, Deployed as _, Moves};
use super::super::deployed::DeployedChain;
use super::super::explained::Explained;
use super::super::network::DenseNetwork;
use super::super::proof::Proof;
use super::super::stepped::{Choice, Stepped, choices, left};
use super::super::{certified_radius, certified_worst_case};
use super::{CheckedCertify, Steps};
use crate::explain::Points;
use crate::metric::ranking::TopK;
use crate::{Error, Result};

impl CheckedCertify {
    /// Proofs of what is certified of each row: of its radius, and of its worst case, as far as either says something. Rows of
    /// gradients times their inputs have none.
    ///
    /// # Errors
    /// As for [`CheckedCertify::radius`].
    pub fn proofs(
        &self,
        network: &Network,
        rows: Points<'_>,
        numbers: &[u64],
    ) -> Result<Vec<Vec<Proof>>> {
        if self.contributions.is_some() {
            return Err(Error::CertifyInput {
                expected: "gradients, for proofs that others can check",
                got: "contributions".to_owned(),
            });
        }
        self.each(network, rows, None, |row, case| {
            let radius = certified_radius::certify(case, self.nodes, case.moves.radius).certified;
            let worst = certified_worst_case::certify(case, self.nodes, 0);
            let lost = case.k - worst.kept_at_least;
            let mut claims = Vec::new();
            if radius > 0.0 {
                claims.push((radius, 0));
            }
            if lost < case.k.min(case.others.len()) && (lost > 0 || radius < case.moves.radius) {
                claims.push((case.moves.radius, lost));
            }
            let number = numbers.get(row).copied().unwrap_or(0);
            claims
                .into_iter()
                .filter_map(|claim| Proof::new(case, number, self.ranked, claim, self.nodes))
                .collect()
        })
    }

    /// What is certified of each row; of moves below its own radius, where each row has one.
    pub(super) fn each<T: Stepped + Send>(
        &self,
        network: &Network,
        rows: Points<'_>,
        radii: Option<&[f64]>,
        certify: impl Fn(usize, &Case<'_>) -> T + Sync,
    ) -> Result<Vec<T>> {
        rows.check(network)?;
        let dense = DenseNetwork::of(network)?;
        let chain = Chain::new(network).ok_or_else(|| Error::CertifyInput {
            expected: "networks that are chains of layers",
            got: "a network of another kind".to_owned(),
        })?;
        let explained = self.explained(&dense)?;
        let values: Vec<&[f64]> = rows.values.chunks(dense.features()).collect();
        values
            .into_par_iter()
            .enumerate()
            .map(|(row, x)| {
                let largest = self.largest_radius();
                let radius = radii.map_or(largest, |radii| radii[row].min(largest));
                self.one(&dense, &chain, &explained, (x, radius), &|case| {
                    certify(row, case)
                })
            })
            .collect()
    }

    /// What is ranked for each class.
    pub(super) fn explained(&self, dense: &DenseNetwork) -> Result<Vec<Explained>> {
        (0..dense.classes())
            .map(|class| {
                let explained = Explained::new(dense, self.ranked, class);
                let mut explained = explained.ok_or_else(|| Error::CertifyInput {
                    expected: "the logit of one class of many, or any output of two classes",
                    got: format!("probability or loss of {} classes", dense.classes()),
                })?;
                explained.absolute = self.absolute;
                explained.times_input = self.times_input;
                explained.groups.clone_from(&self.groups);
                Ok(explained)
            })
            .collect()
    }

    fn one<T: Stepped>(
        &self,
        dense: &DenseNetwork,
        chain: &Chain,
        explained: &[Explained],
        (x, radius): (&[f64], f64),
        certify: &impl Fn(&Case<'_>) -> T,
    ) -> Result<T> {
        let model = |class: usize| DeployedChain {
            chain,
            arithmetic: dense.arithmetic,
            ranked: self.ranked,
            explained: &explained[class],
        };
        let any = model(0);
        let x: Vec<f64> = x.iter().map(|value| any.nearest_input(*value)).collect();
        let (class, _) = any.run(&x, 0);
        let deployed = model(class);
        let (_, importance) = deployed.run(&x, class);
        let salient: Vec<usize> = TopK::of(&importance, self.k)?.iter().collect();
        let norm = self.move_norm();
        let choices = choices(&self.threat, &x, norm, radius);
        let steps = if choices.is_some() {
            self.steps
        } else {
            Steps::Relaxed
        };
        let are_tried = choices.is_some();
        let mut known: Option<T> = None;
        for choice in choices.unwrap_or_else(|| vec![Choice::own(&x)]) {
            let (low, high) = self.limits(&x, &choice.x, are_tried);
            let moves = Moves {
                norm,
                radius: left(norm, radius, choice.moved),
                low,
                high,
                hold: self.hold,
            };
            let case = Case::new(
                dense,
                &explained[class],
                &deployed,
                &moves,
                &choice.x,
                class,
                salient.clone(),
            );
            let mut found = certify(&case);
            if steps == Steps::Relaxed {
                found = found.only_in(self.k, &|point| self.threat.is_settled(&x, point));
            }
            let found = found.around(norm, choice.moved);
            known = Some(match known {
                None => found,
                Some(known) => known.and(found),
            });
        }
        known.ok_or(Error::Empty {
            what: "the choices",
        })
    }
}
