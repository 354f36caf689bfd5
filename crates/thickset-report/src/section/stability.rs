//! How P@k and thickness are spread over the rows.

use thickset::audit::Audit;
use thickset::audit::figure::noise;
use thickset::metric::{distinctness, thickness};

use crate::chart::{Chart, Key, Values};
use crate::number::{as_f64, count, percent, score, share};
use crate::plot::histogram::{self, Histogram, Look};
use crate::plot::scale;
use crate::prose::Nouns;

/// Sets of features that get a bar of their own; more are put into equal bins.
const MOST_SETS: usize = 20;

/// Bins of a value that is not a share of k.
const BINS: usize = 20;

/// Both histograms.
pub fn of(audit: &Audit, prefix: &str) -> Vec<Chart> {
    if audit.rows.is_empty() {
        return Vec::new();
    }
    let thickness = audit.summary.value(&thickness::FIGURE);
    let thickness = thickness.map(|mean| spread_of_thickness(audit, prefix, mean));
    [precision(audit, prefix)]
        .into_iter()
        .chain(thickness)
        .collect()
}

fn precision(audit: &Audit, prefix: &str) -> Chart {
    let nouns = Nouns::of(audit);
    let k = audit.settings.k.max(1);
    let values = audit.rows.iter().map(|row| row.precision);
    let is_exact = k <= MOST_SETS;
    let histogram = if is_exact {
        // A bar around each share that can be, 0, 1/k, …, 1.
        let half = 0.5 / as_f64(k);
        Histogram::new(values, (-half, 1.0 + half), k + 1)
    } else {
        Histogram::new(values, (0.0, 1.0), BINS)
    };
    let name = |index: usize| {
        if is_exact {
            format!("{index} of {k}")
        } else {
            let (from, to) = histogram.bin(index);
            format!("{} to {}", percent(from), percent(to))
        }
    };
    let bars = named(&histogram, name);
    let noise = audit.summary.value(&noise::FIGURE);
    let distinctness = audit.summary.value(&distinctness::FIGURE);
    let overlap = distinctness.map(|distinctness| 1.0 - distinctness);
    let mut rules = Vec::new();
    rules.extend(noise.map(|noise| ("rule", noise)));
    rules.extend(overlap.map(|overlap| ("rule-dotted", overlap)));
    let mut legend = Vec::new();
    legend.extend(noise.map(|noise| Key::rule("rule", format!("noise alone, {}", percent(noise)))));
    legend.extend(overlap.map(|overlap| {
        Key::rule(
            "rule-dotted",
            format!("two different {}, {}", nouns.rows, percent(overlap)),
        )
    }));
    let all = audit.rows.len();
    let kept = share(
        audit.rows.iter().filter(|row| row.precision >= 1.0).count(),
        all,
    )
    .unwrap_or(0.0);
    let half = share(
        audit.rows.iter().filter(|row| row.precision < 0.5).count(),
        all,
    )
    .unwrap_or(0.0);
    let caption = format!(
        "At the worst point found, {} of the {} keep all {k} {} and {} keep less than half of them.",
        percent(kept),
        nouns.rows,
        nouns.reasons,
        percent(half)
    );
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|value| (value, percent(value).replace(".0", "")));
    let look = Look {
        id: &format!("{prefix}-precision"),
        title: &format!("P@{k} of each {}", nouns.row),
        description: &caption,
        x_label: &format!("share of the {k} {} that stay", nouns.reasons),
        y_label: nouns.rows,
        ticks: ticks.into(),
        rules,
        tips: bars
            .iter()
            .map(|(name, count)| format!("{name}: {count}"))
            .collect(),
    };
    figure(
        histogram::draw(&histogram, look),
        caption,
        legend,
        &["stay", nouns.rows],
        bars,
    )
}

fn spread_of_thickness(audit: &Audit, prefix: &str, mean: f64) -> Chart {
    let nouns = Nouns::of(audit);
    let values = || {
        let rows = audit.rows.iter();
        rows.filter_map(|row| thickness::FIGURE.of_row(&row))
    };
    let (low, high) = scale::range(values()).unwrap_or((0.0, 1.0));
    // Thickness is in 0..=1 and mostly near 1; whole tenths keep two reports comparable.
    let low = (low.clamp(0.0, 0.9) * 10.0).floor() / 10.0;
    let histogram = Histogram::new(values(), (low, high.max(1.0)), BINS);
    let bars = named(&histogram, |index| {
        let (from, to) = histogram.bin(index);
        format!("{} to {}", score(from), score(to))
    });
    let mut caption = format!(
        "The mean is {}. Thickness is the chance that a top feature is still ahead of another on the way to a random neighbour: 1 \
         is safe.",
        score(mean)
    );
    if histogram.left_out > 0 {
        caption += format!(
            " {} without a value are left out.",
            count(histogram.left_out)
        )
        .as_str();
    }
    let look = Look {
        id: &format!("{prefix}-thickness"),
        title: &format!("Thickness of each {}", nouns.row),
        description: &caption,
        x_label: "thickness (probability form)",
        y_label: nouns.rows,
        ticks: Vec::new(),
        rules: vec![("rule", mean)],
        tips: bars
            .iter()
            .map(|(name, count)| format!("{name}: {count}"))
            .collect(),
    };
    let legend = vec![Key::rule("rule", format!("mean, {}", score(mean)))];
    figure(
        histogram::draw(&histogram, look),
        caption,
        legend,
        &["thickness", nouns.rows],
        bars,
    )
}

/// The bars with their names, those of no row too.
fn named(histogram: &Histogram, name: impl Fn(usize) -> String) -> Vec<(String, String)> {
    let named = |(index, rows): (usize, &usize)| (name(index), count(*rows));
    histogram.counts.iter().enumerate().map(named).collect()
}

fn figure(
    drawing: crate::plot::Drawing,
    caption: String,
    legend: Vec<Key>,
    columns: &[&str],
    bars: Vec<(String, String)>,
) -> Chart {
    Chart {
        title: drawing.title.clone(),
        drawing,
        caption,
        legend,
        values: Some(Values::new(
            columns,
            bars.into_iter().map(|(name, count)| vec![name, count]),
        )),
    }
}
