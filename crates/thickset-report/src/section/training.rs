//! The training's course: the loss and its terms, and how the model did on validation rows, by epoch.

use std::collections::BTreeSet;

use thickset::audit::Audit;
use thickset::train::EpochRecord;

use crate::chart::{Chart, Key, Values};
use crate::number::{as_f64, plain, score};
use crate::plot::curves::{self, Join, Look, Series};
use crate::plot::scale::Kind;

/// Terms that are drawn; the objectives have at most four.
const MOST_TERMS: usize = 8;

/// The curves; none without epochs.
pub fn of(audit: &Audit, prefix: &str) -> Vec<Chart> {
    let epochs = &audit.training;
    if epochs.is_empty() {
        return Vec::new();
    }
    let mut figures = vec![validation(epochs, prefix)];
    figures.push(single(
        epochs,
        "Loss",
        "the mean over the training rows",
        &format!("{prefix}-loss"),
        |epoch| Some(epoch.loss),
    ));
    let terms: BTreeSet<&String> = epochs.iter().flat_map(|epoch| epoch.terms.keys()).collect();
    if terms.len() > 1 {
        for (number, term) in terms.into_iter().take(MOST_TERMS).enumerate() {
            let id = format!("{prefix}-term-{number}");
            let of = |epoch: &EpochRecord| epoch.terms.get(term).copied();
            figures.push(single(
                epochs,
                &format!("Term “{term}”"),
                "before it is weighted",
                &id,
                of,
            ));
        }
    }
    figures
}

fn series(epochs: &[EpochRecord], name: &str, of: impl Fn(&EpochRecord) -> Option<f64>) -> Series {
    let point = |epoch: &EpochRecord| of(epoch).map(|value| [as_f64(epoch.epoch), value]);
    Series {
        name: name.to_owned(),
        points: epochs.iter().filter_map(point).collect(),
    }
}

fn validation(epochs: &[EpochRecord], prefix: &str) -> Chart {
    let mut all = vec![
        series(epochs, "AUC", |epoch| epoch.auc),
        series(epochs, "P@k under a quick attack", |epoch| {
            epoch.precision_at_k
        }),
        series(epochs, "accuracy", |epoch| Some(epoch.accuracy)),
        series(epochs, "agreement with the reference", |epoch| {
            epoch.agreement
        }),
    ];
    all.retain(|one| !one.points.is_empty());
    let caption = "How the model did on validation rows at the end of each epoch.";
    let title = "Validation";
    let drawing = curves::draw(
        &all,
        &look(
            &format!("{prefix}-validation"),
            title,
            caption,
            "on validation rows",
        ),
    );
    let optional = |value: Option<f64>| value.map_or("–".to_owned(), score);
    let rows = epochs.iter().map(|epoch| {
        vec![
            epoch.epoch.to_string(),
            optional(epoch.auc),
            optional(epoch.precision_at_k),
            score(epoch.accuracy),
            optional(epoch.agreement),
        ]
    });
    Chart {
        title: title.to_owned(),
        drawing,
        caption: caption.to_owned(),
        legend: all
            .iter()
            .enumerate()
            .map(|(number, one)| Key::series(number, &one.name))
            .collect(),
        values: Some(Values::new(
            &["epoch", "AUC", "P@k", "accuracy", "agreement"],
            rows,
        )),
    }
}

fn single(
    epochs: &[EpochRecord],
    title: &str,
    what: &str,
    id: &str,
    of: impl Fn(&EpochRecord) -> Option<f64>,
) -> Chart {
    let one = series(epochs, title, of);
    let ends = one.points.first().zip(one.points.last());
    let caption = match ends {
        Some((first, last)) => format!("From {} to {}; {what}.", plain(first[1]), plain(last[1])),
        None => format!("No values; {what}."),
    };
    let table = one
        .points
        .iter()
        .map(|point| vec![plain(point[0]), plain(point[1])])
        .collect::<Vec<_>>();
    let series = [one];
    let drawing = curves::draw(&series, &look(id, title, &caption, "mean"));
    Chart {
        title: title.to_owned(),
        drawing,
        caption,
        legend: Vec::new(),
        values: Some(Values::new(&["epoch", "value"], table)),
    }
}

fn look<'a>(id: &'a str, title: &'a str, description: &'a str, y_label: &'a str) -> Look<'a> {
    Look {
        id,
        title,
        description,
        x_label: "epoch",
        y_label,
        join: Join::All,
        rule: None,
        from_zero: false,
        x: Kind::Whole,
        height: 200.0,
    }
}
