//! What an audit without gradients comes to, and its file.

use serde::{Deserialize, Serialize};

use super::GradientFreeConfig;
use crate::audit::figure::FigureValue;
use crate::audit::gate::{self, Requirable};
use crate::audit::result::Requirement;
use crate::statistics::Estimate;
use crate::{Error, Result};

/// The version of the file's form.
pub(super) const SCHEMA: u32 = 1;

/// Why such an audit says less than one with gradients.
pub(super) const WEAKER: &str = "no gradient was followed: the points were found by chance, by the way to other rows, at class boundaries and near the worst ones so far, so a stronger search may find less stable explanations than these";

/// What can be required, whether it has an interval, and what it is.
const REQUIRABLE: [(&str, bool, &str); 5] = [
    ("p_at_k", true, "mean P@k at the worst points found"),
    ("noise_p_at_k", true, "mean P@k at random neighbours"),
    (
        "comprehensiveness",
        true,
        "mean fall of the probability without the top features",
    ),
    (
        "distinctness",
        false,
        "one minus the mean overlap of two rows' top features",
    ),
    ("accuracy", true, "share of rows predicted right"),
];

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
    /// Near the worst point so far.
    Near,
}

impl PointOrigin {
    /// As files spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Noise => "noise",
            Self::Sphere => "sphere",
            Self::Donor => "donor",
            Self::Boundary => "boundary",
            Self::Near => "near",
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Row => "the row itself: nothing worse was found",
            Self::Noise => "random neighbours within the radius",
            Self::Sphere => "random points at the radius",
            Self::Donor => "points on the way to other rows",
            Self::Boundary => "points just before the class changes",
            Self::Near => "points near the worst one so far",
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
    /// Its own class, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<usize>,
    /// The share of the top-k set that the worst point keeps.
    pub p_at_k: f64,
    /// The mean share that random neighbours keep.
    pub noise_p_at_k: f64,
    /// How far the class's probability falls when the top-k features become those of the mean row.
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
    /// The share of rows whose own class is predicted; absent where no row has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Estimate>,
    /// What was required of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<Requirement>,
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

    /// Every figure by its id, in the order of the page; those that there are.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, FigureValue)> {
        let mut figures = vec![
            ("p_at_k", FigureValue::Estimate(self.p_at_k)),
            ("noise_p_at_k", FigureValue::Estimate(self.noise_p_at_k)),
            (
                "comprehensiveness",
                FigureValue::Estimate(self.comprehensiveness),
            ),
        ];
        let distinctness = self.distinctness.map(FigureValue::Number);
        figures.extend(distinctness.map(|value| ("distinctness", value)));
        let accuracy = self.accuracy.map(FigureValue::Estimate);
        figures.extend(accuracy.map(|value| ("accuracy", value)));
        figures
    }

    /// Judges it by requirements like `p_at_k>=0.9`, which its gate then holds.
    ///
    /// # Errors
    /// [`Error::Requirement`] for one that cannot be read.
    pub fn require(&mut self, texts: &[String]) -> Result<()> {
        let known = REQUIRABLE.map(|(id, has_interval, meaning)| Requirable {
            id: id.to_owned(),
            has_interval,
            is_median: false,
            meaning: meaning.to_owned(),
        });
        let rules = gate::parse(texts, &known)?;
        let figures = self.figures();
        let figure = |id: &str| {
            let found = figures.iter().find(|(known, _)| *known == id);
            found.map(|(_, value)| *value)
        };
        self.gate = rules.iter().map(|rule| rule.judge(figure)).collect();
        Ok(())
    }

    /// Rows whose worst point was come upon in this way.
    #[must_use]
    pub fn found_by(&self, origin: PointOrigin) -> usize {
        self.rows.iter().filter(|row| row.found == origin).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_point_comes_from_is_told_as_files_spell_it_and_in_words() {
        let all = [
            PointOrigin::Row,
            PointOrigin::Noise,
            PointOrigin::Sphere,
            PointOrigin::Donor,
            PointOrigin::Boundary,
            PointOrigin::Near,
        ];
        for origin in all {
            assert_eq!(serde_json::to_value(origin).unwrap(), origin.name());
        }
        assert!(PointOrigin::Row.label().contains("the row itself"));
        assert!(PointOrigin::Near.label().contains("worst one so far"));
    }
}
