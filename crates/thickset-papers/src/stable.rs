//! Our own table: how stable explanations are at equal distinctness, and what that costs.
//!
//! Every method has as many settings, and epochs and settings are chosen on validation rows among those whose AUC is at most 0.01 below vanilla's and
//! whose rows are told features at least as different as vanilla's. The suite also goes towards training rows, and what is proved stands beside it.

use thickset::Result;
use thickset::attack::suite::SuiteConfig;
use thickset::bench::Bench;
use thickset::certify::CertifyConfig;

use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{ChosenDatasets, PaperTable, choose_datasets};
use crate::limit;
use crate::measure::{Measure, Measured};
use crate::method::VANILLA;
use crate::runner::{BenchRunner, Grid, GridEntry, GridRow, SeededDatasets, TrainingPlan};
use crate::seeded_dataset::SeededDataset;
use crate::table_column::{Better, ColumnEntry, PERCENT, TableColumn, labels, table};
use crate::table1::beyond_overlap;
use crate::usual_measure::{clean, explain, threat};

/// The rows of the table where none is named.
const METHODS: [&str; 12] = [
    "linear",
    "vanilla",
    "softplus",
    "r2et-no-h",
    "r2et-mm-no-h",
    "r2et",
    "r2et-mm",
    "r2et-ranking",
    "segmented",
    "segmented-sparsemax",
    "taught",
    "taught-plain",
];

/// The tables that it is about.
const DATASETS: [&str; 7] = [
    "adult",
    "bank",
    "compas",
    "german-credit",
    "heloc",
    "diabetes130",
    "give-me-some-credit",
];

/// Seeds where none are named.
const SEEDS: u64 = 5;

/// Training rows that the suite goes towards.
const DONORS: usize = 64;

/// Parts of a row's certificate.
const NODES: usize = 200;

/// What counts as reached: points over vanilla, an AUC within this, and distinctness not lower than this.
const GAIN: f64 = 10.0;
const AUC_LOSS: f64 = 0.01;
const DISTINCTNESS_LOSS: f64 = 0.005;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "stable",
        "Stability at equal distinctness: P@k under the suite, certificates, AUC and what rows are told",
    );
    bench.note_training(runner);
    bench.add_setting(
        "distinctness",
        "epochs and settings are chosen among those at least as distinct on validation rows as vanilla, whose own is free; where a method has \
         none, its most distinct one is shown",
    );
    bench.add_setting(
        "agreement",
        "with vanilla of the same seed; vanilla's own is with the next seed's, which was trained on other rows",
    );
    bench.add_setting(
        "worst category",
        "P@k after the worst change of one column's category to another, numbers as they are, the prediction held",
    );
    bench.add_setting(
        "donors",
        format!("the suite also goes towards {DONORS} training rows"),
    );
    let ChosenDatasets { to_run, .. } =
        choose_datasets(runner, &DATASETS, &PaperTable::figure(&[]))?;
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let entries = GridEntry::of(runner.options.methods_or(&METHODS)?, &datasets)?;
        let plan = TrainingPlan {
            as_distinct: true,
            ..runner.scratch(&datasets)
        };
        let by_auc = by_auc(runner, &datasets, &entries)?;
        let mut grid = runner.grid_by(&datasets, entries, &plan)?;
        let place = grid.rows.iter().position(|row| row.entry.id == VANILLA);
        for (row, place) in by_auc.into_iter().zip(place) {
            grid.rows.insert(place + 1, row);
        }
        let columns = columns(runner, &datasets, &grid)?;
        for sentence in sentences(&datasets.name, &grid, &columns) {
            bench.add_finding(sentence);
        }
        bench.add_table(table(&datasets.name, &labels(&grid), &columns)?);
    }
    Ok(bench.finish())
}

/// Vanilla once more, its epoch chosen by validation AUC alone, where vanilla is among the rows.
fn by_auc(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    entries: &[GridEntry],
) -> Result<Vec<GridRow>> {
    let vanilla = entries.iter().filter(|entry| entry.id == VANILLA);
    let renamed = vanilla.map(|entry| GridEntry {
        id: "vanilla-by-auc".to_owned(),
        label: "Vanilla, by AUC".to_owned(),
        ..entry.clone()
    });
    let plan = TrainingPlan {
        by_auc: true,
        ..runner.scratch(datasets)
    };
    Ok(runner.grid_by(datasets, renamed.collect(), &plan)?.rows)
}

/// Suite, certificate, worst category, AUC, distinctness, suite less overlap, limit, agreement with vanilla, COMP and SUFF, in this order.
fn columns(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    grid: &Grid,
) -> Result<Vec<TableColumn>> {
    let suite = |data: &SeededDataset| Measure::Suite {
        suite: SuiteConfig {
            effort: runner.options.effort.suite(),
            k: data.k,
            threat: threat(data),
        },
        explain: explain(data),
        donors: DONORS,
    };
    let worst = runner.measure_chosen(datasets, grid, "suite", suite)?;
    let proved =
        runner.measure_chosen(datasets, grid, "certificate", |data| Measure::Certificate {
            certify: CertifyConfig {
                k: data.k,
                threat: threat(data),
                nodes: NODES,
                ..CertifyConfig::default()
            },
            explain: explain(data),
        })?;
    let told = runner.measure_chosen(datasets, grid, "clean", clean)?;
    let faithful = runner.measure_chosen(datasets, grid, "faithfulness", |data| {
        Measure::Faithfulness {
            explain: explain(data),
        }
    })?;
    let agreement = agreement(runner, datasets, grid)?;
    let categories = runner.measure_chosen(datasets, grid, "categories", |data| {
        Measure::WorstCategory {
            k: data.k,
            explain: explain(data),
        }
    })?;
    let shares = |name: &str, found: &[Option<Vec<_>>], what| {
        let name = name.to_owned();
        TableColumn::of_rows(name, grid, found, what, (PERCENT, Better::Higher), |_| None)
    };
    let number = |name: &str, found: &[Option<Vec<_>>], what| {
        let name = name.to_owned();
        TableColumn::of_numbers(name, grid, found, what, Better::Higher, |_| None)
    };
    let suite = shares("suite", &worst, "precision")?;
    let distinct = number("distinctness", &told, "distinctness")?;
    let beyond = beyond_overlap(&suite, &distinct);
    let [limit, _] = limit::columns(runner, datasets, grid)?;
    let mut columns = vec![
        suite,
        shares("proved", &proved, "certified")?,
        shares("worst category", &categories, "precision")?,
        number("AUC", &told, "auc")?,
        distinct,
        beyond,
        limit,
    ];
    if let Some(agreement) = agreement {
        columns.push(shares("agreement with vanilla", &agreement, "agreement")?);
    }
    for (name, what, better) in [
        ("COMP", "comprehensiveness", Better::Higher),
        ("SUFF", "sufficiency", Better::Lower),
    ] {
        let name = name.to_owned();
        columns.push(TableColumn::of_rows(
            name,
            grid,
            &faithful,
            what,
            (1.0, better),
            |_| None,
        )?);
    }
    Ok(columns)
}

/// The share of vanilla's salient features that each row's model has too; none without vanilla among the rows. Vanilla itself stands beside its model of the
/// next seed.
fn agreement(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    grid: &Grid,
) -> Result<Option<Vec<Option<Vec<Measured>>>>> {
    let vanilla = grid.rows.iter().find(|row| row.entry.id == VANILLA);
    let vanilla = vanilla.and_then(GridRow::keys).unwrap_or_default();
    if vanilla.is_empty() {
        return Ok(None);
    }
    // The model of the same seed, or of the next.
    let with = |data: &SeededDataset, next: usize| {
        let place = datasets.seeds.iter().position(|one| one.seed == data.seed);
        let place = place.map(|place| (place + next) % vanilla.len());
        Measure::Agreement {
            k: data.k,
            with: place
                .and_then(|place| vanilla.get(place))
                .cloned()
                .unwrap_or_default(),
            explain: explain(data),
        }
    };
    let same = |data: &SeededDataset| with(data, 0);
    let mut found = runner.measure_chosen(datasets, grid, "agreement", same)?;
    if vanilla.len() > 1 {
        for (row, found) in grid.rows.iter().zip(&mut found) {
            if row.entry.id == VANILLA {
                let seeds = datasets.seeds.iter().zip(&vanilla).enumerate();
                let jobs = seeds.map(|(place, (data, key))| (place, key.clone(), with(data, 1)));
                let jobs: Vec<_> = jobs.collect();
                *found = Some(runner.measure(datasets, "agreement", &jobs)?);
            }
        }
    }
    Ok(Some(found))
}

/// Which methods reach the goal, which nothing else beats in suite, AUC and distinctness together, and what is the most for the same.
fn sentences(name: &str, grid: &Grid, columns: &[TableColumn]) -> Vec<String> {
    let names = labels(grid);
    let value = |column: usize, row: usize| match &columns[column].entries[row] {
        ColumnEntry::Found { seeds, .. } => {
            Some(seeds.iter().sum::<f64>() / as_f64(seeds.len().max(1)))
        }
        ColumnEntry::Dash { .. } | ColumnEntry::Text(_) => None,
    };
    let of = |row: usize| Some([value(0, row)?, value(3, row)?, value(4, row)?]);
    let points: Vec<(usize, [f64; 3])> = (0..grid.rows.len())
        .filter_map(|row| Some((row, of(row)?)))
        .collect();
    let mut sentences = Vec::new();
    let vanilla = grid.rows.iter().position(|row| row.entry.id == VANILLA);
    if let Some(base) = vanilla.and_then(of) {
        let reaching: Vec<String> = points
            .iter()
            .filter(|(_, point)| {
                point[0] - base[0] >= GAIN
                    && point[1] - base[1] >= -AUC_LOSS
                    && point[2] - base[2] >= -DISTINCTNESS_LOSS
            })
            .map(|(row, point)| {
                format!(
                    "{} ({:+.1} points, AUC {:+.4}, distinctness {:+.3})",
                    names[*row],
                    point[0] - base[0],
                    point[1] - base[1],
                    point[2] - base[2]
                )
            })
            .collect();
        let reaching = if reaching.is_empty() {
            "nobody".to_owned()
        } else {
            reaching.join(", ")
        };
        sentences.push(format!(
            "{name}: {GAIN} points over vanilla under the suite, AUC within {AUC_LOSS} and distinctness not lower: {reaching}"
        ));
    }
    let front: Vec<&str> = points
        .iter()
        .filter(|(row, point)| {
            !points
                .iter()
                .any(|(other, by)| other != row && beats(by, point))
        })
        .map(|(row, _)| names[*row].as_str())
        .collect();
    sentences.push(format!(
        "{name}: no other method is at least as good in suite, AUC and distinctness and better in one: {}",
        front.join(", ")
    ));
    sentences
}

/// At least as good in all, and better in one.
fn beats(one: &[f64; 3], other: &[f64; 3]) -> bool {
    let pairs = || one.iter().zip(other);
    pairs().all(|(one, other)| one >= other) && pairs().any(|(one, other)| one > other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::BenchMethod;

    #[test]
    fn one_beats_another_only_where_it_is_nowhere_worse() {
        assert!(beats(&[2.0, 1.0, 1.0], &[1.0, 1.0, 1.0]));
        assert!(!beats(&[2.0, 1.0, 0.9], &[1.0, 1.0, 1.0]));
        assert!(!beats(&[1.0; 3], &[1.0; 3]));
    }

    #[test]
    fn every_row_and_setting_of_the_table_exists() {
        let ids = METHODS.map(str::to_owned);
        assert_eq!(BenchMethod::chosen(&ids).unwrap().len(), METHODS.len());
    }
}
