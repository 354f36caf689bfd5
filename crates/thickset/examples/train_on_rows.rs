//! Trains R2ET on a `Vec<f32>` and prints the reasons of a few rows.
//!
//! `cargo run --release -p thickset --example train_on_rows`

use thickset::config::RunConfig;
use thickset::model::ExplainOptions;
use thickset::{Dataset, Result, Seed, train};

fn main() -> Result<()> {
    let names = ["income", "debt", "age", "rooms", "cars"];
    let mut draws = Seed::new(1).stream("example");
    let people = 1000;
    let mut values = Vec::with_capacity(people * names.len());
    let mut labels = Vec::with_capacity(people);
    for _ in 0..people {
        #[expect(clippy::cast_possible_truncation, reason = "features are f32")]
        let row: Vec<f32> = names.iter().map(|_| draws.uniform() as f32).collect();
        labels.push(usize::from(row[0] > 0.5 * row[1] + 0.3 * row[2]));
        values.extend(row);
    }
    let data = Dataset::from_rows(values, labels, &names)?.with_classes(["refused", "granted"])?;

    let mut run = RunConfig::default();
    run.train.epochs = 10;
    let trained = train(&run.check()?, &data)?;
    println!("validation AUC {:.3}", trained.selected.auc);

    let model = trained.model;
    let rows = data.test().first(5);
    let explained = model.explain(&rows, &ExplainOptions::default())?;
    for (place, row) in explained.rows.iter().enumerate() {
        let top = explained.top(place, 3)?.join(", ");
        println!(
            "row {}: {} because of {top}",
            rows.id(place),
            model.classes()[row.class]
        );
    }
    Ok(())
}
