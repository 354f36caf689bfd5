//! Cross-entropy with the true classes, the mean over the batch: `-mean log softmax(z)_y`.

use thickset_engine::{Tensor, activation::log_softmax};

/// The mean over rows; `labels` is one-hot, `[rows, classes]` like the logits.
#[must_use]
pub fn cross_entropy(logits: Tensor<2>, labels: Tensor<2>) -> Tensor<1> {
    let rows = logits.dims()[0];
    #[expect(
        clippy::cast_precision_loss,
        reason = "batches are far below 2^53 rows"
    )]
    let share = -1.0 / rows as f64;
    (log_softmax(logits, 1) * labels).sum() * share
}
