//! The gate: what a model must reach, as a person writes it: `p_at_k>=0.9`, `auc.low>0.85`.
//!
//! A requirement names a figure, perhaps the lower or upper end of its 95% interval, a comparison and a number. A figure
//! that an audit does not have, such as the AUC of rows without labels, fails: what was not shown does not hold.

use super::figure::{FIGURES, FigureValue, Words};
use super::result::Requirement;
use crate::{Error, Result};

/// A figure that can be required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirable {
    /// As it is written.
    pub id: String,
    /// Whether it has a 95% interval, so that `.low` and `.high` can be required.
    pub has_interval: bool,
    /// Whether it is a median, so that `.median` may say so.
    pub is_median: bool,
    /// What it is, in a few words.
    pub meaning: String,
}

/// The figures of an audit, in the order of the table.
#[must_use]
pub fn figures() -> Vec<Requirable> {
    let figures = FIGURES.iter().map(|figure| Requirable {
        id: figure.id.to_owned(),
        has_interval: figure.has_interval(),
        is_median: figure.is_median(),
        meaning: figure.described(&Words::TABLE),
    });
    figures.collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Value,
    Median,
    Low,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    Above,
    AtMost,
    Below,
}

/// The longer ones first, so that `>=` is not read as `>`.
const COMPARISONS: [(&str, Comparison); 4] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
];

impl Comparison {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::Above => value > bound,
            Self::AtMost => value <= bound,
            Self::Below => value < bound,
        }
    }
}

/// What stands before the sign, the sign, and what stands after it.
fn split(text: &str) -> Option<(&str, Comparison, &str)> {
    COMPARISONS.iter().find_map(|(sign, comparison)| {
        let (left, right) = text.split_once(sign)?;
        Some((left.trim(), *comparison, right.trim()))
    })
}

/// Decimals of a figure, and the most that it may have so that it stands on the right side of a bound.
const DECIMALS: std::ops::RangeInclusive<usize> = 4..=17;

impl Requirement {
    /// The measured figure with four decimals, or as many as show on which side of the bound it lies; none if there is none.
    #[must_use]
    pub fn measured(&self) -> Option<String> {
        let value = self.value.filter(|value| value.is_finite())?;
        let judged = |shown: &String| {
            let (_, comparison, bound) = split(&self.text)?;
            Some(comparison.holds(shown.parse().ok()?, bound.parse().ok()?))
        };
        let mut shown = DECIMALS.map(|decimals| format!("{value:.decimals$}"));
        let usual = format!("{value:.4}");
        let found = shown.find(|shown| judged(shown).is_none_or(|holds| holds == self.holds));
        Some(found.unwrap_or(usual))
    }
}

/// A requirement that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    text: String,
    figure: String,
    end: End,
    comparison: Comparison,
    bound: f64,
}

impl Rule {
    /// Reads a requirement on one of these figures.
    ///
    /// # Errors
    /// [`Error::Requirement`], with what was expected.
    pub fn parse(text: &str, figures: &[Requirable]) -> Result<Self> {
        let refuse = |problem: String| Error::Requirement {
            given: text.to_owned(),
            problem,
        };
        let Some((left, comparison, right)) = split(text) else {
            return Err(refuse(
                "expected a figure, one of >= > <= <, and a number".to_owned(),
            ));
        };
        let (name, end) = if let Some(name) = left.strip_suffix(".low") {
            (name, End::Low)
        } else if let Some(name) = left.strip_suffix(".high") {
            (name, End::High)
        } else if let Some(name) = left.strip_suffix(".median") {
            (name, End::Median)
        } else {
            (left, End::Value)
        };
        let Some(found) = figures.iter().find(|known| known.id == name) else {
            let names: Vec<&str> = figures.iter().map(|known| known.id.as_str()).collect();
            return Err(refuse(format!(
                "there is no figure `{name}`; known are {}",
                names.join(", ")
            )));
        };
        if end == End::Median && !found.is_median {
            return Err(refuse(format!("`{name}` is no median over rows")));
        }
        if matches!(end, End::Low | End::High) && !found.has_interval {
            return Err(refuse(format!(
                "`{name}` has no interval, so neither `.low` nor `.high`"
            )));
        }
        let bound = right
            .parse::<f64>()
            .ok()
            .filter(|bound| bound.is_finite())
            .ok_or_else(|| refuse(format!("expected a number after the sign, got `{right}`")))?;
        Ok(Self {
            text: text.trim().to_owned(),
            figure: found.id.clone(),
            end,
            comparison,
            bound,
        })
    }

    /// Whether it holds, given what finds a figure by its id.
    pub fn judge(&self, figure: impl Fn(&str) -> Option<FigureValue>) -> Requirement {
        let value = figure(&self.figure).and_then(|figure| match self.end {
            End::Value | End::Median => Some(figure.value()),
            End::Low => figure.interval().map(|interval| interval.low),
            End::High => figure.interval().map(|interval| interval.high),
        });
        let holds = value.is_some_and(|value| self.comparison.holds(value, self.bound));
        Requirement {
            text: self.text.clone(),
            value,
            holds,
        }
    }
}

/// Reads several.
///
/// # Errors
/// The first that cannot be read.
pub fn parse(texts: &[String], figures: &[Requirable]) -> Result<Vec<Rule>> {
    texts
        .iter()
        .map(|text| Rule::parse(text, figures))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Estimate, Interval};

    fn judged(text: &str, figure: Option<FigureValue>) -> (Option<f64>, bool) {
        let rule = Rule::parse(text, &figures()).unwrap();
        let found = rule.judge(|_| figure);
        (found.value, found.holds)
    }

    fn refusal(text: &str) -> String {
        Rule::parse(text, &figures()).unwrap_err().to_string()
    }

    #[test]
    fn every_comparison_means_what_it_says_at_the_bound() {
        let half = Some(FigureValue::from(0.5));
        for (text, holds) in [
            ("auc>=0.5", true),
            ("auc>0.5", false),
            ("auc<=0.5", true),
            ("auc<0.5", false),
            (" auc > 0.4 ", true),
        ] {
            assert_eq!(judged(text, half), (Some(0.5), holds), "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_interval_can_be_required() {
        let figure = Some(FigureValue::Estimate(Estimate {
            value: 0.9,
            interval: Some(Interval {
                low: 0.8,
                high: 1.0,
            }),
            count: 10,
        }));
        assert_eq!(judged("p_at_k.low>=0.85", figure), (Some(0.8), false));
        assert_eq!(judged("p_at_k.high>=0.85", figure), (Some(1.0), true));
        let single = Some(FigureValue::from(0.9));
        assert_eq!(judged("p_at_k.low>=0.1", single), (None, false));
    }

    #[test]
    fn a_figure_is_shown_on_its_own_side_of_the_bound() {
        let shown = |text: &str, value: f64| {
            let rule = Rule::parse(text, &figures()).unwrap();
            rule.judge(|_| Some(value.into())).measured().unwrap()
        };
        assert_eq!(shown("auc>=0.85", 0.9), "0.9000");
        assert_eq!(shown("auc>=0.85", 0.849_997), "0.849997");
        assert_eq!(shown("auc>0.85", 0.850_000_3), "0.8500003");
        assert_eq!(shown("auc>0.85", 0.85), "0.8500");
    }

    #[test]
    fn a_median_may_be_called_one() {
        let figure = Some(FigureValue::from(0.07));
        assert_eq!(
            judged("certified_radius.median>=0.05", figure),
            judged("certified_radius>=0.05", figure)
        );
        assert_eq!(judged("certified_radius.median>=0.05", None), (None, false));
    }

    #[test]
    fn a_figure_that_is_not_there_fails() {
        assert_eq!(judged("auc>=0.0", None), (None, false));
    }

    #[test]
    fn what_cannot_be_read_says_what_is_known() {
        let unknown = refusal("p_at_8>=0.9");
        assert!(unknown.contains("`p_at_8`"), "{unknown}");
        assert!(unknown.contains("p_at_k, noise"), "{unknown}");
        assert!(refusal("auc=0.9").contains(">= > <= <"));
        assert!(refusal("auc>=high").contains("`high`"));
        assert!(refusal("auc>=NaN").contains("number"));
        assert!(refusal("accuracy.low>=0.9").contains("no interval"));
        assert!(refusal("p_at_k.median>=0.9").contains("no median"));
    }
}
