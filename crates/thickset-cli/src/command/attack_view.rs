//! What `thickset attack` prints: rows before and after, as a table or as JSON.

use anyhow::Result;
use thickset::attack::moo::Ending;
use thickset::attack::{
    Attacked, Cell, Change, Value, changes, decoded, decoded_whole, own_values,
};
use thickset::explain::Explained;
use thickset::metric::ranking::{self, TopK};
use thickset::model::{AttackedRow, Attacks};
use thickset::row_writer::{Cell as TableCell, OutputColumn};
use thickset::statistics::mean;
use thickset::{Model, Rows, Schema};

use super::explain::{Answer, Named};
use super::output::one_line;
use super::row_output::OutputRow;

/// How the search went.
enum Way {
    /// Of steps, or of random points.
    Steps {
        first_change: Option<usize>,
        manipulation_epoch: Option<usize>,
        last: Last,
    },
    /// Of a search that decides itself when it is over.
    Iterations { iterations: usize, ending: Ending },
}

/// Where the run from the row itself ended.
#[derive(serde::Serialize)]
struct Last {
    precision: f64,
    held: bool,
    stopped: bool,
}

impl Way {
    fn of(row: &Attacked) -> Self {
        if let Some(finish) = row.finish {
            return Self::Iterations {
                iterations: finish.iterations,
                ending: finish.ending,
            };
        }
        Self::Steps {
            first_change: row.first_change,
            manipulation_epoch: row.manipulation_epoch,
            last: Last {
                precision: row.last.precision,
                held: row.last.held,
                stopped: row.last.stopped,
            },
        }
    }
}

impl serde::Serialize for Way {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Steps {
                first_change,
                manipulation_epoch,
                last,
            } => {
                map.serialize_entry("first_change", first_change)?;
                map.serialize_entry("manipulation_epoch", manipulation_epoch)?;
                map.serialize_entry("last", last)?;
            }
            Self::Iterations { iterations, ending } => {
                map.serialize_entry("iterations", iterations)?;
                map.serialize_entry("ending", ending)?;
            }
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
pub struct Line<'a> {
    row: u64,
    #[serde(flatten)]
    before: Answer<'a>,
    attack: &'static str,
    precision: f64,
    held: bool,
    #[serde(flatten)]
    way: Way,
    /// In the columns' own units.
    perturbed: Cells,
    /// As the model takes it.
    encoded: Named<'a>,
    changes: Vec<Change>,
    after: After<'a>,
    lost: Vec<&'a str>,
    gained: Vec<&'a str>,
}

/// The perturbed row: `predicted` there, and the explanation of the class predicted before.
#[derive(serde::Serialize)]
struct After<'a> {
    predicted: &'a str,
    #[serde(flatten)]
    answer: Answer<'a>,
}

struct Cells(Vec<Cell>);

impl serde::Serialize for Cells {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|cell| (&cell.name, &cell.value)))
    }
}
/// What rows are shown with.
pub struct Shown<'a> {
    pub model: &'a Model,
    /// The names of the encoded features.
    pub features: &'a [String],
    /// What the importances are of.
    pub names: &'a [String],
    pub k: usize,
    pub is_suite: bool,
}

/// One row before and after.
pub struct Row<'a> {
    shown: &'a Shown<'a>,
    schema: &'a Schema,
    number: u64,
    before: &'a Explained,
    after: &'a Explained,
    found: &'a Attacked,
    lost: Vec<&'a str>,
    gained: Vec<&'a str>,
    changes: Vec<Change>,
}

impl<'a> Row<'a> {
    /// The row at this place of some rows.
    pub fn new(
        shown: &'a Shown<'a>,
        rows: &Rows<'a>,
        place: usize,
        row: &'a AttackedRow,
    ) -> Result<Self> {
        let AttackedRow {
            before,
            after,
            found,
        } = row;
        let top = TopK::of(&before.importance, shown.k)?;
        let now = TopK::of(&after.importance, shown.k)?;
        let mut values = vec![0.0; rows.schema().len()];
        rows.copy(place, &mut values);
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        Ok(Self {
            lost: only_in(&top, &now, shown.names),
            gained: only_in(&now, &top, shown.names),
            changes: {
                let mut moved = changes(rows.schema(), &values, &found.perturbed);
                let given = rows.given(place).unwrap_or_default();
                own_values(rows.schema(), &given, &mut moved);
                moved
            },
            schema: rows.schema(),
            number: rows.id(place) + 1,
            shown,
            before,
            after,
            found,
        })
    }

    fn class(&self, class: usize) -> &'a str {
        &self.shown.model.classes()[class]
    }

    /// What the way came to: the last point of a single attack, iterations and ending of the multi-objective one.
    fn way(&self) -> String {
        match Way::of(self.found) {
            Way::Steps { last, .. } => {
                let class = if last.held { "" } else { ", class changed" };
                format!("{:.3}{class}", last.precision)
            }
            Way::Iterations { iterations, ending } => {
                let ending = match ending {
                    Ending::Flipped { .. } => "flipped",
                    Ending::Failed => "failed",
                    Ending::Unfinished => "unfinished",
                };
                format!("{iterations:>10}  {ending}")
            }
        }
    }
}

impl OutputRow for Row<'_> {
    fn text(&self) -> Result<String> {
        let what = if self.lost.is_empty() {
            "nothing".to_owned()
        } else {
            format!(
                "{} -> {}; {}",
                self.lost.join(", "),
                self.gained.join(", "),
                shown(&self.changes)
            )
        };
        let way = if self.shown.is_suite {
            self.found.attack.to_owned()
        } else {
            self.way()
        };
        Ok(format!(
            "{:>7}  {:<20}  {:>6.3}  {:<4}  {way:<22}  {}\n",
            self.number,
            one_line(self.class(self.before.class)),
            self.found.precision,
            if self.found.held { "yes" } else { "no" },
            one_line(&what),
        ))
    }

    fn json(&self) -> Result<String> {
        let Shown {
            model, names, k, ..
        } = self.shown;
        let line = Line {
            row: self.number,
            before: Answer::new(model, self.before, names, *k)?,
            attack: self.found.attack,
            precision: self.found.precision,
            held: self.found.held,
            way: Way::of(self.found),
            perturbed: Cells(decoded(self.schema, &self.found.perturbed)),
            encoded: Named {
                names: self.shown.features,
                values: &self.found.perturbed,
            },
            changes: self.changes.clone(),
            after: After {
                predicted: self.class(ranking::largest(&self.after.probabilities)?),
                answer: Answer::new(model, self.after, names, *k)?,
            },
            lost: self.lost.clone(),
            gained: self.gained.clone(),
        };
        Ok(serde_json::to_string(&line)?)
    }

    fn columns(&self) -> Vec<OutputColumn> {
        let mut columns = vec![
            OutputColumn::whole("row"),
            OutputColumn::text("class"),
            OutputColumn::text("attack"),
            OutputColumn::number("precision"),
            OutputColumn::flag("held"),
            OutputColumn::text("class after"),
            OutputColumn::text("lost"),
            OutputColumn::text("gained"),
            OutputColumn::text("changes"),
        ];
        columns.extend(
            decoded_whole(self.schema, &self.found.perturbed)
                .into_iter()
                .map(|cell| {
                    let name = format!("perturbed {}", cell.name);
                    match cell.value {
                        Value::Number(_) => OutputColumn::number(name),
                        Value::Category(_) => OutputColumn::text(name),
                    }
                }),
        );
        columns
    }

    fn cells(&self) -> Result<Vec<TableCell<'_>>> {
        let mut cells = vec![
            TableCell::count(self.number),
            TableCell::text(self.class(self.before.class)),
            TableCell::text(self.found.attack),
            TableCell::Number(self.found.precision),
            TableCell::Flag(self.found.held),
            TableCell::text(self.class(ranking::largest(&self.after.probabilities)?)),
            TableCell::text(self.lost.join("; ")),
            TableCell::text(self.gained.join("; ")),
            TableCell::text(all_of(&self.changes)),
        ];
        let values = decoded_whole(self.schema, &self.found.perturbed).into_iter();
        cells.extend(values.map(|cell| match cell.value {
            Value::Number(number) => TableCell::Number(number),
            Value::Category(name) => TableCell::text(name),
        }));
        Ok(cells)
    }
}

/// The head of the table of these rows.
pub fn head(rows: &[AttackedRow], k: usize, is_suite: bool) -> String {
    let is_moo = rows.iter().any(|row| row.found.finish.is_some());
    let way = match (is_suite, is_moo) {
        (true, _) => "found by".to_owned(),
        (_, true) => "iterations  ending".to_owned(),
        _ => format!("P@{k} at last"),
    };
    format!(
        "{:>7}  {:<20}  {:>6}  {:<4}  {way:<22}  lost -> gained; what changed\n",
        "row",
        "class",
        format!("P@{k}"),
        "held",
    )
}

/// What all rows came to.
#[derive(Default)]
pub struct Totals {
    pub k: usize,
    precision: Vec<f64>,
    failed: usize,
}

impl Totals {
    pub fn add(&mut self, attacks: &Attacks) {
        self.k = attacks.k;
        let rows = attacks.rows.iter();
        self.precision
            .extend(rows.clone().map(|row| row.found.precision));
        let failed = rows.filter(|row| {
            let ending = row.found.finish.map(|finish| finish.ending);
            ending == Some(Ending::Failed)
        });
        self.failed += failed.count();
    }

    pub fn rows(&self) -> usize {
        self.precision.len()
    }

    pub fn say(&self) -> Result<()> {
        let k = self.k;
        let mean = mean::estimate(&self.precision)?.of_share();
        let interval = mean.interval.map_or_else(String::new, |interval| {
            format!(
                " (95% interval {:.4} to {:.4})",
                interval.low, interval.high
            )
        });
        say!(
            "mean P@{k} {:.4}{interval} over {} rows",
            mean.value,
            mean.count
        );
        if self.failed > 0 {
            say!(
                "`moo` failed on {} rows: its linear model saw no way down, which is no proof that there is none; see --method suite",
                self.failed
            );
        }
        Ok(())
    }
}

fn only_in<'a>(set: &TopK, other: &TopK, names: &'a [String]) -> Vec<&'a str> {
    let own = set.iter().filter(|feature| !other.contains(*feature));
    own.map(|feature| names[feature].as_str()).collect()
}

/// Most changes that a line shows.
const SHOWN: usize = 4;

/// A change in words.
fn in_words(change: &Change) -> String {
    let value = |value: &Value| match value {
        Value::Number(number) => super::data_view::number(*number),
        Value::Category(name) => name.clone(),
    };
    let unit = change
        .unit
        .as_ref()
        .map_or_else(String::new, |unit| format!(" {unit}"));
    format!(
        "{} {} to {}{unit}",
        change.name,
        value(&change.from),
        value(&change.to)
    )
}

fn all_of(changes: &[Change]) -> String {
    let parts: Vec<String> = changes.iter().map(in_words).collect();
    parts.join("; ")
}

fn shown(changes: &[Change]) -> String {
    let mut parts: Vec<String> = changes.iter().take(SHOWN).map(in_words).collect();
    if changes.len() > SHOWN {
        parts.push(format!("{} more", changes.len() - SHOWN));
    }
    parts.join(", ")
}
