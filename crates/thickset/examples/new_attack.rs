//! Writes an attack, one feature at a time, and runs it beside the suite.
//!
//! An attack names itself, says which shared options it uses, and plans its search. A search draws or computes points, has them
//! evaluated, and keeps the worst; the state knows the threat set, the prediction to keep and the explanation.
//!
//! `cargo run --release -p thickset --example new_attack`

use std::sync::Arc;

use thickset::attack::{
    Attack, AttackConfig, AttackOption, AttackState, Attacked, Plan, Search, Setup,
};
use thickset::config::RunConfig;
use thickset::explain::{ExplainConfig, Points};
use thickset::model::AttackOptions;
use thickset::registry::{Family, Info};
use thickset::{Dataset, Result, Seed, train};

static INFO: Info = Info {
    id: "one-feature",
    label: "One feature",
    family: Family::Attack,
    summary: "Moves one feature as far as it may go, each in turn",
    formula: "x' = x ± radius e_i",
    source: "an example",
    direction: None,
    cost: "two evaluations a feature",
    defaults: &[],
};

/// Moves one feature at a time.
#[derive(Clone, Copy, Debug)]
struct OneFeature {
    radius: f64,
}

impl Attack for OneFeature {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        &[AttackOption::Radius]
    }

    fn plan(&self, setup: &Setup<'_>) -> Result<Plan> {
        let radius = setup.threat.ball.radius;
        Ok(Plan::Search(Arc::new(Self { radius })))
    }
}

impl Search for OneFeature {
    fn run(&self, mut state: AttackState<'_>) -> Result<Vec<Attacked>> {
        let (rows, features) = (state.count(), state.features());
        for feature in 0..features {
            for sign in [1.0, -1.0] {
                let mut moved = state.origin().to_vec();
                for row in 0..rows {
                    moved[row * features + feature] += sign * self.radius;
                }
                // Back into the threat set, so that immutable columns stay; then whole numbers and categories are made so.
                state.project(&mut moved);
                let mut points = moved.clone();
                state.settle(state.origin(), &moved, &mut points);
                state.evaluate(&points)?;
                for row in 0..rows {
                    state.keep_if_worst(row, &points);
                }
            }
        }
        state.finish()
    }
}

fn main() -> Result<()> {
    let mut draws = Seed::new(2).stream("example");
    #[expect(clippy::cast_possible_truncation, reason = "features are f32")]
    let values: Vec<f32> = (0..3000).map(|_| draws.uniform() as f32).collect();
    let labels = values
        .chunks(6)
        .map(|x| usize::from(x[0] * x[1] + x[2] > 0.8))
        .collect();
    let data = Dataset::from_rows(values, labels, &["a", "b", "c", "d", "e", "f"])?;
    let mut run = RunConfig::default();
    run.train.epochs = 10;
    let model = train(&run.check()?, &data)?.model;

    let config = AttackConfig {
        k: 2,
        ..AttackConfig::default()
    };
    let attack = OneFeature { radius: 0.0 };
    let attack = config.check_with(&attack, &ExplainConfig::default(), model.schema())?;
    let test = data.test();
    let mut rows = vec![0.0; test.len() * 6];
    for (place, row) in rows.chunks_mut(6).enumerate() {
        test.copy(place, row);
    }
    let values: Vec<f64> = rows.into_iter().map(f64::from).collect();
    let ids: Vec<u64> = (0..test.len()).map(|place| test.id(place)).collect();
    let points = Points {
        values: &values,
        ids: &ids,
    };
    let found = attack.perturb(&model.network, points, Seed::new(0))?;
    let kept: f64 = found.iter().map(|row| row.precision).sum();
    #[expect(clippy::cast_precision_loss, reason = "there are few rows")]
    let kept = kept / found.len() as f64;
    let options = AttackOptions {
        k: Some(2),
        ..AttackOptions::default()
    };
    let suite = model.attack(&test, &options)?.precision_at_k()?.value;
    println!("P@2: {kept:.3} one feature at a time, {suite:.3} under the suite");
    Ok(())
}
