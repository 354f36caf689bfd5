//! A certificate of the *smoothed* explanation, of any model: randomised smoothing of the top-k set.
//!
//! Let `s_i(x)` be the probability that feature i is among the k most important at `x + σ ε`, ε standard normal in the features
//! that can move. The smoothed explanation ranks features by s. Whatever the model, `Φ⁻¹(s_i)` changes by at most `|d| / σ` when x
//! moves by d, since `s_i` is a Gaussian average of numbers between 0 and 1. So a feature stays ahead of another while
//! `Φ⁻¹(s_i) - Φ⁻¹(s_j) > 2 |d| / σ`. If t features leave the top k, each of them falls behind each of the t that enter; so with
//! the t-th lowest of the salient and the t-th highest of the others this far apart, fewer than t leave.
//!
//! The probabilities are estimated from draws. Each is put between bounds of Clopper and Pearson, which are exact binomial
//! ones, at an error shared by all features: all bounds hold together with the confidence asked for. What is certified is the set
//! of the smoothed explanation, not of the explanation itself; and smoothing makes rows alike, so its distinctness stands beside.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, ContinuousCDF as _, DiscreteCDF as _, Normal};
use thickset_engine::Network;

use crate::attack::ThreatConfig;
use crate::attack::threat::Norm;
use crate::check::as_f64;
use crate::data::Schema;
use crate::explain::{Binding, CheckedExplain, ExplainConfig, Points, chunk_rows, predicted};
use crate::host::read;
use crate::metric::distinctness;
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result, Seed, defaults};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "smoothed-top-k",
    label: "smoothed top-k",
    family: Family::Certificate,
    summary: "How far the top-k set of the explanation under Gaussian noise stays, of any model, with a stated confidence",
    formula: "at most t - 1 of the k leave within σ/2 (Φ⁻¹(low of the t-th lowest salient) - Φ⁻¹(high of the t-th highest other))",
    source: "Levine, Singla and Feizi 2019; Cohen, Rosenfeld and Kolter 2019; bounds of Clopper and Pearson 1934",
    direction: None,
    cost: "`draws` explanations a row",
    defaults: &[
        Setting::new("k", "salient features"),
        Setting::new("draws", "noisy copies of a row"),
        Setting::new(
            "sigma",
            "deviation of each feature's noise, in encoded units",
        ),
        Setting::new("confidence", "with which all bounds of a row hold together"),
    ],
};

/// What to certify, as a configuration states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmoothedTopKConfig {
    /// Salient features.
    pub k: usize,
    /// What a row may become: its radius is asked about, and immutable columns get no noise.
    pub threat: ThreatConfig,
    /// Noisy copies of a row.
    pub draws: usize,
    /// Deviation of each feature's noise, in encoded units.
    pub sigma: f64,
    /// With which all bounds of a row hold together.
    pub confidence: f64,
}

impl Default for SmoothedTopKConfig {
    fn default() -> Self {
        Self {
            k: defaults::K,
            threat: ThreatConfig::default(),
            draws: 8_192,
            sigma: 0.2,
            confidence: 0.95,
        }
    }
}

/// The most draws.
const MOST_DRAWS: usize = 10_000_000;

/// What is certified of one row's smoothed explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SmoothedTopK {
    /// The k features that were most often among the k most important, in ascending order.
    pub top: Vec<usize>,
    /// No smaller move changes the smoothed top-k set.
    pub certified_radius: f64,
    /// Every move within the radius asked about keeps at least so many of the k.
    pub kept_at_least: usize,
}

/// What is certified of all rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SmoothedRows {
    /// One a row.
    pub rows: Vec<SmoothedTopK>,
    /// How different the smoothed sets of two rows are; none of a single row.
    pub distinctness: Option<f64>,
}

impl SmoothedTopKConfig {
    /// Certifies every row. A row's result depends neither on the others nor on the number of threads.
    ///
    /// # Errors
    /// When a setting is out of range, or rows do not fit the network.
    pub fn certify(
        &self,
        explain: &ExplainConfig,
        schema: &Schema,
        network: &Network,
        rows: Points<'_>,
        seed: Seed,
    ) -> Result<SmoothedRows> {
        self.check()?;
        rows.check(network)?;
        let explain = explain.check(schema)?;
        let threat = self.threat.check(schema)?;
        let immutable = threat.immutable();
        let moving: Vec<bool> = immutable.iter().map(|stays| !stays).collect();
        let radius = match self.threat.ball.norm {
            Norm::L2 => self.threat.ball.radius,
            // The longest move of the box.
            Norm::Linf => {
                let count = moving.iter().filter(|moves| **moves).count();
                self.threat.ball.radius * as_f64(count).sqrt()
            }
        };
        let parts: Vec<Points<'_>> = rows.parts(network.features(), 1).collect();
        let found = parts
            .into_par_iter()
            .map(|row| {
                let counts = self.count(&explain, network, row, &moving, seed)?;
                self.bound(&counts, radius)
            })
            .collect::<Result<Vec<(TopK, SmoothedTopK)>>>()?;
        let (sets, rows): (Vec<TopK>, Vec<SmoothedTopK>) = found.into_iter().unzip();
        Ok(SmoothedRows {
            rows,
            distinctness: distinctness::score(&sets)?,
        })
    }

    fn check(&self) -> Result<()> {
        if !(1..=MOST_DRAWS).contains(&self.draws) {
            return Err(Error::OutOfRange {
                what: "`draws`",
                expected: "in 1..=10000000",
                got: as_f64(self.draws),
            });
        }
        if !(self.sigma > 0.0 && self.sigma.is_finite()) {
            return Err(Error::OutOfRange {
                what: "`sigma`",
                expected: "positive and finite",
                got: self.sigma,
            });
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::OutOfRange {
                what: "`confidence`",
                expected: "between 0 and 1",
                got: self.confidence,
            });
        }
        Ok(())
    }

    /// How often each feature is among the top k of a noisy copy of one row, for the class predicted at the row itself.
    fn count(
        &self,
        explain: &CheckedExplain,
        network: &Network,
        row: Points<'_>,
        moving: &[bool],
        seed: Seed,
    ) -> Result<Vec<usize>> {
        let logits = read(network.logits(network.batch(row.values)));
        let class = predicted(&logits, network.classes())?[0];
        let mut stream = seed.stream_at("smoothed top-k", row.ids[0]);
        let batch = chunk_rows(network.features()).clamp(1, self.draws);
        let mut counts: Vec<usize> = Vec::new();
        let mut left = self.draws;
        while left > 0 {
            let copies = batch.min(left);
            left -= copies;
            let mut points = Vec::with_capacity(copies * moving.len());
            for _ in 0..copies {
                for (value, moves) in row.values.iter().zip(moving) {
                    let noise = if *moves {
                        self.sigma * stream.normal()
                    } else {
                        0.0
                    };
                    points.push(value + noise);
                }
            }
            let (classes, ids) = (vec![class; copies], vec![row.ids[0]; copies]);
            let bound = explain.bind(
                network,
                Binding {
                    classes: &classes,
                    ids: &ids,
                    seed,
                },
            )?;
            let importance = read(bound.importance(network, network.batch(&points)));
            for copy in importance.chunks(importance.len() / copies) {
                counts.resize(copy.len(), 0);
                for feature in TopK::of(copy, self.k)?.iter() {
                    counts[feature] += 1;
                }
            }
        }
        Ok(counts)
    }

    /// What the counts prove.
    fn bound(&self, counts: &[usize], radius: f64) -> Result<(TopK, SmoothedTopK)> {
        let shares: Vec<f64> = counts.iter().map(|count| as_f64(*count)).collect();
        let set = TopK::of(&shares, self.k)?;
        // A lower bound of each salient feature and an upper one of each other are used. Which of the two, the draws decide, so both
        // of all features must hold.
        let error = (1.0 - self.confidence) / (2.0 * as_f64(counts.len()));
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (feature, &count) in counts.iter().enumerate() {
            if set.contains(feature) {
                low.push(probit(lower(count, self.draws, error)));
            } else {
                high.push(probit(upper(count, self.draws, error)));
            }
        }
        low.sort_by(f64::total_cmp);
        high.sort_by(|a, b| b.total_cmp(a));
        // Fewer than t leave within the t-th of these distances, which grow with t.
        let reach: Vec<f64> = low
            .iter()
            .zip(&high)
            .map(|(low, high)| {
                let apart = low - high;
                if apart.is_nan() {
                    0.0
                } else {
                    (self.sigma / 2.0 * apart).max(0.0)
                }
            })
            .collect();
        let lost = reach.iter().take_while(|reach| **reach <= radius).count();
        let smoothed = SmoothedTopK {
            top: set.iter().collect(),
            certified_radius: reach.first().copied().unwrap_or(f64::INFINITY),
            kept_at_least: self.k - lost,
        };
        Ok((set, smoothed))
    }
}

/// `Φ⁻¹`.
fn probit(share: f64) -> f64 {
    if share <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if share >= 1.0 {
        return f64::INFINITY;
    }
    Normal::standard().inverse_cdf(share)
}

/// Halvings of an interval of probabilities: to the last bit of most.
const HALVINGS: usize = 60;

/// The largest probability under which as many hits as these, or more, have at most the probability `error`: below the true
/// one, but for that error.
fn lower(hits: usize, draws: usize, error: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    let is_below = |p: f64| {
        let tail = Binomial::new(p, draws as u64).map(|draws| draws.sf(hits as u64 - 1));
        tail.is_ok_and(|tail| tail <= error)
    };
    let (mut below, mut above) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(below, above);
        if is_below(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

/// The same from above.
fn upper(hits: usize, draws: usize, error: f64) -> f64 {
    1.0 - lower(draws - hits, draws, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::InputShape;
    use crate::model::{Activation, Fresh, LinearConfig, MlpConfig, ModelConfig};

    #[test]
    fn bounds_are_those_of_the_textbook() {
        // Of n hits in n draws the lower bound is error^(1/n); of 8 in 10 at 0.025 it is 0.4439 (Clopper and Pearson's tables).
        assert!((lower(10, 10, 0.025) - 0.025_f64.powf(0.1)).abs() < 1e-9);
        assert!((lower(8, 10, 0.025) - 0.4439).abs() < 1e-4);
        assert!((upper(8, 10, 0.025) - 0.9748).abs() < 1e-4);
        assert!(lower(0, 10, 0.025) <= 0.0 && upper(10, 10, 0.025) >= 1.0);
    }

    #[test]
    fn three_counts_by_hand() {
        // Features 0 and 1 are salient. With every draw counted so often that bounds are the shares: 0.9, 0.8 and 0.3.
        let config = SmoothedTopKConfig {
            k: 2,
            draws: 1_000_000,
            sigma: 2.0,
            ..SmoothedTopKConfig::default()
        };
        let (_, found) = config.bound(&[900_000, 800_000, 300_000], 0.5).unwrap();
        let apart = probit(0.8) - probit(0.3);
        assert_eq!(found.top, [0, 1]);
        assert!((found.certified_radius - apart).abs() < 0.01);
        assert_eq!(found.kept_at_least, 2);
        let (_, far) = config.bound(&[900_000, 800_000, 300_000], 1.5).unwrap();
        assert_eq!(far.kept_at_least, 1);
    }

    #[test]
    fn more_confidence_proves_less() {
        let mut config = SmoothedTopKConfig {
            k: 1,
            draws: 1000,
            ..SmoothedTopKConfig::default()
        };
        let (_, less) = config.bound(&[700, 200, 100], 0.0).unwrap();
        config.confidence = 0.999;
        let (_, more) = config.bound(&[700, 200, 100], 0.0).unwrap();
        assert!(more.certified_radius < less.certified_radius);
    }

    fn smoothed(model: ModelConfig, sigma: f64) -> SmoothedRows {
        let network = model
            .network(&InputShape::Table, 4, 2, &mut Fresh::new(Seed::new(2)))
            .unwrap();
        let config = SmoothedTopKConfig {
            k: 2,
            draws: 400,
            sigma,
            ..SmoothedTopKConfig::default()
        };
        let schema = Schema::image(1, 1, 4, 255.0);
        let values: Vec<f64> = (0..12_u32)
            .map(|place| f64::from(place % 5) / 5.0)
            .collect();
        let rows = Points {
            values: &values,
            ids: &[0, 1, 2],
        };
        let explain = ExplainConfig::default();
        config
            .certify(&explain, &schema, &network, rows, Seed::new(4))
            .unwrap()
    }

    #[test]
    fn a_linear_model_is_certain_and_says_the_same_of_everyone() {
        let found = smoothed(LinearConfig::default().into(), 0.5);
        assert!(found.distinctness.unwrap().abs() < 1e-12);
        // 400 of 400 draws and none: the bounds of all four features hold with 0.95.
        let error: f64 = 0.05 / 8.0;
        let least = 0.5 * probit(error.powf(1.0 / 400.0));
        for row in &found.rows {
            assert!((row.certified_radius - least).abs() < 1e-6);
        }
    }

    #[test]
    fn smooth_networks_have_certificates_too() {
        let mlp = MlpConfig {
            activation: Activation::Softplus { beta: 2.0 },
            ..MlpConfig::default()
        };
        let found = smoothed(mlp.into(), 0.1);
        assert_eq!(found.rows.len(), 3);
        assert!(found.rows.iter().all(|row| row.certified_radius >= 0.0));
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let check = |change: &dyn Fn(&mut SmoothedTopKConfig)| {
            let mut config = SmoothedTopKConfig::default();
            change(&mut config);
            config.check()
        };
        assert!(check(&|_| ()).is_ok());
        assert!(check(&|config| config.draws = MOST_DRAWS).is_ok());
        for draws in [0, MOST_DRAWS + 1] {
            assert!(check(&|config| config.draws = draws).is_err(), "{draws}");
        }
        for sigma in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(check(&|config| config.sigma = sigma).is_err(), "{sigma}");
        }
        for confidence in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
            let refused = check(&|config| config.confidence = confidence);
            assert!(refused.is_err(), "{confidence}");
        }
    }

    #[test]
    fn in_the_largest_norm_the_radius_is_the_longest_move_of_the_box() {
        // Four features that move: a box of 0.5 holds moves of length 1.
        let kept = |norm, radius| {
            let network = ModelConfig::from(LinearConfig::default())
                .network(&InputShape::Table, 4, 2, &mut Fresh::new(Seed::new(2)))
                .unwrap();
            let mut config = SmoothedTopKConfig {
                k: 2,
                draws: 400,
                sigma: 0.5,
                ..SmoothedTopKConfig::default()
            };
            (config.threat.ball.norm, config.threat.ball.radius) = (norm, radius);
            let rows = Points {
                values: &[0.2; 4],
                ids: &[0],
            };
            let schema = Schema::image(1, 1, 4, 255.0);
            let explain = ExplainConfig::default();
            let found = config.certify(&explain, &schema, &network, rows, Seed::new(4));
            let row = found.unwrap().rows.remove(0);
            (row.kept_at_least, row.certified_radius)
        };
        let (_, certified) = kept(Norm::L2, 0.1);
        assert_eq!(kept(Norm::L2, 0.99 * certified).0, 2);
        assert_eq!(kept(Norm::L2, 1.01 * certified).0, 0);
        assert_eq!(kept(Norm::Linf, 0.99 * certified / 2.0).0, 2);
        assert_eq!(kept(Norm::Linf, 1.01 * certified / 2.0).0, 0);
    }
}
