//! Losses of a row of logits in plain numbers, with their slopes.

/// A row's probabilities and their logarithms.
#[derive(Clone, Debug)]
pub(in crate::objective) struct Probabilities {
    pub value: Vec<f64>,
    pub log: Vec<f64>,
    /// For slopes in the probabilities.
    slopes: Vec<f64>,
}

impl Probabilities {
    /// Room for so many classes.
    pub(in crate::objective) fn new(classes: usize) -> Self {
        let room = || vec![0.0; classes];
        Self {
            value: room(),
            log: room(),
            slopes: room(),
        }
    }

    /// Those of these logits.
    pub(in crate::objective) fn set(&mut self, logits: &[f64]) {
        let most = logits.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let mut sum = 0.0;
        for (value, logit) in self.value.iter_mut().zip(logits) {
            let below = logit - most;
            *value = if below == 0.0 { 1.0 } else { below.exp() };
            sum += *value;
        }
        let log_sum = sum.ln();
        let rows = self.value.iter_mut().zip(&mut self.log).zip(logits);
        for ((value, log), logit) in rows {
            *value /= sum;
            *log = (logit - most) - log_sum;
        }
    }

    /// Adds the slopes in the logits of `share` times the cross-entropy with a label, one-hot.
    pub(in crate::objective) fn add_cross_entropy(
        &self,
        label: &[f64],
        share: f64,
        out: &mut [f64],
    ) {
        for ((out, value), label) in out.iter_mut().zip(&self.value).zip(label) {
            *out += share * (value - label);
        }
    }

    /// Adds the slopes in the logits of something that has `slopes(class)` in the probabilities.
    pub(in crate::objective) fn add_slopes(
        &mut self,
        slopes: impl Fn(&Self, usize) -> f64,
        out: &mut [f64],
    ) {
        let mut mean = 0.0;
        for class in 0..self.value.len() {
            let slope = slopes(self, class);
            self.slopes[class] = slope;
            mean += self.value[class] * slope;
        }
        let rows = out.iter_mut().zip(&self.value).zip(&self.slopes);
        for ((out, value), slope) in rows {
            *out += value * (slope - mean);
        }
    }
}

/// Adds the slopes in the logits, `[rows, classes]`, of `share` times the sum over rows of the cross-entropy with their labels.
pub(in crate::objective) fn add_cross_entropy(
    logits: &[f64],
    labels: &[f64],
    classes: usize,
    share: f64,
    out: &mut [f64],
) {
    let mut row = Probabilities::new(classes);
    let labels = labels.chunks_exact(classes);
    let rows = logits.chunks_exact(classes).zip(labels);
    for ((logits, label), out) in rows.zip(out.chunks_exact_mut(classes)) {
        row.set(logits);
        row.add_cross_entropy(label, share, out);
    }
}

/// The class of each row of labels, where each is one class and no other.
pub(in crate::objective) fn classes_of(labels: &[f64], classes: usize) -> Option<Vec<usize>> {
    let class_of = |label: &[f64]| {
        #[expect(clippy::float_cmp, reason = "one-hot labels are exact")]
        let class = label.iter().position(|entry| *entry == 1.0)?;
        let others = label.iter().filter(|entry| **entry == 0.0).count();
        (others + 1 == classes).then_some(class)
    };
    labels.chunks(classes).map(class_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_of_one_row_by_hand() {
        let mut row = Probabilities::new(2);
        row.set(&[3.0_f64.ln(), 0.0]);
        assert!((row.value[0] - 0.75).abs() < 1e-15 && (row.value[1] - 0.25).abs() < 1e-15);
        assert!((row.log[0] - 0.75_f64.ln()).abs() < 1e-15);
        // d(4 p_0) = 4 p (1 - p) in the margin.
        let mut slopes = [1.0, 1.0];
        row.add_slopes(|_, class| if class == 0 { 4.0 } else { 0.0 }, &mut slopes);
        assert!((slopes[0] - 1.75).abs() < 1e-12 && (slopes[1] - 0.25).abs() < 1e-12);
        let mut slopes = [0.0; 2];
        row.add_cross_entropy(&[0.0, 1.0], 2.0, &mut slopes);
        assert!((slopes[0] - 1.5).abs() < 1e-12 && (slopes[1] + 1.5).abs() < 1e-12);
    }

    #[test]
    fn labels_that_are_no_single_class_have_none() {
        assert_eq!(classes_of(&[0.0, 1.0, 1.0, 0.0], 2), Some(vec![1, 0]));
        assert_eq!(classes_of(&[0.5, 0.5], 2), None);
        assert_eq!(classes_of(&[1.0, 1.0], 2), None);
    }
}
