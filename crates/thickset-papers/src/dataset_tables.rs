//! Tables whose columns are datasets: which datasets are run and which are dashes, and how the columns of each become one table.

use thickset::bench::{Cell, Table, TableRow};
use thickset::{Error, Result, Seed};

use crate::TABLES;
use crate::bench_builder::BenchBuilder;
use crate::dataset_plan::stand_in;
use crate::method::{BenchMethod, methods};
use crate::paper_numbers;
use crate::runner::{BenchRunner, Grid, GridEntry, SeededDatasets};
use crate::seeded_dataset::{SeededDataset, Slowness};
use crate::table_column::{TableColumn, labels, table};

/// Why datasets of the papers are not run when the options name them.
const REASONS: [(&str, &str); 3] = [
    (
        "roct",
        "the paper's ROCT images are not public; `oct2017` is run in their place",
    ),
    (
        "adhd",
        "the paper's ADHD graphs are not public; `abide-pairs` is run in their place",
    ),
    (
        "bp",
        "the paper's BP graphs are not public; `schizophrenia-fnc28-pairs` is run in their place",
    ),
];

/// What a table or figure of the paper is about.
pub(crate) struct PaperTable<'a> {
    /// Its id among the paper's numbers.
    pub(crate) table: &'a str,
    /// What the numbers of a cell are called, for a dataset.
    pub(crate) numbers: fn(&str) -> &'static [&'static str],
    /// Its datasets beside the bench's own, as the paper calls them; what is run stands in for some.
    pub(crate) others: &'a [&'a str],
}

impl<'a> PaperTable<'a> {
    /// A figure, whose numbers are not printed.
    pub(crate) fn figure(others: &'a [&'a str]) -> Self {
        Self {
            table: "",
            numbers: |_| &[],
            others,
        }
    }
}

/// The datasets of a bench.
pub(crate) struct ChosenDatasets {
    /// Those that are run.
    pub(crate) to_run: Vec<String>,
    /// A table of dashes for the others, with the paper's numbers beside them.
    pub(crate) not_run: Option<Table>,
}

/// The datasets of the options, or the bench's own. Each is opened once before anything is trained, so that a misspelt name is found
/// at once; one whose files are not here becomes a dash.
pub(crate) fn choose_datasets(
    runner: &BenchRunner<'_>,
    own: &[&str],
    printed: &PaperTable<'_>,
) -> Result<ChosenDatasets> {
    let is_own = runner.options.datasets.is_empty();
    let wanted: Vec<String> = if is_own {
        let others = printed.others.iter();
        let others = others.filter_map(|other| stand_in(other, runner.options.effort));
        let own = own.iter().copied().chain(others);
        own.map(str::to_owned).collect()
    } else {
        runner.options.datasets.clone()
    };
    let (mut to_run, mut absent, mut missing) = (Vec::new(), Vec::new(), None);
    for name in wanted {
        let reason = REASONS.iter().find(|(known, _)| *known == name);
        if let Some((_, reason)) = reason {
            absent.push((name, (*reason).to_owned()));
            continue;
        }
        match SeededDataset::open(&name, Seed::new(0), runner.options, Slowness::default()) {
            Ok(_) => to_run.push(name),
            Err(error @ Error::MissingData { .. }) => {
                let reason = format!(
                    "its files are not here; `thickset data show {name}` says where to get them"
                );
                absent.push((name, reason));
                missing.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    // With nothing to run at all, where the files are to be found is the better answer.
    if let (true, Some(error)) = (to_run.is_empty(), missing) {
        return Err(error);
    }
    let not_run = (!absent.is_empty()).then(|| dashes(runner, &absent, printed));
    Ok(ChosenDatasets { to_run, not_run })
}

/// A dash for every method and dataset, with the paper's numbers beside.
fn dashes(
    runner: &BenchRunner<'_>,
    absent: &[(String, String)],
    printed: &PaperTable<'_>,
) -> Table {
    let wanted = &runner.options.methods;
    let is_row = |method: &&BenchMethod| {
        paper_numbers::has_row(printed.table, &method.id)
            && (wanted.is_empty() || wanted.contains(&method.id))
    };
    let mut labels: Vec<(&str, &str)> = methods()
        .iter()
        .filter(is_row)
        .map(|method| (method.id.as_str(), method.label.as_str()))
        .collect();
    if labels.is_empty() {
        labels.push(("", "every method"));
    }
    let mut columns = Vec::new();
    let mut places = Vec::new();
    for (name, reason) in absent {
        let numbers = (printed.numbers)(name);
        if paper_numbers::has_dataset(printed.table, name) {
            columns.extend(numbers.iter().map(|number| format!("{name} {number}")));
            places.extend((0..numbers.len()).map(|index| (name, reason, index)));
        } else {
            columns.push(name.clone());
            places.push((name, reason, 0));
        }
    }
    let rows = labels.iter().map(|(id, label)| TableRow {
        label: (*label).to_owned(),
        cells: places
            .iter()
            .map(|(name, reason, index)| Cell::Dash {
                reason: (*reason).clone(),
                paper: paper_numbers::number(printed.table, name, id, *index),
            })
            .collect(),
    });
    Table {
        title: "Datasets that are not run here, with the paper's numbers".to_owned(),
        corner: "method".to_owned(),
        columns,
        rows: rows.collect(),
    }
}

/// The methods that the paper's table has, with the linear baseline; those of the options, if they name some.
pub(crate) fn of_paper(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    name: &str,
) -> Result<Vec<GridEntry>> {
    if !runner.options.methods.is_empty() {
        return runner.entries(datasets);
    }
    let has =
        |method: &&BenchMethod| method.id == "linear" || paper_numbers::has_row(name, &method.id);
    GridEntry::of(methods().iter().filter(has), datasets)
}

/// Runs a bench on each of its datasets, of so many seeds; those that are not run stand in a table at the end.
pub(crate) fn over_datasets(
    runner: &BenchRunner<'_>,
    bench: &mut BenchBuilder,
    (usual, printed): (&[&str], &PaperTable<'_>),
    seeds: u64,
    mut run: impl FnMut(&mut BenchBuilder, &SeededDatasets) -> Result<()>,
) -> Result<()> {
    let ChosenDatasets { to_run, not_run } = choose_datasets(runner, usual, printed)?;
    for name in to_run {
        run(bench, &runner.open(&name, seeds)?)?;
    }
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    Ok(())
}

/// One table with the columns of every dataset side by side, each named after its dataset.
pub(crate) fn table_over_datasets(
    runner: &BenchRunner<'_>,
    bench: &mut BenchBuilder,
    title: &str,
    printed: &PaperTable<'_>,
    mut columns: impl FnMut(&mut BenchBuilder, &SeededDatasets) -> Result<(Grid, Vec<TableColumn>)>,
) -> Result<()> {
    bench.note_training(runner);
    let (mut all, mut names): (Vec<TableColumn>, Vec<String>) = (Vec::new(), Vec::new());
    over_datasets(
        runner,
        bench,
        (&TABLES, printed),
        SEEDS,
        |bench, datasets| {
            bench.note_datasets(datasets);
            let (grid, found) = columns(bench, datasets)?;
            names = labels(&grid);
            all.extend(found.into_iter().map(|column| TableColumn {
                name: format!("{} {}", datasets.name, column.name),
                ..column
            }));
            Ok(())
        },
    )?;
    if !all.is_empty() {
        bench.add_first_table(table(title, &names, &all)?);
    }
    Ok(())
}

/// Seeds of a bench on tables where the options name no number.
pub(crate) const SEEDS: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BenchOptions;

    const PRINTED: PaperTable<'static> = PaperTable {
        table: "table1",
        numbers: |_| &["ERAttack", "MSE"],
        others: &["cifar10", "roct", "adhd", "bp"],
    };

    fn found(names: &[&str]) -> Result<ChosenDatasets> {
        let folder = tempfile::tempdir().unwrap();
        let mut options = BenchOptions::new(folder.path());
        options.datasets = names.iter().map(|&name| name.to_owned()).collect();
        choose_datasets(
            &BenchRunner::new(&options, &|_| {})?,
            &["breast-cancer"],
            &PRINTED,
        )
    }

    #[test]
    fn datasets_that_are_not_run_are_dashes_with_the_papers_numbers() {
        let ChosenDatasets { to_run, not_run } =
            found(&["breast-cancer", "roct", "adhd", "bp"]).unwrap();
        assert_eq!(to_run, ["breast-cancer"]);
        let not_run = not_run.unwrap();
        assert_eq!(not_run.columns.len(), 6);
        assert_eq!(not_run.columns[2], "adhd ERAttack");
        let vanilla = &not_run.rows[0];
        assert_eq!(vanilla.label, "Vanilla");
        assert_eq!(vanilla.cells[2].paper(), Some(45.5));
        assert!(
            matches!(&vanilla.cells[0], Cell::Dash { reason, .. } if reason.contains("`oct2017`"))
        );
        let exact = not_run.rows.iter().find(|row| row.label == "Exact-H");
        assert_eq!(exact.unwrap().cells[2].paper(), None);
    }

    #[test]
    fn named_datasets_are_opened_before_anything_is_trained() {
        let ChosenDatasets { to_run, not_run } = found(&["adhd", "digits"]).unwrap();
        assert_eq!(to_run, ["digits"]);
        assert_eq!(not_run.unwrap().columns, ["adhd ERAttack", "adhd MSE"]);
        assert!(found(&["digits"]).unwrap().not_run.is_none());
        let message = found(&["digits", "adlut"]).err().unwrap().to_string();
        assert!(message.contains("adlut"), "{message}");
    }
}
