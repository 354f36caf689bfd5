//! A probe by tensors: any explanation of any network.

use thickset_engine::Network;

use super::{ModelView, Probe, RowGradient};
use crate::explain::{Attribution, Explainer};
use crate::host::read;

pub(super) struct ByTensor<'n> {
    pub(super) network: &'n Network,
    pub(super) explainer: Explainer,
}

impl Probe for ByTensor<'_> {
    fn evaluate(&mut self, points: &[f64], view: &mut ModelView) {
        let x = self.network.batch(points);
        let Attribution { value, logits } = self.explainer.attribution(self.network, x);
        *view = ModelView {
            importance: read(value),
            logits: read(logits),
        };
    }

    fn gradient(
        &mut self,
        points: &[f64],
        row_gradient: &mut RowGradient<'_>,
        view: &mut ModelView,
        gradient: &mut Vec<f64>,
    ) {
        let x = self.network.batch(points);
        let mut of_importance = |attribution: Attribution| {
            let size = attribution.value.dims();
            let importance = read(attribution.value);
            let mut slopes = vec![0.0; importance.len()];
            let rows = importance.chunks(size[1]).zip(slopes.chunks_mut(size[1]));
            for (row, (importance, slopes)) in rows.enumerate() {
                row_gradient(row, importance, slopes);
            }
            *view = ModelView {
                importance,
                logits: read(attribution.logits),
            };
            self.network.tensor(slopes, size)
        };
        let pulled_back = self
            .explainer
            .pull_back(self.network, x, &mut of_importance);
        *gradient = read(pulled_back);
    }
}
