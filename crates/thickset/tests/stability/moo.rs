//! The multi-objective attack on real networks.

use thickset::Seed;
use thickset::attack::moo::{self, Ending, Settings};
use thickset::explain::{ExplainConfig, Rows};
use thickset::metric::ranking::TopK;
use thickset::model::Activation;

use crate::golden::{both, table};
use crate::trained::{FEATURES, binary, rows};

#[test]
fn a_flip_it_reports_is_one_within_its_budgets() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(12, 31);
    let ids: Vec<u64> = (0..12).collect();
    let explain = ExplainConfig::default().check(&table(FEATURES)).unwrap();
    let settings = Settings {
        input_budget: 0.4,
        prediction_budget: 0.3,
        iterations: 60,
        ..Settings::default()
    };
    let explained = |values: &[f64]| {
        let batch = Rows { values, ids: &ids };
        explain.attribute(&network, batch, Seed::new(1)).unwrap()
    };
    let batch = Rows {
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
    let settings = Settings {
        input_budget: golden.budget,
        prediction_budget: 1.0,
        radius: golden.step_size,
        iterations: 100,
        ..Settings::default()
    };
    let batch = Rows {
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
