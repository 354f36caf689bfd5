//! How near the suite comes to the truth: exact worst cases beside what each effort finds, at several radii; and up to which width
//! and depth there is a truth to compare with.

use thickset::Result;
use thickset::attack::ThreatConfig;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::bench::{Bench, Cell, Table, TableRow};
use thickset::certify::CertifyConfig;
use thickset::model::{MlpConfig, ModelConfig};

use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{ChosenDatasets, PaperTable, choose_datasets};
use crate::measure::{Measure, Measured};
use crate::measure_certificates::TIME;
use crate::method::{BenchMethod, VANILLA};
use crate::runner::{BenchRunner, Grid, GridEntry, SeededDatasets};
use crate::seeded_dataset::SeededDataset;
use crate::usual_measure::explain;

/// The methods where none is named.
const METHODS: [&str; 3] = ["vanilla", "r2et", "certified-ranking"];
/// The datasets where none is named.
const DATASETS: [&str; 5] = ["adult", "bank", "compas", "german-credit", "breast-cancer"];
/// Seeds where no number is named.
const SEEDS: u64 = 1;
/// Radii of the l2 ball, beside the one of the dataset's attacks.
const RADII: [f64; 3] = [0.1, 0.25, 0.5];
/// The dataset whose networks grow.
const GROWING: &str = "adult";
/// Hidden layers of the networks that grow: wider, then deeper.
const SIZES: [&[usize]; 7] = [
    &[64, 32],
    &[128, 64],
    &[256, 128],
    &[512, 256],
    &[64, 64, 32],
    &[64, 64, 64, 32],
    &[64, 64, 64, 64, 32],
];
/// Radii at which they are searched.
const GROWING_RADII: [f64; 2] = [0.1, 0.25];
/// Parts of a row's search of a network that grows.
const GROWING_NODES: usize = 2_000;
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
    let mut growing = None;
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let entries = GridEntry::of(runner.options.methods_or(&METHODS)?, &datasets)?;
        let grid = runner.grid(&datasets, entries)?;
        bench.add_table(compare(runner, &datasets, &grid, &mut excess)?);
        if name == GROWING {
            growing = Some(grow(runner, &datasets)?);
        }
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
    for table in growing.into_iter().chain(not_run) {
        bench.add_table(table);
    }
    Ok(bench.finish())
}

/// [`RADII`] and the radius of the dataset's attacks, the smallest first.
fn radii(datasets: &SeededDatasets) -> Vec<f64> {
    let own = datasets.seeds[0].radius;
    let mut radii = RADII.to_vec();
    if RADII.iter().all(|radius| (radius - own).abs() > 1e-9) {
        radii.push(own);
    }
    radii.sort_by(f64::total_cmp);
    radii
}

/// One line a method and radius; raises `excess` to the most that an effort's mean lies above the exact one.
fn compare(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    grid: &Grid,
    excess: &mut [f64; EFFORTS.len()],
) -> Result<Table> {
    let mut rows = Vec::new();
    for radius in radii(datasets) {
        let exact = |data: &SeededDataset| worst(data, radius, NODES);
        let exact = runner.measure_chosen(datasets, grid, "exact", exact)?;
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
                    cells: vec![Cell::dash(row.dash()); 4 + EFFORTS.len()],
                });
                continue;
            };
            let ended = ended(exact)?;
            let truth = mean(exact, &ended, "at least")?;
            let mut cells = vec![Cell::number(share(&ended)), shown(truth)];
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
            cells.push(
                cost(exact, |one| one.mean("parts"))
                    .map_or_else(|_| Cell::dash("not counted"), Cell::number),
            );
            cells.push(Cell::number(cost(exact, |one| one.number(TIME))?));
            rows.push(TableRow { label, cells });
        }
    }
    let mut columns = vec!["rows ended, %".to_owned(), "exact".to_owned()];
    columns.extend(EFFORTS.map(|(_, name, _)| name.to_owned()));
    columns.push("parts a row".to_owned());
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

/// The share of rows whose search ended, in per cent.
fn share(ended: &[Vec<bool>]) -> f64 {
    let rows: usize = ended.iter().map(Vec::len).sum();
    100.0 * as_f64(ended.iter().flatten().filter(|ended| **ended).count()) / as_f64(rows.max(1))
}

/// The mean of what the search took, over the seeds.
fn cost(found: &[Measured], of: impl Fn(&Measured) -> Result<f64>) -> Result<f64> {
    let sum: f64 = found.iter().map(of).sum::<Result<f64>>()?;
    Ok(sum / as_f64(found.len().max(1)))
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

/// What the search comes to on wider and deeper networks.
fn grow(runner: &BenchRunner<'_>, datasets: &SeededDatasets) -> Result<Table> {
    let vanilla = GridEntry::new(BenchMethod::find(VANILLA)?, datasets)?;
    let entries = SIZES.map(|hidden| {
        let widths: Vec<String> = hidden.iter().map(usize::to_string).collect();
        let name = widths.join("-");
        GridEntry {
            id: format!("{VANILLA} {name}"),
            label: name,
            model: ModelConfig::Mlp(MlpConfig {
                hidden: hidden.to_vec(),
                ..MlpConfig::default()
            }),
            ..vanilla.clone()
        }
    });
    let grid = runner.grid(datasets, entries.to_vec())?;
    let radius = |data: &SeededDataset| Measure::Radii {
        certify: CertifyConfig {
            k: data.k,
            threat: ball(data.radius),
            nodes: GROWING_NODES,
            ..CertifyConfig::default()
        },
        explain: explain(data),
        points: 0,
        ball: data.radius,
    };
    let radius = runner.measure_chosen(datasets, &grid, "radius", radius)?;
    let mut worst_cases = Vec::new();
    for radius in GROWING_RADII {
        let exact = |data: &SeededDataset| worst(data, radius, GROWING_NODES);
        worst_cases.push(runner.measure_chosen(datasets, &grid, "exact", exact)?);
    }
    let mut rows = Vec::new();
    for (place, row) in grid.rows.iter().enumerate() {
        let label = row.entry.label.clone();
        let Some(radius) = &radius[place] else {
            rows.push(TableRow {
                label,
                cells: vec![Cell::dash(row.dash()); 2 + 2 * GROWING_RADII.len()],
            });
            continue;
        };
        let settled: Vec<Vec<bool>> = radius
            .iter()
            .map(|one| Ok(one.rows("settled")?.iter().map(|one| *one > 0.0).collect()))
            .collect::<Result<_>>()?;
        let mut cells = vec![
            Cell::number(share(&settled)),
            Cell::number(cost(radius, |one| one.number(TIME))?),
        ];
        for found in &worst_cases {
            let Some(found) = &found[place] else { continue };
            cells.push(Cell::number(share(&ended(found)?)));
            cells.push(Cell::number(cost(found, |one| one.number(TIME))?));
        }
        rows.push(TableRow { label, cells });
    }
    let mut columns = vec!["radius known, %".to_owned(), "ms a row".to_owned()];
    for radius in GROWING_RADII {
        columns.push(format!("worst case at {radius} known, %"));
        columns.push("ms a row".to_owned());
    }
    Ok(Table {
        title: format!(
            "Wider and deeper networks on {}: vanilla, at most {GROWING_NODES} parts a row",
            datasets.name
        ),
        corner: "hidden layers".to_owned(),
        columns,
        rows,
    })
}

fn worst(data: &SeededDataset, radius: f64, nodes: usize) -> Measure {
    Measure::WorstCase {
        certify: CertifyConfig {
            k: data.k,
            threat: ball(radius),
            nodes,
            ..CertifyConfig::default()
        },
        explain: explain(data),
    }
}
