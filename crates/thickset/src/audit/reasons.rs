//! What an audit says of a table's columns and of single people: how much each column contributes and in which direction, for whom
//! reasons or predictions are worse, and the reasons of three people as they would be told.

use serde::{Deserialize, Serialize};

use super::Audit;
use crate::check::as_f64;
use crate::data::{Encoding, Schema};
use crate::decision::Decision;
use crate::metric::auc;
use crate::reasons::{RowReasons, column_values};
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
    /// Three people whose case is decided against: the surest, one half-way between the cut-off and certainty, and the least sure;
    /// fewer where there are not three.
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

/// What a record is made of. That of several machines is made of theirs, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReasonRows {
    pub(crate) adverse: String,
    pub(crate) reference: String,
    /// The columns and the reference's values.
    pub(crate) columns: Vec<(String, String)>,
    pub(crate) change: Option<String>,
    /// Every so-manyth of all rows.
    pub(crate) rows: Vec<SampledRow>,
    /// The people of whom some are told of.
    pub(crate) people: Vec<Person>,
}

/// What the columns of a row are and contribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SampledRow {
    values: Vec<SampledValue>,
    contributions: Vec<f64>,
}

/// What a model tells apart of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum SampledValue {
    Number(f64),
    Level(String),
}

/// Someone whose case is decided against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Person {
    /// The probability that the audit has.
    pub(crate) probability: f64,
    pub(crate) told: RowReasons,
}

/// Parts of a number's range.
const PARTS: usize = 8;
/// Categories that are told apart; all others are one.
const MOST_LEVELS: usize = 12;
/// Rows that are divided; more tell nothing new.
const MOST_ROWS: usize = 20_000;

/// Of so many rows, every how-manyth is looked at.
pub(crate) fn step(rows: usize) -> usize {
    rows.div_ceil(MOST_ROWS).max(1)
}

impl SampledRow {
    /// The row at a place, with what its columns contribute.
    pub(crate) fn new(
        rows: &Rows<'_>,
        place: usize,
        encoding: Option<&Encoding>,
        contributions: Vec<f64>,
    ) -> Self {
        let schema: &Schema = rows.schema();
        let row = rows.gather([place]);
        let given = rows.given(place);
        let own = column_values(schema, encoding, &row, given.as_deref());
        // Rows are divided by what the model computes with: a number beyond its range is at the bound.
        let counted = column_values(schema, encoding, &row, None);
        let values = own.iter().zip(counted).map(|(own, counted)| {
            match counted.number.filter(|_| !own.is_missing) {
                Some(number) => SampledValue::Number(number),
                None => SampledValue::Level(own.group().to_owned()),
            }
        });
        Self {
            values: values.collect(),
            contributions,
        }
    }
}

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

impl ReasonRows {
    /// The record of all rows of an audit, whose machines' parts these are.
    pub(crate) fn record(self, audit: &Audit, decision: Decision) -> Result<ReasonsRecord> {
        let step = step(audit.rows.len());
        let audited: Vec<AuditedRow> = audit
            .rows
            .iter()
            .step_by(step)
            .map(|row| AuditedRow {
                is_adverse: decision.is_adverse(&row.probabilities),
                probabilities: row.probabilities,
                label: row.label,
                precision: row.precision,
            })
            .collect();
        let count = as_f64(self.rows.len().max(1));
        let mut columns = Vec::with_capacity(self.columns.len());
        for (place, (column, reference)) in self.columns.into_iter().enumerate() {
            let values = self.rows.iter().map(|row| &row.values[place]);
            let division = divide(&values.clone().collect::<Vec<_>>());
            let contributions = self.rows.iter().map(|row| row.contributions[place]);
            let mut sums: Vec<Sums> = (0..division.bins()).map(|_| Sums::default()).collect();
            for ((value, contribution), row) in values.zip(contributions.clone()).zip(&audited) {
                sums[division.bin(value)].add(value, contribution, row);
            }
            let mut bins = Vec::new();
            for (bin, sums) in sums.into_iter().enumerate() {
                if sums.rows > 0 {
                    bins.push(sums.record(division.label(bin))?);
                }
            }
            columns.push(ColumnRecord {
                column,
                reference,
                size: contributions.clone().map(f64::abs).sum::<f64>() / count,
                mean: contributions.sum::<f64>() / count,
                bins,
            });
        }
        let chosen = chosen_people(
            self.people
                .iter()
                .map(|one| (one.probability, one.told.row)),
            decision,
            audit.model.classes.len(),
        );
        let samples = chosen.into_iter().filter_map(|row| {
            let person = self.people.iter().find(|one| one.told.row == row);
            person.map(|one| one.told.clone())
        });
        Ok(ReasonsRecord {
            adverse: self.adverse,
            reference: self.reference,
            columns,
            samples: samples.collect(),
            change: self.change,
        })
    }
}

/// What an audit says of a row.
struct AuditedRow {
    probabilities: Vec<f64>,
    label: Option<usize>,
    precision: f64,
    is_adverse: bool,
}

impl Sums {
    fn add(&mut self, value: &SampledValue, contribution: f64, row: &AuditedRow) {
        self.rows += 1;
        if let SampledValue::Number(number) = value {
            self.value += number;
            self.numbers += 1;
        }
        self.contribution += contribution;
        self.precision += row.precision;
        self.decided += usize::from(row.is_adverse);
        if let Some(label) = row.label {
            self.scores.push(row.probabilities.clone());
            self.labels.push(label);
        }
    }

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
    fn bins(&self) -> usize {
        match self {
            Self::Number(edges) => edges.len() + 2,
            Self::Levels(levels) => levels.len() + 1,
        }
    }

    fn bin(&self, value: &SampledValue) -> usize {
        match (self, value) {
            (Self::Number(edges), SampledValue::Number(number)) => {
                edges.iter().filter(|edge| number > *edge).count()
            }
            // What is missing comes last.
            (Self::Number(edges), SampledValue::Level(_)) => edges.len() + 1,
            (Self::Levels(levels), SampledValue::Level(text)) => {
                let place = levels.iter().position(|level| level == text);
                place.unwrap_or(levels.len())
            }
            (Self::Levels(levels), SampledValue::Number(_)) => levels.len(),
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

fn divide(sampled: &[&SampledValue]) -> Division {
    let numbers = sampled.iter().filter_map(|value| match value {
        SampledValue::Number(number) => Some(*number),
        SampledValue::Level(_) => None,
    });
    let mut numbers: Vec<f64> = numbers.collect();
    if numbers.is_empty() {
        let mut counts = std::collections::BTreeMap::<&str, usize>::new();
        for value in sampled {
            if let SampledValue::Level(text) = value {
                *counts.entry(text).or_default() += 1;
            }
        }
        let mut levels: Vec<(&str, usize)> = counts.into_iter().collect();
        levels.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        levels.truncate(MOST_LEVELS);
        let levels = levels.into_iter().map(|(text, _)| text.to_owned());
        return Division::Levels(levels.collect());
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

/// The rows of the surest of some people, of the one nearest to half-way between the cut-off and certainty, and of the least sure:
/// probabilities and numbers in, numbers out, each once; of equals the first. The choice among parts' choices is that among all.
pub(crate) fn chosen_people(
    people: impl Iterator<Item = (f64, u64)> + Clone,
    decision: Decision,
    classes: usize,
) -> Vec<u64> {
    let cutoff = decision.cutoff.unwrap_or(1.0 / as_f64(classes.max(2)));
    let half_way = f64::midpoint(cutoff, 1.0);
    let mut chosen: Vec<u64> = Vec::new();
    let distances: [&dyn Fn(f64) -> f64; 3] = [
        &|probability| -probability,
        &|probability| (probability - half_way).abs(),
        &|probability| probability,
    ];
    for distance in distances {
        let nearest = people.clone().min_by(|a, b| {
            let by_distance = distance(a.0).total_cmp(&distance(b.0));
            by_distance.then(a.1.cmp(&b.1))
        });
        if let Some((_, row)) = nearest.filter(|(_, row)| !chosen.contains(row)) {
            chosen.push(row);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(numbers: &[f64]) -> (Division, Vec<SampledValue>) {
        let values: Vec<SampledValue> = numbers.iter().copied().map(SampledValue::Number).collect();
        (divide(&values.iter().collect::<Vec<_>>()), values)
    }

    #[test]
    fn a_number_is_divided_into_parts_of_about_as_many_rows() {
        let numbers: Vec<f64> = (0..80_u8).map(f64::from).collect();
        let (division, sampled) = divided(&numbers);
        let mut counts = [0; PARTS];
        for value in &sampled {
            counts[division.bin(value)] += 1;
        }
        assert!(
            counts.iter().all(|count| (9..=11).contains(count)),
            "{counts:?}"
        );
        assert_eq!(division.label(0), "up to 10");
        assert_eq!(division.label(PARTS - 1), "above 70");
        let missing = division.bin(&SampledValue::Level("missing".to_owned()));
        assert_eq!(division.label(missing), "missing");
    }

    #[test]
    fn a_number_of_one_value_is_one_part() {
        let (division, values) = divided(&[3.0; 5]);
        assert_eq!(division.label(0), "all");
        assert_eq!(division.bin(&values[0]), 0);
    }

    #[test]
    fn people_chosen_among_parts_are_those_chosen_among_all() {
        let decision = Decision {
            adverse: 1,
            cutoff: Some(0.2),
        };
        let all: Vec<(f64, u64)> = (0..100_u64)
            .map(|row| (0.2 + f64::from((row * 37 % 50) as u8) / 64.0, row))
            .collect();
        let chosen = |people: &[(f64, u64)]| chosen_people(people.iter().copied(), decision, 2);
        let whole = chosen(&all);
        assert_eq!(whole.len(), 3);
        let parts: Vec<(f64, u64)> = all
            .chunks(23)
            .flat_map(|part| {
                let rows = chosen(part);
                let mut of_part = part.to_vec();
                of_part.retain(|(_, row)| rows.contains(row));
                of_part
            })
            .collect();
        assert!(parts.len() < all.len());
        assert_eq!(chosen(&parts), whole);
        assert_eq!(chosen(&all[..1]), [0]);
        assert!(chosen(&[]).is_empty());
    }

    #[test]
    fn of_many_rows_every_second_or_third_is_looked_at() {
        let steps = [0, 1, MOST_ROWS, MOST_ROWS + 1, 3 * MOST_ROWS].map(step);
        assert_eq!(steps, [1, 1, 1, 2, 3]);
    }

    #[test]
    fn without_a_cut_off_half_way_is_counted_from_an_even_split() {
        let decision = Decision {
            adverse: 1,
            cutoff: None,
        };
        // Half-way between a quarter and 1 is 0.625.
        let people = [(0.95, 1), (0.65, 2), (0.8, 3), (0.3, 4)];
        assert_eq!(chosen_people(people.into_iter(), decision, 4), [1, 2, 4]);
    }

    #[test]
    fn a_bin_has_the_means_of_its_rows() {
        let mut sums = Sums::default();
        let row = |precision: f64, is_adverse: bool| AuditedRow {
            probabilities: vec![0.5, 0.5],
            label: None,
            precision,
            is_adverse,
        };
        sums.add(&SampledValue::Number(3.0), 0.5, &row(1.0, true));
        sums.add(&SampledValue::Number(5.0), -0.25, &row(0.5, false));
        sums.add(
            &SampledValue::Level("missing".to_owned()),
            0.5,
            &row(0.0, false),
        );
        sums.add(
            &SampledValue::Level("missing".to_owned()),
            0.25,
            &row(0.5, false),
        );
        let bin = sums.record("all".to_owned()).unwrap();
        assert_eq!((bin.rows, bin.value, bin.auc), (4, Some(4.0), None));
        assert_eq!(
            (bin.contribution, bin.precision, bin.decided),
            (0.25, 0.5, 0.25)
        );
        let mut levels = Sums::default();
        levels.add(&SampledValue::Level("a".to_owned()), 1.0, &row(1.0, true));
        assert_eq!(levels.record("a".to_owned()).unwrap().value, None);
    }

    #[test]
    fn a_value_is_in_the_bin_whose_edges_it_lies_between() {
        let numbers = Division::Number(vec![1.0, 2.0]);
        assert_eq!(numbers.bins(), 4);
        let bins =
            [0.5, 1.0, 1.5, 2.0, 9.0].map(|number| numbers.bin(&SampledValue::Number(number)));
        assert_eq!(bins, [0, 0, 1, 1, 2]);
        assert_eq!(numbers.bin(&SampledValue::Level(String::new())), 3);
        let levels = Division::Levels(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(levels.bins(), 3);
        let bins = ["a", "b", "c"].map(|text| levels.bin(&SampledValue::Level(text.to_owned())));
        assert_eq!(bins, [0, 1, 2]);
        assert_eq!(levels.bin(&SampledValue::Number(1.0)), 2);
    }

    #[test]
    fn levels_are_divided_by_how_often_they_occur() {
        let values: Vec<SampledValue> = ["b", "a", "c", "c", "b", "c"]
            .map(|text| SampledValue::Level(text.to_owned()))
            .into();
        let Division::Levels(levels) = divide(&values.iter().collect::<Vec<_>>()) else {
            panic!("levels")
        };
        assert_eq!(levels, ["c", "b", "a"]);
    }
}
