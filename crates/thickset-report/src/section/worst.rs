//! The rows that an attack changed most, before and after.

use thickset::attack::Change;
use thickset::audit::Audit;
use thickset::audit::result::WorstRow;
use thickset::data::InputShape;

use super::name;
use crate::number::{count, percent, plain, score};
use crate::picture::{self, Salience, Size};
use crate::plot::scale;
use crate::prose::change::{self, Reasons};
use crate::prose::{Nouns, Sentence};

/// Rows that are told in full.
const MOST_ROWS: usize = 10;

/// Rows whose tables are open.
const OPEN: usize = 3;

/// Features in a row's table, and changes in its list.
const MOST_LINES: usize = 24;

/// The worst rows.
pub struct Worst {
    /// The worst first.
    pub cases: Vec<Case>,
    /// Rows that are in the JSON only.
    pub left_out: usize,
}

/// One row, before and after.
pub struct Case {
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
    /// Whether its tables are shown at once, or when asked for.
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

/// A map.
pub struct Picture {
    /// What it shows.
    pub name: &'static str,
    /// For those who cannot see it.
    pub text: String,
    /// PNG data.
    pub uri: String,
}

/// The worst rows of an audit.
pub fn of(audit: &Audit) -> Worst {
    Worst {
        cases: audit
            .worst
            .iter()
            .take(MOST_ROWS)
            .enumerate()
            .map(|(place, row)| case(audit, row, place < OPEN))
            .collect(),
        left_out: audit.worst.len().saturating_sub(MOST_ROWS),
    }
}

fn case(audit: &Audit, row: &WorstRow, is_open: bool) -> Case {
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
    let pictures = pictures(audit, row, &before, &after);
    let is_image = !pictures.is_empty();
    Case {
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
        .map(|one| one.attack.as_str());
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
    let moved = row
        .values
        .iter()
        .zip(&row.attacked_values)
        .map(|(a, b)| (a - b).abs());
    let (_, most) = scale::range(moved).unwrap_or((0.0, 0.0));
    let gone = reasons
        .before
        .iter()
        .filter(|name| !reasons.after.contains(name))
        .count();
    Sentence::default().say(format!(
        "Changing {} by at most {} replaces {} of the {} {}.",
        crate::number::counted(row.changes.len(), "value", "values"),
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

/// The maps of an image (R2ET Fig. 3); none for other data, or where a size does not fit.
fn pictures(audit: &Audit, row: &WorstRow, before: &[usize], after: &[usize]) -> Vec<Picture> {
    all_pictures(audit, row, before, after).unwrap_or_default()
}

fn all_pictures(
    audit: &Audit,
    row: &WorstRow,
    before: &[usize],
    after: &[usize],
) -> Option<Vec<Picture>> {
    let InputShape::Image {
        channels,
        height,
        width,
    } = audit.data.shape
    else {
        return None;
    };
    let size = Size {
        channels,
        height,
        width,
    };
    let values = || row.values.iter().chain(&row.attacked_values).copied();
    let (low, high) = scale::range(values())?;
    // Pixels are in 0..=1 as a rule; then images of one report have one scale.
    let levels = if low >= 0.0 && high <= 1.0 {
        (0.0, 1.0)
    } else {
        (low, high)
    };
    let (was, now) = (
        by_pixel(&row.importance, size)?,
        by_pixel(&row.attacked_importance, size)?,
    );
    let most = |map: &[f64]| scale::range(map.iter().copied()).map_or(1.0, |(_, most)| most);
    let pixels = height * width;
    let mut salience = vec![Salience::None; pixels];
    for (order, others, salient) in [
        (before, after, Salience::Left),
        (after, before, Salience::Entered),
    ] {
        let top = |order: &[usize]| -> Vec<usize> {
            order
                .iter()
                .take(audit.settings.k)
                .map(|one| one % pixels)
                .collect()
        };
        let others = top(others);
        for pixel in top(order) {
            salience[pixel] = if others.contains(&pixel) {
                Salience::Kept
            } else {
                salient
            };
        }
    }
    let kept = salience
        .iter()
        .filter(|one| **one == Salience::Kept)
        .count();
    let picture = |name, text: &str, uri| Picture {
        name,
        text: format!("{text}, image {}", row.row),
        uri,
    };
    Some(vec![
        picture(
            "input",
            "The image as it is",
            picture::input(&row.values, size, levels)?,
        ),
        picture(
            "attacked input",
            "The image at the worst point",
            picture::input(&row.attacked_values, size, levels)?,
        ),
        picture(
            "importance",
            "Importance of each pixel before",
            picture::saliency(&was, size, most(&was))?,
        ),
        picture(
            "importance, attacked",
            "Importance of each pixel after",
            picture::saliency(&now, size, most(&now))?,
        ),
        picture(
            "salient pixels",
            &format!(
                "{kept} salient pixels stay; those that leave are blue and those that enter orange"
            ),
            picture::salience(&salience, size)?,
        ),
    ])
}

/// One importance a pixel: sizes summed over channels, if there are several.
fn by_pixel(importance: &[f64], size: Size) -> Option<Vec<f64>> {
    let pixels = size.height * size.width;
    if !size.is_shown()
        || (importance.len() != pixels && importance.len() != pixels * size.channels)
    {
        return None;
    }
    let planes = importance.len() / pixels;
    let of = |pixel: usize| {
        (0..planes)
            .map(|plane| importance[plane * pixels + pixel].abs())
            .sum()
    };
    Some((0..pixels).map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_importances_rank_by_index_and_nan_is_last() {
        assert_eq!(order(&[f64::NAN, 1.0, 2.0, 1.0]), [2, 1, 3, 0]);
    }

    #[test]
    fn channels_are_summed_by_size() {
        let size = Size {
            channels: 3,
            height: 1,
            width: 2,
        };
        assert_eq!(
            by_pixel(&[1.0, 2.0, -3.0, 4.0, 5.0, -6.0], size),
            Some(vec![9.0, 12.0])
        );
        assert_eq!(by_pixel(&[1.0, 2.0], size), Some(vec![1.0, 2.0]));
        assert_eq!(by_pixel(&[1.0; 4], size), None);
    }
}
