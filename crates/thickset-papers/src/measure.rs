//! Measuring cells: what attacks, metrics and statistics say of one trained model on the test rows of its seed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thickset::attack::suite::SuiteConfig;
use thickset::attack::{AttackConfig, Attacked};
use thickset::certify::CertifyConfig;
use thickset::data::Part;
use thickset::explain::{Binding, ExplainConfig};
use thickset::host::read;
use thickset::metric::faithfulness::{Counts, Faithfulness};
use thickset::metric::measure::thickness::{Neighbours, ThicknessSampling};
use thickset::metric::ranking::{TopK, largest};
use thickset::metric::thickness::{Form, Thickness};
use thickset::metric::{
    accuracy, auc, distinctness, kendall, measure, sensitivity, stability_limit,
};
use thickset::model::Model;
use thickset::objective::term::hessian_norm::directions;
use thickset::objective::term::inner_attack::InnerAttack;
use thickset::objective::term::reading::predicted_one_hot;
use thickset::{Error, Result};
use thickset_engine::kernel::cross_entropy;
use thickset_engine::{Network, Output, one_hot};

use crate::count::as_f64;
use crate::measure_categories;
use crate::measure_certificates;
use crate::measure_maps;
use crate::proposition46;
use crate::seeded_dataset::SeededDataset;
use crate::store::Store;

/// Most rows that run through a network at once.
const CHUNK: usize = 1024;
/// About how many inputs run through a network at once: all layers of all rows are in memory together.
const CHUNK_INPUTS: usize = 1 << 18;
/// Neighbours of a row that its thickness is averaged over.
pub(crate) const NEIGHBOURS: usize = 10;
/// Points on the way to each.
pub(crate) const POINTS: usize = 10;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "measure", rename_all = "kebab-case")]
pub(crate) enum Measure {
    /// AUC and accuracy without an attack, and distinctness.
    Clean { explain: ExplainConfig },
    /// One attack.
    Attack {
        attack: AttackConfig,
        explain: ExplainConfig,
    },
    /// The suite.
    Suite {
        suite: SuiteConfig,
        explain: ExplainConfig,
        /// Training rows that it goes towards.
        #[serde(skip_serializing_if = "is_zero")]
        donors: usize,
    },
    /// What is proved to be left of each row's salient set.
    Certificate {
        certify: CertifyConfig,
        explain: ExplainConfig,
    },
    /// The worst case of each row, with the time that it takes.
    WorstCase {
        certify: CertifyConfig,
        explain: ExplainConfig,
    },
    /// The exact radius of each row, beside the one that R2ET's Proposition 4.5 promises.
    Radii {
        certify: CertifyConfig,
        explain: ExplainConfig,
        /// Points at which the Hessian is evaluated, beside the row.
        points: usize,
        /// The radius of the ball that they are drawn from.
        ball: f64,
    },
    /// The limit that the rows' geometry sets.
    Limit {
        k: usize,
        radius: f64,
        explain: ExplainConfig,
    },
    /// The share of another model's salient features that are this one's too.
    Agreement {
        k: usize,
        /// The other model's key.
        with: String,
        explain: ExplainConfig,
    },
    /// The worst change of one column's category.
    WorstCategory { k: usize, explain: ExplainConfig },
    /// Thickness towards gaussian neighbours whose root mean square distance is the radius.
    GaussianThickness {
        k: usize,
        radius: f64,
        explain: ExplainConfig,
    },
    /// Thickness on the way to where an attack ended.
    AdversarialThickness {
        attack: AttackConfig,
        explain: ExplainConfig,
    },
    /// Accuracy under an attack of the class.
    ClassAttack { attack: InnerAttack },
    /// Length of the Hessian product along the gradient's sign.
    HessianNorm,
    /// What the worst perturbation of R2ET's Proposition 4.6 takes from the sum of gaps.
    MinMax { k: usize, radius: f64 },
    /// DFFOT, COMP and SUFF.
    Faithfulness { explain: ExplainConfig },
    /// One of the attacked rows, by its place, before and after an attack.
    Maps {
        attack: AttackConfig,
        explain: ExplainConfig,
        place: usize,
    },
    /// Importances in falling order.
    Magnitudes { explain: ExplainConfig },
}

/// What was found: numbers of the whole, and of each attacked row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// By name.
    numbers: BTreeMap<String, f64>,
    /// By name, one value a row.
    rows: BTreeMap<String, Vec<f64>>,
}

impl Measured {
    /// The number of this name.
    pub(crate) fn number(&self, name: &'static str) -> Result<f64> {
        let found = self.numbers.get(name).copied();
        found.ok_or(Error::Empty { what: name })
    }

    /// The rows' values of this name.
    pub(crate) fn rows(&self, name: &'static str) -> Result<&[f64]> {
        let found = self.rows.get(name).map(Vec::as_slice);
        found.ok_or(Error::Empty { what: name })
    }

    /// The mean of the rows' values of this name.
    pub(crate) fn mean(&self, name: &'static str) -> Result<f64> {
        let rows = self.rows(name)?;
        Ok(rows.iter().sum::<f64>() / as_f64(rows.len().max(1)))
    }

    /// The rows' values of this name, of those predicted as labelled alone.
    pub(crate) fn right_rows(&self, name: &'static str) -> Result<Vec<Option<f64>>> {
        let right = self.rows("right")?.iter().zip(self.rows(name)?);
        Ok(right
            .map(|(right, value)| (*right > 0.0).then_some(*value))
            .collect())
    }

    pub(crate) fn set(&mut self, name: &str, number: f64) {
        self.numbers.insert(name.to_owned(), number);
    }

    pub(crate) fn set_rows(&mut self, name: &str, values: Vec<f64>) {
        self.rows.insert(name.to_owned(), values);
    }
}

impl Measure {
    /// Measures the model of this key, or finds it measured.
    pub(crate) fn of(&self, key: &str, data: &SeededDataset, store: &Store) -> Result<Measured> {
        let deciding = (key, data.seed, data.rows().ids, self);
        let cell = match self {
            // What an effort comes to may change.
            Self::Suite { suite, .. } => {
                Store::key("measure", &(deciding, suite.effort.settings()))
            }
            _ => Store::key("measure", &deciding),
        };
        if let Some(found) = store.read(&cell)? {
            return Ok(found);
        }
        let model = Model::load(&store.model(key))?;
        let found = match self {
            Self::Agreement { k, with, explain } => {
                let other = Model::load(&store.model(with))?;
                agreement(&model.network, &other.network, data, *k, explain)?
            }
            _ => self.take(&model.network, data)?,
        };
        store.write(&cell, found)
    }

    fn take(&self, network: &Network, data: &SeededDataset) -> Result<Measured> {
        match self {
            Self::Clean { explain } => clean(network, data, explain),
            Self::Attack { attack, explain } => attacked(network, data, attack, explain),
            Self::Suite {
                suite,
                explain,
                donors,
            } => {
                let suite = suite.check(explain, &data.dataset.schema)?;
                let suite = suite.with_donors(&data.donors(*donors))?;
                let found = suite.perturb(network, data.rows(), data.seed)?;
                of_attacked(network, data, &found.rows)
            }
            Self::Certificate { certify, explain } => {
                measure_certificates::certified(network, data, certify, explain)
            }
            Self::WorstCase { certify, explain } => {
                measure_certificates::worst_case(network, data, certify, explain)
            }
            Self::Radii {
                certify,
                explain,
                points,
                ball,
            } => measure_certificates::radii(network, data, certify, explain, (*points, *ball)),
            Self::Limit { k, radius, explain } => limit(network, data, *k, *radius, explain),
            Self::Agreement { .. } => Ok(Measured::default()),
            Self::WorstCategory { k, explain } => {
                measure_categories::worst_category(network, data, *k, explain)
            }
            Self::GaussianThickness { k, radius, explain } => {
                gaussian_thickness(network, data, *k, *radius, explain)
            }
            Self::AdversarialThickness { attack, explain } => {
                adversarial_thickness(network, data, attack, explain)
            }
            Self::ClassAttack { attack } => class_attacked(network, data, attack),
            Self::HessianNorm => hessian_norms(network, data),
            Self::MinMax { k, radius } => proposition46::measure(network, data, *k, *radius),
            Self::Faithfulness { explain } => faithful(network, data, explain),
            Self::Maps {
                attack,
                explain,
                place,
            } => measure_maps::maps(network, data, attack, explain, *place),
            Self::Magnitudes { explain } => measure_maps::magnitudes(network, data, explain),
        }
    }
}

fn chunk_rows(network: &Network) -> usize {
    (CHUNK_INPUTS / network.features().max(1)).clamp(1, CHUNK)
}

fn probabilities(network: &Network, values: &[f64]) -> Vec<Vec<f64>> {
    let classes = network.classes();
    values
        .chunks(chunk_rows(network) * network.features())
        .flat_map(|chunk| {
            let found = read(network.probabilities(network.batch(chunk)));
            found
                .chunks(classes)
                .map(<[f64]>::to_vec)
                .collect::<Vec<_>>()
        })
        .collect()
}

fn classes(probabilities: &[Vec<f64>]) -> Result<Vec<usize>> {
    probabilities.iter().map(|row| largest(row)).collect()
}

/// The AUC, or the accuracy where all rows are of one class.
fn judged(probabilities: &[Vec<f64>], labels: &[usize]) -> Result<f64> {
    match auc::score(probabilities, labels)? {
        Some(auc) => Ok(auc.value),
        None => accuracy::score(&classes(probabilities)?, labels),
    }
}

fn clean(network: &Network, data: &SeededDataset, explain: &ExplainConfig) -> Result<Measured> {
    let mut measured = Measured::default();
    let test = data.dataset.part(Part::Test);
    let all: Vec<f64> = data
        .dataset
        .gather(test)
        .into_iter()
        .map(f64::from)
        .collect();
    let labels = data.dataset.gather_labels(test);
    let all = probabilities(network, &all);
    measured.set("auc", judged(&all, &labels)?);
    measured.set("accuracy", accuracy::score(&classes(&all)?, &labels)?);
    let explain = explain.check(&data.dataset.schema)?;
    let explained = explain.attribute(network, data.rows(), data.seed)?;
    let sets = explained
        .iter()
        .map(|row| TopK::of(&row.importance, data.k))
        .collect::<Result<Vec<_>>>()?;
    measured.set("distinctness", distinctness::score(&sets)?.unwrap_or(0.0));
    let own: Vec<Vec<f64>> = explained.into_iter().map(|row| row.probabilities).collect();
    measured.set("auc of the attacked rows", judged(&own, &data.labels)?);
    Ok(measured)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn sets(
    network: &Network,
    data: &SeededDataset,
    k: usize,
    explain: &ExplainConfig,
) -> Result<Vec<TopK>> {
    let explain = explain.check(&data.dataset.schema)?;
    let explained = explain.attribute(network, data.rows(), data.seed)?;
    let rows = explained.iter();
    rows.map(|row| TopK::of(&row.importance, k)).collect()
}

fn limit(
    network: &Network,
    data: &SeededDataset,
    k: usize,
    radius: f64,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let features = network.features();
    let values = data.rows().values;
    let told = classes(&probabilities(network, values))?;
    let mut pairs = stability_limit::near_pairs(values, features, &told, radius);
    let row = |row: usize| &values[row * features..(row + 1) * features];
    let between: Vec<f64> = pairs
        .iter()
        .flat_map(|pair| {
            let both = row(pair.first).iter().zip(row(pair.second));
            both.map(|(x, y)| f64::midpoint(*x, *y))
        })
        .collect();
    let between = classes(&probabilities(network, &between))?;
    let mut between = between.into_iter();
    pairs.retain(|pair| between.next() == Some(told[pair.first]));
    let limit = stability_limit::score(&sets(network, data, k, explain)?, &pairs)?;
    let mut measured = Measured::default();
    measured.set("limit", 100.0 * limit.mean);
    measured.set("near pairs", 100.0 * limit.near);
    Ok(measured)
}

fn agreement(
    network: &Network,
    other: &Network,
    data: &SeededDataset,
    k: usize,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let (own, other) = (
        sets(network, data, k, explain)?,
        sets(other, data, k, explain)?,
    );
    let shares = own.iter().zip(&other).map(|(own, other)| {
        let shared = own.overlap(other)?;
        Ok(as_f64(shared) / as_f64(k.max(1)))
    });
    let mut measured = Measured::default();
    measured.set_rows("agreement", shares.collect::<Result<_>>()?);
    Ok(measured)
}

fn attacked(
    network: &Network,
    data: &SeededDataset,
    attack: &AttackConfig,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let attack = attack.check(explain, &data.dataset.schema)?;
    let rows = attack.perturb(network, data.rows(), data.seed)?;
    let mut measured = of_attacked(network, data, &rows)?;
    let mut taus = Vec::with_capacity(rows.len());
    let explain = attack.explain();
    let features = network.features();
    let worst: Vec<f64> = rows.iter().flat_map(|row| row.perturbed.clone()).collect();
    let before = data.rows();
    let chunk = chunk_rows(network);
    for (start, part) in before.ids.chunks(chunk).enumerate() {
        let place = start * chunk..start * chunk + part.len();
        let classes: Vec<usize> = rows[place.clone()].iter().map(|row| row.class).collect();
        let binding = Binding {
            classes: &classes,
            ids: part,
            seed: data.seed,
        };
        let explainer = explain.bind(network, binding)?;
        let inputs = place.start * features..place.end * features;
        let at = |values: &[f64]| explainer.importance(network, network.batch(values));
        let first = at(&before.values[inputs.clone()]);
        let width = first.dims()[1];
        let (first, second) = (read(first), read(at(&worst[inputs])));
        for (first, second) in first.chunks(width).zip(second.chunks(width)) {
            taus.push(kendall::score(first, second)?);
        }
    }
    // Explanations of wrong answers are left out where the paper leaves them out.
    let right = rows.iter().zip(&data.labels);
    let right = right.map(|(row, label)| f64::from(u8::from(row.class == *label)));
    measured.set_rows("right", right.collect());
    measured.set_rows("kendall", taus);
    Ok(measured)
}

fn of_attacked(network: &Network, data: &SeededDataset, rows: &[Attacked]) -> Result<Measured> {
    let mut measured = Measured::default();
    measured.set_rows("precision", rows.iter().map(|row| row.precision).collect());
    let last = rows.iter().map(|row| row.last.precision);
    measured.set_rows("last precision", last.collect());
    // 0 where the row was never manipulated: steps are counted from 1.
    let first = rows
        .iter()
        .map(|row| as_f64(row.manipulation_epoch.unwrap_or(0)));
    measured.set_rows("first change", first.collect());
    let before: Vec<usize> = rows.iter().map(|row| row.class).collect();
    for (name, worst) in [("", true), ("last ", false)] {
        let points: Vec<f64> = rows
            .iter()
            .flat_map(|row| {
                if worst {
                    &row.perturbed
                } else {
                    &row.last.point
                }
            })
            .copied()
            .collect();
        let probabilities = probabilities(network, &points);
        measured.set(&format!("{name}auc"), judged(&probabilities, &data.labels)?);
        let after = classes(&probabilities)?;
        measured.set(
            &format!("{name}sensitivity"),
            sensitivity::score(&before, &after)?,
        );
    }
    Ok(measured)
}

/// Thickness in two forms.
fn thickness_towards(
    network: &Network,
    data: &SeededDataset,
    explain: &ExplainConfig,
    k: usize,
    neighbours: Neighbours<'_>,
) -> Result<Measured> {
    let explain = explain.check(&data.dataset.schema)?;
    let rows = data.rows();
    let explained = explain.attribute(network, rows, data.seed)?;
    let sampling = ThicknessSampling {
        k,
        neighbours,
        immutable: &[],
        points: POINTS,
        seed: data.seed,
        stream: "bench thickness",
    };
    let forms = [Form::Probability, Form::Gap];
    let found = sampling.measure(network, &explain, rows, &explained, &forms)?;
    let mut measured = Measured::default();
    let mut set = |name: &str, of: fn(&[Thickness]) -> f64| {
        measured.set_rows(name, found.iter().map(|forms| of(forms)).collect());
    };
    set("probability", |forms| forms[0].mean);
    set("least probability", |forms| forms[0].least);
    set("gap", |forms| forms[1].mean);
    Ok(measured)
}

fn gaussian_thickness(
    network: &Network,
    data: &SeededDataset,
    k: usize,
    radius: f64,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let neighbours = Neighbours::Gaussian {
        count: NEIGHBOURS,
        deviation: radius / as_f64(network.features()).sqrt(),
    };
    thickness_towards(network, data, explain, k, neighbours)
}

fn adversarial_thickness(
    network: &Network,
    data: &SeededDataset,
    attack: &AttackConfig,
    explain: &ExplainConfig,
) -> Result<Measured> {
    let checked = attack.check(explain, &data.dataset.schema)?;
    let rows = checked.perturb(network, data.rows(), data.seed)?;
    let ends: Vec<f64> = rows.into_iter().flat_map(|row| row.last.point).collect();
    let neighbours = Neighbours::Given(&[ends]);
    thickness_towards(network, data, explain, attack.k, neighbours)
}

fn class_attacked(
    network: &Network,
    data: &SeededDataset,
    attack: &InnerAttack,
) -> Result<Measured> {
    let features = network.features();
    let rows = data.rows();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let chunks = rows.values.chunks(CHUNK * features);
    for (index, (values, labels)) in chunks.zip(data.labels.chunks(CHUNK)).enumerate() {
        let x = network.batch(values);
        let labels = one_hot(labels, network.classes(), network.dtype(), &x.device());
        let mut draws = data.seed.stream_at("bench class attack", index as u64);
        let moved = attack.perturb(network, &x, &mut draws, |network, x| {
            Ok(cross_entropy(network.logits(x), labels.clone()))
        })?;
        before.extend(classes(&probabilities(network, values))?);
        after.extend(classes(&probabilities(network, &read(moved)))?);
    }
    let mut measured = Measured::default();
    measured.set("accuracy", accuracy::score(&before, &data.labels)?);
    measured.set(
        "adversarial accuracy",
        accuracy::score(&after, &data.labels)?,
    );
    Ok(measured)
}

fn hessian_norms(network: &Network, data: &SeededDataset) -> Result<Measured> {
    let features = network.features();
    let mut norms = Vec::new();
    for chunk in data.rows().values.chunks(chunk_rows(network) * features) {
        let pass = network.pass(network.batch(chunk));
        let classes = predicted_one_hot(network, &pass.logits())?;
        let gradient = pass.input_gradient(Output::Probability, classes);
        let product = read(gradient.hessian_product(directions(&gradient.value())));
        for row in product.chunks(features) {
            norms.push(thickset::metric::hessian_norm::score(row)?);
        }
    }
    let mut measured = Measured::default();
    measured.set_rows("norm", norms);
    Ok(measured)
}

fn faithful(network: &Network, data: &SeededDataset, explain: &ExplainConfig) -> Result<Measured> {
    let explain = explain.check(&data.dataset.schema)?;
    let rows = data.rows();
    let explained = explain.attribute(network, rows, data.seed)?;
    let counts = Counts::for_shape(data.dataset.shape());
    let found = measure::faithfulness::measure(network, &explain, rows, &explained, counts)?;
    let mut measured = Measured::default();
    let mut set = |name: &str, of: fn(&Faithfulness) -> f64| {
        measured.set_rows(name, found.iter().map(of).collect());
    };
    set("dffot", |row| row.dffot);
    set("comprehensiveness", |row| row.comprehensiveness);
    set("sufficiency", |row| row.sufficiency);
    Ok(measured)
}
