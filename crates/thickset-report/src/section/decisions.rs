//! The decisions that the reasons are for: how often they are right, and whether probabilities mean what they say.

use thickset::audit::{Audit, ReasonsRecord};

use crate::chart::{Chart, Values};
use crate::number::{as_f64, count, percent, share};
use crate::plot::curves::{self, Join, Look, Series};
use crate::plot::scale::Kind;

/// Bins of a probability.
const BINS: usize = 10;

/// Decisions beside what was the case.
pub struct Confusion {
    /// In a sentence.
    pub said: String,
    /// What was decided, what was the case, how many.
    pub cells: Vec<(String, [String; 2])>,
    /// The heads of both columns.
    pub heads: [String; 2],
}

/// Right and wrong decisions; none without labels, or with more than two classes.
pub fn confusion(audit: &Audit, record: &ReasonsRecord) -> Option<Confusion> {
    let classes = &audit.model.classes;
    let adverse = classes.iter().position(|class| *class == record.adverse)?;
    if classes.len() != 2 {
        return None;
    }
    let cutoff = audit.settings.decision.cutoff.unwrap_or(0.5);
    let mut counts = [[0_usize; 2]; 2];
    for row in &audit.rows {
        if let Some(label) = row.label {
            let decided = usize::from(row.class == adverse);
            counts[decided][usize::from(label == adverse)] += 1;
        }
    }
    let all: usize = counts.iter().flatten().sum();
    if all == 0 {
        return None;
    }
    let name = &record.adverse;
    let decided = counts[1][0] + counts[1][1];
    let were = counts[0][1] + counts[1][1];
    let caught = share(counts[1][1], were).map_or_else(|| "none".to_owned(), percent);
    let right = share(counts[1][1], decided).map_or_else(|| "none".to_owned(), percent);
    Some(Confusion {
        said: format!(
            "A row is decided as “{name}” from a probability of {} on. That is so for {} of {} rows; {right} of them were “{name}”, and {caught} of all that were “{name}” are among them.",
            percent(cutoff),
            count(decided),
            count(all)
        ),
        cells: vec![
            (
                format!("decided “{name}”"),
                [count(counts[1][1]), count(counts[1][0])],
            ),
            (
                "decided otherwise".to_owned(),
                [count(counts[0][1]), count(counts[0][0])],
            ),
        ],
        heads: [format!("was “{name}”"), "was not".to_owned()],
    })
}

/// How often what was given a probability was the case; none without labels.
pub fn calibration(audit: &Audit, record: &ReasonsRecord, prefix: &str) -> Option<Chart> {
    let classes = &audit.model.classes;
    let adverse = classes.iter().position(|class| *class == record.adverse)?;
    let mut bins = [(0_usize, 0.0_f64, 0_usize); BINS];
    for row in &audit.rows {
        let (Some(label), Some(&probability)) = (row.label, row.probabilities.get(adverse)) else {
            continue;
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to the bins"
        )]
        let place = (probability * as_f64(BINS))
            .floor()
            .clamp(0.0, as_f64(BINS - 1)) as usize;
        bins[place].0 += 1;
        bins[place].1 += probability;
        bins[place].2 += usize::from(label == adverse);
    }
    let filled: Vec<(usize, f64, f64)> = bins
        .iter()
        .filter(|(rows, _, _)| *rows > 0)
        .map(|&(rows, sum, were)| (rows, sum / as_f64(rows), as_f64(were) / as_f64(rows)))
        .collect();
    let all: usize = filled.iter().map(|(rows, _, _)| rows).sum();
    if all == 0 {
        return None;
    }
    let off: f64 = filled
        .iter()
        .map(|(rows, said, was)| as_f64(*rows) * (said - was).abs())
        .sum::<f64>()
        / as_f64(all);
    let title = "Do the probabilities mean what they say?".to_owned();
    let caption = format!(
        "Where the model says 30%, about 30% should have been “{}”. On average it is off by {} points, over {} rows.",
        record.adverse,
        format_args!("{:.1}", off * 100.0),
        count(all)
    );
    let points = |of: fn(&(usize, f64, f64)) -> [f64; 2]| filled.iter().map(of).collect();
    let series = [
        Series {
            name: "observed".to_owned(),
            points: points(|(_, said, was)| [*said, *was]),
        },
        Series {
            name: "as said".to_owned(),
            points: vec![[0.0, 0.0], [1.0, 1.0]],
        },
    ];
    let drawing = curves::draw(
        &series,
        &Look {
            id: &format!("{prefix}-calibration"),
            title: &title,
            description: &caption,
            x_label: "probability that the model gives",
            y_label: "share that was",
            join: Join::All,
            rule: audit.settings.decision.cutoff,
            from_zero: true,
            x: Kind::Any,
            height: 260.0,
        },
    );
    let values = Values::new(
        &["mean probability", "rows", "was"],
        filled
            .iter()
            .map(|(rows, said, was)| vec![percent(*said), count(*rows), percent(*was)]),
    );
    Some(Chart {
        title,
        drawing,
        caption,
        legend: vec![
            crate::chart::Key::series(0, "observed"),
            crate::chart::Key::series(1, "as said"),
        ],
        values: Some(values),
    })
}
