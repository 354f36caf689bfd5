//! Why rows are decided against, and how far those reasons hold.

mod tolerance;

use std::collections::BTreeMap;

use thickset_engine::Network;

use super::decide::DecidingModel;
use super::{CertifyOptions, ExplainOptions, Model, Origin};
use crate::attack::ThreatConfig;
use crate::attack::suite::{Effort, SuiteConfig};
use crate::attack::threat::OneHot;
use crate::decision::{Decision, DecisionConfig};
use crate::explain::{CheckedExplain, ExplanationConfig, Per, Points, chunk_rows};
use crate::host::read;
use crate::metric::ranking;
use crate::reasons::{Codes, ColumnValue, Reason, Reasons, RowReasons, When};
use crate::reasons::{column_values, plain_text};
use crate::{Error, Result, Rows, defaults};

/// Which reasons are given. What is left out is the model's own, or that of its data.
#[derive(Clone, Debug, PartialEq)]
pub struct ReasonsOptions {
    /// The most reasons of a row.
    pub k: Option<usize>,
    /// Which class is adverse, and from which probability on.
    pub decision: DecisionConfig,
    /// Also for rows that are not decided against.
    pub all_rows: bool,
    /// How predictions are explained; signed, and per column.
    pub explain: ExplainOptions,
    /// The change that reasons are to hold under.
    pub threat: Option<ThreatConfig>,
    /// Its largest move in encoded units.
    pub radius: Option<f64>,
    /// How hard the suite tries to change them.
    pub effort: Effort,
    /// Whether it tries at all.
    pub attack: bool,
    /// Codes and sentences.
    pub codes: Option<Codes>,
}

impl Default for ReasonsOptions {
    fn default() -> Self {
        Self {
            k: None,
            decision: DecisionConfig::default(),
            all_rows: false,
            explain: ExplainOptions::default(),
            threat: None,
            radius: None,
            // It is run for several sizes of the change.
            effort: Effort::Quick,
            attack: true,
            codes: None,
        }
    }
}

/// The shares of the declared change that are tried, the largest first.
const SHARES: [f64; 4] = [1.0, 0.5, 0.25, 0.125];

impl Model {
    /// The reasons of every row that is decided against: the columns that push it towards the adverse class, the strongest
    /// first, with the row's own value, what it is compared with, and how far each holds.
    ///
    /// ```
    /// use thickset::config::RunConfig;
    /// use thickset::decision::DecisionConfig;
    /// use thickset::model::ReasonsOptions;
    /// use thickset::{Dataset, train};
    ///
    /// // Forty people: who earns less than 40 did not pay back.
    /// let values: Vec<f32> = (0..40_u8).flat_map(|i| [f32::from(i % 7), f32::from(i) / 10.0]).collect();
    /// let labels = (0..40).map(|i| usize::from(i < 20)).collect();
    /// let data = Dataset::from_rows(values, labels, &["age", "income"])?.with_classes(["repaid", "default"])?;
    /// let mut run = RunConfig::default();
    /// run.train.epochs = 2;
    /// let model = train(&run.check()?, &data)?.model;
    ///
    /// let options = ReasonsOptions {
    ///     decision: DecisionConfig { adverse: Some("default".to_owned()), cutoff: Some(0.2) },
    ///     ..ReasonsOptions::default()
    /// };
    /// let reasons = model.reasons(&data.test(), &options)?;
    /// for row in &reasons.rows {
    ///     assert!(row.gap < 1e-4);
    ///     assert!(row.reasons.iter().all(|reason| reason.contribution > 0.0));
    /// }
    /// # Ok::<(), thickset::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no class is said to be adverse, the rows are no table or do not fit the model, a setting is out of range, or something is
    /// not finite.
    pub fn reasons(&self, rows: &Rows<'_>, options: &ReasonsOptions) -> Result<Reasons> {
        self.reasons_of(&self.origin()?, rows, options)
    }

    /// The same, given where the model comes from.
    pub(super) fn reasons_of(
        &self,
        origin: &Origin,
        rows: &Rows<'_>,
        options: &ReasonsOptions,
    ) -> Result<Reasons> {
        let config = origin.decision(&options.decision);
        let decision = config.of(self.classes())?;
        let deciding = self.deciding(origin, &options.decision)?;
        let explain = self.explain_config(origin, &options.explain)?;
        if explain.per != Per::Column {
            return Err(Error::Contributions {
                expected: "importances per column to be reasons",
                got: "importances per feature".to_owned(),
            });
        }
        let explain = explain.check(rows.schema())?;
        let names = explain.names(0);
        if let Some(codes) = &options.codes {
            codes.check(rows.schema())?;
        }
        let largest = names.len();
        let k = options.k.unwrap_or_else(|| {
            let k = origin.run.as_ref().and_then(|run| run.k);
            k.unwrap_or(defaults::REASONS).min(largest)
        });
        if !(1..=largest).contains(&k) {
            return Err(Error::TopKOutOfRange { k, largest });
        }
        rows.check(&self.network)?;
        let reference = reference_row(&explain, self.network.features());
        let compared = Compared {
            values: column_values(
                rows.schema(),
                self.description.encoding.as_ref(),
                &reference,
                None,
            ),
            score: self.scores(&reference, decision.adverse).remove(0),
        };
        let asked = Asked {
            model: self,
            explain: &explain,
            decision,
            compared: &compared,
            k,
            options,
        };
        let (mut found, mut places, mut start) = (Vec::new(), Vec::new(), 0);
        for part in rows.parts(chunk_rows(self.network.features())) {
            for (place, row) in asked.of_part(&part)? {
                places.push(start + place);
                found.push(row);
            }
            start += part.len();
        }
        let mut change = None;
        if options.attack {
            let threat = origin.threat(rows, options.threat.as_ref(), options.radius)?;
            change = Some(threat.in_words());
            let tested = Tested {
                deciding: &deciding,
                explain: &explain,
                threat: &threat,
                options,
                numbers: rows.numbers(places),
            };
            tested.hold(rows, &names, &mut found)?;
        }
        let reference_probability =
            read(self.network.probabilities(self.network.batch(&reference)));
        Ok(Reasons {
            adverse: self.classes()[decision.adverse].clone(),
            cutoff: decision.cutoff,
            k,
            reference: reference_name(&explain),
            reference_values: compared.values,
            reference_probability: reference_probability[decision.adverse],
            change,
            rows: found,
        })
    }

    /// The columns of the row at this place as its person knows them: what its table has, not what stands for it in the model.
    ///
    /// # Panics
    /// If there is no such place, or the rows do not fit the model.
    #[must_use]
    pub fn column_values(&self, rows: &Rows<'_>, place: usize) -> Vec<ColumnValue> {
        let given = rows.given(place);
        let row = rows.gather([place]);
        let encoding = self.description.encoding.as_ref();
        column_values(self.schema(), encoding, &row, given.as_deref())
    }

    /// The score of a class at each of these rows.
    pub(super) fn scores(&self, values: &[f64], class: usize) -> Vec<f64> {
        let network = &self.network;
        let weights = crate::explain::contributions::score_weights(class, network.classes());
        let mut scores = Vec::new();
        let width = network.features();
        for part in values.chunks(chunk_rows(width) * width) {
            let logits = read(network.logits(network.batch(part)));
            scores.extend(logits.chunks(network.classes()).map(|row| {
                row.iter()
                    .zip(&weights)
                    .map(|(logit, weight)| logit * weight)
                    .sum::<f64>()
            }));
        }
        scores
    }
}

/// The row that others are compared with; zeros where the explanation has none.
fn reference_row(explain: &CheckedExplain, features: usize) -> Vec<f64> {
    let of = explain.config().explanation.behaviour().contributions();
    of.and_then(|config| config.row.clone())
        .unwrap_or_else(|| vec![0.0; features])
}

fn reference_name(explain: &CheckedExplain) -> String {
    match &explain.config().explanation {
        ExplanationConfig::Contributions(config) => config.reference.to_string(),
        other => other.kind().to_owned(),
    }
}

/// What is asked of every part of the rows.
struct Asked<'a> {
    model: &'a Model,
    explain: &'a CheckedExplain,
    decision: Decision,
    compared: &'a Compared,
    k: usize,
    options: &'a ReasonsOptions,
}

impl Asked<'_> {
    /// The reasons of the rows of a part that are decided against, or of all of them, with their places in the part.
    fn of_part(&self, part: &Rows<'_>) -> Result<Vec<(usize, RowReasons)>> {
        let Self {
            model,
            explain,
            decision,
            compared,
            ..
        } = self;
        let network = &model.network;
        let probabilities = read(network.probabilities(part.tensor(network)));
        let probabilities = probabilities.chunks(model.classes().len());
        let taken: Vec<(usize, f64, bool)> = probabilities
            .enumerate()
            .map(|(place, row)| (place, row[decision.adverse], decision.is_adverse(row)))
            .filter(|(_, _, is_adverse)| *is_adverse || self.options.all_rows)
            .collect();
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        let values = part.gather(taken.iter().map(|(place, _, _)| *place));
        let ids: Vec<u64> = taken.iter().map(|(place, _, _)| part.id(*place)).collect();
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let classes = vec![decision.adverse; ids.len()];
        let seed = self.options.explain.seed;
        let explained = explain.attribute_classes(network, points, &classes, seed)?;
        let scores = model.scores(&values, decision.adverse);
        let mut found = Vec::with_capacity(ids.len());
        let rows = explained.into_iter().zip(taken).enumerate();
        for (row, (explained, (place, probability, is_adverse))) in rows {
            let own = model.column_values(part, place);
            let reasons = compared.reasons(&own, &explained.importance, self.k, self.options)?;
            let sum: f64 = explained.importance.iter().sum();
            let found_row = RowReasons {
                row: ids[row] + 1,
                is_adverse,
                probability,
                score: scores[row],
                reference_score: compared.score,
                sum,
                gap: (sum - (scores[row] - compared.score)).abs(),
                reasons,
                holds: None,
                changes: None,
                certified: None,
                contributions: explained.importance,
            };
            found.push((place, found_row));
        }
        Ok(found)
    }
}

/// What rows are compared with.
struct Compared {
    values: Vec<ColumnValue>,
    score: f64,
}

impl Compared {
    /// The columns that contribute most, of those that contribute at all.
    fn reasons(
        &self,
        own: &[ColumnValue],
        contributions: &[f64],
        k: usize,
        options: &ReasonsOptions,
    ) -> Result<Vec<Reason>> {
        let order = ranking::descending(contributions)?;
        let pushing = order
            .into_iter()
            .filter(|&column| contributions[column] > 0.0);
        Ok(pushing
            .take(k)
            .map(|column| {
                let (value, reference) = (&own[column], &self.values[column]);
                let coded = options
                    .codes
                    .as_ref()
                    .and_then(|codes| codes.of(value, reference));
                let (code, text) = match coded {
                    Some((code, text)) => (Some(code), text),
                    None => (None, plain_text(value, reference)),
                };
                Reason {
                    column: value.column.clone(),
                    value: value.text.clone(),
                    reference: reference.text.clone(),
                    when: When::of(value, reference),
                    contribution: contributions[column],
                    code,
                    text,
                    holds: None,
                    tolerance: None,
                }
            })
            .collect())
    }
}

/// What reasons are tested by.
struct Tested<'a> {
    deciding: &'a DecidingModel,
    explain: &'a CheckedExplain,
    threat: &'a ThreatConfig,
    options: &'a ReasonsOptions,
    /// The number of each row in what the rows are taken from.
    numbers: Vec<usize>,
}

impl Tested<'_> {
    /// Says of rows that are decided against how far their reasons hold. Rows with as many reasons are attacked together: what must
    /// hold is the set that is given.
    fn hold(&self, rows: &Rows<'_>, names: &[String], found: &mut [RowReasons]) -> Result<()> {
        let mut by_count: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, row) in found.iter().enumerate() {
            // All columns cannot be exchanged for others.
            if row.is_adverse && (1..names.len()).contains(&row.reasons.len()) {
                by_count.entry(row.reasons.len()).or_default().push(place);
            }
        }
        for (k, places) in by_count {
            self.certify(rows, k, &places, found)?;
            let mut left = places;
            // Below the least share that was tried, nothing is known to hold.
            for &place in &left {
                found[place].holds = Some(0.0);
                for reason in &mut found[place].reasons {
                    reason.holds = Some(0.0);
                }
            }
            for share in SHARES {
                left = self.hold_at(rows, names, (k, share), &left, found)?;
            }
        }
        Ok(())
    }

    /// Attacks some rows within a share of the change; gives those whose reasons changed.
    fn hold_at(
        &self,
        rows: &Rows<'_>,
        names: &[String],
        (k, share): (usize, f64),
        places: &[usize],
        found: &mut [RowReasons],
    ) -> Result<Vec<usize>> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let (schema, seed) = (rows.schema(), self.options.explain.seed);
        let network: &Network = &self.deciding.network;
        let suite = SuiteConfig {
            effort: self.options.effort,
            k,
            threat: self.threat.scaled(share),
        };
        let suite = suite.check(self.explain.config(), schema)?;
        let numbers = self.numbers_of(places);
        let chosen = rows.only(&numbers)?;
        let (values, ids) = (chosen.gather(0..chosen.len()), chosen.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let attacked = suite.perturb(network, points, seed)?.rows;
        let worst: Vec<f64> = attacked
            .iter()
            .flat_map(|row| row.perturbed.clone())
            .collect();
        let worst = Points {
            values: &worst,
            ids: &ids,
        };
        let classes: Vec<usize> = attacked.iter().map(|row| row.class).collect();
        let moved = self
            .explain
            .attribute_classes(network, worst, &classes, seed)?;
        let mut changed = Vec::new();
        for ((&place, attacked), moved) in places.iter().zip(&attacked).zip(&moved) {
            let row = &mut found[place];
            if attacked.precision >= 1.0 {
                row.holds = Some(share);
                for reason in &mut row.reasons {
                    reason.holds = Some(reason.holds.unwrap_or(0.0).max(share));
                }
                continue;
            }
            row.changes = Some(share);
            let order = ranking::descending(&moved.importance)?;
            let kept: Vec<&str> = order
                .iter()
                .take(k)
                .map(|&column| names[column].as_str())
                .collect();
            for reason in &mut row.reasons {
                // A smaller change that takes the reason away counts over a larger one that did not.
                reason.holds = kept
                    .contains(&reason.column.as_str())
                    .then(|| reason.holds.filter(|held| *held > share).unwrap_or(share))
                    .or(Some(0.0));
            }
            changed.push(place);
        }
        Ok(changed)
    }

    fn numbers_of(&self, places: &[usize]) -> Vec<usize> {
        places.iter().map(|&place| self.numbers[place]).collect()
    }

    /// The radii that are proved, where such an explanation of such a network has proofs.
    fn certify(
        &self,
        rows: &Rows<'_>,
        k: usize,
        places: &[usize],
        found: &mut [RowReasons],
    ) -> Result<()> {
        let numbers = self.numbers_of(places);
        let options = CertifyOptions {
            k: Some(k),
            radius: Some(self.threat.ball.radius),
            // A larger set, without steps: what is proved for it holds for this one.
            threat: ThreatConfig {
                integer: false,
                one_hot: OneHot::Free,
                ..self.threat.clone()
            },
            explain: self.options.explain.clone(),
            ..CertifyOptions::default()
        };
        let chosen = rows.only(&numbers)?;
        match self.deciding.certify(&chosen, &options) {
            Ok(certified) => {
                for (&place, row) in places.iter().zip(&certified.rows) {
                    found[place].certified = Some(row.radius.certified);
                }
                self.tolerate(&chosen, &options, places, found)
            }
            Err(Error::CertifyInput { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
