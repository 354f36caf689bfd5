//! IGR's Theorem 1: among vectors Y with `cos(X, Y) >= cos(X', Y)`, Kendall's correlation with X is on average at least that with
//! X', where X' is X with two entries exchanged or one made smaller.

use thickset::bench::{Bench, Cell, Figure, Mark, Series, Style, Table, TableRow};
use thickset::metric::spearman;
use thickset::statistics::{Estimate, mean};
use thickset::{Result, Seed, Stream};

use crate::bench_builder::BenchBuilder;
use crate::runner::BenchRunner;
use crate::sequence_search::success_rate;
use crate::simulation::{Similarity, pairs, positive};

/// Sizes of the vectors.
const SIZES: [usize; 3] = [5, 10, 100];
/// Sizes for which sequences are searched.
const SEARCHED: [usize; 5] = [2, 4, 6, 8, 10];
/// The share of cases that the appendix says have one.
const LEAST_RATE: f64 = 0.8;
/// Vectors Y drawn for each X and operation.
const DRAWS: usize = 200;
/// Entries of the drawn attributions: an image of 28 x 28.
const PIXELS: usize = 784;

#[derive(Clone, Copy)]
enum Operation {
    Exchange,
    Shrink,
}

impl Operation {
    fn apply(self, x: &[f64], stream: &mut Stream) -> Vec<f64> {
        let mut changed = x.to_vec();
        let first = stream.below(x.len());
        match self {
            Self::Exchange => changed.swap(first, stream.below(x.len())),
            Self::Shrink => changed[first] *= stream.uniform(),
        }
        changed
    }
}

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let vectors = runner.options.test_rows();
    let mut bench = BenchBuilder::new(
        "theorem1",
        "IGR, Theorem 1: Kendall's correlation and the cosine, simulated",
    );
    bench.add_setting("vectors", format!("{vectors} vectors X of each size, exponential entries; {DRAWS} vectors Y for each, exponential entries"));
    let mut found_sequences = Vec::new();
    let mut rows = Vec::new();
    for (operation, label) in [
        (Operation::Exchange, "two entries exchanged"),
        (Operation::Shrink, "one entry made smaller"),
    ] {
        let mut cells = Vec::new();
        for size in SIZES {
            let mut stream = Seed::new(0).stream_at(label, size as u64);
            let differences = differences(operation, vectors, size, &mut stream)?;
            let ours = mean::estimate(&differences)?;
            let holds = ours.interval.is_none_or(|interval| interval.high >= 0.0);
            let negative = differences
                .iter()
                .filter(|difference| **difference < 0.0)
                .count();
            bench.add_finding(format!(
                "{label}, {size} entries: does the theorem hold on average? {}: mean difference {:.5}; {negative} of {} single means are below 0, \
                 each over at most {DRAWS} draws",
                if holds { "yes" } else { "no" },
                ours.value,
                differences.len()
            ));
            cells.push(number(ours));
        }
        rows.push(TableRow {
            label: label.to_owned(),
            cells,
        });
    }
    bench.add_table(Table {
        title: "Mean of Kendall(X, Y) - Kendall(X', Y) over Y with cos(X, Y) >= cos(X', Y)"
            .to_owned(),
        corner: "operation".to_owned(),
        columns: SIZES.iter().map(|size| format!("{size} entries")).collect(),
        rows,
    });
    bench.add_table(sequences(&mut found_sequences, vectors)?);
    for sentence in found_sequences {
        bench.add_finding(sentence);
    }
    let mut stream = Seed::new(0).stream("theorem 1 pairs");
    let drawn = pairs(vectors, PIXELS, 1.0, &mut stream)?;
    let points: Vec<[f64; 2]> = drawn.iter().map(|one| [one.cosine, one.kendall]).collect();
    let (cosines, kendalls): (Vec<f64>, Vec<f64>) =
        points.iter().map(|point| (point[0], point[1])).unzip();
    let correlation = spearman::score(&cosines, &kendalls)?;
    bench.add_finding(format!(
        "attributions that grow apart: rank correlation of cosine and Kendall {correlation:.3}"
    ));
    bench.add_figure(Figure {
        title: "Kendall's correlation against the cosine".to_owned(),
        caption: format!(
            "Pairs of drawn attributions that grow apart; rank correlation {correlation:.3}."
        ),
        x_label: "cosine".to_owned(),
        y_label: "Kendall".to_owned(),
        style: Style::Points,
        series: vec![Series {
            name: "simulated".to_owned(),
            points,
        }],
    });
    Ok(bench.finish())
}

/// How often a sequence of the theorem is found between two drawn vectors.
fn sequences(findings: &mut Vec<String>, cases: usize) -> Result<Table> {
    let mut cells = Vec::new();
    let mut least = f64::INFINITY;
    for size in SEARCHED {
        let mut stream = Seed::new(0).stream_at("theorem 1 sequences", size as u64);
        let rate = success_rate(cases, size, &mut stream)?;
        least = least.min(rate);
        cells.push(Cell::Text(format!("{rate:.3}")));
    }
    let answer = if least >= LEAST_RATE { "yes" } else { "no" };
    findings.push(format!(
        "is a sequence found in at least {LEAST_RATE} of all cases of up to ten entries? {answer}: the least share is {least:.3}"
    ));
    Ok(Table {
        title: "Share of drawn X, X' and Y for which the search finds a sequence".to_owned(),
        corner: "entries".to_owned(),
        columns: SEARCHED.iter().map(ToString::to_string).collect(),
        rows: vec![TableRow {
            label: "found".to_owned(),
            cells,
        }],
    })
}

fn number(ours: Estimate) -> Cell {
    Cell::Number {
        ours,
        paper: None,
        mark: Mark::None,
    }
}

/// For each X, the mean difference over the Y that fulfil the condition.
fn differences(
    operation: Operation,
    vectors: usize,
    size: usize,
    stream: &mut Stream,
) -> Result<Vec<f64>> {
    let mut means = Vec::with_capacity(vectors);
    for _ in 0..vectors {
        let x = positive(size, stream);
        let changed = operation.apply(&x, stream);
        let mut differences = Vec::new();
        for _ in 0..DRAWS {
            let y = positive(size, stream);
            let (before, after) = (Similarity::of(&x, &y)?, Similarity::of(&changed, &y)?);
            if before.cosine >= after.cosine {
                differences.push(before.kendall - after.kendall);
            }
        }
        if !differences.is_empty() {
            means.push(mean::estimate(&differences)?.value);
        }
    }
    Ok(means)
}
