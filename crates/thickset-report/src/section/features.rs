//! Which features leave the reasons and which enter them, and how often.

use thickset::audit::Audit;
use thickset::audit::result::FeatureCount;

use super::name;
use crate::chart::{Chart, Key, Values};
use crate::number::{count, percent, plain, share};
use crate::plot::bars::{self, Bar, Group};
use crate::prose::Nouns;

/// Features that get bars; the table has more.
const MOST: usize = 12;

/// The bars; none where nothing moved.
pub fn of(audit: &Audit, prefix: &str) -> Option<Chart> {
    let nouns = Nouns::of(audit);
    let rows = audit.rows.len().max(1);
    let mut order: Vec<(usize, &FeatureCount)> = audit.features.iter().enumerate().collect();
    order.sort_by_key(|(index, one)| (std::cmp::Reverse(one.left + one.entered), *index));
    order.retain(|(_, one)| one.in_top + one.entered > 0);
    let moved: Vec<_> = order
        .iter()
        .filter(|(_, one)| one.left + one.entered > 0)
        .take(MOST)
        .collect();
    let (most_index, most) = moved.first().copied().copied()?;
    let of_rows = |part: usize| share(part, rows).unwrap_or(0.0);
    let bar = |part: usize| Bar {
        value: of_rows(part),
        label: percent(of_rows(part)),
        interval: None,
    };
    let groups: Vec<Group> = moved
        .iter()
        .map(|(index, one)| Group {
            name: name(audit, *index),
            bars: vec![bar(one.left), bar(one.entered)],
        })
        .collect();
    let longest = moved
        .iter()
        .map(|(_, one)| of_rows(one.left.max(one.entered)))
        .fold(0.0, f64::max);
    let shown = moved.len();
    let total = order
        .iter()
        .filter(|(_, one)| one.left + one.entered > 0)
        .count();
    let mut caption = format!(
        "“{}” moves most: at the worst points it leaves the {} in {} of the {} and enters them in {}.",
        name(audit, most_index),
        nouns.reasons,
        percent(of_rows(most.left)),
        nouns.rows,
        percent(of_rows(most.entered)),
    );
    if total > shown {
        caption += format!(
            " Shown are the {shown} that move most, of {}.",
            count(total)
        )
        .as_str();
    }
    let title = format!(
        "What leaves and enters the {} {}",
        audit.settings.k, nouns.reasons
    );
    let drawing = bars::draw(
        &groups,
        longest,
        &format!("{prefix}-features"),
        &title,
        &caption,
    );
    let values = Values::new(
        &[
            "name",
            "a reason in",
            "leaves",
            "of those",
            "enters",
            "mean importance",
        ],
        order.iter().map(|(index, one)| {
            vec![
                name(audit, *index),
                count(one.in_top),
                count(one.left),
                share(one.left, one.in_top).map_or("–".to_owned(), percent),
                count(one.entered),
                plain(one.importance),
            ]
        }),
    );
    Some(Chart {
        title,
        drawing,
        caption,
        legend: vec![
            Key::bar("bar-0", &format!("leaves, share of {}", nouns.rows)),
            Key::bar("bar-1", &format!("enters, share of {}", nouns.rows)),
        ],
        values: Some(values),
    })
}
