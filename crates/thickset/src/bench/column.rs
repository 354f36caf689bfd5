//! Columns of a table: one value a row and seed, the paper's beside it, the best marked as the paper marks it.

use super::lab::{Entry, Grid};
use super::measure::Measured;
use super::method::Kin;
use super::result::{Cell, Mark, Table, TableRow};
use crate::Result;
use crate::statistics::{mean, t_test};

/// The p value below which a difference is called significant.
const SIGNIFICANCE: f64 = 0.05;

/// Which way a column is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
    /// Nothing is marked.
    Unmarked,
}

/// One column.
#[derive(Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) better: Better,
    /// What each row is to a comparison.
    pub(super) kins: Vec<Kin>,
    pub(super) places: Vec<Place>,
}

/// A row's place in a column.
#[derive(Clone)]
pub(super) enum Place {
    Found {
        /// One value a seed.
        seeds: Vec<f64>,
        /// One value a row of every seed, for paired tests; empty where there is none.
        rows: Vec<f64>,
        paper: Option<f64>,
    },
    Dash(String),
    Text(String),
}

impl Place {
    /// The mean over seeds.
    pub(super) fn mean(&self) -> Option<f64> {
        match self {
            Self::Found { seeds, .. } => mean::estimate(seeds).ok().map(|mean| mean.value),
            Self::Dash(_) | Self::Text(_) => None,
        }
    }
}

/// As a percentage.
pub(super) const PERCENT: f64 = 100.0;

impl Column {
    /// The rows' values of one measurement, times `scale`, with the paper's numbers.
    pub(super) fn of_rows(
        name: String,
        grid: &Grid,
        found: &[Option<Vec<Measured>>],
        what: &'static str,
        (scale, better): (f64, Better),
        paper: impl Fn(&Entry) -> Option<f64>,
    ) -> Result<Self> {
        let rows = grid.rows.iter().zip(found);
        let places = rows.map(|(row, found)| {
            let Some(found) = found else {
                return Ok(Place::Dash(row.dash()));
            };
            let mut seeds = Vec::with_capacity(found.len());
            let mut rows = Vec::new();
            for one in found {
                seeds.push(scale * one.mean(what)?);
                rows.extend_from_slice(one.rows(what)?);
            }
            let paper = paper(&row.entry);
            Ok(Place::Found { seeds, rows, paper })
        });
        Ok(Self {
            name,
            better,
            kins: grid.kins(),
            places: places.collect::<Result<_>>()?,
        })
    }

    /// One number a seed.
    pub(super) fn of_numbers(
        name: String,
        grid: &Grid,
        found: &[Option<Vec<Measured>>],
        what: &'static str,
        better: Better,
        paper: impl Fn(&Entry) -> Option<f64>,
    ) -> Result<Self> {
        let rows = grid.rows.iter().zip(found);
        let places = rows.map(|(row, found)| {
            let Some(found) = found else {
                return Ok(Place::Dash(row.dash()));
            };
            let seeds = found.iter().map(|one| one.number(what));
            Ok(Place::Found {
                seeds: seeds.collect::<Result<_>>()?,
                rows: Vec::new(),
                paper: paper(&row.entry),
            })
        });
        Ok(Self {
            name,
            better,
            kins: grid.kins(),
            places: places.collect::<Result<_>>()?,
        })
    }

    /// The row of these kin with the best mean.
    pub(super) fn best(&self, of: &[Kin]) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (row, place) in self.places.iter().enumerate() {
            let Some(value) = place.mean().filter(|_| of.contains(&self.kins[row])) else {
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

    /// Whether two rows differ significantly; `None` where they cannot be paired.
    pub(super) fn differ(&self, first: usize, second: usize) -> Option<bool> {
        match (&self.places[first], &self.places[second]) {
            (Place::Found { rows: a, .. }, Place::Found { rows: b, .. })
                if !a.is_empty() && a.len() == b.len() =>
            {
                t_test::paired(a, b)
                    .ok()
                    .map(|test| test.p_value < SIGNIFICANCE)
            }
            _ => None,
        }
    }

    /// How each row stands: the best of all methods is marked, and it is significant where it beats the best of the other
    /// side, R2ET's or its rivals'. The baseline is no method and has no mark.
    fn marks(&self) -> Vec<Mark> {
        let mut marks = vec![Mark::None; self.places.len()];
        if self.better == Better::Unmarked {
            return marks;
        }
        let Some(best) = self.best(&[Kin::Rival, Kin::R2et]) else {
            return marks;
        };
        let other = match self.kins[best] {
            Kin::R2et => Kin::Rival,
            _ => Kin::R2et,
        };
        let beaten = self
            .best(&[other])
            .and_then(|rival| self.differ(best, rival));
        marks[best] = match beaten {
            Some(true) => Mark::Significant,
            _ => Mark::Best,
        };
        marks
    }
}

/// Puts columns side by side under a title.
pub(super) fn table(title: &str, labels: &[String], columns: &[Column]) -> Result<Table> {
    let marks: Vec<Vec<Mark>> = columns.iter().map(Column::marks).collect();
    let mut rows = Vec::with_capacity(labels.len());
    for (index, label) in labels.iter().enumerate() {
        let mut cells = Vec::with_capacity(columns.len());
        for (column, marks) in columns.iter().zip(&marks) {
            cells.push(match &column.places[index] {
                Place::Found { seeds, paper, .. } => Cell::Number {
                    ours: mean::estimate(seeds)?,
                    paper: *paper,
                    mark: marks[index],
                },
                Place::Dash(reason) => Cell::Dash(reason.clone()),
                Place::Text(text) => Cell::Text(text.clone()),
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
pub(super) fn labels(grid: &Grid) -> Vec<String> {
    let rows = grid.rows.iter();
    rows.map(|row| row.entry.label.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &[f64], paper: Option<f64>) -> Place {
        Place::Found {
            seeds: vec![rows.iter().sum::<f64>() / crate::check::as_f64(rows.len())],
            rows: rows.to_vec(),
            paper,
        }
    }

    fn marks(places: Vec<Place>, better: Better) -> Vec<Mark> {
        let column = Column {
            name: "P@k".to_owned(),
            better,
            kins: vec![Kin::Baseline, Kin::Rival, Kin::R2et, Kin::R2et],
            places,
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
        let places = || {
            vec![
                found(&[1.0; 40], None),
                found(&shaky, Some(87.6)),
                found(&steady, None),
                Place::Dash("no".to_owned()),
            ]
        };
        let expected = [Mark::None, Mark::None, Mark::Significant, Mark::None];
        assert_eq!(marks(places(), Better::Higher), expected);
        let expected = [Mark::None, Mark::Significant, Mark::None, Mark::None];
        assert_eq!(marks(places(), Better::Lower), expected);
        assert_eq!(marks(places(), Better::Unmarked), [Mark::None; 4]);
    }

    #[test]
    fn what_cannot_be_told_apart_is_best_and_no_more() {
        let a: Vec<f64> = (0..10).map(|row| f64::from(row % 2)).collect();
        let b: Vec<f64> = (0..10)
            .map(|row| f64::from((row + 1) % 2) + if row == 0 { 0.1 } else { 0.0 })
            .collect();
        let places = vec![
            Place::Dash(String::new()),
            found(&a, None),
            found(&b, None),
            found(&a, None),
        ];
        assert_eq!(marks(places, Better::Higher)[2], Mark::Best);
    }
}
