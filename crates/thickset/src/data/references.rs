//! Rows that others are compared with, learned from the training rows: the typical row, and the mean row of each class.
//!
//! The typical row has the median of every number and the most frequent category of every column. It is a row that could be:
//! a median is the lower one of the two middle values, so it is a value that some training row has; a category is whole; a flag
//! and whether a value is missing are what most rows have. A mean row is none: its categories are shares.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::schema::{FeatureKind, InputShape, Schema};
use crate::check::as_f64;

/// Rows to compare others with, encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct References {
    /// Medians and most frequent categories.
    pub typical: Vec<f32>,
    /// The mean of each class's training rows, by the class's name.
    pub class_means: BTreeMap<String, Vec<f32>>,
}

impl References {
    /// Learns them from the rows `train` of a row-major matrix, each row with its class; none where the rows are no table.
    #[must_use]
    pub fn learn(
        schema: &Schema,
        classes: &[String],
        values: &[f32],
        labels: &[usize],
        train: &[usize],
    ) -> Option<Self> {
        let width = schema.len();
        if schema.shape != InputShape::Table || schema.is_empty() || train.is_empty() {
            return None;
        }
        let mut counts = vec![0_usize; classes.len()];
        for &row in train {
            counts[labels[row]] += 1;
        }
        let mut means = vec![vec![0.0_f32; width]; classes.len()];
        let mut typical = vec![0.0; width];
        // The features of each category, and how many rows have each.
        let mut groups: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        let mut column = Vec::with_capacity(train.len());
        for (place, feature) in schema.features.iter().enumerate() {
            let mut sums = vec![0.0_f64; classes.len()];
            column.clear();
            for &row in train {
                let value = values[row * width + place];
                sums[labels[row]] += f64::from(value);
                column.push(value);
            }
            for (mean, (sum, count)) in means.iter_mut().zip(sums.iter().zip(&counts)) {
                mean[place] = single(sum / as_f64((*count).max(1)));
            }
            match (&feature.kind, feature.group) {
                (FeatureKind::Level { .. }, Some(group)) => {
                    let count = column.iter().filter(|value| **value > 0.5).count();
                    groups.entry(group).or_default().push((place, count));
                }
                // Of zeros and ones the lower median is what most rows have.
                _ => typical[place] = lower_median(&mut column),
            }
        }
        for features in groups.into_values() {
            let some: usize = features.iter().map(|(_, count)| count).sum();
            let most = features.iter().map(|(_, count)| *count).max().unwrap_or(0);
            let leader = features.iter().find(|(_, count)| *count == most);
            // A column whose rows mostly have none of its categories has none in the typical row either.
            if let Some((place, _)) = leader.filter(|_| most >= train.len().saturating_sub(some)) {
                typical[*place] = 1.0;
            }
        }
        let means = classes.iter().zip(means).zip(&counts);
        let means = means.filter(|(_, count)| **count > 0);
        Some(Self {
            typical,
            class_means: means
                .map(|((name, mean), _)| (name.clone(), mean))
                .collect(),
        })
    }

    /// Whether they are rows of so many finite features.
    pub(crate) fn check(&self, features: usize) -> std::result::Result<(), String> {
        let rows = std::iter::once(&self.typical).chain(self.class_means.values());
        for row in rows {
            if row.len() != features {
                return Err(format!(
                    "a reference row has {} features, the model takes {features}",
                    row.len()
                ));
            }
            if row.iter().any(|value| !value.is_finite()) {
                return Err("a reference row must hold finite numbers".to_owned());
            }
        }
        Ok(())
    }
}

/// The middle value, or the lower of both middle ones.
fn lower_median(values: &mut [f32]) -> f32 {
    let middle = values.len().saturating_sub(1) / 2;
    if values.is_empty() {
        return 0.0;
    }
    let (_, median, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
    *median
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "features are f32 by design"
)]
fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Feature;

    /// A number, a category of three and a flag.
    fn schema() -> Schema {
        let mut schema = Schema::table(&["size", "a", "b", "c", "flag"]);
        let level = |feature: &mut Feature, group| {
            feature.kind = FeatureKind::Level { values: vec![] };
            feature.group = group;
        };
        for place in 1..4 {
            level(&mut schema.features[place], Some(0));
        }
        level(&mut schema.features[4], None);
        schema
    }

    #[test]
    fn the_typical_row_has_medians_that_occur_and_the_most_frequent_category() {
        let rows: [[f32; 5]; 5] = [
            [1.0, 0.0, 1.0, 0.0, 1.0],
            [9.0, 1.0, 0.0, 0.0, 1.0],
            [7.0, 1.0, 0.0, 0.0, 0.0],
            [2.0, 0.0, 1.0, 0.0, 0.0],
            [4.0, 0.0, 0.0, 1.0, 1.0],
        ];
        let classes = ["no".to_owned(), "yes".to_owned()];
        let labels = [0, 1, 1, 0, 1];
        // The third row does not train.
        let found = References::learn(&schema(), &classes, &rows.concat(), &labels, &[0, 1, 3, 4]);
        let found = found.unwrap();
        assert_eq!(found.typical, [2.0, 0.0, 1.0, 0.0, 1.0]);
        assert_eq!(found.class_means["no"], [1.5, 0.0, 1.0, 0.0, 0.5]);
        assert_eq!(found.class_means["yes"], [6.5, 0.5, 0.0, 0.5, 1.0]);
    }

    #[test]
    fn images_have_no_typical_row() {
        let image = Schema::image(1, 1, 2, 255.0);
        let found = References::learn(&image, &["a".to_owned()], &[0.0, 1.0], &[0], &[0]);
        assert_eq!(found, None);
    }
}
