//! An audit of a model that has no gradient, or none that is known: probabilities and importances are functions that are asked.
//!
//! Around each row it looks at random neighbours (the noise floor), at points on the sphere of the radius, at points on the way
//! to other rows ("donors", which find the thresholds of trees), between a row and points of another class that it came upon (the
//! boundary, where explanations change most), and, in rounds, ever nearer around the worst point so far. Of the points that keep
//! the prediction, the one whose top-k set overlaps least with the row's counts. No attack can follow a gradient here, so a stronger
//! one may find less: the share that is kept is an upper bound that is looser than that of [`super::run`], and
//! [`GradientFreeAudit::weaker`] says so.

mod result;
mod search;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

pub use result::{GradientFreeAudit, GradientFreeRow, PointOrigin};

use super::progress::{Event, Observer};
use crate::check::as_f64;
use crate::metric::distinctness;
use crate::statistics::{Estimate, mean};
use crate::{Error, Result, Rows, Seed};
use search::Search;

/// Rows that are searched around at once. What is found does not depend on it.
const BLOCK: usize = 16;

/// What is known of the model: what it answers for rows, row-major in the features of the schema.
pub struct Answers<'a> {
    /// Classes of the model.
    pub classes: usize,
    /// The probabilities of each row, `[rows, classes]`.
    pub probabilities: &'a mut dyn FnMut(&[f32]) -> Result<Vec<f64>>,
    /// The importances of each row's features for the class that is predicted there, `[rows, features]`; the largest are the top.
    pub importances: &'a mut dyn FnMut(&[f32]) -> Result<Vec<f64>>,
}

/// How hard is looked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GradientFreeConfig {
    /// Salient features.
    pub k: usize,
    /// The largest move, in the units of the features (l2).
    pub radius: f64,
    /// Random neighbours of each row for the noise floor.
    pub noise_draws: usize,
    /// Points on the sphere of each row.
    pub sphere_points: usize,
    /// Other rows that each row is moved towards.
    pub donors: usize,
    /// Rounds around the worst point so far, each at half the distance of the one before.
    pub rounds: usize,
    /// Points of each round.
    pub round_points: usize,
    /// Decides every draw.
    pub seed: Seed,
}

impl Default for GradientFreeConfig {
    fn default() -> Self {
        Self {
            k: crate::defaults::K,
            radius: crate::defaults::RADIUS,
            noise_draws: 20,
            sphere_points: 100,
            donors: 30,
            rounds: 3,
            round_points: 32,
            seed: Seed::new(0),
        }
    }
}

impl GradientFreeConfig {
    fn check(&self, features: usize) -> Result<()> {
        if self.k == 0 || self.k >= features {
            return Err(Error::TopKOutOfRange {
                k: self.k,
                largest: features.saturating_sub(1),
            });
        }
        if !(self.radius > 0.0 && self.radius.is_finite()) {
            return Err(Error::OutOfRange {
                what: "the radius",
                expected: "finite and positive",
                got: self.radius,
            });
        }
        Ok(())
    }
}

/// Audits the explanations of a model that is known by its answers alone. Immutable features of the schema stay.
///
/// # Errors
/// If k or the radius does not fit, an answer has another length than it must, or is no number.
pub fn gradient_free(
    answers: &mut Answers<'_>,
    rows: &Rows<'_>,
    config: &GradientFreeConfig,
) -> Result<GradientFreeAudit> {
    let mut goes_on = |_: &Event<'_>| ControlFlow::Continue(());
    let found = gradient_free_observed(answers, rows, config, &mut goes_on)?;
    found.ok_or(Error::Empty {
        what: "an audit that nobody stopped",
    })
}

/// The same, with events for whoever watches; nothing comes of an audit that was stopped.
///
/// # Errors
/// As for [`gradient_free`], and what an answer fails with.
pub fn gradient_free_observed(
    answers: &mut Answers<'_>,
    rows: &Rows<'_>,
    config: &GradientFreeConfig,
    observer: &mut dyn Observer,
) -> Result<Option<GradientFreeAudit>> {
    let features = rows.schema().len();
    config.check(features)?;
    if rows.is_empty() {
        return Err(Error::Empty {
            what: "the rows to audit",
        });
    }
    let mut values = vec![0.0; rows.len() * features];
    for (place, row) in values.chunks_exact_mut(features).enumerate() {
        rows.copy(place, row);
    }
    let all = rows.schema().features.iter();
    let movable: Vec<bool> = all.map(|feature| !feature.immutable).collect();
    let absent = absent_row(&values, &movable);
    let mut search = Search {
        answers,
        config,
        values: &values,
        movable,
        evaluations: 0,
    };
    let begin = Event::Begin {
        rows: rows.len(),
        done: 0,
    };
    if observer.on_event(&begin).is_break() {
        return Ok(None);
    }
    let bases = search.bases()?;
    let mut found: Vec<GradientFreeRow> = Vec::with_capacity(rows.len());
    let mut kept = 0.0;
    for (number, bases) in bases.chunks(BLOCK).enumerate() {
        let first = number * BLOCK;
        let places = first..first + bases.len();
        let ids: Vec<u64> = places.map(|place| rows.id(place)).collect();
        let block = search.block(first, &ids, bases)?;
        kept += block.iter().map(|row| row.p_at_k).sum::<f64>();
        found.extend(block);
        let event = Event::Rows {
            done: found.len(),
            rows: rows.len(),
            precision_at_k: kept / as_f64(found.len()),
        };
        if observer.on_event(&event).is_break() {
            return Ok(None);
        }
    }
    let falls = search.comprehensiveness(&bases, &absent)?;
    for (place, (row, fall)) in found.iter_mut().zip(falls).enumerate() {
        row.comprehensiveness = fall;
        row.label = rows.label(place);
    }
    let evaluations = search.evaluations;
    let sets: Vec<_> = bases.into_iter().map(|base| base.top).collect();
    let names = rows.schema().features.iter();
    let of = |pick: fn(&GradientFreeRow) -> f64| -> Result<Estimate> {
        let values: Vec<f64> = found.iter().map(pick).collect();
        mean::estimate(&values)
    };
    Ok(Some(GradientFreeAudit {
        schema: result::SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: "a model without gradients".to_owned(),
        features: names.map(|feature| feature.name.clone()).collect(),
        settings: config.clone(),
        p_at_k: of(|row| row.p_at_k)?.of_share(),
        noise_p_at_k: of(|row| row.noise_p_at_k)?.of_share(),
        comprehensiveness: of(|row| row.comprehensiveness)?,
        distinctness: distinctness::score(&sets)?,
        accuracy: accuracy(&found)?,
        gate: Vec::new(),
        evaluations,
        weaker: result::WEAKER.to_owned(),
        rows: found,
    }))
}

/// The share of the rows with a label whose class is predicted; none where there is no label.
fn accuracy(rows: &[GradientFreeRow]) -> Result<Option<Estimate>> {
    let hits = rows.iter().filter_map(|row| Some((row.label?, row.class)));
    let hits: Vec<f64> = hits
        .map(|(label, class)| f64::from(u8::from(label == class)))
        .collect();
    if hits.is_empty() {
        return Ok(None);
    }
    Ok(Some(mean::estimate(&hits)?.of_share()))
}

/// What stands for the absence of a feature: the mean of what moves, and the most frequent value (of equals the smallest) of what
/// does not, which may be the number of a category.
#[expect(
    clippy::cast_possible_truncation,
    reason = "features are single precision"
)]
fn absent_row(values: &[f32], movable: &[bool]) -> Vec<f32> {
    let features = movable.len();
    let rows = values.len() / features;
    let column = |feature: usize| values.iter().skip(feature).step_by(features).copied();
    let usual = |feature: usize| {
        let mut sorted: Vec<f32> = column(feature).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        let mut counts: BTreeMap<usize, f32> = BTreeMap::new();
        for run in sorted.chunk_by(|a, b| a.to_bits() == b.to_bits()) {
            counts.entry(run.len()).or_insert(run[0]);
        }
        counts.last_entry().map_or(0.0, |entry| *entry.get())
    };
    let mean = |feature: usize| column(feature).map(f64::from).sum::<f64>() / as_f64(rows);
    let each = movable.iter().enumerate();
    each.map(|(feature, &moves)| {
        if moves {
            mean(feature) as f32
        } else {
            usual(feature)
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;

    /// Two features whose importances are their values: which is on top changes where they are equal, and the prediction never does.
    fn gradual(rounds: usize, values: &[f32]) -> GradientFreeAudit {
        let schema = Schema::table(&["a", "b"]);
        let rows = Rows::new(values, &schema).unwrap();
        let mut answers = Answers {
            classes: 2,
            probabilities: &mut |rows| Ok([0.9, 0.1].repeat(rows.len() / 2)),
            importances: &mut |rows| Ok(rows.iter().map(|&value| f64::from(value)).collect()),
        };
        let config = GradientFreeConfig {
            k: 1,
            radius: 0.5,
            noise_draws: 2,
            sphere_points: 2,
            donors: 0,
            rounds,
            ..GradientFreeConfig::default()
        };
        gradient_free(&mut answers, &rows, &config).unwrap()
    }

    #[test]
    fn rounds_go_on_from_the_point_that_is_nearest_to_a_change() {
        // The way from (0.66, 0) to where both are equal is 0.4667 long, and the radius 0.5: of the directions, 12% reach it. Two
        // random points a row miss it mostly, and rounds that go on from the nearer one do not.
        let values = [0.66, 0.0].repeat(20);
        let (without, with) = (gradual(0, &values), gradual(8, &values));
        let (without, found) = (without.p_at_k.value, with.p_at_k.value);
        assert!(without > 0.6 && found < 0.5 * without, "{without} {found}");
        let moved = with.rows.iter().map(|row| {
            let (a, b) = (row.worst[0] - 0.66, row.worst[1]);
            a.hypot(b)
        });
        assert!(moved.into_iter().all(|size| size <= 0.5 + 1e-6));
        // Beyond the radius nothing changes.
        assert!((gradual(8, &[0.75, 0.0]).p_at_k.value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_row_does_not_depend_on_the_rows_beside_it_where_there_are_no_donors() {
        let many = gradual(3, &[0.66, 0.0, 0.3, 0.2, 0.1, 0.7].repeat(11));
        let few = gradual(3, &[0.66, 0.0, 0.3, 0.2, 0.1, 0.7]);
        assert_eq!(many.rows[..3].len(), few.rows.len());
        for (one, other) in many.rows.iter().zip(&few.rows) {
            assert_eq!((one.p_at_k, &one.worst), (other.p_at_k, &other.worst));
        }
    }

    #[test]
    fn what_is_required_is_judged_and_accuracy_is_that_of_the_labelled_rows() {
        let schema = Schema::table(&["a", "b"]);
        let rows = Rows::new(&[0.9, 0.0, 0.8, 0.1, 0.7, 0.2], &schema).unwrap();
        let labels = [Some(0), Some(1), None];
        let rows = rows.with_some_labels(&labels).unwrap();
        let mut answers = Answers {
            classes: 2,
            probabilities: &mut |rows| Ok([0.9, 0.1].repeat(rows.len() / 2)),
            importances: &mut |rows| Ok([1.0, 0.0].repeat(rows.len() / 2)),
        };
        let config = GradientFreeConfig {
            k: 1,
            ..GradientFreeConfig::default()
        };
        let mut audit = gradient_free(&mut answers, &rows, &config).unwrap();
        assert_eq!(audit.accuracy.map(|accuracy| accuracy.value), Some(0.5));
        let texts = ["p_at_k>=1", "accuracy>0.5", "distinctness<=0"].map(str::to_owned);
        audit.require(&texts).unwrap();
        let held: Vec<bool> = audit.gate.iter().map(|one| one.holds).collect();
        assert_eq!(held, [true, false, true]);
        let refused = audit.require(&["auc>=0.5".to_owned()]).unwrap_err();
        assert!(
            refused.to_string().contains("known are p_at_k"),
            "{refused}"
        );
    }

    #[test]
    fn what_does_not_move_is_absent_as_its_most_frequent_value() {
        let values = [1.0, 2.0, 3.0, 2.0, 5.0, 7.0];
        assert_eq!(absent_row(&values, &[true, false]), [3.0, 2.0]);
        let same = absent_row(&values, &[false, true]);
        assert_eq!(same[0].to_bits(), 1.0_f32.to_bits());
    }

    #[test]
    fn a_stopped_audit_comes_to_nothing_and_a_radius_of_zero_is_refused() {
        let schema = Schema::table(&["a", "b"]);
        let rows = Rows::new(&[0.9, 0.0], &schema).unwrap();
        let mut answers = Answers {
            classes: 2,
            probabilities: &mut |rows| Ok([0.9, 0.1].repeat(rows.len() / 2)),
            importances: &mut |rows| Ok([1.0, 0.0].repeat(rows.len() / 2)),
        };
        let mut config = GradientFreeConfig {
            k: 1,
            ..GradientFreeConfig::default()
        };
        let mut stops = |event: &Event<'_>| match event {
            Event::Rows { .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let found = gradient_free_observed(&mut answers, &rows, &config, &mut stops).unwrap();
        assert!(found.is_none());
        config.radius = 0.0;
        let refused = gradient_free(&mut answers, &rows, &config).unwrap_err();
        assert!(refused.to_string().contains("the radius"), "{refused}");
    }

    /// Two classes; importances are of the sides of a step at 0.5 of the first feature.
    fn audit(radius: f64) -> GradientFreeAudit {
        let schema = Schema::table(&["a", "b", "c"]);
        let values = [0.4, 0.0, 0.0, 0.1, 0.5, 0.5];
        let rows = Rows::new(&values, &schema).unwrap();
        let mut probabilities = |rows: &[f32]| {
            Ok(rows
                .chunks(3)
                .flat_map(|row| [0.9 - 0.1 * f64::from(row[2]), 0.1 + 0.1 * f64::from(row[2])])
                .collect())
        };
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
            radius,
            ..GradientFreeConfig::default()
        };
        gradient_free(&mut answers, &rows, &config).unwrap()
    }

    #[test]
    fn a_step_within_the_radius_is_found_and_one_beyond_it_is_not() {
        // The first row is 0.1 from the step, the second 0.4.
        let near = audit(0.2);
        assert_eq!(
            near.rows.iter().map(|row| row.p_at_k).collect::<Vec<_>>(),
            [0.0, 1.0]
        );
        assert!(near.rows[0].worst[0] > 0.5);
        let far = audit(0.05);
        assert!((far.p_at_k.value - 1.0).abs() < 1e-12);
        assert_eq!(far.distinctness, Some(0.0));
        assert!(!near.weaker.is_empty() && near.evaluations > 200);
    }

    #[test]
    fn answers_of_another_length_are_refused() {
        let schema = Schema::table(&["a", "b"]);
        let rows = Rows::new(&[0.0, 1.0], &schema).unwrap();
        let mut answers = Answers {
            classes: 2,
            probabilities: &mut |_| Ok(vec![1.0]),
            importances: &mut |_| Ok(vec![1.0, 0.0]),
        };
        let config = GradientFreeConfig {
            k: 1,
            ..GradientFreeConfig::default()
        };
        let refused = gradient_free(&mut answers, &rows, &config).unwrap_err();
        assert!(
            matches!(
                refused,
                Error::LengthMismatch {
                    expected: 2,
                    got: 1,
                    ..
                }
            ),
            "{refused}"
        );
    }

    #[test]
    fn its_file_is_read_back_and_other_texts_are_refused() {
        let found = audit(0.5);
        let text = found.to_json();
        assert_eq!(GradientFreeAudit::parse(&text, "a.json").unwrap(), found);
        let newer = text.replacen("\"schema\": 1", "\"schema\": 9", 1);
        let of_one_feature = text.replace("\"a\",", "").replace("\"b\",", "");
        for wrong in ["{}", &newer, &of_one_feature] {
            assert!(GradientFreeAudit::parse(wrong, "a.json").is_err());
        }
        let counted: usize = [
            PointOrigin::Row,
            PointOrigin::Noise,
            PointOrigin::Sphere,
            PointOrigin::Donor,
            PointOrigin::Boundary,
            PointOrigin::Near,
        ]
        .map(|origin| found.found_by(origin))
        .iter()
        .sum();
        assert_eq!(counted, found.rows.len());
    }

    #[test]
    fn the_radius_is_positive_and_k_leaves_a_feature_out() {
        let check = |k: usize, radius: f64| {
            let config = GradientFreeConfig {
                k,
                radius,
                ..GradientFreeConfig::default()
            };
            config.check(3)
        };
        assert!(check(1, 0.5).is_ok() && check(2, 0.5).is_ok());
        for radius in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(
                matches!(check(1, radius), Err(Error::OutOfRange { .. })),
                "{radius}"
            );
        }
        for k in [0, 3] {
            assert!(
                matches!(check(k, 0.5), Err(Error::TopKOutOfRange { .. })),
                "{k}"
            );
        }
    }

    #[test]
    fn beside_a_tie_about_half_of_the_random_neighbours_change_the_order() {
        let near = gradual(0, &[0.001, 0.0].repeat(20)).noise_p_at_k.value;
        assert!((0.25..0.75).contains(&near), "{near}");
        let far = gradual(0, &[0.9, 0.0].repeat(20)).noise_p_at_k.value;
        assert!((far - 1.0).abs() < 1e-12, "{far}");
    }
}
