//! Certificates by bounds alone: by hand, against the search where both apply, and against points and the suite.

use thickset_engine::{Chain, Network, Output};

use super::super::bounds::{Activation, BoundedRow, MoveSet, Order, SmoothNetwork};
use super::super::{Arithmetic, CertifyConfig, DenseLayer, DenseNetwork, MoveNorm, Ranked, Status};
use super::{free_moves, radius, random_network, with_case};
use crate::Seed;
use crate::attack::ThreatConfig;
use crate::attack::suite::{Effort, SuiteConfig};
use crate::attack::threat::{BallConfig, Norm};
use crate::certify::explained::Explained;
use crate::data::{InputShape, Schema};
use crate::explain::{ExplainConfig, Points};
use crate::metric::ranking::{TopK, largest};
use crate::model::{self, MlpConfig, Model, ModelConfig};

const BETA: f64 = 4.0;

fn layer(weight: &[f64], bias: &[f64]) -> DenseLayer {
    DenseLayer {
        weight: weight.to_vec(),
        bias: bias.to_vec(),
        inputs: weight.len() / bias.len(),
    }
}

/// `sum of v_n softplus(W x + b)` against zero.
fn one_layer(weight: &[f64], bias: &[f64], v: &[f64]) -> SmoothNetwork {
    let head: Vec<f64> = v.iter().map(|v| -v).chain(v.iter().copied()).collect();
    SmoothNetwork {
        dense: DenseNetwork {
            hidden: vec![layer(weight, bias)],
            head: layer(&head, &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        },
        activations: vec![Activation::Softplus { beta: BETA }],
    }
}

/// The certified radius of a network of one layer, of the gradient of class 1 with one salient feature.
fn certified(network: &SmoothNetwork, x: &[f64], gradient: &[f64], largest: f64) -> f64 {
    let moves = MoveSet {
        norm: MoveNorm::L2,
        low: vec![f64::NEG_INFINITY; x.len()],
        high: vec![f64::INFINITY; x.len()],
    };
    let top = TopK::of(&gradient.iter().map(|g| g.abs()).collect::<Vec<_>>(), 1).unwrap();
    let salient: Vec<usize> = top.iter().collect();
    let order = Order {
        salient: &salient,
        absolute: true,
        gradient,
        class: 1,
        ranked: Ranked::Probability,
    };
    BoundedRow::new(network, x, &moves, order)
        .radius(largest)
        .certified
}

#[test]
fn the_features_of_one_neuron_never_change_places() {
    // g = 2 v sigmoid(z) (3, -1): the ratio is 3 wherever the row goes.
    let network = one_layer(&[3.0, -1.0], &[0.2], &[1.0]);
    let found = certified(&network, &[0.1, 0.4], &[3.0, -1.0], 2.0);
    assert!((found - 2.0).abs() < 1e-12, "{found}");
}

#[test]
fn two_neurons_of_a_feature_each_are_certified_almost_up_to_where_they_swap() {
    // g = (s(x0), s(x1) / 2) with s a sigmoid: they swap where s(x0) = s(x1) / 2, whose distance a fine scan finds.
    let network = one_layer(&[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0], &[1.0, 0.5]);
    let sigmoid = |z: f64| 1.0 / (1.0 + (-BETA * z).exp());
    let mut nearest = f64::INFINITY;
    for step in 0..100_000 {
        let x1 = f64::from(step) * 1e-5;
        // s(x0) = s(x1) / 2.
        let gate = sigmoid(x1) / 2.0;
        let x0 = (gate / (1.0 - gate)).ln() / BETA;
        nearest = nearest.min(x0.hypot(x1));
    }
    let found = certified(&network, &[0.0, 0.0], &[0.5, 0.25], 1.0);
    assert!(found <= nearest, "{found} {nearest}");
    assert!(found >= 0.8 * nearest, "{found} {nearest}");
}

#[test]
fn a_feature_that_cannot_move_does_not_cost_anything() {
    let network = one_layer(&[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0], &[1.0, 0.5]);
    let moves = MoveSet {
        norm: MoveNorm::L2,
        low: vec![0.0, -1.0],
        high: vec![0.0, 0.0],
    };
    let order = Order {
        salient: &[0],
        absolute: true,
        gradient: &[0.5, 0.25],
        class: 1,
        ranked: Ranked::Probability,
    };
    // The second feature can only fall, and its gate with it.
    let found = BoundedRow::new(&network, &[0.0, 0.0], &moves, order).radius(1.0);
    assert_eq!(found.status, Status::Certified);
}

#[test]
fn of_three_classes_each_margin_counts_by_how_likely_its_class_can_be() {
    // Gates stay open, so the gradient of p_0 goes as o_1 (2, 1) + o_2 (1, 4), with o_j the odds of class j against class 0. Feature 0 leads while
    // o_1 > 3 o_2. At the row o_1 = 1 and o_2 = e^-2; a move of size r can divide o_1 by e^(r sqrt 5) and multiply o_2 by e^(r sqrt 17).
    let network = SmoothNetwork {
        dense: DenseNetwork {
            hidden: vec![layer(&[1.0, 0.0, 0.0, 1.0], &[5.0, 5.0])],
            head: layer(&[2.0, 4.0, 0.0, 3.0, 1.0, 0.0], &[-30.0, -15.0, -7.0]),
            arithmetic: Arithmetic::DOUBLE,
        },
        activations: vec![Activation::Relu],
    };
    let moves = MoveSet {
        norm: MoveNorm::L2,
        low: vec![f64::NEG_INFINITY; 2],
        high: vec![f64::INFINITY; 2],
    };
    let order = Order {
        salient: &[0],
        absolute: false,
        gradient: &[2.135, 1.541],
        class: 0,
        ranked: Ranked::Probability,
    };
    let found = BoundedRow::new(&network, &[0.0, 0.0], &moves, order)
        .radius(1.0)
        .certified;
    let by_hand = (2.0 - 3.0_f64.ln()) / (5.0_f64.sqrt() + 17.0_f64.sqrt());
    assert!(
        found <= by_hand && found > by_hand - 1e-4,
        "{found} {by_hand}"
    );
}

#[test]
fn on_relu_networks_bounds_never_promise_more_than_the_search() {
    let mut stream = Seed::new(41).stream("networks");
    let mut certified_some = 0;
    for _ in 0..60 {
        let network = random_network(&[4, 5, 4, 2], &mut stream);
        let x: Vec<f64> = (0..4).map(|_| stream.normal()).collect();
        let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, 1.0, 4, false);
        let (exact, class, salient, gradient) =
            with_case(&network, &explained, &moves, &x, 2, |case| {
                let (logits, gates) = network.run(&x);
                let class = super::largest(&logits);
                let sign = if class == 0 { 1.0 } else { -1.0 };
                let gradient = network.gradient(&explained.seed, &gates);
                let gradient: Vec<f64> = gradient.iter().map(|g| sign * g).collect();
                (radius(case), class, case.salient.clone(), gradient)
            });
        let smooth = SmoothNetwork {
            activations: vec![Activation::Relu; 2],
            dense: network,
        };
        let set = MoveSet {
            norm: MoveNorm::L2,
            low: moves.low.clone(),
            high: moves.high.clone(),
        };
        let order = Order {
            salient: &salient,
            absolute: true,
            gradient: &gradient,
            class,
            ranked: Ranked::Probability,
        };
        let found = BoundedRow::new(&smooth, &x, &set, order).radius(1.0);
        if let Some(counterexample) = &exact.counterexample {
            assert!(found.certified <= counterexample.size + 1e-9);
        }
        certified_some += usize::from(found.certified > 0.0);
    }
    assert!(certified_some > 30, "{certified_some} of 60");
}

const FEATURES: usize = 8;
const K: usize = 3;

fn model(activation: model::Activation, classes: usize, seed: u64) -> Model {
    let config = MlpConfig {
        hidden: vec![12, 8],
        activation,
    };
    Model::fresh(
        ModelConfig::Mlp(config),
        InputShape::Table,
        FEATURES,
        (0..classes).map(|class| format!("c{class}")).collect(),
        None,
        Seed::new(seed),
    )
    .unwrap()
}

fn run(network: &Network, x: &[f64], class: Option<usize>) -> (usize, TopK) {
    let chain = Chain::new(network).unwrap();
    let mut tile = chain.tile();
    tile.run(x, Output::Probability, &[class.unwrap_or(0)]);
    let predicted = largest(tile.logits()).unwrap();
    tile.run(x, Output::Probability, &[class.unwrap_or(predicted)]);
    let importance: Vec<f64> = tile.gradient().iter().map(|value| value.abs()).collect();
    (predicted, TopK::of(&importance, K).unwrap())
}

#[test]
fn neither_points_nor_the_suite_break_what_bounds_certify() {
    let names: Vec<String> = (0..FEATURES).map(|feature| format!("f{feature}")).collect();
    let schema = Schema::table(&names);
    let soft = model::Activation::Softplus { beta: 3.0 };
    let mut stream = Seed::new(7).stream("points");
    for (activation, classes) in [(soft, 2), (soft, 4), (model::Activation::Relu, 4)] {
        let model = model(activation, classes, 11);
        let values: Vec<f64> = (0..10 * FEATURES)
            .map(|_| Arithmetic::SINGLE.nearest(stream.normal()))
            .collect();
        let ids: Vec<u64> = (0..10).collect();
        let rows = Points {
            values: &values,
            ids: &ids,
        };
        for norm in [Norm::L2, Norm::Linf] {
            let threat = |radius: f64| ThreatConfig {
                ball: BallConfig { norm, radius },
                ..ThreatConfig::papers()
            };
            let config = |radius: f64| CertifyConfig {
                k: K,
                threat: threat(radius),
                ..CertifyConfig::default()
            };
            let explain = ExplainConfig::default();
            let check = |radius: f64| config(radius).check(&explain, &schema).unwrap();
            assert!(!check(1.0).is_searched(&model.network));
            let found = check(1.0).radius(&model.network, rows).unwrap();
            assert!(found.iter().filter(|row| row.certified > 0.0).count() >= 5);
            for (x, found) in values.chunks(FEATURES).zip(&found) {
                let (class, top) = run(&model.network, x, None);
                let ball = BallConfig { norm, radius: 1.0 };
                for _ in 0..200 {
                    let d: Vec<f64> = (0..FEATURES).map(|_| stream.normal()).collect();
                    let size = ball.size(&[0.0; FEATURES], &d);
                    let moved: Vec<f64> = x
                        .iter()
                        .zip(&d)
                        .map(|(x, d)| Arithmetic::SINGLE.nearest(x + d * found.certified / size))
                        .collect();
                    if ball.size(x, &moved) <= found.certified {
                        assert_eq!(run(&model.network, &moved, Some(class)).1, top);
                    }
                }
            }
            // The least certified share against the suite, at one radius for all rows.
            let radius = 0.05;
            let worst = check(radius).worst_case(&model.network, rows).unwrap();
            let suite = SuiteConfig {
                effort: Effort::Quick,
                k: K,
                threat: threat(radius),
            };
            let suite = suite.check(&explain, &schema).unwrap();
            let attacked = suite.perturb(&model.network, rows, Seed::new(3)).unwrap();
            for (worst, attacked) in worst.iter().zip(&attacked.rows) {
                assert!(K - attacked.lost(K) >= worst.kept_at_least);
            }
        }
    }
}
