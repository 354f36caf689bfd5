//! Rows that count more than others.

use super::split::Part;
use crate::data::dataset::Dataset;
use crate::train::is_weight;
use crate::{Error, Result};

impl Dataset {
    /// Says how much each row counts: a training row of weight 2 is seen twice as often as one of weight 1. Rows of weight 0 are
    /// left out of every part. Validation, and what the encoding learned, do not weigh.
    ///
    /// ```
    /// use thickset::data::{Dataset, Part};
    ///
    /// let values = (0..40_u8).map(f32::from).collect();
    /// let labels = (0..40).map(|row| usize::from(row >= 20)).collect();
    /// let weights = (0..40).map(|row| if row % 2 == 0 { 1.0 } else { 0.0 }).collect();
    /// let dataset = Dataset::from_rows(values, labels, &["x"])?.with_weights(weights)?;
    /// assert!(dataset.part(Part::Train).iter().all(|row| row % 2 == 0));
    /// # Ok::<(), thickset::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are not as many weights as rows, one is negative or not finite, or the training rows that are left have one class.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.rows() {
            return Err(Error::LengthMismatch {
                what: "the weights of the rows",
                expected: self.rows(),
                got: weights.len(),
            });
        }
        if let Some(&got) = weights.iter().find(|weight| !is_weight(**weight)) {
            return Err(Error::OutOfRange {
                what: "the weight of a row",
                expected: "finite and at least 0",
                got,
            });
        }
        let split = &mut self.split;
        for part in [&mut split.train, &mut split.validation, &mut split.test] {
            part.retain(|row| weights[*row] > 0.0);
        }
        let mut classes = self.part(Part::Train).iter().map(|row| self.labels[*row]);
        let Some(first) = classes.next() else {
            return Err(Error::Empty {
                what: "the training rows with a weight above 0",
            });
        };
        if classes.all(|class| class == first) {
            return Err(Error::OneClass {
                path: self.name,
                column: "the rows with a weight above 0".to_owned(),
                class: self.classes[first].clone(),
            });
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// How much each row counts; absent where all count alike.
    #[must_use]
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(weights: Vec<f64>) -> String {
        let labels = (0..20).map(|row| usize::from(row >= 10)).collect();
        let dataset = Dataset::from_rows(vec![0.5; 20], labels, &["x"]).unwrap();
        dataset.with_weights(weights).unwrap_err().to_string()
    }

    #[test]
    fn weights_that_cannot_be_are_refused() {
        let one_class = [vec![1.0; 10], vec![0.0; 10]].concat();
        for (weights, sentence) in [
            (vec![1.0; 19], "must have length 20, got 19"),
            (vec![-1.0; 20], "finite and at least 0, got -1"),
            (vec![f64::NAN; 20], "finite and at least 0, got NaN"),
            (vec![0.0; 20], "with a weight above 0 must not be empty"),
            (one_class, "every row has the class `0`"),
        ] {
            let refused = refusal(weights);
            assert!(refused.contains(sentence), "{refused}");
        }
    }
}
