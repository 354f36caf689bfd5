//! Certificates of segmented models: exact, and free where no border lies within the radius.
//!
//! Within a segment the explanation of a [segmented model](crate::model::segmented) is one row of numbers times a positive factor, so its
//! ranking changes at borders alone. Gate c of a block takes over from gate a no nearer than `(s_a - s_c - delta) / |S_c - S_a|`, in the norm dual
//! to the ball's and over the features that can move; between two categories that is `(1 - delta) / sqrt(2)`. Blocks read features of
//! their own, so borders of several blocks are crossed together at the root of the sum of the squares (the largest, in an l-infinity ball).
//! Every set of crossings that fits into the ball is enumerated, its ranking known from the weights, and the nearest point beyond the crossings is where
//! the deployed model is run: what is proved is the least over all sets, what was found the least over points that were run.
//!
//! Rounding: importances whose order the sums of the deployed model can turn round count as tied, scores move by `SCORE_SLACK`, and a model so
//! sure of itself somewhere in the ball that its probabilities may be rounded to 0 and 1 is not certified there. With sparsemax gates explanations vary between borders; there only the
//! distance to where the first gate moves is certified.

mod crossing;
mod importance;

use thickset_engine::Network;
use thickset_engine::layer::Gating;

use self::crossing::{BEYOND, Border, Crossing};
use super::explained::Ranked;
use super::result::{CertifiedRadius, CertifiedWorstCase, Counterexample, Status};
use crate::attack::Threat;
use crate::explain::Points;
use crate::host::read;
use crate::metric::ranking::{TopK, largest};
use crate::{Error, Result};

/// What is asked of every row.
pub(super) struct Asked<'a> {
    pub(super) k: usize,
    pub(super) threat: &'a Threat,
    pub(super) hold: bool,
    /// Sets of crossings, at most.
    pub(super) nodes: usize,
    pub(super) ranked: Ranked,
    pub(super) absolute: bool,
    pub(super) times_input: bool,
    pub(super) groups: Option<&'a [Vec<usize>]>,
}

/// A segmented network in plain numbers.
struct Segments<'a> {
    asked: &'a Asked<'a>,
    network: &'a Network,
    features: usize,
    gates: usize,
    maps: usize,
    scores: Vec<f64>,
    score_bias: Vec<f64>,
    blocks: Vec<usize>,
    /// Where explanations are constant between borders; how far ahead a gate must be.
    delta: f64,
    weight: Vec<f64>,
    gated: Vec<f64>,
    bias: Vec<f64>,
    gated_bias: Vec<f64>,
}

/// Refuses what cannot be certified; says whether the network is segmented at all.
///
/// # Errors
/// [`Error::CertifyInput`].
pub(super) fn fits(asked: &Asked<'_>, network: &Network) -> Result<bool> {
    if network.gates().is_none() {
        return Ok(false);
    }
    let refused = |expected, got: &str| {
        Err(Error::CertifyInput {
            expected,
            got: got.to_owned(),
        })
    };
    if asked.times_input {
        return refused("gradients, of a segmented model", "`grad-input`");
    }
    if network.classes() > 2 && asked.ranked != Ranked::Logit {
        return refused(
            "the logit of one class of many, or any output of two classes",
            "probability or loss of many classes",
        );
    }
    Ok(true)
}

/// The smallest move that changes each row's top-k set.
///
/// # Errors
/// If a row or k does not fit the network.
pub(super) fn radius(
    asked: &Asked<'_>,
    network: &Network,
    rows: Points<'_>,
) -> Result<Vec<CertifiedRadius>> {
    let segments = Segments::new(asked, network)?;
    let rows = rows.values.chunks(segments.features);
    rows.map(|x| segments.radius(x)).collect()
}

/// The fewest salient features that any move within the radius keeps.
///
/// # Errors
/// If a row or k does not fit the network.
pub(super) fn worst_case(
    asked: &Asked<'_>,
    network: &Network,
    rows: Points<'_>,
) -> Result<Vec<CertifiedWorstCase>> {
    let segments = Segments::new(asked, network)?;
    let rows = rows.values.chunks(segments.features);
    rows.map(|x| segments.worst_case(x)).collect()
}

/// A row as it stands.
struct Row {
    class: usize,
    salient: TopK,
    open: Vec<usize>,
    /// The borders of each block within the radius, the nearest first.
    borders: Vec<Vec<Border>>,
    /// How far the first border is, of all; infinite where nothing can move.
    first: f64,
    /// How many of the salient features stay whatever rounding does, where the gates stand still.
    kept: usize,
}

impl<'a> Segments<'a> {
    fn new(asked: &'a Asked<'a>, network: &'a Network) -> Result<Self> {
        let refused = || Error::CertifyInput {
            expected: "a segmented model",
            got: "a network of another kind".to_owned(),
        };
        let gates = network.gates().ok_or_else(refused)?;
        let gated = network.gated_linear().ok_or_else(refused)?;
        let delta = match gates.gating() {
            Gating::Argmax => 0.0,
            Gating::Sparsemax { delta } => delta,
            Gating::Softmax { .. } => return Err(refused()),
        };
        let weight = read(gated.weight().clone());
        let features = network.features();
        Ok(Self {
            asked,
            network,
            features,
            gates: gates.blocks().iter().sum(),
            maps: weight.len() / features.max(1),
            scores: read(gates.weight().clone()),
            score_bias: read(gates.bias().clone()),
            blocks: gates.blocks().to_vec(),
            delta,
            weight,
            gated: read(gated.gated_weight().clone()),
            bias: read(gated.bias().clone()),
            gated_bias: read(gated.gated_bias().clone()),
        })
    }

    fn row(&self, x: &[f64]) -> Result<Row> {
        let (class, importance) = self.run(x, None)?;
        let salient = TopK::of(&importance, self.asked.k)?;
        let (mut open, mut borders) = (Vec::new(), Vec::new());
        let (mut start, mut first) = (0, f64::INFINITY);
        for &size in &self.blocks {
            let scores: Vec<f64> = (start..start + size)
                .map(|gate| self.score(gate, x))
                .collect();
            let opened = start + largest(&scores)?;
            let mut here: Vec<Border> = (start..start + size)
                .filter(|gate| *gate != opened)
                .filter_map(|gate| self.border(x, opened, gate))
                .collect();
            here.sort_by(|a, b| a.distance.total_cmp(&b.distance));
            first = here
                .iter()
                .map(|border| border.distance)
                .fold(first, f64::min);
            here.retain(|border| border.distance <= self.asked.threat.ball().radius);
            open.push(opened);
            borders.push(here);
            start += size;
        }
        let kept = self.kept(x, &open, class, &salient);
        Ok(Row {
            class,
            salient,
            open,
            borders,
            first,
            kept,
        })
    }

    fn radius(&self, x: &[f64]) -> Result<CertifiedRadius> {
        let row = self.row(x)?;
        let most = self.asked.threat.ball().radius;
        let outcome = |status, certified: f64, counterexample, nodes| CertifiedRadius {
            status,
            certified: certified.min(most),
            counterexample,
            nodes,
        };
        if row.kept < self.asked.k {
            return Ok(outcome(Status::Unknown, 0.0, None, 1));
        }
        if row.first > most {
            return Ok(outcome(Status::Certified, most, None, 1));
        }
        // Where gates are shared, explanations vary between the borders too.
        let crossings = Some(&row).filter(|_| self.delta <= 0.0);
        let Some(crossings) = crossings.and_then(|row| self.crossings(row)) else {
            return Ok(outcome(Status::Unknown, row.first, None, self.asked.nodes));
        };
        let nodes = crossings.len() + 1;
        let mut certified = most;
        for crossing in &crossings {
            if self.kept_beyond(x, &row, crossing) == self.asked.k {
                continue;
            }
            certified = certified.min(crossing.distance);
            if let Some(found) = self.tried(x, &row, crossing)? {
                let is_exact = found.size - certified < 10.0 * BEYOND;
                let status = if is_exact {
                    Status::Exact
                } else {
                    Status::Unknown
                };
                return Ok(outcome(status, certified, Some(found), nodes));
            }
        }
        let status = if certified >= most {
            Status::Certified
        } else {
            Status::Unknown
        };
        Ok(outcome(status, certified, None, nodes))
    }

    fn worst_case(&self, x: &[f64]) -> Result<CertifiedWorstCase> {
        let row = self.row(x)?;
        let k = self.asked.k;
        let outcome = |status, at_least, at_most, counterexample, nodes| CertifiedWorstCase {
            status,
            kept_at_least: at_least,
            kept_at_most: at_most,
            counterexample,
            nodes,
        };
        if row.first > self.asked.threat.ball().radius {
            let status = match row.kept {
                0 => Status::Unknown,
                kept if kept == k => Status::Exact,
                _ => Status::Certified,
            };
            return Ok(outcome(status, row.kept, k, None, 1));
        }
        // Where gates are shared, explanations vary between the borders too.
        let crossings = Some(&row).filter(|_| self.delta <= 0.0);
        let Some(crossings) = crossings.and_then(|row| self.crossings(row)) else {
            return Ok(outcome(Status::Unknown, 0, k, None, self.asked.nodes));
        };
        let mut kept: Vec<(usize, &Crossing<'_>)> = crossings
            .iter()
            .map(|crossing| (self.kept_beyond(x, &row, crossing), crossing))
            .collect();
        kept.sort_by_key(|(kept, _)| *kept);
        let mut at_least = row.kept;
        let mut found: Option<Counterexample> = None;
        for (least, crossing) in kept {
            if least >= found.as_ref().map_or(k, |found| found.kept) {
                break;
            }
            at_least = at_least.min(least);
            if let Some(tried) = self.tried(x, &row, crossing)?
                && found.as_ref().is_none_or(|found| tried.kept < found.kept)
            {
                found = Some(tried);
            }
        }
        let at_most = found.as_ref().map_or(k, |found| found.kept);
        let status = match at_least {
            least if least == at_most => Status::Exact,
            0 => Status::Unknown,
            _ => Status::Certified,
        };
        Ok(outcome(
            status,
            at_least,
            at_most,
            found,
            crossings.len() + 1,
        ))
    }
}

#[cfg(test)]
mod tests;
