//! Table 2: P@k under `ERAttack` where the attacked explanation is Grad, SmoothGrad or Integrated Gradients. The models are
//! those of Table 1, trained for Grad.

use thickset::Result;
use thickset::bench::Bench;
use thickset::explain::{ExplainConfig, ExplanationConfig, integrated_gradients, smooth_grad};

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, of_paper, table_over_datasets};
use crate::measure::Measure;
use crate::options::BenchEffort;
use crate::paper_numbers;
use crate::runner::BenchRunner;
use crate::table_column::{Better, PERCENT, TableColumn};
use crate::usual_measure::{er_attack, explain};

/// Test rows of a quick run: an explanation here costs 50 or 100 gradients, and so does every step of an attack on it.
const QUICK_ROWS: usize = 100;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut options = runner.options.clone();
    if options.effort == BenchEffort::Quick {
        options.rows.get_or_insert(QUICK_ROWS);
    }
    let runner = &BenchRunner::new(&options, runner.on_step)?;
    let mut bench = BenchBuilder::new(
        "table2",
        "Table 2: P@k under ERAttack for Grad, SmoothGrad and Integrated Gradients",
    );
    bench.add_setting("explanations", "SmoothGrad: 50 draws of variance 0.5; Integrated Gradients: 100 points from 0, as the paper");
    let methods = [
        ("Grad", ExplanationConfig::default()),
        (
            "SG",
            ExplanationConfig::SmoothGrad(smooth_grad::SmoothGradConfig::default()),
        ),
        (
            "IG",
            ExplanationConfig::IntegratedGradients(
                integrated_gradients::IntegratedGradientsConfig::default(),
            ),
        ),
    ];
    let printed = PaperTable {
        table: "table2",
        numbers: |_| &["Grad", "SG", "IG"],
        others: &["mnist-3-8-pairs", "adhd", "bp"],
    };
    table_over_datasets(
        runner,
        &mut bench,
        "P@k in per cent",
        &printed,
        |_, datasets| {
            let grid = runner.grid(datasets, of_paper(runner, datasets, "table2")?)?;
            let mut columns = Vec::new();
            for (index, (name, explanation)) in methods.iter().enumerate() {
                let found =
                    runner.measure_chosen(datasets, &grid, name, |data| Measure::Attack {
                        attack: er_attack(data),
                        explain: ExplainConfig {
                            explanation: explanation.clone(),
                            ..explain(data)
                        },
                    })?;
                let how = (PERCENT, Better::Higher);
                columns.push(TableColumn::of_rows(
                    (*name).to_owned(),
                    &grid,
                    &found,
                    "precision",
                    how,
                    |entry| paper_numbers::number("table2", &datasets.name, &entry.id, index),
                )?);
            }
            Ok((grid, columns))
        },
    )?;
    Ok(bench.finish())
}
