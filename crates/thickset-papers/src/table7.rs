//! Table 7: P@k under `ERAttack` for several k. The models are those of Table 1, trained for the dataset's own k.

use thickset::Result;
use thickset::attack::AttackConfig;
use thickset::bench::Bench;
use thickset::data::InputShape;

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, table_over_datasets};
use crate::runner::{BenchRunner, GridEntry};
use crate::table_column::{Better, PERCENT, TableColumn};
use crate::usual_measure::{attack, er_attack};
use crate::{TABLES, paper_numbers};

/// The paper's choices for tables.
const FOR_TABLES: [usize; 3] = [2, 5, 8];
/// And for images and graphs.
const FOR_OTHERS: [usize; 3] = [10, 30, 50];

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new("table7", "Table 7: P@k under ERAttack for several k");
    bench.add_setting(
        "models",
        "trained and chosen for the dataset's own k, measured for each k",
    );
    let printed = PaperTable {
        table: "table7",
        numbers: |dataset| {
            if TABLES.contains(&dataset) {
                &["P@2", "P@5", "P@8"]
            } else {
                &["P@10", "P@30", "P@50"]
            }
        },
        others: &["mnist-3-8-pairs", "adhd", "bp"],
    };
    table_over_datasets(
        runner,
        &mut bench,
        "P@k in per cent",
        &printed,
        |_, datasets| {
            let grid = runner.grid(datasets, runner.entries(datasets)?)?;
            let sizes = match datasets.seeds[0].dataset.shape() {
                InputShape::Table => FOR_TABLES,
                _ => FOR_OTHERS,
            };
            let mut columns = Vec::new();
            let features = datasets.seeds[0].dataset.features();
            for (index, k) in sizes.into_iter().enumerate() {
                let paper = |entry: &GridEntry| {
                    paper_numbers::number("table7", &datasets.name, &entry.id, index)
                };
                if k >= features {
                    let reason = format!("k = {k} leaves no other of the {features} features");
                    columns.push(TableColumn::of_dashes(
                        format!("P@{k}"),
                        &grid,
                        &reason,
                        paper,
                    ));
                    continue;
                }
                let found =
                    runner.measure_chosen(datasets, &grid, &format!("k = {k}"), |data| {
                        let config = AttackConfig {
                            k,
                            ..er_attack(data)
                        };
                        attack(config, data)
                    })?;
                let how = (PERCENT, Better::Higher);
                columns.push(TableColumn::of_rows(
                    format!("P@{k}"),
                    &grid,
                    &found,
                    "precision",
                    how,
                    paper,
                )?);
            }
            Ok((grid, columns))
        },
    )?;
    Ok(bench.finish())
}
