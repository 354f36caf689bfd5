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
use crate::seeded_dataset::Slowness;
use crate::table_column::{Better, PERCENT, TableColumn};
use crate::usual_measure::{er_attack, explain};

/// Points of a quick run's explanations of images and graphs: each costs a gradient, and so it does in every step of an attack.
const FEW_POINTS: usize = 10;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let runner = &runner.with_slowness(Slowness::ManyPoints)?;
    let mut bench = BenchBuilder::new(
        "table2",
        "Table 2: P@k under ERAttack for Grad, SmoothGrad and Integrated Gradients",
    );
    bench.add_setting(
        "explanations",
        format!(
            "SmoothGrad: 50 draws of variance 0.5; Integrated Gradients: 100 points from 0, as the paper; of images and graphs a quick run \
             takes {FEW_POINTS} draws and {FEW_POINTS} points"
        ),
    );
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
            let is_short =
                datasets.seeds[0].plan.is_some() && runner.options.effort == BenchEffort::Quick;
            let explanations = explanations(is_short);
            for (index, (name, explanation)) in explanations.iter().enumerate() {
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

/// The table's explanations, as the paper has them or with few points.
fn explanations(is_short: bool) -> [(&'static str, ExplanationConfig); 3] {
    let mut smooth = smooth_grad::SmoothGradConfig::default();
    let mut path = integrated_gradients::IntegratedGradientsConfig::default();
    if is_short {
        smooth.draws = FEW_POINTS;
        path.steps = FEW_POINTS;
    }
    [
        ("Grad", ExplanationConfig::default()),
        ("SG", ExplanationConfig::SmoothGrad(smooth)),
        ("IG", ExplanationConfig::IntegratedGradients(path)),
    ]
}
