//! How near the suite comes to the truth: exact worst cases beside what each effort finds, at several radii.

use thickset::Result;
use thickset::attack::ThreatConfig;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::bench::{Bench, Cell, Table, TableRow};
use thickset::certify::CertifyConfig;

use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{ChosenDatasets, PaperTable, choose_datasets};
use crate::measure::{Measure, Measured};
use crate::runner::{BenchRunner, Grid, GridEntry, SeededDatasets, explain};
use crate::seeded_dataset::SeededDataset;

/// The methods where none is named.
const METHODS: [&str; 3] = ["vanilla", "r2et", "certified-ranking"];
/// The datasets where none is named.
const DATASETS: [&str; 5] = ["adult", "bank", "compas", "german-credit", "breast-cancer"];
/// Seeds where no number is named.
const SEEDS: u64 = 1;
/// Radii of the l2 ball.
const RADII: [f64; 3] = [0.1, 0.25, 0.5];
/// Training rows that the suite goes towards.
const DONORS: usize = 64;
/// Parts of a row's search.
const NODES: usize = 20_000;
/// The efforts of the suite, with how far each may lie above the exact worst case, in points.
const EFFORTS: [(Effort, &str, Option<f64>); 3] = [
    (Effort::Quick, "quick", None),
    (Effort::Standard, "standard", Some(1.0)),
    (Effort::Thorough, "thorough", Some(0.3)),
];

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "exact",
        "The exact worst case beside the suite: P@k in per cent, over the rows whose search ended",
    );
    bench.note_training(runner);
    bench.add_setting(
        "the exact worst case",
        format!(
            "branch and bound over the network's gates, the prediction held, up to {NODES} parts a row and told nothing of what the suite found; \
             where it does not end, the row is left out of every column"
        ),
    );
    bench.add_setting(
        "donors",
        format!("the suite also goes towards {DONORS} training rows"),
    );
    let ChosenDatasets { to_run, not_run } =
        choose_datasets(runner, &DATASETS, &PaperTable::figure(&[]))?;
    let mut excess = [0.0_f64; EFFORTS.len()];
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let entries = GridEntry::of(runner.options.methods_or(&METHODS)?, &datasets)?;
        let grid = runner.grid(&datasets, entries)?;
        bench.add_table(compare(runner, &datasets, &grid, &mut excess)?);
    }
    for ((_, name, allowed), excess) in EFFORTS.iter().zip(excess) {
        let verdict = match allowed {
            Some(allowed) if excess <= *allowed => format!(", within the {allowed} asked for"),
            Some(allowed) => format!(", more than the {allowed} asked for"),
            None => String::new(),
        };
        bench.add_finding(format!(
            "`--effort {name}` lies at most {excess:.2} points above the exact worst case{verdict}"
        ));
    }
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    Ok(bench.finish())
}

/// One line a method and radius; raises `excess` to the most that an effort's mean lies above the exact one.
fn compare(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    grid: &Grid,
    excess: &mut [f64; EFFORTS.len()],
) -> Result<Table> {
    let mut rows = Vec::new();
    for radius in RADII {
        let exact = runner.measure_chosen(datasets, grid, "exact", |data| worst(data, radius))?;
        let mut suites = Vec::new();
        for (effort, name, _) in EFFORTS {
            let suite = |data: &SeededDataset| Measure::Suite {
                suite: SuiteConfig {
                    effort,
                    k: data.k,
                    threat: ball(radius),
                },
                explain: explain(data),
                donors: DONORS,
            };
            suites.push(runner.measure_chosen(datasets, grid, name, suite)?);
        }
        for (place, row) in grid.rows.iter().enumerate() {
            let label = format!("{}, radius {radius}", row.entry.label);
            let Some(exact) = &exact[place] else {
                rows.push(TableRow {
                    label,
                    cells: vec![Cell::dash(row.dash()); 3 + EFFORTS.len()],
                });
                continue;
            };
            let ended = ended(exact)?;
            let share = as_f64(ended.iter().flatten().filter(|ended| **ended).count())
                / as_f64(ended.iter().map(Vec::len).sum::<usize>().max(1));
            let truth = mean(exact, &ended, "at least")?;
            let mut cells = vec![Cell::number(100.0 * share), shown(truth)];
            for (suite, excess) in suites.iter().zip(excess.iter_mut()) {
                let found = match &suite[place] {
                    Some(found) => mean(found, &ended, "precision")?,
                    None => None,
                };
                if let (Some(found), Some(truth)) = (found, truth) {
                    *excess = excess.max(found - truth);
                }
                cells.push(shown(found));
            }
            let time: f64 = exact
                .iter()
                .map(|found| found.number("milliseconds a row"))
                .sum::<Result<f64>>()?;
            cells.push(Cell::number(time / as_f64(exact.len().max(1))));
            rows.push(TableRow { label, cells });
        }
    }
    let mut columns = vec!["rows ended, %".to_owned(), "exact".to_owned()];
    columns.extend(EFFORTS.map(|(_, name, _)| name.to_owned()));
    columns.push("exact, ms a row".to_owned());
    Ok(Table {
        title: format!("{}: the worst P@k, exact and found", datasets.name),
        corner: "model and radius".to_owned(),
        columns,
        rows,
    })
}

fn shown(value: Option<f64>) -> Cell {
    value.map_or_else(|| Cell::dash("no row's search ended"), Cell::number)
}

/// Whether each row's search ended with one number, seed by seed.
fn ended(exact: &[Measured]) -> Result<Vec<Vec<bool>>> {
    let seeds = exact.iter().map(|found| {
        let bounds = found.rows("at least")?.iter().zip(found.rows("at most")?);
        Ok(bounds.map(|(least, most)| least >= most).collect())
    });
    seeds.collect()
}

/// The mean of a value over the rows whose search ended, in per cent.
fn mean(found: &[Measured], ended: &[Vec<bool>], what: &'static str) -> Result<Option<f64>> {
    let (mut sum, mut count) = (0.0, 0);
    for (found, ended) in found.iter().zip(ended) {
        for (value, _) in found
            .rows(what)?
            .iter()
            .zip(ended)
            .filter(|(_, ended)| **ended)
        {
            sum += value;
            count += 1;
        }
    }
    Ok((count > 0).then(|| 100.0 * sum / as_f64(count)))
}

fn ball(radius: f64) -> ThreatConfig {
    ThreatConfig {
        ball: BallConfig {
            norm: Norm::L2,
            radius,
        },
        ..ThreatConfig::papers()
    }
}

fn worst(data: &SeededDataset, radius: f64) -> Measure {
    Measure::WorstCase {
        certify: CertifyConfig {
            k: data.k,
            threat: ball(radius),
            nodes: NODES,
            ..CertifyConfig::default()
        },
        explain: explain(data),
    }
}
