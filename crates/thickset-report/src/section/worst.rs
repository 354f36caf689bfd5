//! The rows that an attack changed most, before and after.

use thickset::attack::Change;
use thickset::audit::Audit;
use thickset::audit::result::WorstRow;

use super::maps::{self, Picture};
use super::name;
use crate::number::{count, counted, percent, plain, score};
use crate::plot::scale;
use crate::prose::change::{self, Reasons};
use crate::prose::{Nouns, Sentence};

/// Rows that are described in full.
const MOST_ROWS: usize = 10;

/// Rows whose tables are open.
const OPEN: usize = 3;

/// A move of a value below which it is rounding.
const ROUNDING: f64 = 1e-6;

/// Features in a row's table, and changes in its list.
const MOST_LINES: usize = 24;

/// The worst rows.
pub struct Worst {
    /// The worst first.
    pub cases: Vec<ShownRow>,
    /// Rows that are in the JSON only.
    pub left_out: usize,
    /// Whether they are images.
    pub has_pictures: bool,
}

/// One row, before and after.
pub struct ShownRow {
    /// `row 17`.
    pub name: String,
    /// What was changed and what came of it.
    pub sentence: Sentence,
    /// P@k and the prediction.
    pub facts: String,
    /// Ranks before and after.
    pub ranks: Vec<Rank>,
    /// What was changed, in the columns' own units.
    pub changes: Vec<Changed>,
    /// Changes that are not listed.
    pub more_changes: usize,
    /// Whether its tables are shown at once, or on a click.
    pub is_open: bool,
    /// Maps of an image.
    pub pictures: Vec<Picture>,
}

/// A feature's rank before and after.
pub struct Rank {
    /// The feature.
    pub name: String,
    /// Its rank before, counted from 1.
    pub before: usize,
    /// And after.
    pub after: usize,
    /// Its importance before.
    pub importance: String,
    /// And after.
    pub attacked: String,
    /// What it did.
    pub moved: Moved,
}

/// What a feature did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It is a reason before and after.
    Stayed,
    /// It was a reason.
    Left,
    /// It is one newly.
    Entered,
}

impl Moved {
    /// In a word, which is also its style.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stayed => "stays",
            Self::Left => "leaves",
            Self::Entered => "enters",
        }
    }
}

/// A change in a column's own unit.
pub struct Changed {
    /// The column.
    pub name: String,
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
}

/// The worst rows of an audit.
pub fn of(audit: &Audit) -> Worst {
    let shown = audit.worst.iter().take(MOST_ROWS).enumerate();
    let cases: Vec<ShownRow> = shown
        .map(|(place, row)| case(audit, row, place < OPEN))
        .collect();
    Worst {
        left_out: audit.worst.len() - cases.len(),
        has_pictures: cases.iter().any(|case| !case.pictures.is_empty()),
        cases,
    }
}

fn case(audit: &Audit, row: &WorstRow, is_open: bool) -> ShownRow {
    let nouns = Nouns::of(audit);
    let (before, after) = (order(&row.importance), order(&row.attacked_importance));
    let k = audit.settings.k;
    let names = |order: &[usize]| -> Vec<String> {
        order
            .iter()
            .take(k)
            .map(|&feature| name(audit, feature))
            .collect()
    };
    let reasons = Reasons {
        before: &names(&before),
        after: &names(&after),
    };
    let pictures = maps::of_row(audit, row, &before, &after);
    let is_image = !pictures.is_empty();
    ShownRow {
        name: format!("{} {}", nouns.row, row.row),
        sentence: if is_image {
            image_sentence(row, &reasons, nouns)
        } else {
            change::sentence(&row.changes, &reasons, nouns)
        },
        facts: facts(audit, row),
        ranks: ranks(audit, row, &before, &after),
        changes: row.changes.iter().take(MOST_LINES).map(changed).collect(),
        more_changes: row.changes.len().saturating_sub(MOST_LINES),
        is_open,
        pictures,
    }
}

/// Features in falling order of importance, ties by the lower index; what is not a number comes last.
fn order(importance: &[f64]) -> Vec<usize> {
    let key = |feature: usize| {
        if importance[feature].is_nan() {
            f64::NEG_INFINITY
        } else {
            importance[feature]
        }
    };
    let mut order: Vec<usize> = (0..importance.len()).collect();
    order.sort_by(|&a, &b| key(b).total_cmp(&key(a)).then(a.cmp(&b)));
    order
}

fn facts(audit: &Audit, row: &WorstRow) -> String {
    let class = audit
        .model
        .classes
        .get(row.class)
        .cloned()
        .unwrap_or_else(|| format!("class {}", row.class));
    let attack = audit
        .rows
        .iter()
        .find(|one| one.row == row.row)
        .map(|one| one.attack.name());
    let found = attack
        .filter(|id| !id.is_empty())
        .and_then(|id| thickset::registry::find(id).ok())
        .map_or(String::new(), |info| format!(" Found by {}.", info.label));
    format!(
        "P@{} {}. Predicted {class} before and after, with probability {} and {}.{found}",
        audit.settings.k,
        percent(row.precision),
        score(row.probability),
        score(row.attacked_probability),
    )
}

fn image_sentence(row: &WorstRow, reasons: &Reasons<'_>, nouns: Nouns) -> Sentence {
    let moves = row
        .values
        .iter()
        .zip(&row.attacked_values)
        .map(|(a, b)| (a - b).abs());
    let moves: Vec<f64> = moves.filter(|moved| *moved > ROUNDING).collect();
    let (_, most) = scale::range(moves.iter().copied()).unwrap_or((0.0, 0.0));
    let gone = reasons
        .before
        .iter()
        .filter(|name| !reasons.after.contains(name))
        .count();
    Sentence::default().say(format!(
        "Changing {} by at most {} replaces {} of the {} {}.",
        counted(moves.len(), "value", "values"),
        plain(most),
        count(gone),
        count(reasons.before.len()),
        nouns.reasons
    ))
}

fn ranks(audit: &Audit, row: &WorstRow, before: &[usize], after: &[usize]) -> Vec<Rank> {
    let k = audit.settings.k;
    let place = |order: &[usize], feature: usize| order.iter().position(|&one| one == feature);
    let newly = after
        .iter()
        .take(k)
        .filter(|&&feature| !before.iter().take(k).any(|&one| one == feature));
    let shown = before.iter().take(k).chain(newly).take(MOST_LINES);
    shown
        .filter_map(|&feature| {
            let (from, to) = (place(before, feature)?, place(after, feature)?);
            Some(Rank {
                name: name(audit, feature),
                before: from + 1,
                after: to + 1,
                importance: plain(*row.importance.get(feature)?),
                attacked: plain(*row.attacked_importance.get(feature)?),
                moved: match (from < k, to < k) {
                    (true, false) => Moved::Left,
                    (false, true) => Moved::Entered,
                    _ => Moved::Stayed,
                },
            })
        })
        .collect()
}

fn changed(change: &Change) -> Changed {
    let unit = change.unit.as_deref();
    Changed {
        name: change.name.clone(),
        from: change::value(&change.from, unit),
        to: change::value(&change.to, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_importances_rank_by_index_and_nan_is_last() {
        assert_eq!(order(&[f64::NAN, 1.0, 2.0, 1.0]), [2, 1, 3, 0]);
    }
}
