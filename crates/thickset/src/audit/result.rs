//! What an audit found: the content of `audit.json`.
//!
//! The file says everything that is needed to repeat it (version, seeds, hashes, settings), and a report is made of it alone.
//! Times and paths of the machine are not in it, so that the same audit gives the same bytes.

use std::fmt;

use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::certificate::CertificateRecord;
use super::figure::{RowFigures, Summary};
use super::limit::LimitRecord;
use super::reasons::ReasonsRecord;
use super::row_list::RowList;
use super::theory::TheoryRecord;
use crate::Seed;
use crate::attack::Change;
use crate::attack::suite::SuiteConfig;
use crate::data::{InputShape, Part};
use crate::decision::{Decision, DecisionConfig};
use crate::explain::ExplainConfig;
use crate::model::ModelConfig;
use crate::registry::{Family, family};
use crate::statistics::Estimate;
use crate::train::EpochRecord;

/// The schema's number; it grows when a reader of the old one would misread the new one.
pub const SCHEMA: u32 = 1;

/// The whole of `audit.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of thickset that made it.
    pub version: String,
    /// The class of the processor's instructions, on which the last bits depend; none in files of older versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instruction_set: Option<String>,
    /// The model that was audited.
    pub model: ModelRecord,
    /// The rows that it was audited on.
    pub data: DataRecord,
    /// How it was audited.
    pub settings: AuditSettings,
    /// The figures over all rows.
    pub summary: Summary,
    /// Those of a linear model on the same rows; none where there are no training rows. With two classes its reasons never
    /// change, so it says what stability costs. It is fitted to the training rows, to 20,000 of them at most, and attacked
    /// on the first 2,000 of the audited rows at most; the estimates say how many.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub linear: Option<Summary>,
    /// The highest mean P@k that the geometry of the first 256 rows allows; none of a single row, and in files of older versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit: Option<LimitRecord>,
    /// Whether there are certificates; none in files of older versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certificate: Option<CertificateRecord>,
    /// What each attack of the suite found alone, in the suite's order.
    pub attacks: Vec<AttackScore>,
    /// How often each feature is a reason, leaves the reasons or enters them; in the explanation's order.
    pub features: Vec<FeatureCount>,
    /// The importances by rank (R2ET Fig. 8): the mean over the rows of the largest, the second largest, and so on.
    pub magnitudes: Vec<f64>,
    /// The rows with the lowest P@k, the lowest first, described in full; of equals the one with the lower thickness.
    pub worst: Vec<WorstRow>,
    /// What each column contributes, for whom it is worse, and the reasons of three people; none where contributions of columns are
    /// not what was audited, and in files of older versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reasons: Option<ReasonsRecord>,
    /// What R2ET's theory says of the first rows; none where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub theory: Option<TheoryRecord>,
    /// What was required, and whether it holds.
    pub gate: Vec<Requirement>,
    /// The epochs of the training, if the run's folder has them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub training: Vec<EpochRecord>,
    /// The file beside this one that holds the rows, where they are too many to stand here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rows_file: Option<String>,
    /// Every row, in the order of the data; empty where they are in a file of their own.
    pub rows: RowList,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The name of its run, or of its file without folders and ending.
    pub name: String,
    /// The name of its file, without folders.
    pub file: String,
    /// The file's hash, in hexadecimal.
    pub sha256: String,
    /// The architecture.
    pub architecture: ModelConfig,
    /// Numbers that were learnt.
    pub parameters: usize,
    /// The class names.
    pub classes: Vec<String>,
    /// The objective's id, if the run's folder says it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub objective: Option<String>,
}

/// The rows of an audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    /// The dataset's name, or the file's without folders.
    pub name: String,
    /// The hash of the encoded rows and their labels, in hexadecimal.
    pub sha256: String,
    /// How the dataset was split; none when a file was taken whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub split: Option<SplitRecord>,
    /// The part of the dataset; none when all of its rows or a file's were taken.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub part: Option<Part>,
    /// Rows audited.
    pub rows: usize,
    /// How a row is laid out.
    pub shape: InputShape,
    /// The names of what an explanation ranks: features, columns, pixels, edges or units.
    pub features: Vec<String>,
    /// Whether labels are known, so that AUC and accuracy are.
    pub has_labels: bool,
}

impl Audit {
    /// Puts the probabilities that a model itself gives in the place of those that the model of its decisions gives.
    pub(crate) fn restore_probabilities(&mut self, decision: &Decision) {
        let rows = std::mem::take(&mut self.rows);
        for mut row in &rows {
            row.probabilities = decision.own_probabilities(&row.probabilities);
            self.rows.push(&row);
        }
        for row in &mut self.worst {
            let own = |probability: f64| {
                let mut both = vec![1.0 - probability; 2];
                both[row.class] = probability;
                decision.own_probabilities(&both)[row.class]
            };
            let (before, after) = (own(row.probability), own(row.attacked_probability));
            row.probability = before;
            row.attacked_probability = after;
        }
    }
}

/// How a dataset was read and split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitRecord {
    /// Decides it.
    pub seed: u64,
    /// Whether all rows were split at random, even where there is an official test set.
    pub random_test: bool,
    /// Height and width that the images of a folder were scaled to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub image_size: Option<(usize, usize)>,
    /// The file of the run's recipe, without folders; none where columns were inferred or the dataset has its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recipe: Option<String>,
}

/// How a model was audited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditSettings {
    /// Decides every draw.
    pub seed: Seed,
    /// Salient features.
    pub k: usize,
    /// Which class is adverse, and from which probability on, where that was said.
    #[serde(skip_serializing_if = "DecisionConfig::is_empty", default)]
    pub decision: DecisionConfig,
    /// How predictions are explained.
    pub explain: ExplainConfig,
    /// How explanations are attacked.
    pub suite: SuiteConfig,
    /// How thickness is measured.
    pub thickness: ThicknessSettings,
    /// Draws of the noise floor for each row.
    pub noise_draws: usize,
    /// The most of the worst rows that are described in full.
    pub worst: usize,
    /// Training rows that the suite went towards.
    #[serde(skip_serializing_if = "is_none", default)]
    pub donors: usize,
    /// Whether what can be proved was.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub certify: bool,
    /// Rows that the theory was evaluated at, the first ones.
    #[serde(skip_serializing_if = "is_none", default)]
    pub theory: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Neighbours of a row and points on the way to each. For an attack within the largest norm, each feature of a neighbour
/// has the standard deviation of a uniform draw from the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThicknessSettings {
    /// Gaussian neighbours, at a root mean square distance of the suite's radius.
    pub neighbours: usize,
    /// Points on the way to each.
    pub points: usize,
}

impl Default for ThicknessSettings {
    fn default() -> Self {
        Self {
            neighbours: 10,
            points: 10,
        }
    }
}

/// What one attack of the suite found alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackScore {
    /// The registry's id.
    pub attack: String,
    /// Sharpness of the twin it followed, if it followed one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub surrogate: Option<f64>,
    /// Whether it followed importances as shares of their sum.
    pub shares: bool,
    /// P@k of its worst points.
    pub precision_at_k: Estimate,
}

/// How often a feature is a reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureCount {
    /// Rows that have it in the top-k.
    pub in_top: usize,
    /// Rows whose worst point has it no more.
    pub left: usize,
    /// Rows whose worst point has it newly.
    pub entered: usize,
    /// The mean importance over the rows.
    pub importance: f64,
}

/// One row in brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowRecord {
    /// Its number in the file or dataset, counted from 1.
    pub row: u64,
    /// Its label, if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<usize>,
    /// The predicted class.
    pub class: usize,
    /// The probabilities of the classes.
    pub probabilities: Vec<f64>,
    /// The top-k features, the most important first; indices into [`DataRecord::features`].
    pub top: Vec<usize>,
    /// The same at the worst point.
    pub attacked_top: Vec<usize>,
    /// P@k there.
    pub precision: f64,
    /// The attack that found it.
    pub attack: AttackId,
    /// The first step of plain `ERAttack`, from the row itself, after which P@k lies below 1 (images and graphs: 0.8) while the
    /// prediction held; none if there is none.
    pub first_change: Option<usize>,
    /// The figures that were measured here.
    #[serde(flatten)]
    pub figures: RowFigures,
}

/// An attack of the registry. There may be very many rows, so a row holds no text of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttackId(&'static str);

impl AttackId {
    /// The attack of this id; none if the registry has no such attack.
    #[must_use]
    pub fn new(id: &str) -> Option<Self> {
        let mut attacks = family(Family::Attack);
        attacks.find(|info| info.id == id).map(|info| Self(info.id))
    }

    /// The registry's id.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Its place among the registry's attacks.
    pub(super) fn place(self) -> usize {
        let place = family(Family::Attack).position(|info| info.id == self.0);
        place.expect("it is made of the registry's ids alone")
    }

    /// The attack at a place.
    pub(super) fn at(place: usize) -> Self {
        let info = family(Family::Attack).nth(place);
        Self(info.expect("the place of an attack").id)
    }
}

impl Serialize for AttackId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for AttackId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Id;
        impl Visitor<'_> for Id {
            type Value = AttackId;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the id of an attack")
            }

            fn visit_str<E: serde::de::Error>(self, id: &str) -> Result<AttackId, E> {
                AttackId::new(id).ok_or_else(|| E::invalid_value(Unexpected::Str(id), &self))
            }
        }
        deserializer.deserialize_str(Id)
    }
}

/// One of the worst rows, before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstRow {
    /// Its number in the file or dataset, counted from 1.
    pub row: u64,
    /// The predicted class, the same before and after.
    pub class: usize,
    /// P@k at the worst point.
    pub precision: f64,
    /// The predicted class's probability before.
    pub probability: f64,
    /// And after.
    pub attacked_probability: f64,
    /// The encoded values before.
    pub values: Vec<f64>,
    /// And after.
    pub attacked_values: Vec<f64>,
    /// The importances before; one for each of [`DataRecord::features`].
    pub importance: Vec<f64>,
    /// And after.
    pub attacked_importance: Vec<f64>,
    /// What the attack changed, in the columns' own units, the longest moves first; the first 50 of them.
    pub changes: Vec<Change>,
}

/// One line of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    /// As it was written: `p_at_k>=0.9`.
    pub text: String,
    /// The figure's value; none if the audit has none, which fails.
    pub value: Option<f64>,
    /// Whether it holds.
    pub holds: bool,
}
