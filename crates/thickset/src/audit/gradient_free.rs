//! An audit of a model that has no gradient, or none that is known: probabilities and importances are functions that are asked.
//!
//! Around each row it looks at random neighbours (the noise floor), at points on the sphere of the radius, at points on the way
//! to other rows ("donors", which find the thresholds of trees), and between a row and the nearest point of another class that
//! it came upon (the boundary, where explanations change most). Of the points that keep the prediction, the one whose top-k set
//! overlaps least with the row's counts. No attack can follow a gradient here, so a stronger one may find less: the share that is
//! kept is an upper bound that is looser than that of [`super::run`], and [`GradientFreeAudit::weaker`] says so.

use serde::{Deserialize, Serialize};

use crate::metric::distinctness;
use crate::metric::precision_at_k;
use crate::metric::ranking::{TopK, largest};
use crate::statistics::{Estimate, mean};
use crate::{Error, Result, Rows, Seed, Stream};

/// Halvings of the way between a row and a point of another class.
const BOUNDARY_STEPS: usize = 6;

/// Why such an audit says less than one with gradients.
const WEAKER: &str = "no gradient was followed: the points were found by chance, by the way to other rows and at class boundaries, so a stronger search may find less stable explanations than these";

/// What is known of the model: what it answers for rows, row-major in the features of the schema.
pub struct Answers<'a> {
    /// Classes of the model.
    pub classes: usize,
    /// The probabilities of each row, `[rows, classes]`.
    pub probabilities: &'a mut dyn FnMut(&[f32]) -> Result<Vec<f64>>,
    /// The importances of each row's features for the class that is predicted there, `[rows, features]`.
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
            seed: Seed::new(0),
        }
    }
}

/// The version of the file's form.
const SCHEMA: u32 = 1;

/// How a point was come upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointOrigin {
    /// No point was worse than the row itself.
    Row,
    /// A random neighbour within the radius.
    Noise,
    /// A random point at the radius.
    Sphere,
    /// On the way to another row.
    Donor,
    /// Just before the class changes.
    Boundary,
}

impl PointOrigin {
    /// What it is, for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Row => "the row itself: nothing worse was found",
            Self::Noise => "random neighbours within the radius",
            Self::Sphere => "random points at the radius",
            Self::Donor => "points on the way to other rows",
            Self::Boundary => "points just before the class changes",
        }
    }
}

/// What was found of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientFreeRow {
    /// Its number in its file or slice, counted from 1.
    pub row: u64,
    /// The class predicted.
    pub class: usize,
    /// The share of the top-k set that the worst point keeps.
    pub p_at_k: f64,
    /// The mean share that random neighbours keep.
    pub noise_p_at_k: f64,
    /// How far the class's probability falls when the top-k features become the mean row's.
    pub comprehensiveness: f64,
    /// The worst point.
    pub worst: Vec<f32>,
    /// How that was come upon.
    pub found: PointOrigin,
    /// The most important features of the row, in ascending order.
    pub top: Vec<usize>,
    /// Those of the worst point.
    pub worst_top: Vec<usize>,
}

/// What an audit without gradients comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientFreeAudit {
    /// The version of the file's form.
    pub schema: u32,
    /// The version of thickset that made it.
    pub version: String,
    /// What was audited, for people; to be filled in by whoever knows.
    pub name: String,
    /// Names of the features.
    pub features: Vec<String>,
    /// How it was made.
    pub settings: GradientFreeConfig,
    /// The mean share that worst points keep.
    pub p_at_k: Estimate,
    /// The mean share that random neighbours keep.
    pub noise_p_at_k: Estimate,
    /// The mean fall of the class's probability without the top-k features.
    pub comprehensiveness: Estimate,
    /// One minus the mean overlap of two rows' top-k sets; absent for a single row.
    pub distinctness: Option<f64>,
    /// Rows for which probabilities were asked.
    pub evaluations: usize,
    /// Why it is weaker than an audit with gradients.
    pub weaker: String,
    /// Row by row.
    pub rows: Vec<GradientFreeRow>,
}

impl GradientFreeAudit {
    /// The content of its file.
    ///
    /// # Panics
    /// Never: it is plain data.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("an audit is plain data")
    }

    /// Reads what [`GradientFreeAudit::to_json`] wrote; `path` is for messages.
    ///
    /// # Errors
    /// If the text is something else, or of a newer version.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        let malformed = |problem: String| Error::Malformed {
            path: path.to_owned(),
            line: None,
            problem,
        };
        let audit: Self =
            serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        if audit.schema != SCHEMA {
            let got = audit.schema;
            return Err(malformed(format!("expected schema {SCHEMA}, got {got}")));
        }
        let features = audit.features.len();
        let is_known = |feature: &usize| *feature < features;
        let mut named = audit
            .rows
            .iter()
            .flat_map(|row| row.top.iter().chain(&row.worst_top));
        if !named.all(is_known) {
            return Err(malformed(format!(
                "a row names a feature beyond the {features} there are"
            )));
        }
        Ok(audit)
    }

    /// Rows whose worst point was come upon in this way.
    #[must_use]
    pub fn found_by(&self, origin: PointOrigin) -> usize {
        self.rows.iter().filter(|row| row.found == origin).count()
    }
}

/// Audits the explanations of a model that is known by its answers alone.
///
/// # Errors
/// If k or the radius does not fit, an answer has another length than it must, or is no number.
pub fn gradient_free(
    answers: &mut Answers<'_>,
    rows: &Rows<'_>,
    config: &GradientFreeConfig,
) -> Result<GradientFreeAudit> {
    let features = rows.schema().len();
    if config.k == 0 || config.k >= features {
        return Err(Error::TopKOutOfRange {
            k: config.k,
            largest: features.saturating_sub(1),
        });
    }
    if rows.is_empty() {
        return Err(Error::Empty {
            what: "the rows to audit",
        });
    }
    let values: Vec<f32> = {
        let mut values = vec![0.0; rows.len() * features];
        for (place, row) in values.chunks_exact_mut(features).enumerate() {
            rows.copy(place, row);
        }
        values
    };
    let movable: Vec<bool> = rows
        .schema()
        .features
        .iter()
        .map(|feature| !feature.immutable)
        .collect();
    let mut search = Search {
        answers,
        config,
        features,
        movable,
        evaluations: 0,
    };
    let mean_row = mean_row(&values, features);
    let (mut found, mut sets) = (
        Vec::with_capacity(rows.len()),
        Vec::with_capacity(rows.len()),
    );
    for (place, row) in values.chunks_exact(features).enumerate() {
        let (line, top) = search.row(rows.id(place), row, &values, &mean_row)?;
        found.push(line);
        sets.push(top);
    }
    let of = |pick: fn(&GradientFreeRow) -> f64| -> Result<Estimate> {
        let values: Vec<f64> = found.iter().map(pick).collect();
        mean::estimate(&values)
    };
    Ok(GradientFreeAudit {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: "a model without gradients".to_owned(),
        features: rows
            .schema()
            .features
            .iter()
            .map(|feature| feature.name.clone())
            .collect(),
        settings: config.clone(),
        p_at_k: of(|row| row.p_at_k)?.of_share(),
        noise_p_at_k: of(|row| row.noise_p_at_k)?.of_share(),
        comprehensiveness: of(|row| row.comprehensiveness)?,
        distinctness: distinctness::score(&sets)?,
        evaluations: search.evaluations,
        weaker: WEAKER.to_owned(),
        rows: found,
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a mean of few rows"
)]
fn mean_row(values: &[f32], features: usize) -> Vec<f32> {
    let rows = (values.len() / features) as f64;
    let sum = |feature: usize| {
        values
            .iter()
            .skip(feature)
            .step_by(features)
            .map(|&value| f64::from(value))
            .sum::<f64>()
    };
    (0..features)
        .map(|feature| (sum(feature) / rows) as f32)
        .collect()
}

struct Search<'s, 'a> {
    answers: &'s mut Answers<'a>,
    config: &'s GradientFreeConfig,
    features: usize,
    movable: Vec<bool>,
    evaluations: usize,
}

impl Search<'_, '_> {
    fn row(
        &mut self,
        id: u64,
        row: &[f32],
        others: &[f32],
        mean_row: &[f32],
    ) -> Result<(GradientFreeRow, TopK)> {
        let config = self.config;
        let own = self.probabilities(row)?;
        let class = largest(&own)?;
        let top = TopK::of(&self.importances(row)?, config.k)?;
        let mut stream = config.seed.stream_at("gradient-free", id);
        // The noise floor, within the ball.
        let mut noise = Vec::new();
        for _ in 0..config.noise_draws {
            let length = config.radius * stream.uniform();
            noise.extend(self.around(row, length, &mut stream));
        }
        let noise_shares = self.shares(&noise, &top)?;
        // The search: the sphere, the way to donors, and the boundary to points of another class.
        let mut points = Vec::new();
        let mut origins = Vec::new();
        for _ in 0..config.sphere_points {
            points.extend(self.around(row, config.radius, &mut stream));
            origins.push(PointOrigin::Sphere);
        }
        let count = others.len() / self.features;
        for _ in 0..config.donors.min(count) {
            let donor = stream.below(count);
            points.extend(self.towards(row, &others[donor * self.features..][..self.features]));
            origins.push(PointOrigin::Donor);
        }
        origins.resize(
            origins.len() + noise.len() / self.features,
            PointOrigin::Noise,
        );
        points.extend(noise);
        points.extend(self.boundary(row, &points, class)?);
        origins.resize(points.len() / self.features, PointOrigin::Boundary);
        let (kept, origins) = self.keeping(&points, &origins, class)?;
        let tops = self.tops(&kept)?;
        let mut worst = (1.0, row.to_vec(), PointOrigin::Row, top.clone());
        let points = kept.chunks(self.features).zip(origins);
        for (found, (point, origin)) in tops.into_iter().zip(points) {
            let share = precision_at_k::between(&top, &found)?;
            if share < worst.0 {
                worst = (share, point.to_vec(), origin, found);
            }
        }
        let mut without = row.to_vec();
        for feature in top.iter() {
            without[feature] = mean_row[feature];
        }
        let comprehensiveness = own[class] - self.probabilities(&without)?[class];
        #[expect(clippy::cast_precision_loss, reason = "few draws")]
        let noise_p_at_k = noise_shares.iter().sum::<f64>() / noise_shares.len().max(1) as f64;
        let line = GradientFreeRow {
            row: id + 1,
            class,
            p_at_k: worst.0,
            noise_p_at_k: if noise_shares.is_empty() {
                1.0
            } else {
                noise_p_at_k
            },
            comprehensiveness,
            worst: worst.1,
            found: worst.2,
            top: top.iter().collect(),
            worst_top: worst.3.iter().collect(),
        };
        Ok((line, top))
    }

    /// A point at this distance in a random direction of what may move.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are single precision"
    )]
    fn around(&self, row: &[f32], length: f64, stream: &mut Stream) -> Vec<f32> {
        let direction: Vec<f64> = self
            .movable
            .iter()
            .map(|&moves| if moves { stream.normal() } else { 0.0 })
            .collect();
        let size = direction
            .iter()
            .map(|value| value * value)
            .sum::<f64>()
            .sqrt()
            .max(f64::MIN_POSITIVE);
        let moved = row
            .iter()
            .zip(direction)
            .map(|(&value, step)| (f64::from(value) + step * length / size) as f32);
        moved.collect()
    }

    /// As far towards another row as the radius allows.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are single precision"
    )]
    fn towards(&self, row: &[f32], other: &[f32]) -> Vec<f32> {
        let step = |place: usize| {
            if self.movable[place] {
                f64::from(other[place]) - f64::from(row[place])
            } else {
                0.0
            }
        };
        let size = (0..self.features)
            .map(|place| step(place).powi(2))
            .sum::<f64>()
            .sqrt();
        let share = if size > self.config.radius {
            self.config.radius / size
        } else {
            1.0
        };
        (0..self.features)
            .map(|place| (f64::from(row[place]) + share * step(place)) as f32)
            .collect()
    }

    /// Points between the row and those of another class, on the row's side of the boundary.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are single precision"
    )]
    fn boundary(&mut self, row: &[f32], points: &[f32], class: usize) -> Result<Vec<f32>> {
        let classes = self.classes(points)?;
        let others = points
            .chunks(self.features)
            .zip(classes)
            .filter(|(_, found)| *found != class);
        let others: Vec<&[f32]> = others.map(|(point, _)| point).take(5).collect();
        let mut made = Vec::new();
        for other in others {
            let (mut inside, mut outside) = (0.0, 1.0);
            let at = |share: f64| -> Vec<f32> {
                let pairs = row.iter().zip(other);
                pairs
                    .map(|(&a, &b)| (f64::from(a) + share * (f64::from(b) - f64::from(a))) as f32)
                    .collect()
            };
            for _ in 0..BOUNDARY_STEPS {
                let middle = f64::midpoint(inside, outside);
                if self.classes(&at(middle))?[0] == class {
                    inside = middle;
                } else {
                    outside = middle;
                }
            }
            made.extend(at(inside));
        }
        Ok(made)
    }

    /// Only the points that keep the prediction, and how each was come upon.
    fn keeping(
        &mut self,
        points: &[f32],
        origins: &[PointOrigin],
        class: usize,
    ) -> Result<(Vec<f32>, Vec<PointOrigin>)> {
        let classes = self.classes(points)?;
        let (mut kept, mut kept_origins) = (Vec::new(), Vec::new());
        let all = points.chunks(self.features).zip(origins).zip(classes);
        for ((point, origin), _) in all.filter(|(_, found)| *found == class) {
            kept.extend_from_slice(point);
            kept_origins.push(*origin);
        }
        Ok((kept, kept_origins))
    }

    fn classes(&mut self, points: &[f32]) -> Result<Vec<usize>> {
        if points.is_empty() {
            return Ok(Vec::new());
        }
        let count = self.answers.classes;
        self.probabilities(points)?
            .chunks(count)
            .map(largest)
            .collect()
    }

    /// The share of the top-k set that each point keeps.
    fn shares(&mut self, points: &[f32], top: &TopK) -> Result<Vec<f64>> {
        let tops = self.tops(points)?;
        tops.iter()
            .map(|found| precision_at_k::between(top, found))
            .collect()
    }

    /// The most important features of each point.
    fn tops(&mut self, points: &[f32]) -> Result<Vec<TopK>> {
        if points.is_empty() {
            return Ok(Vec::new());
        }
        let (features, k) = (self.features, self.config.k);
        let importances = self.importances(points)?;
        importances
            .chunks(features)
            .map(|one| TopK::of(one, k))
            .collect()
    }

    fn probabilities(&mut self, points: &[f32]) -> Result<Vec<f64>> {
        let rows = points.len() / self.features;
        self.evaluations += rows;
        let values = (self.answers.probabilities)(points)?;
        checked("the probabilities", values, rows * self.answers.classes)
    }

    fn importances(&mut self, points: &[f32]) -> Result<Vec<f64>> {
        let values = (self.answers.importances)(points)?;
        checked("the importances", values, points.len())
    }
}

fn checked(what: &'static str, values: Vec<f64>, expected: usize) -> Result<Vec<f64>> {
    if values.len() != expected {
        return Err(Error::LengthMismatch {
            what,
            expected,
            got: values.len(),
        });
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;

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
        ]
        .map(|origin| found.found_by(origin))
        .iter()
        .sum();
        assert_eq!(counted, found.rows.len());
    }
}
