//! The data of one seed: which rows train, and which are attacked.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};
use thickset::config::DataConfig;
use thickset::data::{Dataset, InputShape, Part};
use thickset::explain::Points;
use thickset::train::salient_features;
use thickset::{Error, Result, Seed};

use crate::dataset_plan::{DatasetPlan, EffortPlan};
use crate::options::{BenchEffort, BenchOptions};
use crate::store::hexadecimal;

/// The ball's radius where a dataset has none of its own.
const USUAL_RADIUS: f64 = 0.5;
/// Attacked rows of tables, and of images and graphs, in a quick bench whose explanations are means over many points.
const FEW_TABLE_ROWS: usize = 100;
const FEW_ROWS: usize = 10;
/// Salient features of images and graphs (R2ET, Table 1).
const IMAGE_K: usize = 50;

/// How much work an explanation is, which limits how many rows a quick bench attacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Slowness {
    /// One gradient.
    #[default]
    OnePoint,
    /// A mean over many gradients.
    ManyPoints,
}

/// One dataset under one seed.
pub(crate) struct SeededDataset {
    /// Decides the split, the rows, the fresh weights and every draw.
    pub(crate) seed: Seed,
    /// With no more training and validation rows than the options allow.
    pub(crate) dataset: Dataset,
    /// Salient features.
    pub(crate) k: usize,
    /// Radius of the l2 ball of attacks.
    pub(crate) radius: f64,
    /// What it is trained and attacked with, where it is no table.
    pub(crate) plan: Option<&'static DatasetPlan>,
    /// What the bench's effort comes to there.
    pub(crate) effort: Option<&'static EffortPlan>,
    /// The hash of all rows that train, choose and test, with their numbers and classes.
    pub(crate) content: String,
    /// Where it came from, for runs.
    pub(crate) source: DataConfig,
    values: Vec<f64>,
    ids: Vec<u64>,
    /// Classes of the attacked rows.
    pub(crate) labels: Vec<usize>,
}

impl SeededDataset {
    /// Opens a dataset, splits it by the seed and draws the rows.
    pub(crate) fn open(
        name: &str,
        seed: Seed,
        options: &BenchOptions,
        slowness: Slowness,
    ) -> Result<Self> {
        let plan = DatasetPlan::find(name);
        let effort = plan.map(|plan| plan.effort(options.effort));
        let source = DataConfig {
            source: name.to_owned(),
            folder: options.data_dir.clone(),
            image_size: effort.and_then(|effort| effort.image_size),
            ..DataConfig::default()
        };
        let mut dataset = source.open(seed)?;
        // An epoch that draws its rows may draw from all of them.
        let draws = effort.is_some_and(|effort| effort.rows_per_epoch.is_some());
        let most = match effort.and_then(|effort| effort.train_rows) {
            _ if options.train_rows.is_some() => options.most_training_rows(),
            Some(own) => own,
            None if draws => usize::MAX,
            None => options.most_training_rows(),
        };
        limit(&mut dataset.split.train, most, seed, "bench training rows");
        let most = match effort.and_then(|effort| effort.validation_rows) {
            Some(own) if options.train_rows.is_none() => own,
            _ => most,
        };
        limit(
            &mut dataset.split.validation,
            most,
            seed,
            "bench validation rows",
        );
        if let Some(most) = effort.and_then(|effort| effort.test_rows) {
            limit(&mut dataset.split.test, most, seed, "bench rows of the AUC");
        }
        let mut chosen = dataset.part(Part::Test).to_vec();
        let own = effort.map_or(options.test_rows(), |effort| effort.rows);
        let own = match (slowness, options.effort) {
            (Slowness::ManyPoints, BenchEffort::Quick) if plan.is_some() => own.min(FEW_ROWS),
            (Slowness::ManyPoints, BenchEffort::Quick) => own.min(FEW_TABLE_ROWS),
            _ => own,
        };
        let attacked = options.rows.unwrap_or(own);
        limit(&mut chosen, attacked, seed, "bench test rows");
        if chosen.is_empty() {
            return Err(Error::Empty {
                what: "the test rows",
            });
        }
        let own = dataset.attack.as_ref().map(|attack| attack.k);
        let usual = match dataset.shape() {
            InputShape::Table => None,
            _ => Some(IMAGE_K),
        };
        let radius = dataset.attack.as_ref().map(|attack| attack.epsilon);
        let planned = plan.map(|plan| (plan.k, plan.radius));
        Ok(Self {
            seed,
            k: salient_features(planned.map(|(k, _)| k).or(own).or(usual), &dataset)?,
            radius: planned.map_or(radius.unwrap_or(USUAL_RADIUS), |(_, radius)| radius),
            plan,
            effort,
            values: dataset.gather(&chosen).into_iter().map(f64::from).collect(),
            ids: chosen.iter().map(|&row| row as u64).collect(),
            labels: dataset.gather_labels(&chosen),
            content: content(&dataset),
            dataset,
            source,
        })
    }

    /// Some training rows, drawn by the seed, row-major.
    pub(crate) fn donors(&self, most: usize) -> Vec<f64> {
        if most == 0 {
            return Vec::new();
        }
        let mut chosen = self.dataset.part(Part::Train).to_vec();
        limit(&mut chosen, most, self.seed, "bench donors");
        let values = self.dataset.gather(&chosen).into_iter();
        values.map(f64::from).collect()
    }

    /// The attacked rows.
    pub(crate) fn rows(&self) -> Points<'_> {
        Points {
            values: &self.values,
            ids: &self.ids,
        }
    }
}

fn content(dataset: &Dataset) -> String {
    let mut hash = Sha256::new();
    if let Some(pairs) = dataset.pairs() {
        return content_of_pairs(dataset, pairs);
    }
    let mut values = vec![0.0_f32; dataset.features()];
    for part in [Part::Train, Part::Validation, Part::Test] {
        let rows = dataset.part(part);
        hash.update(rows.len().to_le_bytes());
        for &row in rows {
            dataset.copy_row(row, &mut values);
            hash.update(row.to_le_bytes());
            hash.update(dataset.labels[row].to_le_bytes());
            for value in &values {
                hash.update(value.to_le_bytes());
            }
        }
    }
    hexadecimal(&hash.finalize())
}

/// The same for pairs: each pair's rows by their numbers, and each input once, in the first pair that it is in.
fn content_of_pairs(dataset: &Dataset, pairs: &[[u32; 2]]) -> String {
    let mut hash = Sha256::new();
    let mut seen = BTreeSet::new();
    let mut values = vec![0.0_f32; dataset.features()];
    for part in [Part::Train, Part::Validation, Part::Test] {
        let rows = dataset.part(part);
        hash.update(rows.len().to_le_bytes());
        for &row in rows {
            hash.update(dataset.labels[row].to_le_bytes());
            hash.update(pairs[row][0].to_le_bytes());
            hash.update(pairs[row][1].to_le_bytes());
            let is_new = pairs[row].map(|input| seen.insert(input));
            if is_new.contains(&true) {
                dataset.copy_row(row, &mut values);
                for value in &values {
                    hash.update(value.to_le_bytes());
                }
            }
        }
    }
    hexadecimal(&hash.finalize())
}

/// Keeps at most so many rows, drawn by the seed, in their order.
fn limit(rows: &mut Vec<usize>, most: usize, seed: Seed, name: &str) {
    if rows.len() > most {
        seed.stream(name).shuffle(rows);
        rows.truncate(most);
        rows.sort_unstable();
    }
}
