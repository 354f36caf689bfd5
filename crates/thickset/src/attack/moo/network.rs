//! The multi-objective attack on a network.

use rayon::prelude::*;
use thickset_engine::{Network, Output, Tensor};

use super::{Derivatives, Gaps, Outcome, Settings, Values, attack};
use crate::explain::{Binding, CheckedExplain, Explainer, Rows, predicted};
use crate::host::read;
use crate::{Result, Seed};

/// One row of a network: its probabilities are kept, the explanation of its class is attacked.
struct RowGaps<'a> {
    network: &'a Network,
    /// For the row itself.
    single: Explainer,
    /// For as many copies of it as there are importances.
    copies: Explainer,
    importances: usize,
}

impl<'a> RowGaps<'a> {
    fn new(
        network: &'a Network,
        explain: &CheckedExplain,
        row: Rows<'_>,
        seed: Seed,
    ) -> Result<Self> {
        let x = network.batch(row.values);
        let classes = predicted(&read(network.logits(x.clone())), network.classes())?;
        let bind = |count: usize| {
            let (classes, ids) = (classes.repeat(count), row.ids.repeat(count));
            explain.bind(
                network,
                Binding {
                    classes: &classes,
                    ids: &ids,
                    seed,
                },
            )
        };
        let single = bind(1)?;
        let importances = single.importance(network, x).dims()[1];
        Ok(Self {
            network,
            single,
            copies: bind(importances)?,
            importances,
        })
    }
}

fn rows_of(tensor: Tensor<2>) -> Vec<Vec<f64>> {
    let width = tensor.dims()[1];
    read(tensor).chunks(width).map(<[f64]>::to_vec).collect()
}

impl Gaps for RowGaps<'_> {
    fn values(&mut self, x: &[f64]) -> Result<Values> {
        let x = self.network.batch(x);
        Ok(Values {
            outputs: read(self.network.probabilities(x.clone())),
            importance: read(self.single.importance(self.network, x)),
        })
    }

    fn derivatives(&mut self, x: &[f64]) -> Result<Derivatives> {
        let network = self.network;
        // Row i of a batch of copies is asked for the derivative of output or importance i.
        let identity = |size: usize| {
            let mut values = vec![0.0; size * size];
            values
                .iter_mut()
                .step_by(size + 1)
                .for_each(|value| *value = 1.0);
            network.tensor(values, [size, size])
        };
        let classes = network.classes();
        let pass = network.pass(network.batch(&x.repeat(classes)));
        let outputs = pass
            .input_gradient(Output::Probability, identity(classes))
            .value();
        let many = network.batch(&x.repeat(self.importances));
        let importance = self
            .copies
            .pull_back(network, many, &mut |_| identity(self.importances));
        Ok(Derivatives {
            outputs: rows_of(outputs),
            importance: rows_of(importance),
        })
    }
}

/// Attacks the top-k set of every row's explanation. A row's result does not depend on the others.
///
/// # Errors
/// As for [`attack`], and when rows do not fit the network.
pub fn perturb(
    network: &Network,
    explain: &CheckedExplain,
    rows: Rows<'_>,
    k: usize,
    settings: &Settings,
    seed: Seed,
) -> Result<Vec<Outcome>> {
    rows.check(network)?;
    let single: Vec<Rows<'_>> = rows.parts(network.features(), 1).collect();
    single
        .into_par_iter()
        .map(|row| {
            let mut gaps = RowGaps::new(network, explain, row, seed)?;
            attack(&mut gaps, row.values, k, settings)
        })
        .collect()
}
