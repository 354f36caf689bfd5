//! IGR's section B: Pearson's correlation of `x` with `x + η` and with `x - η` has opposite signs where x has little variance, though both
//! are near x; the cosine and Kendall's correlation do not mind.

use thickset::bench::{Bench, Cell, Mark, Table, TableRow};
use thickset::statistics::mean;
use thickset::{Result, Seed};

use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::runner::BenchRunner;
use crate::simulation::Similarity;

/// Entries of an input: an image of 28 x 28.
const PIXELS: usize = 784;
/// Deviation of the entries of x around 1.
const DEVIATIONS: [f64; 4] = [1.0, 0.1, 0.01, 0.001];
/// Deviation of the entries of η.
const MOVE: f64 = 0.05;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let draws = runner.options.test_rows();
    let mut bench = BenchBuilder::new(
        "pearson-flip",
        "IGR, section B: the sign of Pearson's correlation on inputs of small variance, simulated",
    );
    bench.add_setting(
        "inputs",
        format!("{draws} of each deviation, {PIXELS} entries around 1, moved by η with a deviation of {MOVE} an entry"),
    );
    let mut rows = Vec::new();
    for deviation in DEVIATIONS {
        let name = format!("pearson flip {deviation}");
        let mut stream = Seed::new(0).stream(&name);
        let (mut flips, mut sums, mut cosines) = (0, Vec::new(), Vec::new());
        for _ in 0..draws {
            let x: Vec<f64> = (0..PIXELS)
                .map(|_| 1.0 + deviation * stream.normal())
                .collect();
            let eta: Vec<f64> = (0..PIXELS).map(|_| MOVE * stream.normal()).collect();
            let moved = |sign: f64| -> Vec<f64> {
                x.iter().zip(&eta).map(|(x, eta)| x + sign * eta).collect()
            };
            let (plus, minus) = (
                Similarity::of(&x, &moved(1.0))?,
                Similarity::of(&x, &moved(-1.0))?,
            );
            flips += usize::from(plus.pearson * minus.pearson < 0.0);
            sums.push((plus.pearson - minus.pearson).abs());
            cosines.push((plus.cosine - minus.cosine).abs());
        }
        let share = as_f64(flips) / as_f64(draws.max(1));
        let (pearson, cosine) = (mean::estimate(&sums)?, mean::estimate(&cosines)?);
        bench.add_finding(format!(
            "deviation {deviation}: Pearson's correlations with x + η and x - η have opposite signs in {share:.2} of the draws and differ by \
             {:.4} on average, the cosines by {:.4}",
            pearson.value, cosine.value
        ));
        let number = |ours| Cell::Number {
            ours,
            paper: None,
            mark: Mark::None,
        };
        rows.push(TableRow {
            label: format!("deviation {deviation}"),
            cells: vec![
                Cell::Text(format!("{share:.2}")),
                number(pearson),
                number(cosine),
            ],
        });
    }
    bench.add_table(Table {
        title: "x + η against x - η".to_owned(),
        corner: "inputs".to_owned(),
        columns: [
            "opposite signs",
            "difference of Pearson",
            "difference of the cosine",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
    });
    Ok(bench.finish())
}
