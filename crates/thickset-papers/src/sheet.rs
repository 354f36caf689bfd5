//! What the tables over datasets share: each dataset is opened, its methods are trained and chosen, and columns are measured.

use thickset::bench::{Cell, Table, TableRow};
use thickset::{Error, Result, Seed};

use crate::TABLES;
use crate::column::{Column, labels, table};
use crate::draft::Draft;
use crate::field::Field;
use crate::lab::{Bed, Entry, Grid, Lab};
use crate::method::{METHODS, Method};
use crate::paper;

/// Why datasets of the papers are not run, or not unless they are asked for.
const REASONS: [(&str, &str, bool); 5] = [
    (
        "mnist-3-8-pairs",
        "it takes long, so it is run when asked for: --datasets mnist-3-8-pairs",
        true,
    ),
    (
        "cifar10",
        "it takes long, so it is run when asked for: --datasets cifar10",
        true,
    ),
    (
        "roct",
        "the retinal images are not among the known datasets; `thickset train` takes a folder of images",
        false,
    ),
    (
        "adhd",
        "the paper's ADHD graphs are not public; `abide-pairs` has as many regions and stands in for neither",
        false,
    ),
    ("bp", "the paper's BP graphs are not public", false),
];

/// What a table or figure of the paper is about.
pub(crate) struct Printed<'a> {
    /// Its id among the paper's numbers.
    pub(crate) table: &'a str,
    /// What the numbers of a cell are called, for a dataset.
    pub(crate) numbers: fn(&str) -> &'static [&'static str],
    /// Its datasets that are not run unless they are asked for.
    pub(crate) others: &'a [&'a str],
}

impl<'a> Printed<'a> {
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
pub(crate) struct Datasets {
    /// Those that are run.
    pub(crate) here: Vec<String>,
    /// A table of dashes for the others, with the paper's numbers beside them.
    pub(crate) dashes: Option<Table>,
}

/// The datasets asked for, or the bench's own. Each is opened once before anything is trained, so that a misspelt name is found
/// at once; one whose files are not here becomes a dash.
pub(crate) fn datasets(lab: &Lab<'_>, own: &[&str], printed: &Printed<'_>) -> Result<Datasets> {
    let is_own = lab.options.datasets.is_empty();
    let wanted: Vec<String> = if is_own {
        own.iter().map(|&name| name.to_owned()).collect()
    } else {
        lab.options.datasets.clone()
    };
    let (mut here, mut absent, mut missing) = (Vec::new(), Vec::new(), None);
    for name in wanted {
        let reason = REASONS.iter().find(|(known, _, _)| *known == name);
        if let Some((_, reason, false)) = reason {
            absent.push((name, (*reason).to_owned()));
            continue;
        }
        match Field::open(&name, Seed::new(0), lab.options) {
            Ok(_) => here.push(name),
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
    if let (true, Some(error)) = (here.is_empty(), missing) {
        return Err(error);
    }
    if is_own {
        for (name, reason, _) in REASONS {
            if printed.others.contains(&name) {
                absent.push((name.to_owned(), reason.to_owned()));
            }
        }
    }
    let dashes = (!absent.is_empty()).then(|| dashes(lab, &absent, printed));
    Ok(Datasets { here, dashes })
}

/// A dash for every method and dataset, with the paper's numbers beside.
fn dashes(lab: &Lab<'_>, absent: &[(String, String)], printed: &Printed<'_>) -> Table {
    let asked = &lab.options.methods;
    let is_row = |method: &&Method| {
        paper::has_row(printed.table, method.id)
            && (asked.is_empty() || asked.iter().any(|id| id == method.id))
    };
    let mut methods: Vec<(&str, &str)> = METHODS
        .iter()
        .filter(is_row)
        .map(|method| (method.id, method.label))
        .collect();
    if methods.is_empty() {
        methods.push(("", "every method"));
    }
    let mut columns = Vec::new();
    let mut places = Vec::new();
    for (name, reason) in absent {
        let numbers = (printed.numbers)(name);
        if paper::has_dataset(printed.table, name) {
            columns.extend(numbers.iter().map(|number| format!("{name} {number}")));
            places.extend((0..numbers.len()).map(|index| (name, reason, index)));
        } else {
            columns.push(name.clone());
            places.push((name, reason, 0));
        }
    }
    let rows = methods.iter().map(|(id, label)| TableRow {
        label: (*label).to_owned(),
        cells: places
            .iter()
            .map(|(name, reason, index)| Cell::Dash {
                reason: (*reason).clone(),
                paper: paper::number(printed.table, name, id, *index),
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

/// The methods that the paper's table has, with the linear baseline; those asked for, if some are.
pub(crate) fn of_paper(lab: &Lab<'_>, bed: &Bed, name: &str) -> Result<Vec<Entry>> {
    if !lab.options.methods.is_empty() {
        return lab.entries(bed);
    }
    let has = |method: &&Method| method.id == "linear" || paper::has_row(name, method.id);
    Ok(METHODS
        .iter()
        .filter(has)
        .map(|method| Entry::new(method, bed))
        .collect())
}

/// One table with the columns of every dataset side by side, each named after its dataset.
pub(crate) fn sheet(
    lab: &Lab<'_>,
    draft: &mut Draft,
    title: &str,
    printed: &Printed<'_>,
    mut columns: impl FnMut(&mut Draft, &Bed) -> Result<(Grid, Vec<Column>)>,
) -> Result<()> {
    draft.training(lab);
    let (mut all, mut names): (Vec<Column>, Vec<String>) = (Vec::new(), Vec::new());
    let Datasets { here, dashes } = datasets(lab, &TABLES, printed)?;
    for name in here {
        let bed = lab.open(&name, SEEDS)?;
        draft.bed(&bed);
        let (grid, found) = columns(draft, &bed)?;
        names = labels(&grid);
        all.extend(found.into_iter().map(|column| Column {
            name: format!("{} {}", bed.name, column.name),
            ..column
        }));
    }
    if !all.is_empty() {
        draft.first_table(table(title, &names, &all)?);
    }
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    Ok(())
}

/// Seeds of a bench on tables where none are asked for.
pub(crate) const SEEDS: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    const PRINTED: Printed<'static> = Printed {
        table: "table1",
        numbers: |_| &["ERAttack", "MSE"],
        others: &["cifar10", "roct", "adhd", "bp"],
    };

    fn found(names: &[&str]) -> Result<Datasets> {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::new(folder.path());
        options.datasets = names.iter().map(|&name| name.to_owned()).collect();
        datasets(&Lab::new(&options, &|_| {})?, &["breast-cancer"], &PRINTED)
    }

    #[test]
    fn datasets_that_are_not_run_are_dashes_with_the_papers_numbers() {
        let Datasets { here, dashes } = found(&[]).unwrap();
        assert_eq!(here, ["breast-cancer"]);
        let dashes = dashes.unwrap();
        assert_eq!(dashes.columns.len(), 8);
        assert_eq!(dashes.columns[4], "adhd ERAttack");
        let vanilla = &dashes.rows[0];
        assert_eq!(vanilla.label, "Vanilla");
        assert_eq!(vanilla.cells[4].paper(), Some(45.5));
        assert!(
            matches!(&vanilla.cells[0], Cell::Dash { reason, .. } if reason.contains("--datasets cifar10"))
        );
        let exact = dashes.rows.iter().find(|row| row.label == "Exact-H");
        assert_eq!(exact.unwrap().cells[4].paper(), None);
    }

    #[test]
    fn asked_for_datasets_are_looked_at_before_anything_is_trained() {
        let Datasets { here, dashes } = found(&["adhd", "digits"]).unwrap();
        assert_eq!(here, ["digits"]);
        assert_eq!(dashes.unwrap().columns, ["adhd ERAttack", "adhd MSE"]);
        assert!(found(&["digits"]).unwrap().dashes.is_none());
        let message = found(&["digits", "adlut"]).err().unwrap().to_string();
        assert!(message.contains("adlut"), "{message}");
    }
}
