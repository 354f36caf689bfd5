//! The multi-objective attack on real networks.

use thickset::Seed;
use thickset::attack::moo::{self, Ending, MooConfig};
use thickset::data::{InputShape, Schema};
use thickset::explain::{ExplainConfig, ExplanationConfig, Of, Points, grad};
use thickset::metric::ranking::TopK;
use thickset::model::{
    Activation, Fresh, GcnConfig, LinearConfig, MlpConfig, ModelConfig, SiameseConfig, siamese,
};
use thickset_engine::{DType, Device, Init, Parameter, ParameterSource, Role, Tensor, TensorData};

use crate::golden::{both, table, values};
use crate::trained::{FEATURES, binary, rows};

#[test]
fn a_flip_it_reports_is_one_within_its_budgets() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(12, 31);
    let ids: Vec<u64> = (0..12).collect();
    let explain = ExplainConfig::default().check(&table(FEATURES)).unwrap();
    let settings = MooConfig {
        input_budget: Some(0.4),
        prediction_budget: 0.3,
        iterations: 60,
        ..MooConfig::default()
    };
    let explained = |values: &[f64]| {
        let batch = Points { values, ids: &ids };
        explain.attribute(&network, batch, Seed::new(1)).unwrap()
    };
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let outcomes = moo::perturb(&network, &explain, batch, 4, &settings, Seed::new(1)).unwrap();
    let points: Vec<f64> = outcomes.iter().flat_map(|one| one.x.clone()).collect();
    let (before, after) = (explained(&x), explained(&points));
    let mut flips = 0;
    for (row, outcome) in outcomes.iter().enumerate() {
        let Ending::Flipped { ahead, behind } = outcome.ending else {
            continue;
        };
        flips += 1;
        let top = TopK::of(&before[row].importance, 4).unwrap();
        assert!(top.contains(ahead) && !top.contains(behind));
        assert!(after[row].importance[ahead] < after[row].importance[behind] + 1e-6);
        let distance = |a: &[f64], b: &[f64]| {
            a.iter()
                .zip(b)
                .map(|(a, b)| (a - b).powi(2))
                .sum::<f64>()
                .sqrt()
        };
        let moved = distance(&outcome.x, &x[row * FEATURES..(row + 1) * FEATURES]);
        assert!(moved <= 0.4 + 1e-6, "{moved}");
        assert!(distance(&before[row].probabilities, &after[row].probabilities) <= 0.3 + 1e-5);
        assert!(outcome.iterations >= 1);
    }
    assert!(flips >= 6, "{flips} flips of 12");
}

#[test]
fn on_a_smooth_model_it_flips_every_row_that_er_attack_flips_in_the_same_ball() {
    let [_, golden] = both();
    let explain = ExplainConfig::default().check(&golden.schema()).unwrap();
    let settings = MooConfig {
        input_budget: Some(golden.budget),
        prediction_budget: 1.0,
        radius: golden.step_size,
        iterations: 100,
        ..MooConfig::default()
    };
    let batch = Points {
        values: golden.values("x"),
        ids: &golden.ids(),
    };
    let network = &golden.network;
    let outcomes = moo::perturb(network, &explain, batch, golden.k, &settings, Seed::new(1));
    for (outcome, er) in outcomes.unwrap().iter().zip(golden.values("er_first")) {
        let flipped = matches!(outcome.ending, Ending::Flipped { .. });
        assert!(flipped || *er > 20.0, "{outcome:?}, ERAttack: step {er}");
    }
}

/// `z_0 = softplus(x_0) + 0.9 softplus(x_1)`, `z_1 = 0`: the logit's gradient is `(s(x_0), 0.9 s(x_1))`, s being the sigmoid.
struct ByHand;

impl ParameterSource for ByHand {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let values = match name {
            "layers.0.weight" => vec![1.0, 0.0, 0.0, 1.0],
            "layers.2.weight" => vec![1.0, 0.9, 0.0, 0.0],
            _ => vec![0.0; 2],
        };
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), DType::F64)))
    }

    fn dtype(&self) -> DType {
        DType::F64
    }
}

#[test]
fn on_a_network_made_by_hand_the_first_flip_is_where_it_must_be() {
    let model = ModelConfig::Mlp(MlpConfig {
        hidden: vec![2],
        activation: Activation::Softplus { beta: 1.0 },
    });
    let network = model
        .network(&InputShape::Table, 2, 2, &mut ByHand)
        .unwrap();
    let explain = ExplainConfig {
        explanation: ExplanationConfig::Grad(grad::GradConfig { of: Of::Logit }),
        ..ExplainConfig::default()
    };
    let explain = explain.check(&table(2)).unwrap();
    let settings = MooConfig {
        input_budget: Some(10.0),
        prediction_budget: 100.0,
        radius: 0.05,
        ..MooConfig::default()
    };
    let batch = Points {
        values: &[0.0, 0.0],
        ids: &[0],
    };
    let outcome = moo::perturb(&network, &explain, batch, 1, &settings, Seed::new(1)).unwrap();
    // At 0 the importances are 1/2 and 0.45, and their gap falls by sqrt(0.25^2 + 0.225^2) = 0.336 a unit of length: the
    // nearest flip lies 0.149 away, so the third step of 0.05 passes it.
    let outcome = &outcome[0];
    assert_eq!(
        outcome.ending,
        Ending::Flipped {
            ahead: 0,
            behind: 1
        }
    );
    assert_eq!((outcome.iterations, outcome.taken), (3, 3));
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    assert!(sigmoid(outcome.x[0]) < 0.9 * sigmoid(outcome.x[1]));
    let direction = outcome.x[0] / outcome.x[1];
    assert!((direction + 1.0 / 0.9).abs() < 0.02, "{:?}", outcome.x);
}

#[test]
fn on_a_relu_network_a_twin_finds_what_the_networks_own_derivatives_hide() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(12, 31);
    let ids: Vec<u64> = (0..12).collect();
    let explain = ExplainConfig::default().check(&table(FEATURES)).unwrap();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let flips = |surrogate: Option<f64>| {
        let settings = MooConfig {
            surrogate,
            iterations: 40,
            ..MooConfig::default()
        };
        let found = moo::perturb(&network, &explain, batch, 4, &settings, Seed::new(1)).unwrap();
        let flipped = found
            .iter()
            .filter(|one| matches!(one.ending, Ending::Flipped { .. }));
        flipped.count()
    };
    let (own, twin) = (flips(None), flips(Some(10.0)));
    assert!(twin > own, "{own} of its own, {twin} with a twin");
}

#[test]
fn rows_of_too_many_features_are_refused_before_they_fill_the_memory() {
    let model = ModelConfig::Linear(LinearConfig::default());
    let network = model
        .network(&InputShape::Table, 3000, 2, &mut Fresh::new(Seed::new(1)))
        .unwrap();
    let explain = ExplainConfig::default().check(&table(3000)).unwrap();
    let batch = Points {
        values: &vec![0.5; 3000],
        ids: &[0],
    };
    let settings = MooConfig::default();
    let refused = moo::perturb(&network, &explain, batch, 8, &settings, Seed::new(1));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "attack `moo` takes at most 4194304 second derivatives and 1048576 gaps a row, got 3000 inputs times 3000 importances, 23936 gaps"
    );
}

#[test]
fn all_three_predictions_of_a_pair_are_kept() {
    let model = ModelConfig::Siamese(SiameseConfig {
        embedding: siamese::Embedding::Gcn(GcnConfig {
            hidden: 6,
            embedding: 4,
            ..GcnConfig::default()
        }),
        size: 1,
    });
    let shape = InputShape::Pair {
        of: Box::new(InputShape::Graph { nodes: 5 }),
    };
    let network = model
        .network(&shape, 20, 2, &mut Fresh::new(Seed::new(3)))
        .unwrap();
    let schema = Schema::pair(&Schema::graph(5, -1.0, 1.0));
    let explain = ExplainConfig::default().check(&schema).unwrap();
    let mut stream = Seed::new(4).stream("graphs");
    let x: Vec<f64> = (0..6 * 20).map(|_| stream.uniform_in(-1.0, 1.0)).collect();
    let batch = Points {
        values: &x,
        ids: &[0, 1, 2, 3, 4, 5],
    };
    let settings = MooConfig {
        input_budget: Some(1.0),
        prediction_budget: 0.05,
        surrogate: Some(10.0),
        iterations: 40,
        ..MooConfig::default()
    };
    let outcomes = moo::perturb(&network, &explain, batch, 4, &settings, Seed::new(1)).unwrap();
    let mut flips = 0;
    for (outcome, x) in outcomes.iter().zip(x.chunks(20)) {
        if !matches!(outcome.ending, Ending::Flipped { .. }) {
            continue;
        }
        flips += 1;
        let probabilities = |row: &[f64]| values(network.probabilities(network.batch(row)));
        let before = probabilities(x);
        let (left, right) = outcome.x.split_at(10);
        let mut squares = 0.0;
        for view in [
            outcome.x.clone(),
            [left, &x[10..]].concat(),
            [&x[..10], right].concat(),
        ] {
            let after = probabilities(&view);
            assert_eq!(before[0] > before[1], after[0] > after[1]);
            let moves = before.iter().zip(&after).map(|(a, b)| (a - b).powi(2));
            squares += moves.sum::<f64>();
        }
        assert!(squares.sqrt() <= 0.05 + 1e-5, "{}", squares.sqrt());
    }
    assert!(flips > 0, "{outcomes:?}");
}
