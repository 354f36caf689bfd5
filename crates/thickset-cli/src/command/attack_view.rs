//! What `thickset attack` prints: rows before and after, as a table or as JSON.

use std::fmt::Write as _;

use anyhow::Result;
use thickset::attack::moo::Ending;
use thickset::attack::{Attacked, Cell, Change, Value, changes, decoded};
use thickset::explain::Explained;
use thickset::metric::ranking::{self, TopK};
use thickset::model::{AttackedRow, Attacks};

use super::explain::{Answer, Named};
use super::model_rows::Loaded;
use super::output::one_line;

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
/// One row before and after.
pub struct Row<'a> {
    place: usize,
    before: &'a Explained,
    after: &'a Explained,
    found: &'a Attacked,
    lost: Vec<&'a str>,
    gained: Vec<&'a str>,
    changes: Vec<Change>,
}

impl<'a> Row<'a> {
    pub fn new(
        loaded: &Loaded,
        names: &'a [String],
        k: usize,
        place: usize,
        row: &'a AttackedRow,
    ) -> Result<Self> {
        let AttackedRow {
            before,
            after,
            found,
        } = row;
        let top = TopK::of(&before.importance, k)?;
        let now = TopK::of(&after.importance, k)?;
        Ok(Self {
            lost: only_in(&top, &now, names),
            gained: only_in(&now, &top, names),
            changes: changes(loaded.schema(), &loaded.row(place), &found.perturbed),
            place,
            before,
            after,
            found,
        })
    }

    pub fn line<'b>(
        &'b self,
        loaded: &'b Loaded,
        names: &'b [String],
        k: usize,
    ) -> Result<Line<'b>> {
        Ok(Line {
            row: loaded.number(self.place),
            before: Answer::new(loaded, self.before, names, k)?,
            attack: self.found.attack,
            precision: self.found.precision,
            held: self.found.held,
            way: Way::of(self.found),
            perturbed: Cells(decoded(loaded.schema(), &self.found.perturbed)),
            encoded: Named {
                names: loaded.features(),
                values: &self.found.perturbed,
            },
            changes: self.changes.clone(),
            after: After {
                predicted: loaded.class(ranking::largest(&self.after.probabilities)?),
                answer: Answer::new(loaded, self.after, names, k)?,
            },
            lost: self.lost.clone(),
            gained: self.gained.clone(),
        })
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

pub fn table(rows: &[Row<'_>], loaded: &Loaded, k: usize, is_suite: bool) -> String {
    let is_moo = rows.iter().any(|row| row.found.finish.is_some());
    let way = match (is_suite, is_moo) {
        (true, _) => "found by".to_owned(),
        (_, true) => "iterations  ending".to_owned(),
        _ => format!("P@{k} at last"),
    };
    // Writing to a string cannot fail.
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:>7}  {:<20}  {:>6}  {:<4}  {way:<22}  lost -> gained; what changed",
        "row",
        "class",
        format!("P@{k}"),
        "held",
    );
    for row in rows {
        let what = if row.lost.is_empty() {
            "nothing".to_owned()
        } else {
            format!(
                "{} -> {}; {}",
                row.lost.join(", "),
                row.gained.join(", "),
                shown(&row.changes)
            )
        };
        let way = if is_suite {
            row.found.attack.to_owned()
        } else {
            row.way()
        };
        let _ = writeln!(
            text,
            "{:>7}  {:<20}  {:>6.3}  {:<4}  {way:<22}  {}",
            loaded.number(row.place),
            one_line(loaded.class(row.before.class)),
            row.found.precision,
            if row.found.held { "yes" } else { "no" },
            one_line(&what),
        );
    }
    text
}

pub fn summary(attacks: &Attacks) -> Result<()> {
    let (k, mean) = (attacks.k, attacks.precision_at_k()?);
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
    let failed = attacks.rows.iter().filter(|row| {
        let ending = row.found.finish.map(|finish| finish.ending);
        ending == Some(Ending::Failed)
    });
    let failed = failed.count();
    if failed > 0 {
        say!(
            "`moo` failed on {failed} rows: its linear model saw no way down, which is no proof that there is none; see --method suite"
        );
    }
    Ok(())
}

fn only_in<'a>(set: &TopK, other: &TopK, names: &'a [String]) -> Vec<&'a str> {
    let own = set.iter().filter(|feature| !other.contains(*feature));
    own.map(|feature| names[feature].as_str()).collect()
}

/// Most changes that a line shows.
const SHOWN: usize = 4;

fn shown(changes: &[Change]) -> String {
    let value = |value: &Value| match value {
        Value::Number(number) => super::data_view::number(*number),
        Value::Category(name) => name.clone(),
    };
    let one = |change: &Change| {
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
    };
    let mut parts: Vec<String> = changes.iter().take(SHOWN).map(one).collect();
    if changes.len() > SHOWN {
        parts.push(format!("{} more", changes.len() - SHOWN));
    }
    parts.join(", ")
}
