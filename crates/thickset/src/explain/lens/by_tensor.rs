//! A lens of tensors: any explanation of any network.

use thickset_engine::{Network, Tensor};

use super::{Lens, Shown, Slope};
use crate::explain::{Attribution, Explainer};
use crate::host::read;

pub(super) struct ByTensor<'n> {
    pub(super) network: &'n Network,
    pub(super) explainer: Explainer,
}

impl ByTensor<'_> {
    fn show(&self, importance: Vec<f64>, logits: Option<Tensor<2>>, x: Tensor<2>) -> Shown {
        let logits = logits.unwrap_or_else(|| self.network.logits(x));
        Shown {
            importance,
            logits: read(logits),
        }
    }
}

impl Lens for ByTensor<'_> {
    fn look(&mut self, points: &[f64], shown: &mut Shown) {
        let x = self.network.batch(points);
        let Attribution { value, logits } = self.explainer.attribution(self.network, x.clone());
        *shown = self.show(read(value), logits, x);
    }

    fn follow(
        &mut self,
        points: &[f64],
        slope: &mut Slope<'_>,
        shown: &mut Shown,
        gradient: &mut Vec<f64>,
    ) {
        let x = self.network.batch(points);
        let mut answer = |attribution: Attribution| {
            let size = attribution.value.dims();
            let importance = read(attribution.value);
            let mut slopes = vec![0.0; importance.len()];
            let rows = importance.chunks(size[1]).zip(slopes.chunks_mut(size[1]));
            for (row, (importance, slopes)) in rows.enumerate() {
                slope(row, importance, slopes);
            }
            *shown = self.show(importance, attribution.logits, x.clone());
            self.network.tensor(slopes, size)
        };
        let followed = self
            .explainer
            .pull_back(self.network, x.clone(), &mut answer);
        *gradient = read(followed);
    }
}
