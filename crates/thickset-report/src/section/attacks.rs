//! What each attack of the suite found alone.

use std::collections::BTreeMap;

use thickset::audit::Audit;
use thickset::audit::result::AttackScore;
use thickset::registry;

use crate::chart::{Chart, Values};
use crate::number::{count, counted, interval, listed, percent, plain};
use crate::plot::bars::{self, Bar, Group};
use crate::prose::Nouns;

/// The bars; none without attacks.
pub fn of(audit: &Audit, prefix: &str) -> Option<Chart> {
    let nouns = Nouns::of(audit);
    let strongest = audit
        .attacks
        .iter()
        .filter(|one| one.precision_at_k.value.is_finite())
        .min_by(|a, b| a.precision_at_k.value.total_cmp(&b.precision_at_k.value))?;
    let groups: Vec<Group> = audit
        .attacks
        .iter()
        .map(|one| Group {
            name: name(one),
            bars: vec![Bar {
                value: one.precision_at_k.value,
                label: percent(one.precision_at_k.value),
                interval: one
                    .precision_at_k
                    .interval
                    .map(|interval| (interval.low, interval.high)),
            }],
        })
        .collect();
    let is_shared = audit.attacks.iter().any(|one| one.shares);
    let is_twin = audit.attacks.iter().any(|one| one.surrogate.is_some());
    let shares = if is_shared {
        " “Shares” follows importances as shares of their sum."
    } else {
        ""
    };
    let twin = if is_twin {
        " “Twin” follows a smooth copy of the network, of that sharpness."
    } else {
        ""
    };
    let caption = format!(
        "Lower is stronger. The strongest alone, {}, leaves {}; all together, the worst of each {}, leave {}.{}{shares}{twin}",
        name(strongest),
        percent(strongest.precision_at_k.value),
        nouns.row,
        percent(audit.summary.precision_at_k().value),
        finders(audit, nouns)
    );
    let title = format!("P@{} that each attack leaves alone", audit.settings.k);
    let drawing = bars::draw(&groups, 1.0, &format!("{prefix}-attacks"), &title, &caption);
    let table = audit.attacks.iter().map(|one| {
        vec![
            name(one),
            percent(one.precision_at_k.value),
            interval(one.precision_at_k.interval, percent).unwrap_or_else(|| "–".to_owned()),
        ]
    });
    Some(Chart {
        title,
        drawing,
        caption,
        legend: Vec::new(),
        values: Some(Values::new(&["attack", "P@k", "95% interval"], table)),
    })
}

/// The attack as the papers spell it, with what sets this run of it apart.
fn name(attack: &AttackScore) -> String {
    let mut name = label(&attack.attack);
    let mut how = Vec::new();
    if attack.shares {
        how.push("shares".to_owned());
    }
    if let Some(sharpness) = attack.surrogate {
        how.push(format!("twin {}", plain(sharpness)));
    }
    if !how.is_empty() {
        name = format!("{name}, {}", how.join(", "));
    }
    name
}

fn label(id: &str) -> String {
    registry::find(id).map_or_else(|_| id.to_owned(), |info| info.label.to_owned())
}

/// Which attacks found the worst points, most often first.
fn finders(audit: &Audit, nouns: Nouns) -> String {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for row in audit.rows.iter().filter(|row| row.precision < 1.0) {
        *found.entry(row.attack.name()).or_default() += 1;
    }
    let mut found: Vec<(&str, usize)> = found.into_iter().collect();
    found.sort_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
    if found.is_empty() {
        return String::new();
    }
    let counted: Vec<String> = found
        .iter()
        .enumerate()
        .map(|(place, (id, times))| {
            let times = if place == 0 {
                counted(*times, nouns.row, nouns.rows)
            } else {
                count(*times)
            };
            format!("{} for {times}", label(id))
        })
        .collect();
    format!(" The worst point came from {}.", listed(&counted))
}
