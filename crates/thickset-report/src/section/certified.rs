//! Certified, attacked, noise: the three numbers in their order, the gap between the first two, and all three against the radius.

use thickset::audit::Audit;
use thickset::audit::certificate::RUNGS;
use thickset::audit::figure::{
    Figure, certified_p_at_k, certified_radius, changed_radius, noise, noise_radius,
};

use crate::chart::{Chart, Key, Values};
use crate::number::{as_f64, count, percent, plain, points, score, share};
use crate::plot::curves::{self, Join, Look, Series};
use crate::plot::scale::Kind;
use crate::prose::Nouns;

/// What is proved, or why nothing is.
pub struct Certified {
    /// The sentences.
    pub said: Vec<String>,
    /// The curves; none without certificates.
    pub chart: Option<Chart>,
}

/// The part of the page; none for an audit of a version without certificates.
pub fn of(audit: &Audit, prefix: &str) -> Option<Certified> {
    let record = audit.certificate.as_ref()?;
    if let Some(reason) = &record.absent {
        return Some(Certified {
            said: vec![format!("Nothing is proved here: {reason}.")],
            chart: None,
        });
    }
    let nouns = Nouns::of(audit);
    let k = audit.settings.k;
    let certified = audit.summary.value(&certified_p_at_k::FIGURE)?;
    let attacked = audit.summary.precision_at_k().value;
    let noise = audit.summary.value(&noise::FIGURE);
    let noise = noise.map_or_else(String::new, |noise| format!(", noise {}", percent(noise)));
    let numbers = format!(
        "Certified {}, attacked {}{noise}",
        percent(certified),
        percent(attacked)
    );
    let mut said = vec![format!(
        "{numbers}: every change of the budget keeps at least the first share of the {k} {}, some change was found that keeps \
         no more than the second, and random changes keep the third. Between the first two lie {}.",
        nouns.reasons,
        points(attacked - certified)
    )];
    said.push(format!(
        "Of {} of {} {} the worst case is known exactly: what is proved is what was found.",
        count(record.exact),
        count(audit.rows.len()),
        nouns.rows
    ));
    if let Some(radius) = audit.summary.value(&certified_radius::FIGURE) {
        let changed = audit.summary.value(&changed_radius::FIGURE);
        let changed = changed.map_or_else(String::new, |changed| {
            format!(
                "; the median of the nearest changes found is {}",
                score(changed)
            )
        });
        said.push(format!(
            "Half of the {} keep all {k} {} under any change smaller than {}{changed}.",
            nouns.rows,
            nouns.reasons,
            score(radius)
        ));
    }
    Some(Certified {
        said,
        chart: curve(audit, nouns, prefix),
    })
}

/// Shares of rows whose set stays, against the radius.
fn curve(audit: &Audit, nouns: Nouns, prefix: &str) -> Option<Chart> {
    let largest = audit.settings.suite.threat.ball.radius;
    let radii: Vec<f64> = (1..=RUNGS)
        .map(|rung| largest * as_f64(rung) / as_f64(RUNGS))
        .collect();
    let stay = |figure: &Figure| -> Option<Vec<f64>> {
        let values: Vec<f64> = audit
            .rows
            .iter()
            .filter_map(|row| figure.of_row(&row))
            .collect();
        let at = |radius: &f64| {
            let count = values.iter().filter(|value| **value >= *radius).count();
            share(count, values.len())
        };
        radii.iter().map(at).collect()
    };
    let named = [
        ("certified", stay(&certified_radius::FIGURE)?),
        ("no change found", stay(&changed_radius::FIGURE)?),
        ("noise", stay(&noise_radius::FIGURE)?),
    ];
    let series: Vec<Series> = named
        .iter()
        .map(|(name, shares)| Series {
            name: (*name).to_owned(),
            points: radii.iter().zip(shares).map(|(x, y)| [*x, *y]).collect(),
        })
        .collect();
    let title = format!("{} that keep all reasons, by radius", capital(nouns.rows));
    let caption = format!(
        "Share of the {} whose {} {} stay within a radius: proved, not changed by anything found, and not changed by random draws. The \
         truth lies between the first two.",
        nouns.rows, audit.settings.k, nouns.reasons
    );
    let look = Look {
        id: &format!("{prefix}-certified"),
        title: &title,
        description: &caption,
        x_label: "radius",
        y_label: "share",
        join: Join::All,
        rule: None,
        from_zero: true,
        x: Kind::Any,
        height: 260.0,
    };
    let table = radii.iter().enumerate().map(|(place, radius)| {
        let mut cells = vec![plain(*radius)];
        cells.extend(named.iter().map(|(_, shares)| percent(shares[place])));
        cells
    });
    Some(Chart {
        drawing: curves::draw(&series, &look),
        legend: named
            .iter()
            .enumerate()
            .map(|(number, (name, _))| Key::series(number, name))
            .collect(),
        values: Some(Values::new(
            &["radius", "certified", "no change found", "noise"],
            table,
        )),
        title,
        caption,
    })
}

/// With a capital first letter.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
