//! What is proved of the rows of an audit, beside what was found.
//!
//! Certificates are given where the network is a chain of dense layers with `ReLU` and explanation and threat set are of the kind
//! ([`crate::certify`]); elsewhere an audit says why it has none. The suite's last step proves the P@k; the radius is searched
//! here, and beside it stands the radius up to which random draws change nothing. Where the suite has tried every point of a row's set, both are
//! known without a search.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

use super::figure::certified_p_at_k;
use super::measure::MeasuredRows;
use super::plan::CheckedAudit;
use super::result::RowRecord;
use super::row_list::RowList;
use super::row_status::Compared;
use crate::Result;
use crate::attack::every_point::KnownPoints;
use crate::attack::threat::Norm;
use crate::attack::threat::ball::Surface;
use crate::certify::{CertifiedRadius, CertifiedWorstCase, CheckedCertify, Status};
use crate::check::as_f64;
use crate::explain::Points;

/// Whether an audit has certificates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CertificateRecord {
    /// Why there are none; absent where there are.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub absent: Option<String>,
    /// Rows whose worst P@k is known exactly: what is proved is what was found.
    pub exact: usize,
}

/// What is proved of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowCertificate {
    /// The P@k that every move of the threat set keeps.
    pub precision: f64,
    /// No move smaller than this changes the top-k set; at most the radius of the audit.
    pub radius: f64,
    /// The smallest move known to change it; the radius of the audit where none is.
    pub changed: f64,
    /// The largest of the ladder's radii up to which no random draw changed it.
    pub noise: f64,
}

/// Halvings of the way to a row's worst point, on which the set may change before its end.
const HALVINGS: usize = 8;

/// A share of that way that is not halved any more: what so many halvings leave of all of it.
const SHORTEST: f64 = 1.0 / 256.0;

/// Random directions in which the radius that noise changes is looked for.
const NOISE_DIRECTIONS: usize = 5;

/// Parts of the search of a radius, at least: most rows need no more.
const RADIUS_PARTS: usize = 16;

/// Radii tried in each direction, as equal shares of the largest.
pub const RUNGS: usize = 10;

/// The certificates of a part's rows, made when they are first asked for.
#[derive(Default)]
pub(super) struct Certificates(OnceCell<Option<Vec<RowCertificate>>>);

impl CheckedAudit {
    /// Why an audit of this network has no certificates; none if it has.
    pub(super) fn no_certificate(&self, network: &Network) -> Option<String> {
        match &self.certify {
            Ok(certify) => certify.fits(network).err().map(|error| error.to_string()),
            Err(reason) => Some(reason.clone()),
        }
    }
}

impl MeasuredRows<'_> {
    /// What is proved of each row; none where nothing can be.
    pub(super) fn certificates(&self) -> Result<Option<&[RowCertificate]>> {
        if self.certificates.0.get().is_none() {
            let found = self.certify()?;
            // Nobody else has set it: the cell is not shared between threads.
            let _ = self.certificates.0.set(found);
        }
        Ok(self.certificates.0.get().and_then(Option::as_deref))
    }

    fn certify(&self) -> Result<Option<Vec<RowCertificate>>> {
        let (Ok(certify), Some(worst)) = (&self.audit.certify, &self.certified) else {
            return Ok(None);
        };
        let largest = certify.largest_radius();
        let k = as_f64(self.audit.k());
        let (noise, near) = self.noise_radii(largest)?;
        let near = self.nearer_on_the_way(near)?;
        let radii = self.radii(certify, worst, &near)?;
        let share = |kept: usize| as_f64(kept) / k;
        let precision = worst.iter().map(|row| share(row.kept_at_least)).collect();
        let precision = self.zero_without_ranking(precision);
        let proved = radii.iter().map(|radius| match radius {
            Some(radius) => radius.certified,
            None => largest,
        });
        let proved = self.zero_without_ranking(proved.collect());
        let rows = radii.iter().enumerate().map(|(row, radius)| {
            let found = radius.as_ref().and_then(|radius| {
                let found = radius.counterexample.as_ref()?;
                Some(found.size)
            });
            let changed = [found, near[row]]
                .into_iter()
                .flatten()
                .fold(largest, f64::min);
            RowCertificate {
                precision: precision[row],
                radius: proved[row],
                changed: changed.max(proved[row]),
                noise: noise[row],
            }
        });
        Ok(Some(rows.collect()))
    }

    /// The radii of the rows whose set is not proved to stay anyway; beyond a change that is known there is nothing to prove.
    fn radii(
        &self,
        certify: &CheckedCertify,
        worst: &[CertifiedWorstCase],
        near: &[Option<f64>],
    ) -> Result<Vec<Option<CertifiedRadius>>> {
        let nearest = |known: &Option<KnownPoints>| {
            let known = known.as_ref()?;
            let change = known.nearest_change()?.clone();
            Some(CertifiedRadius {
                status: Status::Exact,
                certified: change.size,
                counterexample: Some(change),
                nodes: known.worst_case().nodes,
            })
        };
        let mut radii: Vec<Option<CertifiedRadius>> = self.known.iter().map(nearest).collect();
        let may_change: Vec<usize> = (0..worst.len())
            .filter(|row| self.known[*row].is_none())
            .filter(|row| worst[*row].kept_at_least < self.audit.k())
            .collect();
        if may_change.is_empty() {
            return Ok(radii);
        }
        let (values, ids) = self.rows.at(self.network.features(), &may_change);
        let rows = Points {
            values: &values,
            ids: &ids,
        };
        let parts = self.audit.config.suite.effort.gate_parts();
        let certify = certify.clone().with_nodes(parts.max(RADIUS_PARTS));
        let near: Vec<f64> = may_change
            .iter()
            .map(|row| near[*row].unwrap_or(f64::INFINITY))
            .collect();
        let found = certify.radius_below(self.network, rows, Some(&near))?;
        for (row, found) in may_change.into_iter().zip(found) {
            radii[row] = Some(found);
        }
        Ok(radii)
    }

    /// The size of the move from a row to a point.
    fn size_of(&self, row: usize, point: &[f64]) -> f64 {
        let moved = point.iter().zip(self.row(row)).map(|(z, x)| (z - x).abs());
        match self.audit.threat.ball().norm {
            Norm::L2 => moved.map(|by| by * by).sum::<f64>().sqrt(),
            Norm::Linf => moved.fold(0.0, f64::max),
        }
    }

    fn row(&self, row: usize) -> &[f64] {
        let width = self.network.features();
        &self.rows.values[row * width..(row + 1) * width]
    }

    /// The smallest changes that are known, and those between each row and its worst point: what is left of the way is halved as long as
    /// the set changes and the class stays.
    fn nearer_on_the_way(&self, mut near: Vec<Option<f64>>) -> Result<Vec<Option<f64>>> {
        let compared = Compared::new(self)?;
        let width = self.network.features();
        let mut left: Vec<usize> = (0..near.len())
            .filter(|row| self.attacked[*row].held && self.attacked[*row].precision < 1.0)
            .collect();
        // The shares of the way at which the set is not known to change, and beyond which a change would not be the nearest.
        let mut ends = vec![(0.0, 1.0); near.len()];
        for &row in &left {
            let size = self.size_of(row, &self.attacked[row].perturbed);
            if let Some(near) = near[row] {
                ends[row].1 = (near / size).min(1.0);
            }
            near[row] = Some(near[row].map_or(size, |near| near.min(size)));
        }
        let mut points = Vec::new();
        for _ in 0..HALVINGS {
            left.retain(|row| ends[*row].1 - ends[*row].0 > SHORTEST);
            if left.is_empty() {
                break;
            }
            points.resize(left.len() * width, 0.0);
            for (&row, point) in left.iter().zip(points.chunks_mut(width)) {
                let share = f64::midpoint(ends[row].0, ends[row].1);
                self.settle_between(row, &self.attacked[row].perturbed, share, point);
            }
            let seen = compared.at(&left, &points)?;
            for ((&row, seen), point) in left.iter().zip(seen).zip(points.chunks(width)) {
                let middle = f64::midpoint(ends[row].0, ends[row].1);
                if seen.kept < self.audit.k() && seen.held {
                    let size = self.size_of(row, point);
                    near[row] = Some(near[row].map_or(size, |near| near.min(size)));
                    ends[row].1 = middle;
                } else {
                    ends[row].0 = middle;
                }
            }
        }
        Ok(near)
    }

    /// The point of a row's set at this share of the way from the row to a point.
    fn settle_between(&self, row: usize, end: &[f64], share: f64, point: &mut [f64]) {
        let x = self.row(row);
        let moved: Vec<f64> = x
            .iter()
            .zip(end)
            .map(|(x, z)| x + share * (z - x))
            .collect();
        self.audit.threat.settle(x, &moved, point);
    }

    /// The largest of the ladder's radii up to which no draw changes the set, of each row, and the smallest change among the draws that keep the class.
    /// A row leaves a direction where larger radii would change neither.
    fn noise_radii(&self, largest: f64) -> Result<(Vec<f64>, Vec<Option<f64>>)> {
        let compared = Compared::new(self)?;
        let width = self.network.features();
        let ids = self.rows.ids.iter();
        let mut streams: Vec<_> = ids
            .map(|id| self.audit.config.seed.stream_at("audit noise radius", *id))
            .collect();
        let mut unchanged = vec![RUNGS; streams.len()];
        let mut near: Vec<Option<f64>> = vec![None; streams.len()];
        let mut point = vec![0.0; width];
        let mut points = Vec::with_capacity(self.rows.values.len());
        for _ in 0..NOISE_DIRECTIONS {
            let mut drawn = Vec::with_capacity(self.rows.values.len());
            for (x, stream) in self.rows.values.chunks(width).zip(&mut streams) {
                drawn.extend(self.audit.threat.draw(x, Surface::Sphere, stream));
            }
            let mut left: Vec<usize> = (0..streams.len()).collect();
            for rung in 1..=RUNGS {
                let share = as_f64(rung) / as_f64(RUNGS);
                points.clear();
                left.retain(|&row| {
                    let end = &drawn[row * width..(row + 1) * width];
                    self.settle_between(row, end, share, &mut point);
                    let is_nearer = |near: f64| self.size_of(row, &point) < near;
                    let counts = rung <= unchanged[row] || near[row].is_none_or(is_nearer);
                    if counts {
                        points.extend_from_slice(&point);
                    }
                    counts
                });
                if left.is_empty() {
                    break;
                }
                let seen = compared.at(&left, &points)?;
                for ((&row, seen), point) in left.iter().zip(seen).zip(points.chunks(width)) {
                    let changes = seen.kept < self.audit.k();
                    if changes {
                        unchanged[row] = unchanged[row].min(rung - 1);
                    }
                    if changes && seen.held {
                        let size = self.size_of(row, point);
                        near[row] = Some(near[row].map_or(size, |near| near.min(size)));
                    }
                }
            }
        }
        let radii = unchanged.into_iter();
        let radii = radii.map(|rungs| largest * as_f64(rungs) / as_f64(RUNGS));
        Ok((self.zero_without_ranking(radii.collect()), near))
    }
}

/// Rows whose certified P@k is the one under attack.
pub(super) fn exact(rows: &RowList) -> usize {
    let is_exact = |row: &RowRecord| {
        let certified = certified_p_at_k::FIGURE.of_row(row);
        // Both are whole shares of k.
        certified.is_some_and(|certified| (certified - row.precision).abs() < 1e-9)
    };
    rows.iter().filter(is_exact).count()
}
