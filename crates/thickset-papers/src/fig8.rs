//! Figure 8: how vanilla's importances fall from rank to rank, on each dataset.

use thickset::Result;
use thickset::bench::{Bench, Figure, Series, Style};

use crate::TABLES;
use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{PaperTable, over_datasets};
use crate::measure::{Measure, Measured};
use crate::runner::BenchRunner;
use crate::usual_measure::explain;

/// Ranks that are drawn; beyond them importances hardly fall.
const RANKS: usize = 150;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new("fig8", "Figure 8: vanilla's importances in falling order");
    bench.note_training(runner);
    let others = ["mnist-3-8-pairs", "cifar10", "roct", "adhd", "bp"];
    over_datasets(
        runner,
        &mut bench,
        (&TABLES, &PaperTable::figure(&others)),
        1,
        |bench, datasets| {
            let name = &datasets.name;
            bench.note_datasets(datasets);
            let data = &datasets.seeds[0];
            let cells = runner.vanilla(datasets)?;
            let trained = cells.into_iter().filter(|cell| cell.selected.is_some());
            let measure = Measure::Magnitudes {
                explain: explain(data),
            };
            let jobs: Vec<(usize, String, Measure)> = trained
                .enumerate()
                .map(|(seed, cell)| (seed, cell.key, measure.clone()))
                .collect();
            let Some(found) = runner
                .measure(datasets, "importances", &jobs)?
                .into_iter()
                .next()
            else {
                bench.add_finding(format!("{name}: training failed"));
                return Ok(());
            };
            bench.add_finding(sentence(name, data.k, found.rows("mean")?));
            bench.add_figure(figure(name, data.k, &found)?);
            Ok(())
        },
    )?;
    Ok(bench.finish())
}

/// How far apart the last salient feature and the first other one are.
fn sentence(dataset: &str, k: usize, mean: &[f64]) -> String {
    let at = |rank: usize| mean.get(rank - 1).copied().unwrap_or(0.0);
    format!(
        "{dataset}: the first of {} features has 1, the second {:.3} of it, rank {k} has {:.3}, rank {} has {:.3}, the last {:.3}",
        mean.len(),
        at(2),
        at(k),
        k + 1,
        at(k + 1),
        mean.last().copied().unwrap_or(0.0)
    )
}

fn figure(dataset: &str, k: usize, found: &Measured) -> Result<Figure> {
    let series = |name: &'static str, label: &str| -> Result<Series> {
        let values = found.rows(name)?.iter().take(RANKS).enumerate();
        Ok(Series {
            name: label.to_owned(),
            points: values
                .map(|(place, value)| [as_f64(place + 1), *value])
                .collect(),
        })
    };
    Ok(Figure {
        title: format!("{dataset}: importances in falling order"),
        caption: format!(
            "Importances of each row as shares of its largest, by rank; the {k} most important features count as salient."
        ),
        x_label: "rank".to_owned(),
        y_label: "share of the largest importance".to_owned(),
        style: Style::Lines,
        series: vec![
            series("mean", "mean over rows")?,
            series("least", "least of all rows")?,
            series("most", "most of all rows")?,
        ],
    })
}
