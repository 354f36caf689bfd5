//! What an audit says of a table's columns and of single people: how much each column contributes and in which direction, for whom
//! reasons or predictions are worse, and the reasons of three people as they would be told.

use serde::{Deserialize, Serialize};

use super::Audit;
use crate::check::as_f64;
use crate::data::{Encoding, Schema};
use crate::metric::auc;
use crate::reasons::{ColumnValue, RowReasons, column_values};
use crate::{Result, Rows};

/// Contributions over all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonsRecord {
    /// The class that positive contributions push towards.
    pub adverse: String,
    /// What rows are compared with.
    pub reference: String,
    /// What each column contributes, in the order of the data.
    pub columns: Vec<ColumnRecord>,
    /// Three people whose case is decided against: the surest, the middle one and the least sure; fewer where there are not three.
    pub samples: Vec<RowReasons>,
    /// The change that the samples' reasons were tested by, in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub change: Option<String>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnRecord {
    /// Its name.
    pub column: String,
    /// The value of the reference.
    pub reference: String,
    /// The mean size of its contribution.
    pub size: f64,
    /// The mean of its contribution with its sign.
    pub mean: f64,
    /// Rows with each of its values: categories, or parts of a number's range with about as many rows each.
    pub bins: Vec<BinRecord>,
}

/// Rows with similar values of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BinRecord {
    /// The category, or from where to where.
    pub label: String,
    /// The mean value, where it is a number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<f64>,
    /// How many rows.
    pub rows: usize,
    /// The mean contribution of the column.
    pub contribution: f64,
    /// The mean P@k of the rows.
    pub precision: f64,
    /// The share decided against.
    pub decided: f64,
    /// The AUC among them, where both classes are.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub auc: Option<f64>,
}

/// Parts of a number's range.
const PARTS: usize = 8;
/// Categories that are told apart; all others are one.
const MOST_LEVELS: usize = 12;
/// Rows that edges and frequent categories are found in.
const SAMPLED: usize = 4096;
/// Rows that are divided; more tell nothing new, and their scores would be held in memory.
const MOST_ROWS: usize = 50_000;

/// How a column's rows are divided.
enum Division {
    /// The upper ends of all parts but the last.
    Number(Vec<f64>),
    Levels(Vec<String>),
}

/// What is added up of one bin.
#[derive(Default)]
struct Sums {
    rows: usize,
    value: f64,
    numbers: usize,
    contribution: f64,
    precision: f64,
    decided: usize,
    scores: Vec<Vec<f64>>,
    labels: Vec<usize>,
}

/// Everything a column's record is made of.
pub(crate) struct Columns<'a> {
    divisions: Vec<Division>,
    sums: Vec<Vec<Sums>>,
    sizes: Vec<f64>,
    means: Vec<f64>,
    rows: usize,
    schema: &'a Schema,
    encoding: Option<&'a Encoding>,
}

impl<'a> Columns<'a> {
    /// Divides the values of the rows.
    pub(crate) fn new(rows: &Rows<'a>, encoding: Option<&'a Encoding>) -> Self {
        let schema = rows.schema();
        let step = rows.len().div_ceil(SAMPLED).max(1);
        let sampled: Vec<Vec<ColumnValue>> = (0..rows.len())
            .step_by(step)
            .map(|place| column_values(schema, encoding, &rows.gather([place])))
            .collect();
        let count = schema.by_column().len();
        let divisions: Vec<Division> = (0..count).map(|column| divide(&sampled, column)).collect();
        let sums = divisions.iter().map(|division| {
            let bins = match division {
                Division::Number(edges) => edges.len() + 2,
                Division::Levels(levels) => levels.len() + 1,
            };
            (0..bins).map(|_| Sums::default()).collect()
        });
        Self {
            sums: sums.collect(),
            divisions,
            sizes: vec![0.0; count],
            means: vec![0.0; count],
            rows: 0,
            schema,
            encoding,
        }
    }

    /// Whether more rows are wanted.
    pub(crate) fn wants_more(&self) -> bool {
        self.rows < MOST_ROWS
    }

    /// Adds a row: its encoded values, what its columns contribute, and what the audit says of it.
    pub(crate) fn add(&mut self, values: &[f64], contributions: &[f64], row: &AuditedRow<'_>) {
        self.rows += 1;
        let own = column_values(self.schema, self.encoding, values);
        for (column, (value, contribution)) in own.iter().zip(contributions).enumerate() {
            self.sizes[column] += contribution.abs();
            self.means[column] += contribution;
            let bin = self.divisions[column].bin(value);
            let sums = &mut self.sums[column][bin];
            sums.rows += 1;
            if let Some(number) = value.number {
                sums.value += number;
                sums.numbers += 1;
            }
            sums.contribution += contribution;
            sums.precision += row.precision;
            sums.decided += usize::from(row.is_adverse);
            if let Some(label) = row.label {
                sums.scores.push(row.probabilities.to_vec());
                sums.labels.push(label);
            }
        }
    }

    /// The records, given the values of the reference.
    pub(crate) fn finish(self, reference: &[ColumnValue]) -> Result<Vec<ColumnRecord>> {
        let rows = as_f64(self.rows.max(1));
        let mut records = Vec::with_capacity(self.sums.len());
        for (column, (division, sums)) in self.divisions.iter().zip(self.sums).enumerate() {
            let mut bins = Vec::new();
            for (place, sums) in sums.into_iter().enumerate() {
                if sums.rows > 0 {
                    bins.push(sums.record(division.label(place))?);
                }
            }
            records.push(ColumnRecord {
                column: reference[column].column.clone(),
                reference: reference[column].text.clone(),
                size: self.sizes[column] / rows,
                mean: self.means[column] / rows,
                bins,
            });
        }
        Ok(records)
    }
}

/// What an audit says of a row.
pub(crate) struct AuditedRow<'a> {
    pub(crate) probabilities: &'a [f64],
    pub(crate) label: Option<usize>,
    pub(crate) precision: f64,
    pub(crate) is_adverse: bool,
}

impl Sums {
    fn record(self, label: String) -> Result<BinRecord> {
        let rows = as_f64(self.rows);
        let area = if self.labels.is_empty() {
            None
        } else {
            auc::score(&self.scores, &self.labels)?.map(|found| found.value)
        };
        Ok(BinRecord {
            label,
            value: (self.numbers > 0).then(|| self.value / as_f64(self.numbers)),
            rows: self.rows,
            contribution: self.contribution / rows,
            precision: self.precision / rows,
            decided: as_f64(self.decided) / rows,
            auc: area,
        })
    }
}

impl Division {
    fn bin(&self, value: &ColumnValue) -> usize {
        match self {
            // What is missing comes last.
            Self::Number(edges) => value.number.map_or(edges.len() + 1, |number| {
                edges.iter().filter(|edge| number > **edge).count()
            }),
            Self::Levels(levels) => {
                let place = levels.iter().position(|level| *level == value.text);
                place.unwrap_or(levels.len())
            }
        }
    }

    fn label(&self, bin: usize) -> String {
        let shown = crate::reasons::shown;
        match self {
            Self::Number(edges) if bin > edges.len() => "missing".to_owned(),
            Self::Number(edges) if edges.is_empty() => "all".to_owned(),
            Self::Number(edges) if bin == 0 => format!("up to {}", shown(edges[0])),
            Self::Number(edges) if bin == edges.len() => format!("above {}", shown(edges[bin - 1])),
            Self::Number(edges) => format!("{} to {}", shown(edges[bin - 1]), shown(edges[bin])),
            Self::Levels(levels) => levels
                .get(bin)
                .cloned()
                .unwrap_or_else(|| "all others".to_owned()),
        }
    }
}

fn divide(sampled: &[Vec<ColumnValue>], column: usize) -> Division {
    let mut numbers: Vec<f64> = sampled
        .iter()
        .filter_map(|row| row[column].number)
        .collect();
    if numbers.is_empty() {
        let mut counts = std::collections::BTreeMap::<&str, usize>::new();
        for row in sampled {
            *counts.entry(&row[column].text).or_default() += 1;
        }
        let mut levels: Vec<(&str, usize)> = counts.into_iter().collect();
        levels.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        levels.truncate(MOST_LEVELS);
        return Division::Levels(
            levels
                .into_iter()
                .map(|(text, _)| text.to_owned())
                .collect(),
        );
    }
    numbers.sort_by(f64::total_cmp);
    let mut edges: Vec<f64> = (1..PARTS)
        .map(|part| numbers[(numbers.len() * part / PARTS).min(numbers.len() - 1)])
        .collect();
    edges.dedup();
    // No part above the greatest value.
    let greatest = numbers[numbers.len() - 1];
    edges.retain(|edge| *edge < greatest);
    Division::Number(edges)
}

/// The places of the surest, the middle and the least sure of the rows that are decided against.
pub(crate) fn sampled_people(
    audit: &Audit,
    adverse: usize,
    is_adverse: impl Fn(&[f64]) -> bool,
) -> Vec<u64> {
    let rows = audit
        .rows
        .iter()
        .filter(|row| is_adverse(&row.probabilities));
    let mut rows: Vec<(f64, u64)> = rows
        .map(|row| (row.probabilities[adverse], row.row))
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<u64> = Vec::new();
    if let Some(last) = rows.len().checked_sub(1) {
        for place in [0, last / 2, last] {
            if !chosen.contains(&rows[place].1) {
                chosen.push(rows[place].1);
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(numbers: &[f64]) -> Vec<Vec<ColumnValue>> {
        let value = |number: &f64| ColumnValue {
            column: "a".to_owned(),
            text: number.to_string(),
            number: Some(*number),
            is_missing: false,
        };
        numbers.iter().map(|number| vec![value(number)]).collect()
    }

    #[test]
    fn a_number_is_divided_into_parts_of_about_as_many_rows() {
        let numbers: Vec<f64> = (0..80_u8).map(f64::from).collect();
        let sampled = values(&numbers);
        let division = divide(&sampled, 0);
        let mut counts = [0; PARTS];
        for row in &sampled {
            counts[division.bin(&row[0])] += 1;
        }
        assert!(
            counts.iter().all(|count| (9..=11).contains(count)),
            "{counts:?}"
        );
        assert_eq!(division.label(0), "up to 10");
        assert_eq!(division.label(PARTS - 1), "above 70");
    }

    #[test]
    fn a_number_of_one_value_is_one_part() {
        let division = divide(&values(&[3.0; 5]), 0);
        assert_eq!(division.label(0), "all");
        assert_eq!(division.bin(&values(&[3.0])[0][0]), 0);
    }
}
