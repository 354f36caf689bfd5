//! What the tables over datasets share: each dataset is opened, its methods are trained and chosen, and columns are measured.

use super::column::{Column, labels, table};
use super::draft::Draft;
use super::lab::{Bed, Entry, Grid, Lab};
use super::method::{METHODS, Method};
use super::paper;
use super::result::{Cell, Table, TableRow};
use crate::Result;

/// Datasets of the papers that nobody else can get.
const UNAVAILABLE: [(&str, &str); 3] = [
    (
        "adhd",
        "the paper's ADHD graphs are not public; `abide-pairs` has as many regions and stands in for neither",
    ),
    ("bp", "the paper's BP graphs are not public"),
    (
        "roct",
        "the retinal images are not among the known datasets; `thickset train` takes a folder of images",
    ),
];

/// Why a dataset of the papers is not here, if it is not.
pub(super) fn unavailable(name: &str) -> Option<&'static str> {
    let found = UNAVAILABLE.iter().find(|(known, _)| *known == name);
    found.map(|(_, reason)| *reason)
}

/// The datasets asked for, or the bench's own, which are here; and a table of dashes for those that are not.
pub(super) fn datasets(lab: &Lab<'_>, own: &[&str]) -> (Vec<String>, Option<Table>) {
    let wanted: Vec<String> = if lab.options.datasets.is_empty() {
        own.iter().map(|&name| name.to_owned()).collect()
    } else {
        lab.options.datasets.clone()
    };
    let (absent, here): (Vec<String>, Vec<String>) = wanted
        .into_iter()
        .partition(|name| unavailable(name).is_some());
    let rows: Vec<TableRow> = absent
        .into_iter()
        .map(|label| TableRow {
            cells: vec![Cell::Dash(
                unavailable(&label).unwrap_or_default().to_owned(),
            )],
            label,
        })
        .collect();
    let dashes = (!rows.is_empty()).then(|| Table {
        title: "Datasets of the paper that are not here".to_owned(),
        corner: "dataset".to_owned(),
        columns: vec!["number".to_owned()],
        rows,
    });
    (here, dashes)
}

/// The methods that the paper's table has, with the linear baseline; those asked for, if some are.
pub(super) fn of_paper(lab: &Lab<'_>, bed: &Bed, name: &str) -> Result<Vec<Entry>> {
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
pub(super) fn sheet(
    lab: &Lab<'_>,
    draft: &mut Draft,
    title: &str,
    own: &[&str],
    mut columns: impl FnMut(&mut Draft, &Bed) -> Result<(Grid, Vec<Column>)>,
) -> Result<()> {
    draft.training(lab);
    let (mut all, mut names): (Vec<Column>, Vec<String>) = (Vec::new(), Vec::new());
    let (here, dashes) = datasets(lab, own);
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
    draft.table(table(title, &names, &all)?);
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    Ok(())
}

/// Seeds of a bench on tables where none are asked for.
pub(super) const SEEDS: u64 = 3;
