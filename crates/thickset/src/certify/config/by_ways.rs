//! Rows whose contributions are bounded along the ways to them.

use rayon::prelude::*;
use thickset_engine::{DType, Network};

use super::super::contributions::can_leave::ClassLines;
use super::super::contributions::piece_ways::PieceWays;
use super::super::contributions::segments::SegmentWays;
use super::super::contributions::ways::Ways;
use super::super::contributions::{Bounds, ContributionsAsked, Proved};
use super::super::network::DenseNetwork;
use super::super::stepped::{Choice, choices};
use super::CheckedCertify;
use crate::explain::Points;
use crate::explain::contributions::line::{Lines, Walk};
use crate::host::read;
use crate::metric::ranking::{self, TopK};
use crate::{Error, Result};

impl CheckedCertify {
    pub(super) fn fits_contributions(
        &self,
        asked: &ContributionsAsked,
        network: &Network,
    ) -> Result<()> {
        let refused =
            |expected: &'static str, got: String| Err(Error::CertifyInput { expected, got });
        if !self.hold {
            return refused(
                "moves that keep the class, for contributions",
                "moves to any class".to_owned(),
            );
        }
        if network.gates().is_some() {
            let (groups, reference) = (&asked.groups, &asked.reference);
            return SegmentWays::new(network, groups, reference, asked.points, 0).map(|_| ());
        }
        let dense = DenseNetwork::of(network)?;
        if along(&dense, &asked.groups, &asked.reference, 0).is_none() {
            return refused(
                "networks with at most two hidden layers, behind pieces of single columns or none, for contributions",
                format!("one with {}", dense.hidden.len()),
            );
        }
        Ok(())
    }

    /// What is proved of the contributions of each row.
    pub(super) fn each_way<T: Send>(
        &self,
        asked: &ContributionsAsked,
        network: &Network,
        rows: Points<'_>,
        prove: impl Fn(usize, &Proved<'_>) -> T + Sync,
    ) -> Result<Vec<T>> {
        rows.check(network)?;
        self.fits_contributions(asked, network)?;
        if rows.ids.is_empty() {
            return Ok(Vec::new());
        }
        let (groups, reference) = (&asked.groups[..], &asked.reference[..]);
        let classes = network.classes();
        let logits = read(network.logits(network.batch(rows.values)));
        let predicted: Vec<usize> = logits
            .chunks(classes)
            .map(ranking::largest)
            .collect::<Result<_>>()?;
        let dense = DenseNetwork::of(network).ok();
        let mut segments = Vec::new();
        if dense.is_none() {
            for class in 0..classes {
                segments.push(SegmentWays::new(
                    network,
                    groups,
                    reference,
                    asked.points,
                    class,
                )?);
            }
        }
        let ways: Vec<Box<dyn Bounds + Sync + '_>> = dense
            .iter()
            .flat_map(|dense| {
                (0..classes).filter_map(|class| along(dense, groups, reference, class))
            })
            .collect();
        let lines = Lines::new(network, reference);
        let single = network.dtype() == DType::F32;
        let rows: Vec<(&[f64], usize)> = rows
            .values
            .chunks(network.features())
            .zip(predicted)
            .collect();
        let one = |(row, (x, class)): (usize, (&[f64], usize))| {
            #[expect(clippy::cast_possible_truncation, reason = "the model takes f32")]
            let nearest = |value: &f64| {
                if single {
                    f64::from(*value as f32)
                } else {
                    *value
                }
            };
            let x: Vec<f64> = x.iter().map(nearest).collect();
            let (bounds, importance): (&dyn Bounds, Option<Vec<f64>>) = match &lines {
                Some(lines) => {
                    let mut raw = vec![0.0; x.len()];
                    lines.contributions(&x, class, &mut Walk::default(), &mut raw);
                    let sums = groups
                        .iter()
                        .map(|group| group.iter().map(|&one| raw[one]).sum());
                    (&*ways[class], Some(sums.collect()))
                }
                None => (&segments[class], segments[class].contributions(&x)),
            };
            // Where gates are tied nothing is proved, whatever is ranked.
            let importance = importance.unwrap_or_else(|| vec![0.0; groups.len()]);
            let ball = self.threat.ball();
            let norm = self.move_norm();
            let choices = choices(&self.threat, &x, norm, ball.radius);
            let are_tried = choices.is_some();
            let choices = choices.unwrap_or_else(|| vec![Choice::own(&x)]);
            let choices = choices.into_iter().map(|choice| {
                let (low, high) = self.limits(&x, &choice.x, are_tried);
                (choice, low, high)
            });
            let proved = Proved {
                bounds,
                groups,
                salient: TopK::of(&importance, self.k)?.iter().collect(),
                importance,
                walks: lines.as_ref().map(|lines| ClassLines { lines, class }),
                norm,
                radius: ball.radius,
                choices: choices.collect(),
            };
            Ok(prove(row, &proved))
        };
        rows.into_par_iter().enumerate().map(one).collect()
    }
}

/// How contributions of a class are bounded along the ways through dense layers, if they are.
fn along<'a>(
    network: &'a DenseNetwork,
    groups: &'a [Vec<usize>],
    reference: &'a [f64],
    class: usize,
) -> Option<Box<dyn Bounds + Sync + 'a>> {
    if let Some(ways) = Ways::new(network, groups, reference, class) {
        return Some(Box::new(ways));
    }
    let ways = PieceWays::new(network, groups, reference, class)?;
    Some(Box::new(ways))
}
