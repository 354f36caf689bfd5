//! A dataset in a few numbers: classes, and each feature's range, missing values and histogram in original units.

use serde::Serialize;

use super::recipe::AttackDefaults;
use super::split::Part;
use crate::data::dataset::Dataset;
use crate::data::schema::{FeatureKind, InputShape};

/// Bars of a histogram.
pub const BARS: usize = 12;

/// What [`describe`] finds.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The dataset.
    pub name: String,
    /// What its rows are.
    pub title: String,
    /// Number of rows.
    pub rows: usize,
    /// Number of features of a row.
    pub feature_count: usize,
    /// How a row is laid out.
    pub shape: InputShape,
    /// Rows that train, validate and test.
    pub split: [usize; 3],
    /// The classes.
    pub classes: Vec<ClassSummary>,
    /// The features; of pairs, those of one input.
    pub features: Vec<FeatureSummary>,
    /// What attacks use unless told otherwise.
    pub attack: Option<AttackDefaults>,
    /// What was left out or assumed.
    pub notes: Vec<String>,
}

/// A class and its rows.
#[derive(Clone, Debug, Serialize)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// All rows.
    pub rows: usize,
    /// Rows that train, validate and test.
    pub split: [usize; 3],
}

/// A feature in original units, over all rows.
#[derive(Clone, Debug, Serialize)]
pub struct FeatureSummary {
    /// Its name.
    pub name: String,
    /// The original column.
    pub column: String,
    /// The unit.
    pub unit: Option<String>,
    /// What it is.
    #[serde(flatten)]
    pub kind: FeatureKind,
    /// Whole numbers only.
    pub integer: bool,
    /// A person cannot change it.
    pub immutable: bool,
    /// Least value.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
    /// Mean value.
    pub mean: f64,
    /// Rows where the original column had no value.
    pub missing: usize,
    /// Rows in equal steps from the least value to the greatest.
    pub histogram: [usize; BARS],
}

/// Summarises a dataset.
#[must_use]
pub fn describe(dataset: &Dataset) -> Summary {
    let counts = |class: Option<usize>| {
        [Part::Train, Part::Validation, Part::Test].map(|part| {
            let rows = dataset.part(part).iter();
            rows.filter(|&&row| class.is_none_or(|class| dataset.labels[row] == class))
                .count()
        })
    };
    let classes = dataset.classes.iter().enumerate().map(|(class, name)| {
        let split = counts(Some(class));
        ClassSummary {
            name: name.clone(),
            rows: split.iter().sum(),
            split,
        }
    });
    Summary {
        name: dataset.name.clone(),
        title: dataset.title.clone(),
        rows: dataset.rows(),
        feature_count: dataset.features(),
        shape: dataset.shape().clone(),
        split: counts(None),
        classes: classes.collect(),
        features: features(dataset),
        attack: dataset.attack,
        notes: dataset.notes.clone(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a bar's number, and far fewer than 2^52 rows"
)]
fn features(dataset: &Dataset) -> Vec<FeatureSummary> {
    let width = if dataset.pairs.is_some() {
        dataset.features() / 2
    } else {
        dataset.features()
    };
    if width == 0 {
        return Vec::new();
    }
    let mut low = vec![f32::INFINITY; width];
    let mut high = vec![f32::NEG_INFINITY; width];
    let mut sum = vec![0.0_f64; width];
    for row in dataset.values.chunks_exact(width) {
        for (at, &value) in row.iter().enumerate() {
            low[at] = low[at].min(value);
            high[at] = high[at].max(value);
            sum[at] += f64::from(value);
        }
    }
    let mut histograms = vec![[0; BARS]; width];
    for row in dataset.values.chunks_exact(width) {
        for (at, &value) in row.iter().enumerate() {
            let span = high[at] - low[at];
            let bar = if span > 0.0 {
                ((value - low[at]) / span * BARS as f32) as usize
            } else {
                0
            };
            histograms[at][bar.min(BARS - 1)] += 1;
        }
    }
    let rows = (dataset.values.len() / width).max(1) as f64;
    dataset.schema.features[..width]
        .iter()
        .enumerate()
        .map(|(at, feature)| FeatureSummary {
            name: feature.name.clone(),
            column: feature.column.clone(),
            unit: feature.unit.clone(),
            kind: feature.kind.clone(),
            integer: feature.integer,
            immutable: feature.immutable,
            low: feature.decode(low[at]),
            high: feature.decode(high[at]),
            mean: feature.offset + feature.factor * sum[at] / rows,
            missing: dataset.missing.get(&feature.column).copied().unwrap_or(0),
            histogram: histograms[at],
        })
        .collect()
}
