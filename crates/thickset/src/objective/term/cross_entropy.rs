//! Cross-entropy with the true classes, the mean over the batch: `-mean log softmax(z)_y`.

use thickset_engine::{Tensor, activation::log_softmax};

use super::reading::mean_over_rows;

/// The mean over rows; `labels` is one-hot, `[rows, classes]` like the logits.
#[must_use]
pub fn cross_entropy(logits: Tensor<2>, labels: Tensor<2>) -> Tensor<1> {
    -mean_over_rows(log_softmax(logits, 1) * labels)
}
