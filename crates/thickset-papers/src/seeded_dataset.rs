//! The data of one seed: which rows train, and which are attacked.

use sha2::{Digest as _, Sha256};
use thickset::config::DataConfig;
use thickset::data::{Dataset, InputShape, Part};
use thickset::explain::Points;
use thickset::train::salient_features;
use thickset::{Error, Result, Seed};

use crate::options::BenchOptions;
use crate::store::hexadecimal;

/// The ball's radius where a dataset has none of its own.
const USUAL_RADIUS: f64 = 0.5;
/// Salient features of images and graphs (R2ET, Table 1).
const IMAGE_K: usize = 50;

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
    pub(crate) fn open(name: &str, seed: Seed, options: &BenchOptions) -> Result<Self> {
        let source = DataConfig {
            source: name.to_owned(),
            folder: options.data_dir.clone(),
            ..DataConfig::default()
        };
        let mut dataset = source.open(seed)?;
        let most = options.most_training_rows();
        limit(&mut dataset.split.train, most, seed, "bench training rows");
        limit(
            &mut dataset.split.validation,
            most,
            seed,
            "bench validation rows",
        );
        let mut chosen = dataset.part(Part::Test).to_vec();
        limit(&mut chosen, options.test_rows(), seed, "bench test rows");
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
        Ok(Self {
            seed,
            k: salient_features(own.or(usual), &dataset)?,
            radius: dataset
                .attack
                .as_ref()
                .map_or(USUAL_RADIUS, |attack| attack.epsilon),
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

/// Keeps at most so many rows, drawn by the seed, in their order.
fn limit(rows: &mut Vec<usize>, most: usize, seed: Seed, name: &str) {
    if rows.len() > most {
        seed.stream(name).shuffle(rows);
        rows.truncate(most);
        rows.sort_unstable();
    }
}
