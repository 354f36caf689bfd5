//! Region search: the nearest region of a network small enough to see, and the exact worst cases of a trained one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thickset::Seed;
use thickset::attack::random::RandomConfig;
use thickset::attack::region_search::RegionSearchConfig;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::{AttackConfig, AttackKind, Attacked};
use thickset::data::InputShape;
use thickset::explain::{ExplainConfig, Points};
use thickset::model::{Activation, Fresh, ModelConfig, mlp};
use thickset_engine::Network;

use crate::configs::ball;
use crate::golden::{Weights, table};
use crate::trained::{FEATURES, binary, rows};

fn attacked(
    network: &Network,
    method: impl Into<AttackKind>,
    k: usize,
    radius: f64,
    x: &[f64],
) -> Vec<Attacked> {
    let config = AttackConfig {
        method: method.into(),
        k,
        threat: ball(radius),
        ..AttackConfig::default()
    };
    let features = network.features();
    let ids: Vec<u64> = (0..(x.len() / features) as u64).collect();
    let points = Points {
        values: x,
        ids: &ids,
    };
    let attack = config
        .check(&ExplainConfig::default(), &table(features))
        .unwrap();
    attack.perturb(network, points, Seed::new(1)).unwrap()
}

#[test]
fn the_nearest_region_of_two_neurons_is_found_as_soon_as_the_ball_reaches_it() {
    // m = relu(x0 - 1) + 2 relu(x1 - 3) + 3 x2 - 100, the last by a neuron that is always open. At the origin feature 2 alone
    // matters, and of the rest, by their numbers, feature 0. Past x1 = 3 feature 1 takes its place; past x0 = 1 nothing does.
    let tensors = BTreeMap::from(
        [
            (
                "layers.0.weight",
                vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            ),
            ("layers.0.bias", vec![-1.0, -3.0, 100.0]),
            ("layers.2.weight", vec![1.0, 2.0, 3.0, 0.0, 0.0, 0.0]),
            ("layers.2.bias", vec![0.0, 0.0]),
        ]
        .map(|(name, values)| (name.to_owned(), values)),
    );
    let model = ModelConfig::Mlp(mlp::MlpConfig {
        hidden: vec![3],
        ..mlp::MlpConfig::default()
    });
    let network = model
        .network(&InputShape::Table, 3, 2, &mut Weights(&tensors))
        .unwrap();
    let precision = |radius: f64| {
        let found = attacked(
            &network,
            RegionSearchConfig::default(),
            2,
            radius,
            &[0.0; 3],
        );
        (found[0].precision, found[0].perturbed.clone())
    };
    assert_eq!(precision(2.99).0, 1.0);
    let (found, point) = precision(3.01);
    assert_eq!(found, 0.5);
    // The nearest point of that region, just past the kink.
    assert!(
        (point[1] - 3.0).abs() < 1e-3 && point[0].abs() < 1e-3,
        "{point:?}"
    );
}

#[test]
fn it_is_never_worse_than_as_many_random_points() {
    let trained = binary(Activation::Relu);
    let (x, _) = rows(30, 21);
    let fresh = |seed: u64| {
        ModelConfig::Mlp(mlp::MlpConfig {
            hidden: vec![12, 8],
            ..mlp::MlpConfig::default()
        })
        .network(
            &InputShape::Table,
            FEATURES,
            2,
            &mut Fresh::new(Seed::new(seed)),
        )
        .unwrap()
    };
    let config = RegionSearchConfig::default();
    let points = config.beam * config.depth * config.tries;
    let mut better = 0;
    for network in [trained, fresh(1), fresh(2), fresh(3)] {
        let regions = attacked(&network, config, 4, 0.4, &x);
        let random = RandomConfig {
            points,
            ..RandomConfig::default()
        };
        let random = attacked(&network, random, 4, 0.4, &x);
        for (regions, random) in regions.iter().zip(&random) {
            assert!(regions.held);
            assert!(
                regions.precision <= random.precision,
                "{} and {}",
                regions.precision,
                random.precision
            );
            better += usize::from(regions.precision < random.precision);
        }
    }
    assert!(better > 5, "{better}");
}

#[test]
fn a_network_without_regions_is_refused_alone_and_left_out_of_the_suite() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(2, 3);
    let points = Points {
        values: &x,
        ids: &[0, 1],
    };
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let config = AttackConfig {
        method: RegionSearchConfig::default().into(),
        k: 4,
        ..AttackConfig::default()
    };
    let attack = config.check(&explain, &schema).unwrap();
    let problem = attack.perturb(&network, points, Seed::new(1)).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "attack `region-search` takes a chain of dense layers with ReLU between them, not too large, got another network"
    );
    let suite = SuiteConfig {
        k: 4,
        ..SuiteConfig::default()
    };
    let suite = suite.check(&explain, &schema).unwrap();
    let found = suite.perturb(&network, points, Seed::new(1)).unwrap();
    assert!(
        found
            .members
            .iter()
            .all(|member| member.attack != "region-search")
    );
}

/// A network of the research folder with its first rows, and the exact worst cases of some at some radii: how many of 8 salient
/// features can be lost while the prediction holds.
struct Yardstick {
    network: Network,
    x: Vec<f64>,
    lost: Vec<(usize, f64, usize)>,
}

impl Yardstick {
    fn read(folder: &Path) -> Self {
        let bytes = std::fs::read(folder.join("adult_s0_vanilla.bin")).unwrap();
        let words: Vec<[u8; 8]> = bytes.as_chunks::<8>().0.to_vec();
        let count = |place: usize| usize::try_from(u64::from_le_bytes(words[place])).unwrap();
        let (features, first, second) = (count(0), count(1), count(2));
        let mut numbers = words[5..].iter().map(|word| f64::from_le_bytes(*word));
        let mut take = |count: usize| numbers.by_ref().take(count).collect::<Vec<f64>>();
        let mut tensors = BTreeMap::new();
        for (name, count) in [
            ("layers.0.weight", first * features),
            ("layers.0.bias", first),
            ("layers.2.weight", second * first),
            ("layers.2.bias", second),
        ] {
            tensors.insert(name.to_owned(), take(count));
        }
        // One logit is the margin, the other 0.
        let mut head = take(second);
        head.resize(2 * second, 0.0);
        let mut bias = take(1);
        bias.push(0.0);
        tensors.insert("layers.4.weight".to_owned(), head);
        tensors.insert("layers.4.bias".to_owned(), bias);
        let model = ModelConfig::Mlp(mlp::MlpConfig {
            hidden: vec![first, second],
            ..mlp::MlpConfig::default()
        });
        let network = model
            .network(&InputShape::Table, features, 2, &mut Weights(&tensors))
            .unwrap();
        let text = std::fs::read_to_string(folder.join("WH_adult_s0_vanilla.csv")).unwrap();
        let lost = text.lines().map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (
                cells[0].parse().unwrap(),
                cells[1].parse().unwrap(),
                cells[3].parse().unwrap(),
            )
        });
        Self {
            network,
            x: take(100 * features),
            lost: lost.collect(),
        }
    }

    /// The mean P@8 of the suite and of the exact worst cases over the first rows, in points.
    fn compare(&self, effort: Effort, radius: f64, count: usize) -> (f64, f64) {
        let features = self.network.features();
        let config = SuiteConfig {
            effort,
            threat: ball(radius),
            ..SuiteConfig::default()
        };
        let suite = config
            .check(&ExplainConfig::default(), &table(features))
            .unwrap();
        let ids: Vec<u64> = (0..count as u64).collect();
        let points = Points {
            values: &self.x[..count * features],
            ids: &ids,
        };
        let found = suite.perturb(&self.network, points, Seed::new(1)).unwrap();
        let mut sums = (0.0, 0.0);
        for (row, found) in found.rows.iter().enumerate() {
            let exact = self.lost.iter().find(|one| (one.0, one.1) == (row, radius));
            let exact = 1.0 - exact.unwrap().2 as f64 / 8.0;
            assert!(
                found.precision >= exact - 1e-12,
                "row {row} at {radius}: nothing is worse than the worst case"
            );
            sums.0 += 100.0 * found.precision / count as f64;
            sums.1 += 100.0 * exact / count as f64;
        }
        sums
    }
}

#[test]
fn the_suite_comes_near_the_exact_worst_cases() {
    let folder: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "..",
        "shared",
        "research",
        "certify",
    ]
    .iter()
    .collect();
    if !folder.exists() {
        eprintln!("skipped: {} is not there", folder.display());
        return;
    }
    let yardstick = Yardstick::read(&folder);
    for (effort, within, count) in [
        (Effort::Quick, 3.0, 100),
        (Effort::Standard, 1.0, 100),
        (Effort::Thorough, 0.3, 40),
    ] {
        for radius in [0.05, 0.1, 0.25] {
            let (found, exact) = yardstick.compare(effort, radius, count);
            eprintln!("{} {radius}: {found:.2}, exact {exact:.2}", effort.name());
            assert!(
                found - exact <= within,
                "{} at {radius}: {found:.2}, exact {exact:.2}",
                effort.name()
            );
        }
    }
}
