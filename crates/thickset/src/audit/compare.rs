//! Two models on the same rows, row by row: which reasons changed from one to the other, and is the second less stable?
//!
//! Both are audited alike. Reasons are compared by name, so that the two may encode the rows differently; then the radius
//! of the attacks is in each model's own units.

use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::figure::{
    CompareBy, FIGURES, Figure, FigureValue, Predictions, Summary, Words, certified_p_at_k,
};
use super::gate::{self, Requirable, Rule};
use super::result::{self, Audit, Requirement, RowRecord};
use super::target::AuditTarget;
use crate::check::as_f64;
use crate::metric::{auc, precision_at_k};
use crate::statistics::paired::{self, Comparison};
use crate::statistics::{self, Estimate};
use crate::{Error, Result};

/// The schema's number of `compare.json`.
pub const SCHEMA: u32 = 1;

/// The figures that can be required of a comparison, beside those of the second model's audit.
#[must_use]
pub fn figures() -> Vec<Requirable> {
    let compared = FIGURES
        .iter()
        .filter(|figure| figure.compare != CompareBy::Nothing);
    let mut figures: Vec<Requirable> = compared
        .map(|figure| Requirable {
            id: format!("{}{DIFFERENCE}", figure.id),
            has_interval: figure.compare != CompareBy::Values,
            is_median: false,
            meaning: format!(
                "{} of B minus that of A",
                figure.label.replace("{k}", Words::TABLE.k)
            ),
        })
        .collect();
    figures.push(Requirable {
        id: AGREEMENT.to_owned(),
        has_interval: true,
        is_median: false,
        meaning: "share of A's reasons that are B's too".to_owned(),
    });
    figures.push(Requirable {
        id: SAME_CLASS.to_owned(),
        has_interval: false,
        is_median: false,
        meaning: "share of rows of the same predicted class".to_owned(),
    });
    figures
}

/// What the id of a figure ends with when it is B's minus A's.
const DIFFERENCE: &str = "_difference";

/// The ids of the figures that only a comparison has.
const AGREEMENT: &str = "agreement";
const SAME_CLASS: &str = "same_class";

/// Reads requirements on a comparison.
///
/// # Errors
/// [`Error::Requirement`] for the first that cannot be read.
pub fn rules(texts: &[String]) -> Result<Vec<Rule>> {
    let mut all = figures();
    all.extend(gate::figures());
    gate::parse(texts, &all)
}

/// What was found of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The model.
    pub model: result::ModelRecord,
    /// The hash of the rows as this model encodes them.
    pub rows_sha256: String,
    /// Its figures.
    pub summary: Summary,
}

/// Whether the second model is less stable than the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The 95% interval of the mean difference of P@k lies below 0.
    LessStable,
    /// It lies above 0.
    MoreStable,
    /// It holds 0, or there is no interval: neither was shown.
    NotShown,
}

/// How often a feature is a reason of either model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonChange {
    /// The feature.
    pub feature: String,
    /// Rows that have it in A's top k.
    pub in_a: usize,
    /// Rows that have it in B's.
    pub in_b: usize,
    /// Rows that have it in A's and not in B's.
    pub left: usize,
    /// Rows that have it in B's and not in A's.
    pub entered: usize,
}

/// One row under both models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowChange {
    /// Its number in the file or dataset, counted from 1.
    pub row: u64,
    /// The class that A predicts.
    pub class_a: usize,
    /// The class that B predicts.
    pub class_b: usize,
    /// A's reasons that are not B's, the most important first.
    pub left: Vec<String>,
    /// B's reasons that are not A's, the most important first.
    pub entered: Vec<String>,
    /// P@k at the worst point, of A.
    pub precision_a: f64,
    /// And of B.
    pub precision_b: f64,
    /// The P@k that is proved of A; none where A has no certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_a: Option<f64>,
    /// And of B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_b: Option<f64>,
}

/// Rows whose whole top-k set is proved to stay under one model and not under the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CertificateChange {
    /// Rows that are certified under A and not under B, by their numbers.
    pub lost: Vec<u64>,
    /// Rows that are certified under B and not under A.
    pub gained: Vec<u64>,
}

/// The whole of `compare.json`. Differences are B minus A.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of thickset that made it.
    pub version: String,
    /// The first model.
    pub a: Side,
    /// The second.
    pub b: Side,
    /// The rows, as the first model sees them.
    pub data: result::DataRecord,
    /// The settings of both audits.
    pub settings: result::AuditSettings,
    /// Whether B is less stable than A.
    pub verdict: Verdict,
    /// The difference of P@k, row by row.
    pub precision_at_k: Comparison,
    /// The differences of the other figures that are compared.
    #[serde(flatten)]
    pub others: Differences,
    /// Share of A's reasons that are B's too, without any attack.
    pub agreement: Estimate,
    /// Share of rows of the same predicted class.
    pub same_class: f64,
    /// Which rows lost their certificate and which gained one; none where a model has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<CertificateChange>,
    /// What was required, and whether it holds.
    pub gate: Vec<Requirement>,
    /// The features by how many rows they left or entered, the most first.
    pub features: Vec<ReasonChange>,
    /// Every row, in the order of the data.
    pub rows: Vec<RowChange>,
}

/// How two models differ in a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Difference {
    /// Row by row.
    Rows(Box<Comparison>),
    /// In the area under the curve.
    Areas(statistics::auc::Difference),
    /// In a number alone.
    Values(f64),
}

impl Difference {
    /// The difference with its interval, where it has one.
    #[must_use]
    pub fn value(&self) -> FigureValue {
        match self {
            Self::Rows(comparison) => comparison.mean.into(),
            Self::Areas(difference) => difference.estimate.into(),
            Self::Values(difference) => (*difference).into(),
        }
    }
}

/// The differences of several figures; writes as an object with the figures' keys, `null` where a model lacks the figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Differences(Vec<(&'static Figure, Option<Difference>)>);

impl Serialize for Differences {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (figure, difference) in &self.0 {
            map.serialize_entry(figure.key, difference)?;
        }
        map.end()
    }
}

/// Compares two audits of the same rows with the same settings.
///
/// # Errors
/// When rows, classes or settings differ.
pub fn compare(a: &Audit, b: &Audit, rules: &[Rule]) -> Result<Compared> {
    check(a, b)?;
    let rows: Vec<RowChange> = a
        .rows
        .iter()
        .zip(&b.rows)
        .map(|(of_a, of_b)| change(a, &of_a, b, &of_b))
        .collect();
    let precision_at_k = pairs(a, b, &precision_at_k::FIGURE)?;
    let others = FIGURES
        .iter()
        .filter(|figure| **figure != &precision_at_k::FIGURE)
        .filter(|figure| figure.compare != CompareBy::Nothing)
        .map(|figure| Ok((*figure, difference(a, b, figure)?)))
        .collect::<Result<Vec<_>>>()?;
    let k = as_f64(a.settings.k);
    let agreements: Vec<f64> = rows
        .iter()
        .map(|row| 1.0 - as_f64(row.left.len()) / k)
        .collect();
    let same = rows.iter().filter(|row| row.class_a == row.class_b).count();
    let mut compared = Compared {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        a: side(a),
        b: side(b),
        data: a.data.clone(),
        settings: a.settings.clone(),
        verdict: verdict(&precision_at_k.mean),
        precision_at_k,
        others: Differences(others),
        agreement: statistics::mean::estimate(&agreements)?.of_share(),
        same_class: as_f64(same) / as_f64(rows.len()),
        certificates: certificates(&rows),
        gate: Vec::new(),
        features: features(a, b, &rows),
        rows,
    };
    let judge = |rule: &Rule| rule.judge(|name| compared.figure(name));
    compared.gate = rules.iter().map(judge).collect();
    Ok(compared)
}

impl Compared {
    /// How the models differ in a figure; none if it is not compared, or one of them lacks it.
    #[must_use]
    pub fn difference(&self, figure: &Figure) -> Option<Difference> {
        if figure == &precision_at_k::FIGURE {
            return Some(Difference::Rows(Box::new(self.precision_at_k)));
        }
        let mut others = self.others.0.iter();
        others.find(|(one, _)| *one == figure)?.1.clone()
    }

    /// The figure of this id: of the comparison, else of B.
    fn figure(&self, id: &str) -> Option<FigureValue> {
        let find = |id: &str| FIGURES.iter().find(|figure| figure.id == id);
        match id {
            AGREEMENT => Some(self.agreement.into()),
            SAME_CLASS => Some(self.same_class.into()),
            _ => match id.strip_suffix(DIFFERENCE).and_then(find) {
                Some(figure) => self.difference(figure).map(|found| found.value()),
                None => self.b.summary.get(find(id)?),
            },
        }
    }

    /// Whether the two models encode the rows differently.
    #[must_use]
    pub fn differs_in_encoding(&self) -> bool {
        self.a.rows_sha256 != self.b.rows_sha256
    }

    /// The bytes of `compare.json`.
    ///
    /// # Panics
    /// Never: a comparison is plain data.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a comparison is plain data");
        bytes.push(b'\n');
        bytes
    }
}

/// Refuses cases whose audits could not be compared, before anything is attacked.
///
/// # Errors
/// When rows or classes differ.
pub fn check_targets(a: &AuditTarget<'_>, b: &AuditTarget<'_>) -> Result<()> {
    let classes = |target: &AuditTarget<'_>| target.model.model.description.classes.clone();
    if classes(a) != classes(b) {
        return Err(Error::NotComparable { what: "classes" });
    }
    let is_same =
        |place| a.rows.id(place) == b.rows.id(place) && a.rows.label(place) == b.rows.label(place);
    if a.rows.len() != b.rows.len() || !(0..a.rows.len()).all(is_same) {
        return Err(Error::NotComparable { what: "rows" });
    }
    Ok(())
}

/// Refuses audits that cannot be paired.
fn check(a: &Audit, b: &Audit) -> Result<()> {
    let refuse = |what: &'static str| Err(Error::NotComparable { what });
    if a.model.classes != b.model.classes {
        return refuse("classes");
    }
    if a.settings != b.settings {
        return refuse("settings");
    }
    let numbers = |audit: &Audit| -> Vec<(u64, Option<usize>)> {
        audit.rows.iter().map(|row| (row.row, row.label)).collect()
    };
    if a.rows.is_empty() || numbers(a) != numbers(b) {
        return refuse("rows");
    }
    Ok(())
}

fn side(audit: &Audit) -> Side {
    Side {
        model: audit.model.clone(),
        rows_sha256: audit.data.sha256.clone(),
        summary: audit.summary.clone(),
    }
}

fn names<'a>(audit: &'a Audit, row: &RowRecord) -> Vec<&'a str> {
    let name = |feature: &usize| audit.data.features[*feature].as_str();
    row.top.iter().map(name).collect()
}

fn change(a: &Audit, of_a: &RowRecord, b: &Audit, of_b: &RowRecord) -> RowChange {
    let (in_a, in_b) = (names(a, of_a), names(b, of_b));
    let without = |some: &[&str], others: &[&str]| -> Vec<String> {
        let left = some.iter().filter(|name| !others.contains(name));
        left.map(|name| (*name).to_owned()).collect()
    };
    RowChange {
        row: of_a.row,
        class_a: of_a.class,
        class_b: of_b.class,
        left: without(&in_a, &in_b),
        entered: without(&in_b, &in_a),
        precision_a: of_a.precision,
        precision_b: of_b.precision,
        certified_a: certified_p_at_k::FIGURE.of_row(of_a),
        certified_b: certified_p_at_k::FIGURE.of_row(of_b),
    }
}

/// Which rows lost and gained their certificate; none unless both models have certificates of every row.
fn certificates(rows: &[RowChange]) -> Option<CertificateChange> {
    let mut change = CertificateChange {
        lost: Vec::new(),
        gained: Vec::new(),
    };
    for row in rows {
        match (row.certified_a? >= 1.0, row.certified_b? >= 1.0) {
            (true, false) => change.lost.push(row.row),
            (false, true) => change.gained.push(row.row),
            _ => {}
        }
    }
    Some(change)
}

fn verdict(difference: &Estimate) -> Verdict {
    match difference.interval {
        Some(interval) if interval.high < 0.0 => Verdict::LessStable,
        Some(interval) if interval.low > 0.0 => Verdict::MoreStable,
        _ => Verdict::NotShown,
    }
}

fn difference(a: &Audit, b: &Audit, figure: &Figure) -> Result<Option<Difference>> {
    Ok(match figure.compare {
        CompareBy::Nothing => None,
        CompareBy::Rows if a.summary.get(figure).is_none() || b.summary.get(figure).is_none() => {
            None
        }
        CompareBy::Rows => Some(Difference::Rows(Box::new(pairs(a, b, figure)?))),
        CompareBy::Areas => areas(a, b)?.map(Difference::Areas),
        CompareBy::Values => {
            let of = |audit: &Audit| audit.summary.value(figure);
            of(b).zip(of(a)).map(|(b, a)| Difference::Values(b - a))
        }
    })
}

/// The figure of B minus that of A, row by row.
fn pairs(a: &Audit, b: &Audit, figure: &Figure) -> Result<Comparison> {
    let of = |audit: &Audit| -> Vec<f64> {
        let rows = audit.rows.iter();
        rows.filter_map(|row| figure.of_row(&row)).collect()
    };
    paired::compare(&of(b), &of(a))
}

fn areas(a: &Audit, b: &Audit) -> Result<Option<statistics::auc::Difference>> {
    let area = |audit: &Audit| {
        let predictions = Predictions::of(&audit.rows);
        if predictions.labels.is_empty() {
            return Ok(None);
        }
        auc::score(&predictions.probabilities, &predictions.labels)
    };
    match (area(b)?, area(a)?) {
        (Some(b), Some(a)) => Ok(Some(statistics::auc::difference(&b, &a)?)),
        _ => Ok(None),
    }
}

/// How often each feature of either model is a reason, those that changed most first, of equals by name.
fn features(a: &Audit, b: &Audit, rows: &[RowChange]) -> Vec<ReasonChange> {
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for (audit, place) in [(a, 0), (b, 1)] {
        for (name, feature) in audit.data.features.iter().zip(&audit.features) {
            counts.entry(name).or_default()[place] += feature.in_top;
        }
    }
    for row in rows {
        for (names, place) in [(&row.left, 2), (&row.entered, 3)] {
            for name in names {
                counts.entry(name).or_default()[place] += 1;
            }
        }
    }
    let mut features: Vec<ReasonChange> = counts
        .into_iter()
        .map(|(feature, [in_a, in_b, left, entered])| ReasonChange {
            feature: feature.to_owned(),
            in_a,
            in_b,
            left,
            entered,
        })
        .collect();
    features.sort_by_key(|feature| std::cmp::Reverse(feature.left + feature.entered));
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_less_stable_where_its_whole_interval_is_below_zero() {
        let of = |low: f64, high: f64| {
            verdict(&Estimate {
                value: f64::midpoint(low, high),
                interval: Some(statistics::Interval { low, high }),
                count: 9,
            })
        };
        assert_eq!(of(-0.5, -0.1), Verdict::LessStable);
        assert_eq!(of(0.1, 0.5), Verdict::MoreStable);
        for (low, high) in [(-0.1, 0.1), (-0.1, 0.0), (0.0, 0.1), (0.0, 0.0)] {
            assert_eq!(of(low, high), Verdict::NotShown);
        }
        let unknown = Estimate {
            value: -0.5,
            interval: None,
            count: 1,
        };
        assert_eq!(verdict(&unknown), Verdict::NotShown);
    }

    fn row(number: u64, certified: (Option<f64>, Option<f64>)) -> RowChange {
        RowChange {
            row: number,
            class_a: 0,
            class_b: 0,
            left: Vec::new(),
            entered: Vec::new(),
            precision_a: 1.0,
            precision_b: 1.0,
            certified_a: certified.0,
            certified_b: certified.1,
        }
    }

    #[test]
    fn a_certificate_is_lost_where_one_model_has_it_and_the_other_has_not() {
        let rows = [
            row(3, (Some(1.0), Some(0.75))),
            row(5, (Some(0.5), Some(1.0))),
            row(6, (Some(1.0), Some(1.0))),
            row(7, (Some(0.5), Some(0.25))),
        ];
        let change = certificates(&rows).unwrap();
        assert_eq!((change.lost, change.gained), (vec![3], vec![5]));
        assert_eq!(certificates(&[row(3, (Some(1.0), None))]), None);
    }

    #[test]
    fn every_difference_can_be_required_by_its_name() {
        let all = figures();
        let find = |id: &str| all.iter().find(|one| one.id == id);
        let p_at_k = find("p_at_k_difference").unwrap();
        assert!(p_at_k.has_interval && p_at_k.meaning.ends_with("of B minus that of A"));
        assert!(find(AGREEMENT).unwrap().has_interval && !find(SAME_CLASS).unwrap().has_interval);
        assert!(
            rules(&[
                "p_at_k_difference>=-0.1".to_owned(),
                "p_at_k>=0.5".to_owned()
            ])
            .is_ok()
        );
        assert!(rules(&["p_at_k_differences>=-0.1".to_owned()]).is_err());
    }
}
