//! Table 8: P@k under `ERAttack` of models trained from scratch and of models retrained from vanilla, whose ranking they keep;
//! and, beyond the paper, how the retrained ones do under the suite.

use thickset::Result;
use thickset::bench::Bench;

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, of_paper, table_over_datasets};
use crate::gain_target::GainTarget;
use crate::method::{BenchMethod, VANILLA};
use crate::paper_numbers;
use crate::runner::{BenchRunner, GridEntry, TrainingPlan};
use crate::table_column::{Better, PERCENT, TableColumn, labels, table};
use crate::usual_measure::{attack, er_attack};

/// "At most 10 epochs".
const RETRAIN_EPOCHS: usize = 10;

/// Why there is no retrained number.
const NO_RETRAINING: &str = "it is another architecture, so it cannot begin with vanilla's weights";

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "table8",
        "Table 8: P@k under ERAttack from scratch and retrained",
    );
    let epochs = RETRAIN_EPOCHS.min(runner.options.training_epochs());
    bench.add_setting(
        "retraining",
        format!("at most {epochs} epochs from the same seed's vanilla, whose ranking is kept"),
    );
    let printed = PaperTable {
        table: "table8",
        numbers: |_| &["scratch", "retrained"],
        others: &[],
    };
    table_over_datasets(
        runner,
        &mut bench,
        "P@k in per cent",
        &printed,
        |bench, datasets| {
            let vanilla = runner.vanilla(datasets)?;
            let entries = of_paper(runner, datasets, "table8")?;
            let plain = GridEntry::new(BenchMethod::find(VANILLA)?, datasets)?.model;
            let mut again = entries.clone();
            for entry in &mut again {
                let is_other = entry
                    .settings
                    .iter()
                    .any(|objective| objective.objective().model(entry.model.clone()) != plain);
                if is_other {
                    entry.refusal = Some(NO_RETRAINING.to_owned());
                }
            }
            let scratch = runner.grid(datasets, entries)?;
            let further = TrainingPlan {
                epochs,
                from: Some(&vanilla),
                ..runner.scratch(datasets)
            };
            let retrained = runner.grid_by(datasets, again, &further)?;
            let measure = |grid, what| {
                runner.measure_chosen(datasets, grid, what, |data| attack(er_attack(data), data))
            };
            let (first, second) = (
                measure(&scratch, "ERAttack")?,
                measure(&retrained, "ERAttack, retrained")?,
            );
            let goal = GainTarget::measure(runner, datasets, &retrained)?;
            if let Some(sentence) =
                goal.sentence(&format!("{}, retrained", datasets.name), &retrained)
            {
                bench.add_finding(sentence);
            }
            bench.add_table(table(
                &format!("{}: the retrained models under the suite", datasets.name),
                &labels(&retrained),
                &[goal.suite, goal.auc, goal.distinctness],
            )?);
            let column = |name: &str, grid, found, index| {
                let how = (PERCENT, Better::Higher);
                TableColumn::of_rows(name.to_owned(), grid, found, "precision", how, |entry| {
                    paper_numbers::number("table8", &datasets.name, &entry.id, index)
                })
            };
            let columns = vec![
                column("scratch", &scratch, &first, 0)?,
                column("retrained", &retrained, &second, 1)?,
            ];
            Ok((scratch, columns))
        },
    )?;
    Ok(bench.finish())
}
