//! Thickness against the steps to the first change (R2ET Fig. 2), and the importances by rank (R2ET Fig. 8).

use thickset::audit::Audit;
use thickset::audit::result::RowRecord;
use thickset::data::InputShape;
use thickset::metric::{manipulation_epoch, spearman, thickness};

use crate::chart::{Chart, Values};
use crate::number::{as_f64, count, percent, plain, score, share};
use crate::plot::bins::{self, Point};
use crate::plot::curves::{self, Join, Look, Series};
use crate::plot::scale::{Kind, range, with_room};
use crate::plot::{Frame, Scale};
use crate::prose::Nouns;

/// Columns of cells, where there are too many rows to draw each.
const COLUMNS: f64 = 36.0;

/// Both plots, as far as there is something to draw.
pub fn of(audit: &Audit, prefix: &str) -> Vec<Chart> {
    [scatter(audit, prefix), magnitudes(audit, prefix)]
        .into_iter()
        .flatten()
        .collect()
}

/// What the scatter plot needs of a row; there may be very many.
struct Spot {
    row: u64,
    first_change: Option<usize>,
    thickness: f64,
}

fn spots(audit: &Audit) -> Vec<Spot> {
    let spot = |row: RowRecord| {
        let thickness = thickness::FIGURE.of_row(&row)?;
        thickness.is_finite().then_some(Spot {
            row: row.row,
            first_change: row.first_change,
            thickness,
        })
    };
    audit.rows.iter().filter_map(spot).collect()
}

fn scatter(audit: &Audit, prefix: &str) -> Option<Chart> {
    let nouns = Nouns::of(audit);
    let rows = spots(audit);
    let thickness: Vec<f64> = rows.iter().map(|row| row.thickness).collect();
    let y = range(thickness.iter().copied())?;
    let last = rows
        .iter()
        .filter_map(|row| row.first_change)
        .max()
        .unwrap_or(1)
        .max(1);
    // Rows that never changed stand in a lane of their own at the right.
    let across = (as_f64(last) / COLUMNS).ceil();
    let never = ((as_f64(last) * 1.1 / across).ceil() + 1.0) * across;
    let steps: Vec<f64> = rows
        .iter()
        .map(|row| row.first_change.map_or(never, as_f64))
        .collect();
    let frame = Frame::new(
        250.0,
        (0.0, never + 0.06 * as_f64(last)),
        with_room(y, 0.05),
    );
    let ticks = Scale::new((0.0, as_f64(last)), (0.0, 1.0)).ticks(4, Kind::Whole);
    let apart = as_f64(last) * 0.95;
    let mut labels: Vec<(f64, String)> = ticks
        .values
        .iter()
        .filter(|value| **value < apart)
        .map(|value| (*value, ticks.label(*value)))
        .collect();
    labels.push((never, "never".to_owned()));
    let along = match audit.data.shape {
        InputShape::Table => "steps of ERAttack to the first change of the top-k set".to_owned(),
        ref shape => format!(
            "steps of ERAttack until P@k is below {}",
            manipulation_epoch::bound(shape)
        ),
    };
    let mut frame = frame.axes_with(&along, &labels, "thickness");
    let is_binned = bins::is_binned(rows.len());
    let points = rows.iter().zip(&steps).map(|(row, step)| Point {
        // Those that never changed would stand on one line; their numbers spread them over the lane.
        x: if row.first_change.is_some() || is_binned {
            *step
        } else {
            never + as_f64(last) * 0.06 * (spread(row.row) - 0.5)
        },
        y: row.thickness,
        tip: format!(
            "{} {}: thickness {}, {}",
            nouns.row,
            row.row,
            score(row.thickness),
            row.first_change
                .map_or("never changed".to_owned(), |step| format!(
                    "changed at step {step}"
                ))
        ),
    });
    bins::draw(&mut frame, points, across);
    let held = share(
        rows.iter().filter(|row| row.first_change.is_none()).count(),
        rows.len(),
    )
    .unwrap_or(0.0);
    let mut caption = match spearman::score(&thickness, &steps) {
        Ok(correlation) if rows.len() > 2 => format!(
            "Rank correlation {} over {} {}, those that never changed ({}) counted as the last to change: {}.",
            score(correlation),
            count(rows.len()),
            nouns.rows,
            percent(held),
            reading(correlation)
        ),
        _ => format!("{} of the {} never changed.", percent(held), nouns.rows),
    };
    if is_binned {
        caption += format!(
            " A darker cell holds more {} (by the logarithm of their number).",
            nouns.rows
        )
        .as_str();
    }
    let title = "Thickness and how long reasons hold";
    let drawing = frame.finish(&format!("{prefix}-first-change"), title, &caption);
    Some(Chart {
        title: title.to_owned(),
        drawing,
        caption,
        legend: Vec::new(),
        values: None,
    })
}

/// A place in 0..1 that depends on the row's number alone.
fn spread(row: u64) -> f64 {
    /// A step through 0..100 that visits every place before it returns.
    const STEP: u64 = 37;
    f64::from(u8::try_from(row.wrapping_mul(STEP) % 100).unwrap_or(0)) / 100.0
}

/// What a rank correlation says, in words.
fn reading(correlation: f64) -> &'static str {
    match correlation {
        0.5.. => "thickness foretells well which explanations give way first",
        0.2.. => "thickness says something about which explanations give way first",
        -0.2.. => "thickness says little about which explanations give way first",
        _ => "the thick ones give way first here, which is not what the theory expects",
    }
}

fn magnitudes(audit: &Audit, prefix: &str) -> Option<Chart> {
    let nouns = Nouns::of(audit);
    let values = &audit.magnitudes;
    let k = audit.settings.k;
    range(values.iter().copied())?;
    let points = values
        .iter()
        .enumerate()
        .map(|(rank, value)| [as_f64(rank + 1), *value]);
    let series = [Series {
        name: "rank, importance".to_owned(),
        points: points.collect(),
    }];
    let caption = match (values.get(k.wrapping_sub(1)), values.get(k)) {
        (Some(last), Some(next)) if *last > 0.0 => format!(
            "The line stands between the last of the {k} {} and the next of the {}; the next has on average {} of the last one's \
             importance. The wider that gap, the harder it is to swap them.",
            nouns.reasons,
            nouns.features,
            percent(next / last)
        ),
        _ => format!(
            "The mean importance of the most important of the {}, the next, and so on.",
            nouns.features
        ),
    };
    let title = "Importance by rank";
    let look = Look {
        id: &format!("{prefix}-magnitudes"),
        title,
        description: &caption,
        x_label: "rank",
        y_label: "mean importance",
        join: Join::All,
        rule: Some(as_f64(k) + 0.5),
        from_zero: true,
        x: Kind::Whole,
        height: 250.0,
    };
    let drawing = curves::draw(&series, &look);
    let table = values
        .iter()
        .enumerate()
        .map(|(rank, value)| vec![(rank + 1).to_string(), plain(*value)]);
    Some(Chart {
        title: title.to_owned(),
        drawing,
        caption,
        legend: Vec::new(),
        values: Some(Values::new(&["rank", "mean importance"], table)),
    })
}
