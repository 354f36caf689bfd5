//! The linear baseline: logistic regression on the training rows of the same data, attacked alike.
//!
//! How it is fitted: [`logistic`](mod@logistic).

mod logistic;

use std::ops::ControlFlow;

use rayon::prelude::*;
use thickset_engine::TensorData;

pub(crate) use self::logistic::logistic;

use super::figure::{AllRows, Baseline, FIGURES, Predictions, Summary};
use super::measure::LabelledRows;
use super::plan::CheckedAudit;
use super::progress::{Event, Observer};
use super::row_list::RowList;
use super::run::parts;
use super::summary;
use super::target::AuditTarget;
use crate::data::{Dataset, Part};
use crate::explain::Points;
use crate::host::read;
use crate::metric::ranking;
use crate::model::{Model, ModelConfig};
use crate::{Result, Seed};

/// The most rows that the baseline is attacked on, and that its P@k and distinctness are of: the first of the audited.
/// Its AUC and accuracy are of all of them.
pub const MOST_ATTACKED: usize = 2_000;

/// The most training rows it is fitted to, spread evenly over all of them.
pub const MOST_FITTED: usize = 20_000;

/// Rows that are predicted together.
const BLOCK: usize = 512;

/// The baseline of a target, none where there are no training rows; breaks if the observer stopped.
pub(super) fn baseline(
    audit: &CheckedAudit,
    target: &AuditTarget<'_>,
    observer: &mut dyn Observer,
) -> Result<ControlFlow<(), Option<Summary>>> {
    let Some(dataset) = target.rows.training() else {
        return Ok(ControlFlow::Continue(None));
    };
    let count = target.rows.len().min(MOST_ATTACKED);
    if observer.on_event(&Event::Linear { rows: count }).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let model = fit(dataset)?;
    let network = &model.network;
    let found = parts(count, network.features())
        .into_par_iter()
        .map(|places| {
            let ids: Vec<u64> = places.clone().map(|place| target.rows.id(place)).collect();
            let labels: Vec<Option<usize>> = places
                .clone()
                .map(|place| target.rows.label(place))
                .collect();
            let values = target.rows.gather(places);
            let part = LabelledRows {
                rows: Points {
                    values: &values,
                    ids: &ids,
                },
                labels: &labels,
            };
            audit.measure(network, part, |figure| {
                figure.baseline == Baseline::Attacked
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let rows: RowList = found.into_iter().flat_map(|part| part.rows).collect();
    let all = AllRows {
        rows: &rows,
        in_top: &summary::in_top(&rows, audit.names.len()),
        k: audit.k(),
        predictions: &predictions(target, &model)?,
    };
    // What comes from all rows is written before what comes from those that were attacked.
    let figures = [Baseline::Predicted, Baseline::Attacked]
        .into_iter()
        .flat_map(|of| FIGURES.iter().filter(move |figure| figure.baseline == of));
    let summary = summary::of_figures(figures.copied(), &all)?;
    Ok(ControlFlow::Continue(Some(summary)))
}

/// Its predictions of all labelled rows.
fn predictions(target: &AuditTarget<'_>, model: &Model) -> Result<Predictions> {
    let network = &model.network;
    let labelled: Vec<(usize, usize)> = (0..target.rows.len())
        .filter_map(|place| Some((place, target.rows.label(place)?)))
        .collect();
    let mut predictions = Predictions::default();
    for part in labelled.chunks(BLOCK) {
        let values = target.rows.gather(part.iter().map(|(place, _)| *place));
        let probabilities = read(network.probabilities(network.batch(&values)));
        for (row, (_, label)) in probabilities.chunks(network.classes()).zip(part) {
            predictions.push(row.to_vec(), ranking::largest(row)?, *label);
        }
    }
    Ok(predictions)
}

/// Logistic regression on the training rows of a dataset.
///
/// # Errors
/// If the dataset has fewer than two classes.
pub fn fit(dataset: &Dataset) -> Result<Model> {
    let all = dataset.part(Part::Train);
    let step = all.len().div_ceil(MOST_FITTED).max(1);
    let rows: Vec<usize> = all.iter().copied().step_by(step).collect();
    let (features, classes) = (dataset.features(), dataset.classes.len());
    let labels = dataset.gather_labels(&rows);
    let weights = logistic(&dataset.gather(&rows), labels, features, classes);
    let mut model = Model::fresh(
        ModelConfig::Linear(crate::model::LinearConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(0),
    )?;
    #[expect(clippy::cast_possible_truncation, reason = "models are kept in f32")]
    let single: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
    let (matrix, bias) = single.split_at(features * classes);
    let values = [matrix, bias].map(|part| TensorData::new(part.to_vec(), [part.len()]));
    model.network.set_parameter_values(&values)?;
    Ok(model)
}
