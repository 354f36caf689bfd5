//! Importances of a row's features, or of its columns: sums over the features of each.

/// How what features are given becomes importances.
pub(super) struct ByColumn {
    /// Importances are sizes, else as they are.
    pub(super) is_absolute: bool,
    /// The features of each column, where importances are columns'.
    pub(super) groups: Option<Vec<Vec<usize>>>,
}

impl ByColumn {
    /// Appends the importances of what a row's features are given.
    pub(super) fn extend(&self, importance: &mut Vec<f64>, given: &[f64]) {
        let size = |value: f64| if self.is_absolute { value.abs() } else { value };
        match &self.groups {
            None => importance.extend(given.iter().map(|one| size(*one))),
            Some(groups) => importance.extend(groups.iter().map(|group| {
                group
                    .iter()
                    .map(|&feature| size(given[feature]))
                    .sum::<f64>()
            })),
        }
    }

    /// The slopes in what features are given, from those in importances.
    pub(super) fn pull_back(&self, slopes: &[f64], given: &[f64], weights: &mut [f64]) {
        match &self.groups {
            None => weights.copy_from_slice(slopes),
            Some(groups) => {
                for (group, slope) in groups.iter().zip(slopes) {
                    for &feature in group {
                        weights[feature] = *slope;
                    }
                }
            }
        }
        if self.is_absolute {
            for (weight, given) in weights.iter_mut().zip(given) {
                // A size has no slope at 0.
                *weight *= if *given == 0.0 { 0.0 } else { given.signum() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::assert_close;

    #[test]
    fn a_column_has_the_sizes_of_its_features_and_gives_them_its_slope() {
        let by_column = ByColumn {
            is_absolute: true,
            groups: Some(vec![vec![0, 2], vec![1]]),
        };
        let given = [-1.5, 0.0, 2.0];
        let mut importance = vec![9.0];
        by_column.extend(&mut importance, &given);
        assert_eq!(importance, [9.0, 3.5, 0.0]);
        let mut weights = [0.0; 3];
        by_column.pull_back(&[4.0, 5.0], &given, &mut weights);
        assert_close(&weights, &[-4.0, 0.0, 4.0]);
    }

    #[test]
    fn signed_features_are_their_own_importances() {
        let by_feature = ByColumn {
            is_absolute: false,
            groups: None,
        };
        let mut importance = Vec::new();
        by_feature.extend(&mut importance, &[-1.5, 0.0]);
        assert_eq!(importance, [-1.5, 0.0]);
        let mut weights = [0.0; 2];
        by_feature.pull_back(&[3.0, -2.0], &[-1.5, 0.0], &mut weights);
        assert_close(&weights, &[3.0, -2.0]);
    }
}
