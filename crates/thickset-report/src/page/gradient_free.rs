//! The page of an audit without gradients, which says first what such an audit cannot.

use askama::Template;
use thickset::audit::{GradientFreeAudit, GradientFreeRow, PointOrigin};
use thickset::statistics::Estimate;

use crate::chart::{Chart, Key, Values};
use crate::number::{as_f64, count, counted, interval, percent, plain, score};
use crate::plot::histogram::{self, Histogram, Look};

/// Rows that are shown in full.
const SHOWN: usize = 10;

/// Sets of features that get a bar of their own; more are put into equal bins.
const MOST_SETS: usize = 20;

/// The whole page.
#[derive(Template)]
#[template(path = "gradient_free.html")]
pub struct Page {
    title: String,
    lead: String,
    version: String,
    weaker: Vec<String>,
    tiles: Vec<Tile>,
    /// What was required, what it is, and whether it holds.
    gate: Vec<(String, String, bool)>,
    figure: Chart,
    /// How worst points were come upon, and of how many rows.
    origins: Vec<(&'static str, String)>,
    worst: Vec<Shown>,
    settings: Vec<(&'static str, String)>,
}

/// One figure.
struct Tile {
    name: String,
    value: String,
    interval: Option<String>,
    meaning: &'static str,
}

/// A row as the page shows it.
struct Shown {
    row: u64,
    share: String,
    left: String,
    entered: String,
    found: &'static str,
}

impl Page {
    /// The page of this audit.
    pub fn new(audit: &GradientFreeAudit) -> Self {
        let (rows, k) = (audit.rows.len(), audit.settings.k);
        Self {
            title: audit.name.clone(),
            lead: format!(
                "{}, the {k} most important of {}, moves of up to {} (Euclidean, in the units of the features)",
                counted(rows, "row", "rows"),
                counted(audit.features.len(), "feature", "features"),
                plain(audit.settings.radius)
            ),
            version: audit.version.clone(),
            weaker: weaker(audit),
            tiles: tiles(audit),
            gate: audit
                .gate
                .iter()
                .map(|one| {
                    let measured = one.measured().unwrap_or_else(|| "not measured".to_owned());
                    (one.text.clone(), measured, one.holds)
                })
                .collect(),
            figure: spread(audit),
            origins: origins(audit),
            worst: worst(audit),
            settings: vec![
                ("salient features", k.to_string()),
                ("radius", plain(audit.settings.radius)),
                ("random neighbours a row", count(audit.settings.noise_draws)),
                (
                    "points at the radius a row",
                    count(audit.settings.sphere_points),
                ),
                (
                    "other rows that each is moved towards",
                    count(audit.settings.donors),
                ),
                (
                    "rounds near the worst point, and points of each",
                    format!("{}, {}", audit.settings.rounds, audit.settings.round_points),
                ),
                ("seed", audit.settings.seed.number().to_string()),
                (
                    "rows that the model was asked about",
                    count(audit.evaluations),
                ),
            ],
        }
    }
}

/// What such an audit cannot say.
fn weaker(audit: &GradientFreeAudit) -> Vec<String> {
    let asked = audit.evaluations / audit.rows.len().max(1);
    vec![
        format!("{}.", capital(&audit.weaker)),
        format!(
            "The share that is kept is therefore an upper bound: the true worst case keeps as much or less. About {} points were looked at for each row, and a ball in {} dimensions has room for many more.",
            count(asked),
            audit.features.len()
        ),
        "Nothing is proved: there are no certificates for a model that is only asked for its answers.".to_owned(),
        "Importances are those of the function that was given. If it draws at random itself, its own noise counts as instability; the noise floor below shows how much of it there is.".to_owned(),
    ]
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|one| one.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

fn tiles(audit: &GradientFreeAudit) -> Vec<Tile> {
    let tile = |name: String, of: &Estimate, style: fn(f64) -> String, meaning| Tile {
        name,
        value: style(of.value),
        interval: interval(of.interval, style),
        meaning,
    };
    let k = audit.settings.k;
    let mut tiles = vec![
        tile(
            format!("P@{k}, worst point found"),
            &audit.p_at_k,
            percent,
            "mean share of the top features that stay at the worst point found with the same prediction; higher is more stable",
        ),
        tile(
            "noise floor".to_owned(),
            &audit.noise_p_at_k,
            percent,
            "the same at random neighbours: what is lost without any search",
        ),
        tile(
            "comprehensiveness".to_owned(),
            &audit.comprehensiveness,
            score,
            "mean fall of the predicted probability when the top features become those of the mean row: explanations that name what matters have more",
        ),
    ];
    if let Some(distinctness) = audit.distinctness {
        tiles.push(Tile {
            name: "distinctness".to_owned(),
            value: score(distinctness),
            interval: None,
            meaning: "one minus the mean overlap of two rows' top features: 0 says the same of everybody, and is trivially stable",
        });
    }
    if let Some(accuracy) = &audit.accuracy {
        tiles.push(tile(
            "accuracy".to_owned(),
            accuracy,
            percent,
            "share of rows whose own class is predicted",
        ));
    }
    tiles
}

fn spread(audit: &GradientFreeAudit) -> Chart {
    let k = audit.settings.k.max(1);
    let values = audit.rows.iter().map(|row| row.p_at_k);
    let is_exact = k <= MOST_SETS;
    let histogram = if is_exact {
        let half = 0.5 / as_f64(k);
        Histogram::new(values, (-half, 1.0 + half), k + 1)
    } else {
        Histogram::new(values, (0.0, 1.0), MOST_SETS)
    };
    let name = |index: usize| {
        if is_exact {
            return format!("{index} of {k}");
        }
        let (from, to) = histogram.bin(index);
        format!("{} to {}", percent(from), percent(to))
    };
    let bars: Vec<(String, usize)> = histogram
        .counts
        .iter()
        .enumerate()
        .map(|(index, count)| (name(index), *count))
        .collect();
    let noise = audit.noise_p_at_k.value;
    let title = format!("P@{k} of each row at the worst point found");
    let kept = audit.rows.iter().filter(|row| row.p_at_k >= 1.0).count();
    let caption = format!(
        "{} of {} keep all {k}: no point that was looked at changes them.",
        count(kept),
        counted(audit.rows.len(), "row", "rows")
    );
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|value| (value, percent(value)));
    let look = Look {
        id: "gradient-free-precision",
        title: &title,
        description: &caption,
        x_label: &format!("share of the {k} features that stay"),
        y_label: "rows",
        ticks: ticks.into(),
        rules: vec![("rule", noise)],
        tips: bars
            .iter()
            .map(|(name, count)| format!("{name}: {count}"))
            .collect(),
    };
    Chart {
        drawing: histogram::draw(&histogram, look),
        title,
        caption,
        legend: vec![Key::rule(
            "rule",
            format!("noise alone, {}", percent(noise)),
        )],
        values: Some(Values::new(
            &["stay", "rows"],
            bars.into_iter()
                .map(|(name, count)| vec![name, count.to_string()]),
        )),
    }
}

fn origins(audit: &GradientFreeAudit) -> Vec<(&'static str, String)> {
    let all = [
        PointOrigin::Near,
        PointOrigin::Boundary,
        PointOrigin::Donor,
        PointOrigin::Sphere,
        PointOrigin::Noise,
        PointOrigin::Row,
    ];
    all.map(|origin| (origin.label(), count(audit.found_by(origin))))
        .to_vec()
}

fn worst(audit: &GradientFreeAudit) -> Vec<Shown> {
    let mut rows: Vec<&GradientFreeRow> =
        audit.rows.iter().filter(|row| row.p_at_k < 1.0).collect();
    rows.sort_by(|a, b| a.p_at_k.total_cmp(&b.p_at_k).then(a.row.cmp(&b.row)));
    let names = |of: &[usize], without: &[usize]| {
        let names = of.iter().filter(|feature| !without.contains(feature));
        let names: Vec<&str> = names
            .filter_map(|&feature| audit.features.get(feature).map(String::as_str))
            .collect();
        names.join(", ")
    };
    let shown = |row: &&GradientFreeRow| Shown {
        row: row.row,
        share: percent(row.p_at_k),
        left: names(&row.top, &row.worst_top),
        entered: names(&row.worst_top, &row.top),
        found: row.found.label(),
    };
    rows.iter().take(SHOWN).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use thickset::audit::{Answers, GradientFreeConfig, gradient_free};
    use thickset::{Rows, Schema};

    /// A step at 0.5 of the first feature decides which of two features matters.
    fn audited() -> super::GradientFreeAudit {
        let schema = Schema::table(&["<a>", "b", "c"]);
        let values = [0.4, 0.0, 0.0, 0.1, 0.5, 0.5, 0.2, 0.2, 0.9];
        let rows = Rows::new(&values, &schema).unwrap();
        let mut probabilities =
            |rows: &[f32]| Ok(rows.chunks(3).flat_map(|_| [0.8, 0.2]).collect());
        let mut importances = |rows: &[f32]| {
            let of = |row: &[f32]| {
                if row[0] > 0.5 {
                    [0.0, 1.0, 0.0]
                } else {
                    [1.0, 0.0, 0.0]
                }
            };
            Ok(rows.chunks(3).flat_map(of).collect())
        };
        let mut answers = Answers {
            classes: 2,
            probabilities: &mut probabilities,
            importances: &mut importances,
        };
        let config = GradientFreeConfig {
            k: 1,
            ..GradientFreeConfig::default()
        };
        gradient_free(&mut answers, &rows, &config).unwrap()
    }

    #[test]
    fn the_page_says_first_that_it_is_weaker_and_why() {
        let audit = audited();
        let page = crate::gradient_free(&audit).unwrap();
        let weaker = page
            .find("This audit is weaker than one with gradients")
            .unwrap();
        assert!(weaker < page.find("class=\"tiles\"").unwrap());
        for said in [
            "upper bound",
            "Nothing is proved",
            "No gradient was followed",
            "noise floor",
            "comprehensiveness",
            "distinctness",
        ] {
            assert!(page.contains(said), "{said}");
        }
        assert!(
            page.contains("&#60;a&#62;") && !page.contains("<a>,"),
            "names are escaped"
        );
        assert!(page.contains("features that leave"));
    }
}
