//! The multi-objective attack on a network.

use rayon::prelude::*;
use thickset_engine::{Network, Output, Tensor};

use super::{Derivatives, Gaps, INFO, MooConfig, Outcome, Values, attack};
use crate::attack::PairPredictions;
use crate::attack::kept::Kept;
use crate::attack::{AttackState, Attacked, Finish};
use crate::explain::{Binding, CheckedExplain, Explainer, Points, chunk_rows, predicted};
use crate::host::read;
use crate::{Error, Result, Seed};

/// The most second derivatives of a row, inputs times importances. The cone program's matrices hold them several times, so
/// that this many take some hundred megabytes a thread.
const MOST_DERIVATIVES: usize = 1 << 22;

/// The most gaps: two sparse rows of the cone program each.
const MOST_GAPS: usize = 1 << 20;

/// One row of a network: its probabilities are kept, the explanation of its class is attacked.
struct RowGaps<'a> {
    network: &'a Network,
    /// The smooth twin whose gaps are followed, if any.
    twin: Option<&'a Network>,
    /// The predictions to keep.
    kept: &'static [Kept],
    origin: Vec<f64>,
    /// For the row itself.
    single: Explainer,
    /// For as many copies of it as run at once.
    copies: Explainer,
    /// For what the last group of copies has.
    rest: Explainer,
    /// Copies that run at once.
    at_once: usize,
    importances: usize,
}

impl<'a> RowGaps<'a> {
    fn new(
        network: &'a Network,
        twin: Option<&'a Network>,
        explain: &CheckedExplain,
        row: Points<'_>,
        (k, beside): (usize, PairPredictions),
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
        let (inputs, gaps) = (network.features(), k * importances.saturating_sub(k));
        if inputs * importances > MOST_DERIVATIVES || gaps > MOST_GAPS {
            return Err(Error::AttackInput {
                attack: INFO.id,
                expected: "at most 4194304 second derivatives and 1048576 gaps a row",
                got: format!("{inputs} inputs times {importances} importances, {gaps} gaps"),
            });
        }
        let at_once = chunk_rows(inputs).min(importances);
        Ok(Self {
            network,
            twin,
            kept: Kept::of(network, explain.is_pair(), beside),
            origin: row.values.to_vec(),
            single,
            copies: bind(at_once)?,
            rest: bind((importances % at_once).max(1))?,
            at_once,
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
        let network = self.network;
        let kept = self.kept.iter().map(|kept| {
            let of = kept.network(network);
            let inputs = kept.inputs(x.len(), &self.origin, x);
            read(of.probabilities(of.batch(&inputs)))
        });
        Ok(Values {
            outputs: kept.collect(),
            importance: read(self.single.importance(network, network.batch(x))),
            followed: self
                .twin
                .map(|twin| read(self.single.importance(twin, twin.batch(x)))),
        })
    }

    fn derivatives(&mut self, x: &[f64]) -> Result<Derivatives> {
        let network = self.network;
        // Row i of a batch of copies gives the derivative of output or importance `first + i`.
        let pick = |first: usize, count: usize, of: usize| {
            let mut values = vec![0.0; count * of];
            for row in 0..count {
                values[row * of + first + row] = 1.0;
            }
            network.tensor(values, [count, of])
        };
        let mut outputs = Vec::new();
        for kept in self.kept {
            let of = kept.network(network);
            let classes = of.classes();
            let inputs = kept.inputs(x.len(), &self.origin, x).repeat(classes);
            let pass = of.pass(of.batch(&inputs));
            let gradient = pass.input_gradient(Output::Probability, pick(0, classes, classes));
            let rows = rows_of(gradient.value()).into_iter();
            outputs.extend(rows.map(|row| kept.spread(x.len(), row)));
        }
        let mut importance = Vec::with_capacity(self.importances);
        for first in (0..self.importances).step_by(self.at_once) {
            let count = self.at_once.min(self.importances - first);
            let explainer = if count == self.at_once {
                &self.copies
            } else {
                &self.rest
            };
            let many = network.batch(&x.repeat(count));
            let rows = explainer.pull_back(self.twin.unwrap_or(network), many, &mut |_| {
                pick(first, count, self.importances)
            });
            importance.extend(rows_of(rows));
        }
        Ok(Derivatives {
            outputs,
            importance,
        })
    }
}

/// The gaps of one row of a network, and all derivatives of them.
///
/// # Errors
/// As for [`perturb`].
pub(crate) fn row_gaps<'a>(
    network: &'a Network,
    explain: &CheckedExplain,
    row: Points<'_>,
    k: usize,
    seed: Seed,
) -> Result<Box<dyn Gaps + 'a>> {
    let beside = PairPredictions::default();
    let gaps = RowGaps::new(network, None, explain, row, (k, beside), seed)?;
    Ok(Box::new(gaps))
}

/// Some features of a model, the others as they are.
struct Free<'a> {
    gaps: &'a mut dyn Gaps,
    /// The row, all features.
    origin: &'a [f64],
    /// The features that move.
    features: &'a [usize],
}

impl Free<'_> {
    /// All features, where these are the free ones.
    fn whole(&self, x: &[f64]) -> Vec<f64> {
        let mut whole = self.origin.to_vec();
        for (feature, value) in self.features.iter().zip(x) {
            whole[*feature] = *value;
        }
        whole
    }

    fn part(&self, whole: &[f64]) -> Vec<f64> {
        self.features
            .iter()
            .map(|feature| whole[*feature])
            .collect()
    }
}

impl Gaps for Free<'_> {
    fn values(&mut self, x: &[f64]) -> Result<Values> {
        let x = self.whole(x);
        self.gaps.values(&x)
    }

    fn derivatives(&mut self, x: &[f64]) -> Result<Derivatives> {
        let x = self.whole(x);
        let all = self.gaps.derivatives(&x)?;
        let parts = |rows: &[Vec<f64>]| rows.iter().map(|row| self.part(row)).collect();
        Ok(Derivatives {
            outputs: parts(&all.outputs),
            importance: parts(&all.importance),
        })
    }
}

/// The attack on rows of one kind.
#[derive(Debug)]
pub(super) struct MultiObjective {
    pub(super) config: MooConfig,
    /// The features that move.
    pub(super) free: Vec<usize>,
}

impl crate::attack::Search for MultiObjective {
    fn run(&self, mut state: AttackState<'_>) -> Result<Vec<Attacked>> {
        let outcomes = of_rows(
            state.network,
            state.explain(),
            state.rows(),
            (state.k(), state.attack.pair_predictions),
            (&self.config, &self.free),
            state.seed(),
        )?;
        let points: Vec<f64> = outcomes.iter().flat_map(|one| one.x.clone()).collect();
        state.evaluate(&points)?;
        for (row, outcome) in outcomes.iter().enumerate() {
            let finish = Finish {
                iterations: outcome.iterations,
                ending: outcome.ending,
            };
            state.report(row, &points, finish);
        }
        state.finish()
    }
}

/// Attacks the top-k set of every row's explanation. A row's result does not depend on the others.
///
/// # Errors
/// As for [`attack`], when rows do not fit the network, and when they have more features than the cone program can hold.
pub fn perturb(
    network: &Network,
    explain: &CheckedExplain,
    rows: Points<'_>,
    k: usize,
    config: &MooConfig,
    seed: Seed,
) -> Result<Vec<Outcome>> {
    config.check()?;
    rows.check(network)?;
    let all: Vec<usize> = (0..network.features()).collect();
    let beside = PairPredictions::default();
    of_rows(network, explain, rows, (k, beside), (config, &all), seed)
}

/// Attacks every row, while only the free features move.
fn of_rows(
    network: &Network,
    explain: &CheckedExplain,
    rows: Points<'_>,
    (k, beside): (usize, PairPredictions),
    (config, free): (&MooConfig, &[usize]),
    seed: Seed,
) -> Result<Vec<Outcome>> {
    let twin = config.surrogate.map(|beta| network.smooth_twin(beta));
    let single: Vec<Points<'_>> = rows.parts(network.features(), 1).collect();
    single
        .into_par_iter()
        .map(|row| {
            let mut gaps = RowGaps::new(network, twin.as_ref(), explain, row, (k, beside), seed)?;
            let mut free = Free {
                gaps: &mut gaps,
                origin: row.values,
                features: free,
            };
            let start = free.part(row.values);
            let outcome = attack(&mut free, &start, k, config)?;
            Ok(Outcome {
                x: free.whole(&outcome.x),
                ..outcome
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_of_a_row_are_central_differences_of_its_values() {
        let network = crate::toy::kinked_network().smooth_twin(2.0);
        let schema = crate::Schema::table(&["x0", "x1"]);
        let explain = crate::explain::ExplainConfig::default()
            .check(&schema)
            .unwrap();
        let x = [0.3, 1.0];
        let row = Points {
            values: &x,
            ids: &[0],
        };
        let mut gaps = row_gaps(&network, &explain, row, 1, Seed::new(1)).unwrap();
        let found = gaps.derivatives(&x).unwrap();
        assert_eq!((found.outputs.len(), found.importance.len()), (2, 2));
        for feature in 0..2 {
            let mut at = |step: f64| {
                let mut moved = x;
                moved[feature] += step;
                gaps.values(&moved).unwrap()
            };
            let (after, before) = (at(1e-5), at(-1e-5));
            for of in 0..2 {
                let output = (after.outputs[0][of] - before.outputs[0][of]) / 2e-5;
                assert!((found.outputs[of][feature] - output).abs() < 1e-8);
                let importance = (after.importance[of] - before.importance[of]) / 2e-5;
                assert!((found.importance[of][feature] - importance).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn features_that_stay_are_left_out_and_put_back() {
        struct Sum;

        impl Gaps for Sum {
            fn values(&mut self, x: &[f64]) -> Result<Values> {
                Ok(Values {
                    outputs: vec![vec![x.iter().sum()]],
                    importance: x.to_vec(),
                    followed: None,
                })
            }

            fn derivatives(&mut self, x: &[f64]) -> Result<Derivatives> {
                Ok(Derivatives {
                    outputs: vec![x.to_vec()],
                    importance: vec![x.to_vec()],
                })
            }
        }

        let mut free = Free {
            gaps: &mut Sum,
            origin: &[1.0, 2.0, 3.0],
            features: &[2, 0],
        };
        assert_eq!(free.part(&[1.0, 2.0, 3.0]), [3.0, 1.0]);
        assert_eq!(free.whole(&[30.0, 10.0]), [10.0, 2.0, 30.0]);
        assert_eq!(
            free.values(&[30.0, 10.0]).unwrap().importance,
            [10.0, 2.0, 30.0]
        );
        let slopes = free.derivatives(&[30.0, 10.0]).unwrap();
        assert_eq!(
            (
                slopes.outputs[0].as_slice(),
                slopes.importance[0].as_slice()
            ),
            (&[30.0, 10.0][..], &[30.0, 10.0][..])
        );
    }
}
