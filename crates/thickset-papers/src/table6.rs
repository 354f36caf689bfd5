//! Table 6: AUC before and after `ERAttack` and the MSE attack: whether an attack on explanations shows in predictions.

use thickset::Result;
use thickset::bench::Bench;

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, table_over_datasets};
use crate::paper_numbers;
use crate::runner::BenchRunner;
use crate::table_column::{Better, TableColumn};
use crate::usual_measure::{attack, clean, er_attack, mse_attack};

/// Places of a clean AUC and of the same under attack in a cell of the paper's table.
const PAIRS: [(usize, usize); 2] = [(0, 1), (2, 3)];

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new("table6", "Table 6: clean and adversarial AUC");
    let printed = PaperTable {
        table: "table6",
        numbers: |_| &["clean", "ERAttack", "clean, MSE", "MSE"],
        others: &["adhd", "bp"],
    };
    let mut widest = 0.0_f64;
    table_over_datasets(
        runner,
        &mut bench,
        "AUC of the attacked rows",
        &printed,
        |_, datasets| {
            let grid = runner.grid(datasets, runner.entries(datasets)?)?;
            let before = runner.measure_chosen(datasets, &grid, "clean", clean)?;
            let er = runner.measure_chosen(datasets, &grid, "ERAttack", |data| {
                attack(er_attack(data), data)
            })?;
            let mse = runner.measure_chosen(datasets, &grid, "MSE attack", |data| {
                attack(mse_attack(data), data)
            })?;
            let column = |name: &str, found, what| {
                TableColumn::of_numbers(
                    name.to_owned(),
                    &grid,
                    found,
                    what,
                    Better::Unmarked,
                    |_| None,
                )
            };
            let columns = vec![
                column("clean", &before, "auc of the attacked rows")?,
                column("ERAttack", &er, "auc")?,
                column("MSE", &mse, "auc")?,
            ];
            for attacked in &columns[1..] {
                for (clean, attacked) in columns[0].entries.iter().zip(&attacked.entries) {
                    if let (Some(clean), Some(attacked)) = (clean.mean(), attacked.mean()) {
                        widest = widest.max((clean - attacked).abs());
                    }
                }
            }
            Ok((grid, columns))
        },
    )?;
    let of_paper = paper_numbers::widest_difference("table6", &PAIRS).unwrap_or(f64::NAN);
    bench.add_finding(format!(
        "the paper says that clean and adversarial AUC are within 0.01 of each other (its cells, of ADHD and BP, differ by up to {of_paper:.2}); here \
         the widest difference is {widest:.4}"
    ));
    Ok(bench.finish())
}
