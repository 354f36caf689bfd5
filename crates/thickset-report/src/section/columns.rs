//! What the model goes by, column by column: how much each weighs, in which direction, and for whom it is worse.

use thickset::audit::{Audit, BinRecord, ColumnRecord, ReasonsRecord};

use crate::chart::{Chart, Key, Values};
use crate::number::{as_f64, count, percent, score};
use crate::plot::curves::{self, Join, Look, Series};
use crate::plot::diverging::{self, SignedBar};
use crate::plot::scale::Kind;

/// Columns that get a bar.
const MOST: usize = 12;
/// Columns whose dependence is drawn.
const DRAWN: usize = 30;
/// Fewer people say nothing of a group.
const LEAST_GROUP: usize = 20;
/// Of fewer people the AUC says nothing.
const LEAST_AUC_GROUP: usize = 50;
/// Groups that are listed.
const MOST_GROUPS: usize = 8;

/// The columns by size, the largest first.
fn by_size(record: &ReasonsRecord) -> Vec<&ColumnRecord> {
    let mut columns: Vec<&ColumnRecord> = record.columns.iter().collect();
    columns.sort_by(|a, b| b.size.total_cmp(&a.size));
    columns
}

/// How much each column weighs.
pub fn importance(record: &ReasonsRecord, prefix: &str) -> Option<Chart> {
    let columns = by_size(record);
    let first = columns.first()?;
    let bars: Vec<SignedBar> = columns
        .iter()
        .take(MOST)
        .map(|column| {
            // The mean of what is above zero, and of what is below.
            let towards = f64::midpoint(column.size, column.mean);
            let away = f64::midpoint(column.mean, -column.size);
            SignedBar {
                name: column.column.clone(),
                value: towards,
                label: signed(towards),
                opposite: (away <= -LEAST_PUSH).then(|| (away, signed(away))),
            }
        })
        .collect();
    let title = "How much each column weighs, and in which direction".to_owned();
    let caption = format!(
        "What each column adds to the score of “{}” on average over all rows, compared with {}: to the right where it pushes towards “{}”, to the left where it pushes away from it. “{}” weighs most.",
        record.adverse,
        compared_with(record),
        record.adverse,
        first.column
    );
    let drawing = diverging::draw(&bars, &format!("{prefix}-weights"), &title, &caption);
    let values = Values::new(
        &["column", "mean size", "mean with sign", "compared with"],
        columns.iter().map(|column| {
            vec![
                column.column.clone(),
                signless(column.size),
                signed(column.mean),
                column.reference.clone(),
            ]
        }),
    );
    Some(Chart {
        title,
        drawing,
        caption,
        legend: Vec::new(),
        values: Some(values),
    })
}

/// What a record's rows are compared with, in words.
pub fn compared_with(record: &ReasonsRecord) -> String {
    match record.reference.strip_prefix("mean-of-class:") {
        Some(class) => format!("the average of the rows of “{class}”"),
        None if record.reference == "median" => "the typical row".to_owned(),
        None => format!("the row of {}", record.reference),
    }
}

/// How the contribution of the heaviest columns depends on their value.
pub fn dependence(record: &ReasonsRecord, prefix: &str) -> Vec<Chart> {
    let columns = by_size(record).into_iter().take(DRAWN);
    let drawn = columns
        .enumerate()
        .filter(|(_, column)| column.bins.len() > 1);
    drawn
        .map(|(place, column)| of_column(record, column, &format!("{prefix}-value-{place}")))
        .collect()
}

fn of_column(record: &ReasonsRecord, column: &ColumnRecord, id: &str) -> Chart {
    let numbers: Vec<[f64; 2]> = column
        .bins
        .iter()
        .filter_map(|bin| Some([bin.value?, bin.contribution]))
        .collect();
    let title = column.column.clone();
    let caption = extreme(record, column);
    let drawing = if numbers.len() > 1 {
        let series = [Series {
            name: column.column.clone(),
            points: numbers,
        }];
        let towards = format!("towards “{}”", record.adverse);
        curves::draw(
            &series,
            &Look {
                id,
                title: &title,
                description: &caption,
                x_label: &column.column,
                y_label: &towards,
                join: Join::All,
                rule: None,
                from_zero: false,
                x: Kind::Any,
                height: 210.0,
            },
        )
    } else {
        let bars: Vec<SignedBar> = column
            .bins
            .iter()
            .map(|bin| SignedBar {
                name: format!("{} ({} rows)", bin.label, count(bin.rows)),
                value: bin.contribution,
                label: signed(bin.contribution),
                opposite: None,
            })
            .collect();
        diverging::draw(&bars, id, &title, &caption)
    };
    let values = Values::new(
        &["value", "rows", "mean contribution"],
        column
            .bins
            .iter()
            .map(|bin| vec![bin.label.clone(), count(bin.rows), signed(bin.contribution)]),
    );
    Chart {
        title,
        drawing,
        caption,
        legend: Vec::new(),
        values: Some(values),
    }
}

/// Where a column pushes most.
fn extreme(record: &ReasonsRecord, column: &ColumnRecord) -> String {
    let by = |a: &&BinRecord, b: &&BinRecord| a.contribution.total_cmp(&b.contribution);
    let most = column.bins.iter().max_by(by);
    let ends = most.zip(column.bins.iter().min_by(by));
    ends.map_or_else(String::new, |(most, least)| {
        let (direction, bin) = if most.contribution >= LEAST_PUSH {
            ("towards", most)
        } else {
            ("away from", least)
        };
        format!(
            "Pushes most {direction} “{}” where it is {}: {} on average, over {} rows.",
            record.adverse,
            bin.label,
            signed(bin.contribution),
            count(bin.rows)
        )
    })
}

/// Less is shown as zero.
const LEAST_PUSH: f64 = 0.0005;

/// A group of people.
pub struct Subgroup {
    /// `age up to 25`.
    pub name: String,
    /// How many.
    pub rows: String,
    /// The mean share of their reasons that stays.
    pub precision: String,
    /// The AUC among them.
    pub auc: String,
    /// How many are decided against.
    pub decided: String,
}

/// For whom it is worse.
pub struct Subgroups {
    /// What all rows have, and what was looked for.
    pub said: Vec<String>,
    /// Those whose reasons are the least stable, the least first.
    pub lines: Vec<Subgroup>,
    /// What is said of those with the lowest AUC.
    pub said_of_auc: Option<String>,
    /// They, the lowest first.
    pub by_auc: Vec<Subgroup>,
}

/// The groups that are worse off than all rows together.
pub fn subgroups(audit: &Audit, record: &ReasonsRecord) -> Option<Subgroups> {
    let rows = audit.rows.len();
    let mean = audit.rows.iter().map(|row| row.precision).sum::<f64>() / as_f64(rows.max(1));
    let mut groups: Vec<(&ColumnRecord, &BinRecord)> = record
        .columns
        .iter()
        .filter(|column| column.bins.len() > 1)
        .flat_map(|column| column.bins.iter().map(move |bin| (column, bin)))
        .filter(|(_, bin)| bin.rows >= LEAST_GROUP)
        .collect();
    let looked_at = groups.len();
    groups.retain(|(_, bin)| bin.precision < mean);
    groups.sort_by(|a, b| a.1.precision.total_cmp(&b.1.precision));
    if looked_at == 0 {
        return None;
    }
    let shown = groups.len().min(MOST_GROUPS);
    let lines = groups
        .iter()
        .take(MOST_GROUPS)
        .map(|(column, bin)| line(column, bin));
    let (said_of_auc, by_auc) = by_auc(audit, record);
    Some(Subgroups {
        lines: lines.collect(),
        said_of_auc,
        by_auc,
        said: vec![format!(
            "Over all rows, {} of the reasons stay under attack. Of {} groups of at least {LEAST_GROUP} rows, one for each value of a column, these {shown} keep the fewest. With so many groups some are low by chance; a difference is worth a look where the group is large.",
            percent(mean),
            count(looked_at)
        )],
    })
}

/// A group as the table has it.
fn line(column: &ColumnRecord, bin: &BinRecord) -> Subgroup {
    Subgroup {
        name: format!("{}: {}", column.column, bin.label),
        rows: count(bin.rows),
        precision: percent(bin.precision),
        auc: bin.auc.map_or_else(|| "–".to_owned(), score),
        decided: percent(bin.decided),
    }
}

/// The groups in which the model tells the classes apart worst.
fn by_auc(audit: &Audit, record: &ReasonsRecord) -> (Option<String>, Vec<Subgroup>) {
    let Some(overall) = audit.summary.value(&thickset::metric::auc::FIGURE) else {
        return (None, Vec::new());
    };
    let mut groups: Vec<(&ColumnRecord, &BinRecord, f64)> = record
        .columns
        .iter()
        .filter(|column| column.bins.len() > 1)
        .flat_map(|column| column.bins.iter().map(move |bin| (column, bin)))
        .filter(|(_, bin)| bin.rows >= LEAST_AUC_GROUP)
        .filter_map(|(column, bin)| Some((column, bin, bin.auc?)))
        .filter(|(_, _, auc)| *auc < overall)
        .collect();
    groups.sort_by(|a, b| a.2.total_cmp(&b.2));
    groups.truncate(MOST_GROUPS);
    if groups.is_empty() {
        return (None, Vec::new());
    }
    let said = format!(
        "The AUC over all rows is {}. Of the groups of at least {LEAST_AUC_GROUP} rows, the model tells the classes apart worst in these {}.",
        score(overall),
        groups.len()
    );
    let lines = groups.iter().map(|(column, bin, _)| line(column, bin));
    (Some(said), lines.collect())
}

/// With a sign.
pub fn signed(value: f64) -> String {
    format!("{value:+.3}")
}

fn signless(value: f64) -> String {
    format!("{value:.3}")
}

/// The keys of signed bars.
pub fn keys(record: &ReasonsRecord) -> Vec<Key> {
    vec![
        Key::bar("bar-0", &format!("pushes towards “{}”", record.adverse)),
        Key::bar("bar-1", "pushes away from it"),
    ]
}
