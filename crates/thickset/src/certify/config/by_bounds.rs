//! Rows that bounds alone are given of: softplus networks, and probabilities of many classes.

use rayon::prelude::*;
use thickset_engine::{Chain, Network};

use super::super::bounds::{BoundedRow, MoveSet, Order, SmoothNetwork};
use super::super::case::largest;
use super::CheckedCertify;
use crate::explain::Points;
use crate::metric::ranking::TopK;
use crate::{Error, Result};

impl CheckedCertify {
    /// What bounds alone say of each row.
    pub(super) fn bounded<T: Send>(
        &self,
        network: &Network,
        rows: Points<'_>,
        certify: impl Fn(&BoundedRow<'_>) -> T + Sync,
    ) -> Result<Vec<T>> {
        rows.check(network)?;
        self.fits(network)?;
        let smooth = SmoothNetwork::of(network)?;
        let chain = Chain::new(network).ok_or_else(|| Error::CertifyInput {
            expected: "networks that are chains of layers",
            got: "a network of another kind".to_owned(),
        })?;
        let features = smooth.dense.features();
        let values: Vec<&[f64]> = rows.values.chunks(features).collect();
        values
            .into_par_iter()
            .map(|x| {
                let x: Vec<f64> = x
                    .iter()
                    .map(|x| smooth.dense.arithmetic.nearest(*x))
                    .collect();
                let mut tile = chain.tile();
                let output = self.ranked.output();
                tile.run(&x, output, &[0]);
                let class = largest(tile.logits());
                tile.run(&x, output, &[class]);
                let gradient = tile.gradient().to_vec();
                let reduced = |value: &f64| if self.absolute { value.abs() } else { *value };
                let importance: Vec<f64> = gradient.iter().map(reduced).collect();
                let salient: Vec<usize> = TopK::of(&importance, self.k)?.iter().collect();
                let (low, high) = self.limits(&x, &x, false);
                let moves = MoveSet {
                    norm: self.move_norm(),
                    low,
                    high,
                };
                let order = Order {
                    salient: &salient,
                    absolute: self.absolute,
                    gradient: &gradient,
                    class,
                    ranked: self.ranked,
                };
                Ok(certify(&BoundedRow::new(&smooth, &x, &moves, order)))
            })
            .collect()
    }
}
