//! IGR's Figure 7: Kendall's correlation against Pearson's on simulated attributions, beside the cosine.

use thickset::bench::{Bench, Cell, Figure, Mark, Series, Style, Table, TableRow};
use thickset::metric::spearman;
use thickset::statistics::Estimate;
use thickset::{Result, Seed};

use crate::bench_builder::BenchBuilder;
use crate::runner::BenchRunner;
use crate::simulation::{Similarity, pairs};

/// Entries of the drawn attributions: an image of 28 x 28.
const PIXELS: usize = 784;
/// How far entries lie from their common level: far, and near, where IGR's appendix B calls Pearson's correlation unstable.
const SPREADS: [f64; 3] = [1.0, 0.1, 0.01];

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let draws = runner.options.test_rows();
    let mut bench = BenchBuilder::new(
        "fig7-igr",
        "IGR, Figure 7: Kendall's correlation against Pearson's, simulated",
    );
    bench.add_setting(
        "pairs",
        format!("{draws} pairs of {PIXELS} entries, the second a mix of the first and an independent one; the main paper's own simulation is not published"),
    );
    let mut rows = Vec::new();
    for spread in SPREADS {
        let mut stream = Seed::new(0).stream(&format!("fig7-igr {spread}"));
        let similarities = pairs(draws, PIXELS, spread, &mut stream)?;
        let list = |of: fn(&Similarity) -> f64| similarities.iter().map(of).collect::<Vec<f64>>();
        let kendalls = list(|one| one.kendall);
        let mut cells = Vec::new();
        let mut series = Vec::new();
        for (name, values) in [
            ("cosine", list(|one| one.cosine)),
            ("Pearson", list(|one| one.pearson)),
        ] {
            cells.push(Cell::Number {
                ours: Estimate {
                    value: spearman::score(&values, &kendalls)?,
                    interval: None,
                    count: draws,
                },
                paper: None,
                mark: Mark::None,
            });
            let points = values
                .iter()
                .zip(&kendalls)
                .map(|(x, y)| [*x, *y])
                .collect();
            series.push(Series {
                name: name.to_owned(),
                points,
            });
        }
        let values: Vec<f64> = cells
            .iter()
            .map(|cell| match cell {
                Cell::Number { ours, .. } => ours.value,
                _ => f64::NAN,
            })
            .collect();
        bench.add_finding(format!(
            "deviation {spread} around 1: is Pearson's correlation looser with Kendall's than the cosine? {}: rank correlations {:.3} and {:.3}",
            if values[1] < values[0] { "yes" } else { "no" },
            values[1],
            values[0]
        ));
        rows.push(TableRow {
            label: format!("deviation {spread}"),
            cells,
        });
        bench.add_figure(Figure {
            title: format!("Entries with a deviation of {spread} around 1"),
            caption: "Kendall's correlation of pairs of attributions that grow apart.".to_owned(),
            x_label: "cosine or Pearson's correlation".to_owned(),
            y_label: "Kendall".to_owned(),
            style: Style::Points,
            series,
        });
    }
    bench.add_table(Table {
        title: "Rank correlation with Kendall's correlation".to_owned(),
        corner: "entries".to_owned(),
        columns: vec!["cosine".to_owned(), "Pearson".to_owned()],
        rows,
    });
    Ok(bench.finish())
}
