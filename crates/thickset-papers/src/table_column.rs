//! Columns of a table: one value a row and seed, the paper's beside it, the best marked as the paper marks it.

use thickset::Result;
use thickset::bench::{Cell, Mark, Table, TableRow};
use thickset::statistics::{mean, t_test};

use crate::measure::Measured;
use crate::method::MethodRole;
use crate::runner::{Grid, GridEntry};

/// The p value below which a difference is called significant.
const SIGNIFICANCE: f64 = 0.05;

/// Which way a column is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Higher,
    Lower,
    /// Nothing is marked.
    Unmarked,
}

/// One column.
#[derive(Clone)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) better: Better,
    /// What the values are parts of: intervals do not reach beyond it, or below 0. None where they are no parts.
    pub(crate) whole: Option<f64>,
    /// What each row is to a comparison.
    pub(crate) roles: Vec<MethodRole>,
    pub(crate) entries: Vec<ColumnEntry>,
}

/// What a row has in a column.
#[derive(Clone)]
pub(crate) enum ColumnEntry {
    Found {
        /// One value a seed.
        seeds: Vec<f64>,
        /// One value a row of every seed, for paired tests, none for a row that does not count; empty where there is none.
        rows: Vec<Option<f64>>,
        paper: Option<f64>,
    },
    Dash {
        reason: String,
        paper: Option<f64>,
    },
    Text(String),
}

/// The roles that compete for the best of a column.
pub(crate) const COMPETING: [MethodRole; 3] =
    [MethodRole::Rival, MethodRole::R2et, MethodRole::Ours];

impl ColumnEntry {
    fn dash(reason: String) -> Self {
        let paper = None;
        Self::Dash { reason, paper }
    }

    /// The mean over seeds.
    pub(crate) fn mean(&self) -> Option<f64> {
        match self {
            Self::Found { seeds, .. } => mean::estimate(seeds).ok().map(|mean| mean.value),
            Self::Dash { .. } | Self::Text(_) => None,
        }
    }
}

/// As a percentage.
pub(crate) const PERCENT: f64 = 100.0;

/// Measurements that do not lie between 0 and 1.
const NO_SHARES: [&str; 2] = ["gap", "kendall"];

/// What a measurement, times `scale`, is a part of.
fn whole(what: &str, scale: f64) -> Option<f64> {
    (!NO_SHARES.contains(&what)).then_some(scale)
}

impl TableColumn {
    /// The rows' values of one measurement, times `scale`, with the paper's numbers.
    pub(crate) fn of_rows(
        name: String,
        grid: &Grid,
        found: &[Option<Vec<Measured>>],
        what: &'static str,
        (scale, better): (f64, Better),
        paper: impl Fn(&GridEntry) -> Option<f64>,
    ) -> Result<Self> {
        let rows = grid.rows.iter().zip(found);
        let entries = rows.map(|(row, found)| {
            let paper = paper(&row.entry);
            let Some(found) = found else {
                let reason = row.dash();
                return Ok(ColumnEntry::Dash { reason, paper });
            };
            let mut seeds = Vec::with_capacity(found.len());
            let mut rows = Vec::new();
            for one in found {
                seeds.push(scale * one.mean(what)?);
                rows.extend(one.rows(what)?.iter().copied().map(Some));
            }
            Ok(ColumnEntry::Found { seeds, rows, paper })
        });
        Ok(Self {
            name,
            better,
            whole: whole(what, scale),
            roles: grid.roles(),
            entries: entries.collect::<Result<_>>()?,
        })
    }

    /// The same over the rows that a model predicts as labelled; a dash where there is none for some seed.
    pub(crate) fn of_right_rows(
        name: String,
        grid: &Grid,
        found: &[Option<Vec<Measured>>],
        what: &'static str,
        (scale, better): (f64, Better),
    ) -> Result<Self> {
        let rows = grid.rows.iter().zip(found);
        let entries = rows.map(|(row, found)| {
            let Some(found) = found else {
                return Ok(ColumnEntry::dash(row.dash()));
            };
            let mut seeds = Vec::with_capacity(found.len());
            let mut rows = Vec::new();
            for one in found {
                let of_seed = one.right_rows(what)?;
                let right: Vec<f64> = of_seed.iter().flatten().copied().collect();
                if right.is_empty() {
                    return Ok(ColumnEntry::dash(
                        "no row is predicted as labelled".to_owned(),
                    ));
                }
                seeds.push(scale * mean::estimate(&right)?.value);
                rows.extend(of_seed);
            }
            Ok(ColumnEntry::Found {
                seeds,
                rows,
                paper: None,
            })
        });
        Ok(Self {
            name,
            better,
            whole: whole(what, scale),
            roles: grid.roles(),
            entries: entries.collect::<Result<_>>()?,
        })
    }

    /// Dashes for all rows.
    pub(crate) fn of_dashes(
        name: String,
        grid: &Grid,
        reason: &str,
        paper: impl Fn(&GridEntry) -> Option<f64>,
    ) -> Self {
        let entries = grid.rows.iter().map(|row| ColumnEntry::Dash {
            reason: reason.to_owned(),
            paper: paper(&row.entry),
        });
        Self {
            name,
            better: Better::Unmarked,
            whole: None,
            roles: grid.roles(),
            entries: entries.collect(),
        }
    }

    /// One number a seed.
    pub(crate) fn of_numbers(
        name: String,
        grid: &Grid,
        found: &[Option<Vec<Measured>>],
        what: &'static str,
        better: Better,
        paper: impl Fn(&GridEntry) -> Option<f64>,
    ) -> Result<Self> {
        let rows = grid.rows.iter().zip(found);
        let entries = rows.map(|(row, found)| {
            let paper = paper(&row.entry);
            let Some(found) = found else {
                let reason = row.dash();
                return Ok(ColumnEntry::Dash { reason, paper });
            };
            let seeds = found.iter().map(|one| one.number(what));
            Ok(ColumnEntry::Found {
                seeds: seeds.collect::<Result<_>>()?,
                rows: Vec::new(),
                paper,
            })
        });
        Ok(Self {
            name,
            better,
            whole: whole(what, 1.0),
            roles: grid.roles(),
            entries: entries.collect::<Result<_>>()?,
        })
    }

    /// The row of these role with the best mean.
    pub(crate) fn best(&self, of: &[MethodRole]) -> Option<usize> {
        self.best_but(of, None)
    }

    fn best_but(&self, of: &[MethodRole], without: Option<usize>) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (row, entry) in self.entries.iter().enumerate() {
            let counts = of.contains(&self.roles[row]) && Some(row) != without;
            let Some(value) = entry.mean().filter(|_| counts) else {
                continue;
            };
            let is_better = best.is_none_or(|(_, most)| match self.better {
                Better::Lower => value < most,
                _ => value > most,
            });
            if is_better {
                best = Some((row, value));
            }
        }
        best.map(|(row, _)| row)
    }

    /// Whether two rows differ significantly, over what counts for both; `None` where they cannot be paired.
    pub(crate) fn differ(&self, first: usize, second: usize) -> Option<bool> {
        let (first, second) = self.paired(first, second)?;
        let test = t_test::paired(&first, &second).ok()?;
        Some(test.p_value < SIGNIFICANCE)
    }

    /// The mean of the first row minus the second's, before scaling, over what counts for both; `None` where they cannot be paired.
    pub(crate) fn difference(&self, first: usize, second: usize) -> Option<f64> {
        let (first, second) = self.paired(first, second)?;
        let differences: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a - b).collect();
        mean::estimate(&differences).ok().map(|mean| mean.value)
    }

    /// What counts for both of two rows.
    fn paired(&self, first: usize, second: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        match (&self.entries[first], &self.entries[second]) {
            (ColumnEntry::Found { rows: a, .. }, ColumnEntry::Found { rows: b, .. })
                if a.len() == b.len() =>
            {
                let both = a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
                Some(both.unzip())
            }
            _ => None,
        }
    }

    /// How each row stands: the best of all methods is marked, and it is significant where it beats the best of the other
    /// side, R2ET's or its rivals'; so is the second best. The baseline is no method and has no mark.
    fn marks(&self) -> Vec<Mark> {
        let mut marks = vec![Mark::None; self.entries.len()];
        if self.better == Better::Unmarked {
            return marks;
        }
        let Some(best) = self.best(&COMPETING) else {
            return marks;
        };
        let other = match self.roles[best] {
            MethodRole::R2et => MethodRole::Rival,
            _ => MethodRole::R2et,
        };
        let beaten = self
            .best(&[other])
            .and_then(|rival| self.differ(best, rival));
        marks[best] = match beaten {
            Some(true) => Mark::Significant,
            _ => Mark::Best,
        };
        if let Some(second) = self.best_but(&COMPETING, Some(best)) {
            marks[second] = Mark::RunnerUp;
        }
        marks
    }
}

/// Puts columns side by side under a title.
pub(crate) fn table(title: &str, labels: &[String], columns: &[TableColumn]) -> Result<Table> {
    let marks: Vec<Vec<Mark>> = columns.iter().map(TableColumn::marks).collect();
    let mut rows = Vec::with_capacity(labels.len());
    for (index, label) in labels.iter().enumerate() {
        let mut cells = Vec::with_capacity(columns.len());
        for (column, marks) in columns.iter().zip(&marks) {
            cells.push(match &column.entries[index] {
                ColumnEntry::Found { seeds, paper, .. } => Cell::Number {
                    ours: match column.whole {
                        Some(whole) => mean::estimate(seeds)?.of_part(whole),
                        None => mean::estimate(seeds)?,
                    },
                    paper: *paper,
                    mark: marks[index],
                },
                ColumnEntry::Dash { reason, paper } => Cell::Dash {
                    reason: reason.clone(),
                    paper: *paper,
                },
                ColumnEntry::Text(text) => Cell::Text(text.clone()),
            });
        }
        let label = label.clone();
        rows.push(TableRow { label, cells });
    }
    Ok(Table {
        title: title.to_owned(),
        corner: "method".to_owned(),
        columns: columns.iter().map(|column| column.name.clone()).collect(),
        rows,
    })
}

/// The names of a grid's rows.
pub(crate) fn labels(grid: &Grid) -> Vec<String> {
    let rows = grid.rows.iter();
    rows.map(|row| row.entry.label.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &[f64], paper: Option<f64>) -> ColumnEntry {
        ColumnEntry::Found {
            seeds: vec![rows.iter().sum::<f64>() / crate::count::as_f64(rows.len())],
            rows: rows.iter().copied().map(Some).collect(),
            paper,
        }
    }

    fn marks(entries: Vec<ColumnEntry>, better: Better) -> Vec<Mark> {
        let column = TableColumn {
            name: "P@k".to_owned(),
            better,
            whole: Some(1.0),
            roles: vec![
                MethodRole::Baseline,
                MethodRole::Rival,
                MethodRole::R2et,
                MethodRole::R2et,
            ],
            entries,
        };
        let labels = ["linear", "vanilla", "r2et", "r2et-mm"].map(str::to_owned);
        let table = table("t", &labels, &[column]).unwrap();
        let mark = |row: &TableRow| match row.cells[0] {
            Cell::Number { mark, .. } => mark,
            _ => Mark::None,
        };
        table.rows.iter().map(mark).collect()
    }

    #[test]
    fn the_best_method_is_marked_and_the_baseline_never() {
        let steady: Vec<f64> = (0..40)
            .map(|row| 0.9 + 0.001 * f64::from(row % 3))
            .collect();
        let shaky: Vec<f64> = (0..40)
            .map(|row| 0.5 + 0.001 * f64::from(row % 7))
            .collect();
        let entries = || {
            vec![
                found(&[1.0; 40], None),
                found(&shaky, Some(87.6)),
                found(&steady, None),
                ColumnEntry::dash("no".to_owned()),
            ]
        };
        let expected = [Mark::None, Mark::RunnerUp, Mark::Significant, Mark::None];
        assert_eq!(marks(entries(), Better::Higher), expected);
        let expected = [Mark::None, Mark::Significant, Mark::RunnerUp, Mark::None];
        assert_eq!(marks(entries(), Better::Lower), expected);
        assert_eq!(marks(entries(), Better::Unmarked), [Mark::None; 4]);
    }

    #[test]
    fn what_does_not_differ_significantly_is_best_and_no_more() {
        let a: Vec<f64> = (0..10).map(|row| f64::from(row % 2)).collect();
        let b: Vec<f64> = (0..10)
            .map(|row| f64::from((row + 1) % 2) + if row == 0 { 0.1 } else { 0.0 })
            .collect();
        let entries = vec![
            ColumnEntry::dash(String::new()),
            found(&a, None),
            found(&b, None),
            found(&a, None),
        ];
        assert_eq!(marks(entries, Better::Higher)[2], Mark::Best);
    }

    #[test]
    fn rows_are_paired_by_their_place_and_those_of_one_method_alone_do_not_count() {
        // Where both count they are equal; only the rows that one of them gets wrong differ.
        let found = |rows: Vec<Option<f64>>| ColumnEntry::Found {
            seeds: vec![1.0],
            rows,
            paper: None,
        };
        let column = |second: Vec<Option<f64>>| TableColumn {
            name: String::new(),
            better: Better::Higher,
            whole: None,
            roles: vec![MethodRole::Rival, MethodRole::R2et],
            entries: vec![
                found(
                    (0..40)
                        .map(|row| Some(if row < 20 { 0.1 } else { 0.9 }))
                        .collect(),
                ),
                found(second),
            ],
        };
        let right_on_half = (0..40).map(|row| (row >= 20).then_some(0.9));
        let equal = column(right_on_half.collect());
        assert_eq!(equal.differ(0, 1), Some(false));
        assert!(equal.difference(0, 1).unwrap().abs() < 1e-12);
        let worse = (0..40).map(|row| Some(if row < 20 { 0.0 } else { 0.5 }));
        let worse = column(worse.collect());
        assert_eq!(worse.differ(0, 1), Some(true));
        // 0.1 on one half of the rows and 0.4 on the other.
        assert!((worse.difference(0, 1).unwrap() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn an_interval_of_shares_stays_between_nothing_and_all() {
        let column = |whole| TableColumn {
            name: String::new(),
            better: Better::Unmarked,
            whole,
            roles: vec![MethodRole::R2et],
            entries: vec![ColumnEntry::Found {
                seeds: vec![99.0, 60.0, 90.0],
                rows: Vec::new(),
                paper: None,
            }],
        };
        let interval = |whole| {
            let table = table("t", &["r2et".to_owned()], &[column(whole)]).unwrap();
            match table.rows[0].cells[0] {
                Cell::Number { ours, .. } => ours.interval.unwrap(),
                _ => panic!("a number was put in"),
            }
        };
        let (free, cut) = (interval(None), interval(Some(PERCENT)));
        assert!(free.high > PERCENT && free.low < cut.high);
        assert!((cut.high - PERCENT).abs() < 1e-12 && (cut.low - free.low).abs() < 1e-12);
        assert_eq!(whole("precision", PERCENT), Some(PERCENT));
        assert_eq!(whole("gap", 1.0), None);
    }
}
