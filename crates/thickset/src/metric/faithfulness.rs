//! What DFFOT, COMP and SUFF share: inputs with features removed, and one call that gives all three.
//!
//! To remove a feature is to set the inputs it stands for to a baseline. An explanation of a table has one input a
//! feature, of an image one feature a pixel and one input a channel, of an encoded table one feature a column and one
//! input a category.

use super::{comprehensiveness, dffot, ranking, sufficiency};
use crate::check::{check_length, check_not_empty};
use crate::data::InputShape;
use crate::{Error, Result};

/// Inputs changed at once when looking for DFFOT's first flip: few enough that an early flip saves most of the work.
const FLIP_BATCH: usize = 64;

/// The shares of COMP and SUFF for images and graphs.
const SHARES: [usize; 5] = [1, 5, 10, 20, 50];

/// How many features are removed or kept: the set K of COMP and SUFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// 1 to n; for tables.
    Every,
    /// 1, 5, 10, 20 and 50 per cent of n, rounded to the nearest number and at least 1; for images and graphs.
    Shares,
}

impl Counts {
    /// As the paper has them for inputs of this shape.
    #[must_use]
    pub fn for_shape(shape: &InputShape) -> Self {
        match shape {
            InputShape::Table => Self::Every,
            _ => Self::Shares,
        }
    }

    /// The counts for this many features.
    #[must_use]
    pub fn of(self, features: usize) -> Vec<usize> {
        match self {
            Self::Every => (1..=features).collect(),
            Self::Shares => SHARES
                .iter()
                .map(|share| ((share * features + 50) / 100).max(1))
                .collect(),
        }
    }
}

/// How features are removed from one row.
#[derive(Debug, Clone, Copy)]
pub struct Removal<'a> {
    /// The row.
    pub x: &'a [f32],
    /// What a removed input is set to, one value an input.
    pub baseline: &'a [f32],
    /// The features, most important first.
    pub order: &'a [usize],
    /// The inputs that each feature stands for.
    pub inputs: &'a [Vec<usize>],
}

impl Removal<'_> {
    /// The row without its `k` most important features.
    ///
    /// # Errors
    /// When the baseline, the order or the inputs do not fit the row.
    pub fn without_top(&self, k: usize) -> Result<Vec<f32>> {
        self.mixed(self.x, self.baseline, k)
    }

    /// The row with only its `k` most important features.
    ///
    /// # Errors
    /// When the baseline, the order or the inputs do not fit the row.
    pub fn only_top(&self, k: usize) -> Result<Vec<f32>> {
        self.mixed(self.baseline, self.x, k)
    }

    /// All inputs that the model sees for [`Counts::Every`], one after the other: the row, then with only its 1, 2, … n most important
    /// features, then without them.
    ///
    /// # Errors
    /// When the baseline, the order or the inputs do not fit the row.
    pub(crate) fn every(&self, all: &mut Vec<f32>) -> Result<()> {
        check_length("the baseline", self.baseline, self.x.len())?;
        all.extend_from_slice(self.x);
        for (outside, inside) in [(self.baseline, self.x), (self.x, self.baseline)] {
            let mut mixed = outside.to_vec();
            for &feature in self.order {
                self.take(feature, inside, &mut mixed)?;
                all.extend_from_slice(&mixed);
            }
        }
        Ok(())
    }

    /// `outside`, with the inputs of the `k` most important features taken from `inside`.
    fn mixed(&self, outside: &[f32], inside: &[f32], k: usize) -> Result<Vec<f32>> {
        check_length("the baseline", self.baseline, self.x.len())?;
        let mut mixed = outside.to_vec();
        for &feature in self.order.iter().take(k) {
            self.take(feature, inside, &mut mixed)?;
        }
        Ok(mixed)
    }

    /// Takes the inputs of one feature from `inside`.
    fn take(&self, feature: usize, inside: &[f32], mixed: &mut [f32]) -> Result<()> {
        let Some(inputs) = self.inputs.get(feature) else {
            return Err(Error::IndexOutOfRange {
                what: "a feature",
                bound: self.inputs.len(),
                got: feature,
            });
        };
        let bound = mixed.len();
        for &input in inputs {
            let Some(place) = mixed.get_mut(input) else {
                return Err(Error::IndexOutOfRange {
                    what: "an input of a feature",
                    bound,
                    got: input,
                });
            };
            *place = inside[input];
        }
        Ok(())
    }
}

/// The three numbers of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faithfulness {
    /// See [`dffot`].
    pub dffot: f64,
    /// See [`comprehensiveness`].
    pub comprehensiveness: f64,
    /// See [`sufficiency`].
    pub sufficiency: f64,
}

impl Faithfulness {
    /// From the probabilities of [all inputs](Removal::every) of a row, for the class predicted at it.
    ///
    /// # Errors
    /// When there is no feature, or a probability is not finite.
    pub(crate) fn of_every(probabilities: &[f64], classes: usize) -> Result<Self> {
        let (at_x, others) = probabilities.split_at(classes);
        let class = ranking::largest(at_x)?;
        let (only, without) = others.split_at(others.len() / 2);
        let of_class =
            |rows: &[f64]| -> Vec<f64> { rows.chunks(classes).map(|row| row[class]).collect() };
        let seen = without.chunks(classes).map(ranking::largest);
        Ok(Self {
            dffot: dffot::score(class, &seen.collect::<Result<Vec<_>>>()?)?,
            comprehensiveness: comprehensiveness::score(at_x[class], &of_class(without))?,
            sufficiency: sufficiency::score(at_x[class], &of_class(only))?,
        })
    }
}

/// A model: inputs in, one list of class probabilities out for each.
pub type Predict<'a> = dyn FnMut(&[Vec<f32>]) -> Result<Vec<Vec<f64>>> + 'a;

/// DFFOT, COMP and SUFF of one row for the class predicted at x. For [`Counts::Every`] the model sees 2n + 1 inputs;
/// for [`Counts::Shares`] 11, and for DFFOT as many as it takes to the first flip.
///
/// # Errors
/// When the parts of `removal` do not fit each other, or the model fails or answers with too few rows or classes.
pub fn score(removal: &Removal, counts: Counts, predict: &mut Predict) -> Result<Faithfulness> {
    check_not_empty("the order of features", removal.order)?;
    let features = removal.order.len();
    if counts == Counts::Every {
        let mut all = Vec::with_capacity((2 * features + 1) * removal.x.len());
        removal.every(&mut all)?;
        let all: Vec<Vec<f32>> = all.chunks(removal.x.len()).map(<[f32]>::to_vec).collect();
        let answers = predict(&all)?;
        let classes = answers.first().map_or(0, Vec::len);
        check_answers(&answers, all.len(), classes)?;
        return Faithfulness::of_every(&answers.concat(), classes);
    }
    let answer = predict(&[removal.x.to_vec()])?;
    let [at_x] = answer.as_slice() else {
        return Err(Error::LengthMismatch {
            what: "the model's answer",
            expected: 1,
            got: answer.len(),
        });
    };
    let class = ranking::largest(at_x)?;
    let of_class = |rows: &[Vec<f64>]| rows.iter().map(|row| row[class]).collect::<Vec<f64>>();
    let classes = |rows: &[Vec<f64>]| {
        rows.iter()
            .map(|row| ranking::largest(row))
            .collect::<Result<Vec<usize>>>()
    };
    let without = |ks: &[usize]| {
        ks.iter()
            .map(|&k| removal.without_top(k))
            .collect::<Result<Vec<_>>>()
    };

    let counts_of_features = counts.of(features);
    let only = counts_of_features
        .iter()
        .map(|&k| removal.only_top(k))
        .collect::<Result<Vec<_>>>()?;
    let only = ask(predict, &only, at_x.len())?;
    let removed = ask(predict, &without(&counts_of_features)?, at_x.len())?;

    let mut seen = Vec::with_capacity(features);
    while seen.len() < features && seen.iter().all(|other| *other == class) {
        let ks: Vec<usize> = (seen.len() + 1..=features).take(FLIP_BATCH).collect();
        seen.extend(classes(&ask(predict, &without(&ks)?, at_x.len())?)?);
    }
    // What lies beyond the first flip does not matter; the list must only have its full length.
    seen.resize(features, class);

    Ok(Faithfulness {
        dffot: dffot::score(class, &seen)?,
        comprehensiveness: comprehensiveness::score(at_x[class], &of_class(&removed))?,
        sufficiency: sufficiency::score(at_x[class], &of_class(&only))?,
    })
}

/// Asks the model, and checks that it answered every row with this many classes.
fn ask(predict: &mut Predict, rows: &[Vec<f32>], classes: usize) -> Result<Vec<Vec<f64>>> {
    let answers = predict(rows)?;
    check_answers(&answers, rows.len(), classes)?;
    Ok(answers)
}

fn check_answers(answers: &[Vec<f64>], rows: usize, classes: usize) -> Result<()> {
    check_length("the model's answer", answers, rows)?;
    for answer in answers {
        check_length("the model's class probabilities", answer, classes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes; the second has probability (sum of inputs) / 10.
    fn tenth(rows: &[Vec<f32>]) -> Vec<Vec<f64>> {
        rows.iter()
            .map(|row| {
                let p = row.iter().copied().map(f64::from).sum::<f64>() / 10.0;
                vec![1.0 - p, p]
            })
            .collect()
    }

    /// One input a feature.
    fn each(features: usize) -> Vec<Vec<usize>> {
        (0..features).map(|feature| vec![feature]).collect()
    }

    #[test]
    fn three_numbers_by_hand() {
        // p = 0.9 at (6, 2, 1). Without the top 1, 2, 3: 0.3, 0.1, 0. With only them: 0.6, 0.8, 0.9.
        let removal = Removal {
            x: &[6.0, 2.0, 1.0],
            baseline: &[0.0; 3],
            order: &[0, 1, 2],
            inputs: &each(3),
        };
        let found = score(&removal, Counts::Every, &mut |rows| Ok(tenth(rows))).unwrap();
        assert!((found.dffot - 1.0 / 3.0).abs() < 1e-12);
        assert!((found.comprehensiveness - (0.6 + 0.8 + 0.9) / 3.0).abs() < 1e-12);
        assert!((found.sufficiency - (0.3 + 0.1) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_useless_explanation_flips_late() {
        let removal = Removal {
            x: &[6.0, 2.0, 1.0],
            baseline: &[0.0; 3],
            order: &[2, 1, 0],
            inputs: &each(3),
        };
        let found = score(&removal, Counts::Every, &mut |rows| Ok(tenth(rows))).unwrap();
        assert!((found.dffot - 1.0).abs() < 1e-12);
    }

    #[test]
    fn shares_of_many_features_stop_at_the_first_flip() {
        let x = vec![0.041_f32; 200];
        let order: Vec<usize> = (0..200).collect();
        let removal = Removal {
            x: &x,
            baseline: &vec![0.0; 200],
            order: &order,
            inputs: &each(200),
        };
        let mut asked = 0;
        let found = score(&removal, Counts::Shares, &mut |rows| {
            asked += rows.len();
            Ok(tenth(rows))
        })
        .unwrap();
        // p falls from 0.82 by 0.0041 a feature and passes 1/2 with the 79th, in the second batch of 64.
        assert!(
            (found.dffot - 79.0 / 200.0).abs() < 1e-12,
            "{}",
            found.dffot
        );
        assert_eq!(asked, 1 + 5 + 5 + 2 * FLIP_BATCH);
        let mean_count = (2.0 + 10.0 + 20.0 + 40.0 + 100.0) / 5.0;
        assert!((found.comprehensiveness - 0.0041 * mean_count).abs() < 1e-6);
    }

    #[test]
    fn a_pixel_takes_all_its_channels_along_and_a_column_all_its_categories() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let baseline = [0.0; 6];
        let pixels = Removal {
            x: &x,
            baseline: &baseline,
            order: &[1, 0, 2],
            inputs: &[vec![0, 3], vec![1, 4], vec![2, 5]],
        };
        assert_eq!(
            pixels.without_top(1).unwrap(),
            [1.0, 0.0, 3.0, 4.0, 0.0, 6.0]
        );
        assert_eq!(pixels.only_top(1).unwrap(), [0.0, 2.0, 0.0, 0.0, 5.0, 0.0]);
        let groups = [vec![0], vec![1, 2, 3], vec![4, 5]];
        let columns = Removal {
            x: &x,
            baseline: &baseline,
            order: &[1, 0, 2],
            inputs: &groups,
        };
        assert_eq!(
            columns.without_top(1).unwrap(),
            [1.0, 0.0, 0.0, 0.0, 5.0, 6.0]
        );
    }

    #[test]
    fn counts_of_few_features_are_at_least_one() {
        assert_eq!(Counts::Shares.of(16), [1, 1, 2, 3, 8]);
        assert_eq!(Counts::Every.of(3), [1, 2, 3]);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let short = Removal {
            x: &[1.0, 2.0],
            baseline: &[0.0],
            order: &[0, 1],
            inputs: &each(2),
        };
        assert!(short.without_top(1).is_err());
        let beyond = Removal {
            x: &[1.0],
            baseline: &[0.0],
            order: &[3],
            inputs: &each(1),
        };
        assert!(beyond.without_top(1).is_err());
        let fine = Removal {
            x: &[1.0],
            baseline: &[0.0],
            order: &[0],
            inputs: &each(1),
        };
        assert!(score(&fine, Counts::Every, &mut |_| Ok(Vec::new())).is_err());
    }

    #[test]
    fn what_changes_nothing_when_removed_never_flips() {
        let removal = Removal {
            x: &[6.0, 2.0, 1.0],
            baseline: &[6.0, 2.0, 1.0],
            order: &[0, 1, 2],
            inputs: &each(3),
        };
        for counts in [Counts::Every, Counts::Shares] {
            let found = score(&removal, counts, &mut |rows| Ok(tenth(rows))).unwrap();
            assert!((found.dffot - 1.0).abs() < 1e-15);
            assert!(found.comprehensiveness.abs() < 1e-15);
            assert!(found.sufficiency.abs() < 1e-15);
        }
    }
}
