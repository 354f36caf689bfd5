//! Measuring cells of certificates: what is proved of one trained model's explanations on the test rows of its seed.

use std::time::Instant;

use thickset::certify::{CertifiedWorstCase, CertifyConfig, Status};
use thickset::explain::grad::GradConfig;
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{ExplainConfig, Of, Points};
use thickset::{Error, Result};
use thickset_engine::Network;

use crate::count::as_f64;
use crate::measure::Measured;
use crate::proposition45;
use crate::seeded_dataset::SeededDataset;

/// What the time of a search is kept as.
pub(crate) const TIME: &str = "milliseconds a row";

/// The share of each row's salient set that is proved to be left; nothing, so 0, where no certificate can be given.
pub(crate) fn certified(
    network: &Network,
    data: &SeededDataset,
    certify: &CertifyConfig,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let checked = certify.check(explain, &data.dataset.schema)?;
    let k = as_f64(certify.k.max(1));
    let shares = match checked.worst_case(network, data.rows()) {
        Ok(rows) => rows
            .into_iter()
            .map(|row| as_f64(row.kept_at_least) / k)
            .collect(),
        Err(Error::CertifyInput { .. }) => vec![0.0; data.rows().ids.len()],
        Err(other) => return Err(other),
    };
    let mut measured = Measured::default();
    measured.set_rows("certified", shares);
    Ok(measured)
}

pub(crate) fn worst_case(
    network: &Network,
    data: &SeededDataset,
    certify: &CertifyConfig,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let checked = certify.check(explain, &data.dataset.schema)?;
    let k = as_f64(certify.k.max(1));
    let begun = Instant::now();
    let rows = checked.worst_case(network, data.rows())?;
    let time = begun.elapsed().as_secs_f64() * 1e3;
    let mut measured = Measured::default();
    measured.set(TIME, time / as_f64(rows.len().max(1)));
    measured.set_rows("parts", rows.iter().map(|row| as_f64(row.nodes)).collect());
    let share = |of: fn(&CertifiedWorstCase) -> usize| {
        let rows = rows.iter();
        rows.map(|row| as_f64(of(row)) / k).collect::<Vec<_>>()
    };
    measured.set_rows("at least", share(|row| row.kept_at_least));
    measured.set_rows("at most", share(|row| row.kept_at_most));
    Ok(measured)
}

/// The exact radius of each row, 0 where the search did not end at one, whether it ended at all, and what Proposition 4.5 promises.
pub(crate) fn radii(
    network: &Network,
    data: &SeededDataset,
    certify: &CertifyConfig,
    explain: &ExplainConfig,
    (points, ball): (usize, f64),
) -> Result<Measured> {
    let checked = certify.check(explain, &data.dataset.schema)?;
    let begun = Instant::now();
    let found = checked.radius(network, data.rows())?;
    let time = begun.elapsed().as_secs_f64() * 1e3;
    let mut measured = Measured::default();
    measured.set(TIME, time / as_f64(found.len().max(1)));
    let settled = found
        .iter()
        .map(|row| f64::from(u8::from(row.status != Status::Unknown)));
    measured.set_rows("settled", settled.collect());
    let exact = found.into_iter().map(|row| match row.status {
        Status::Exact => row.certified,
        Status::Certified | Status::Unknown => 0.0,
    });
    let slope = ExplainConfig {
        explanation: GradConfig {
            of: Of::Probability,
        }
        .into(),
        reduce: ReductionConfig::Signed,
        ..ExplainConfig::default()
    };
    let slope = slope.check(&data.dataset.schema)?;
    let features = network.features();
    let rows = data.rows();
    let exact: Vec<f64> = exact.collect();
    let [mut promised, mut within] = [(); 2].map(|()| Vec::with_capacity(rows.ids.len()));
    for ((x, &id), exact) in rows.values.chunks(features).zip(rows.ids).zip(&exact) {
        let promise = |ball: f64| {
            let mut draws = data.seed.stream_at("proposition 4.5", id);
            let mut around = x.to_vec();
            for _ in 0..points {
                let direction: Vec<f64> = (0..features).map(|_| draws.normal()).collect();
                let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
                let size = ball * draws.uniform().powf(1.0 / as_f64(features));
                let moved = x.iter().zip(&direction);
                around.extend(moved.map(|(x, d)| x + size * d / length));
            }
            let ids = vec![id; points + 1];
            let at = Points {
                values: &around,
                ids: &ids,
            };
            let found = slope.attribute(network, at, data.seed)?;
            let found: Vec<(Vec<f64>, f64)> = found
                .into_iter()
                .map(|row| (row.importance, row.probabilities[row.class]))
                .collect();
            Ok::<f64, Error>(proposition45::promised(certify.k, &found[0].0, &found))
        };
        promised.push(promise(ball)?);
        within.push(promise(*exact)?);
    }
    measured.set_rows("exact", exact);
    measured.set_rows("proposition", promised);
    measured.set_rows("proposition in the exact ball", within);
    Ok(measured)
}
