//! Writes an objective, the class loss with a penalty on the length of its input gradient, and trains with it.
//!
//! An objective makes a loss of a batch: named terms of logits, input gradients and Hessian products, which one `backward`
//! differentiates in the weights.
//!
//! `cargo run --release -p thickset --example new_objective`

use thickset::config::RunConfig;
use thickset::model::AttackOptions;
use thickset::objective::{Batch, Loss, Objective};
use thickset::registry::{Family, Info};
use thickset::train::train_objective;
use thickset::{Dataset, Result, Seed};
use thickset_engine::Output;

static INFO: Info = Info {
    id: "gradient-penalty",
    label: "Gradient penalty",
    family: Family::Objective,
    summary: "The class loss and the square of its input gradient",
    formula: "L = CE + w mean ||grad_x CE||_2^2",
    source: "an example",
    direction: None,
    cost: "one input gradient a step",
    defaults: &[],
};

#[derive(Debug)]
struct GradientPenalty {
    weight: f64,
}

impl Objective for GradientPenalty {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let pass = batch.network.pass(batch.x.clone());
        let loss = batch.class_loss_of(&pass);
        let gradient = pass.input_gradient(Output::Loss, batch.labels.clone());
        let gradient = gradient.value();
        let rows = gradient.dims()[0];
        #[expect(clippy::cast_precision_loss, reason = "a batch has few rows")]
        let share = 1.0 / rows as f64;
        let penalty = (gradient.clone() * gradient).sum() * share;
        Ok(loss.plus("gradient", self.weight, penalty, false))
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
    let run = run.check()?;
    for weight in [0.0, 0.1, 1.0] {
        let trained = train_objective(&run, &data, &GradientPenalty { weight })?;
        let attacks = trained
            .model
            .attack(&data.test(), &AttackOptions::default())?;
        println!(
            "weight {weight}: validation AUC {:.3}, P@{} {:.3}",
            trained.selected.auc,
            attacks.k,
            attacks.precision_at_k()?.value
        );
    }
    Ok(())
}
