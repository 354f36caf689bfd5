//! The figures of all rows, and how they are written.

use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{FIGURES, Figure};
use crate::metric::precision_at_k;
use crate::statistics::{Estimate, Interval};

/// What a figure came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FigureValue {
    /// With its interval.
    Estimate(Estimate),
    /// A number alone.
    Number(f64),
}

impl FigureValue {
    /// The number itself.
    #[must_use]
    pub fn value(&self) -> f64 {
        match self {
            Self::Estimate(estimate) => estimate.value,
            Self::Number(value) => *value,
        }
    }

    /// Its 95% interval, where it has one.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        match self {
            Self::Estimate(estimate) => estimate.interval,
            Self::Number(_) => None,
        }
    }
}

impl From<Estimate> for FigureValue {
    fn from(estimate: Estimate) -> Self {
        Self::Estimate(estimate)
    }
}

impl From<f64> for FigureValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

/// The figures of an audit, or of its linear baseline; P@k at least. Reads and writes as an object with the figures' keys;
/// `null` stands for a figure that these rows do not have. Keys that this version does not know are passed over.
#[derive(Clone, PartialEq)]
pub struct Summary {
    precision_at_k: Estimate,
    /// In the order in which they are written.
    figures: Vec<(&'static Figure, Option<FigureValue>)>,
}

impl Summary {
    /// A summary with P@k, to which others are added by [`Summary::set`].
    #[must_use]
    pub fn new(precision_at_k: Estimate) -> Self {
        Self {
            precision_at_k,
            figures: vec![(
                &precision_at_k::FIGURE,
                Some(FigureValue::Estimate(precision_at_k)),
            )],
        }
    }

    /// Of these figures; none without P@k.
    pub(in super::super) fn of(
        figures: Vec<(&'static Figure, Option<FigureValue>)>,
    ) -> Option<Self> {
        let is_stability = |(figure, _): &&(&Figure, _)| *figure == &precision_at_k::FIGURE;
        match figures.iter().find(is_stability) {
            Some((_, Some(FigureValue::Estimate(estimate)))) => Some(Self {
                precision_at_k: *estimate,
                figures,
            }),
            _ => None,
        }
    }

    /// P@k at the worst points that the suite found: the stability.
    #[must_use]
    pub fn precision_at_k(&self) -> &Estimate {
        &self.precision_at_k
    }

    /// What a figure came to; none if these rows do not have it.
    #[must_use]
    pub fn get(&self, figure: &Figure) -> Option<FigureValue> {
        let mut figures = self.figures.iter();
        figures.find(|(one, _)| *one == figure)?.1
    }

    /// A figure's number alone.
    #[must_use]
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        self.get(figure).map(|value| value.value())
    }

    /// A figure with its interval; none for a number alone.
    #[must_use]
    pub fn estimate(&self, figure: &Figure) -> Option<Estimate> {
        match self.get(figure)? {
            FigureValue::Estimate(estimate) => Some(estimate),
            FigureValue::Number(_) => None,
        }
    }

    /// Puts another value in a figure's place.
    pub fn set(&mut self, figure: &'static Figure, value: Option<FigureValue>) {
        if let (true, Some(FigureValue::Estimate(estimate))) =
            (figure == &precision_at_k::FIGURE, value)
        {
            self.precision_at_k = estimate;
        }
        match self.figures.iter_mut().find(|(one, _)| *one == figure) {
            Some((_, held)) => *held = value,
            None => self.figures.push((figure, value)),
        }
    }
}

impl fmt::Debug for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = self.figures.iter();
        let figures = figures.map(|(figure, value)| (figure.key, value));
        formatter.debug_map().entries(figures).finish()
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.figures.len()))?;
        for (figure, value) in &self.figures {
            map.serialize_entry(figure.key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Summary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Summary;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the figures of an audit")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Summary, A::Error> {
                let mut figures = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    match FIGURES.iter().find(|figure| figure.key == key) {
                        Some(figure) => figures.push((*figure, map.next_value()?)),
                        None => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Summary::of(figures)
                    .ok_or_else(|| A::Error::missing_field(precision_at_k::FIGURE.key))
            }
        }
        deserializer.deserialize_map(Map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_passed_over_and_the_stability_must_be_there() {
        let text =
            r#"{"precision_at_k":{"value":0.5,"interval":null,"count":1},"auc":null,"other":[1]}"#;
        let summary: Summary = serde_json::from_str(text).unwrap();
        assert!((summary.precision_at_k().value - 0.5).abs() < 1e-15);
        assert_eq!(summary.get(&crate::metric::auc::FIGURE), None);
        let written = serde_json::to_string(&summary).unwrap();
        assert_eq!(written, text.replace(r#","other":[1]"#, ""));
        let refused = serde_json::from_str::<Summary>(r#"{"auc":null}"#).unwrap_err();
        assert!(refused.to_string().contains("precision_at_k"), "{refused}");
    }

    #[test]
    fn a_figure_is_what_was_put_in_its_place_last() {
        use crate::metric::{accuracy, auc};
        let estimate = |value: f64| Estimate {
            value,
            interval: None,
            count: 4,
        };
        let mut summary = Summary::new(estimate(0.25));
        assert_eq!(summary.value(&precision_at_k::FIGURE), Some(0.25));
        assert_eq!(summary.value(&accuracy::FIGURE), None);
        summary.set(&accuracy::FIGURE, Some(0.75.into()));
        assert_eq!(summary.value(&accuracy::FIGURE), Some(0.75));
        assert_eq!(summary.estimate(&accuracy::FIGURE), None);
        summary.set(&auc::FIGURE, Some(estimate(0.5).into()));
        assert_eq!(summary.estimate(&auc::FIGURE), Some(estimate(0.5)));
        assert_eq!(summary.value(&accuracy::FIGURE), Some(0.75));
        assert!((summary.precision_at_k().value - 0.25).abs() < 1e-15);
        summary.set(&precision_at_k::FIGURE, Some(estimate(0.125).into()));
        assert!((summary.precision_at_k().value - 0.125).abs() < 1e-15);
        summary.set(&accuracy::FIGURE, None);
        assert_eq!(summary.get(&accuracy::FIGURE), None);
        assert_eq!(summary.figures.len(), 3);
        assert!(format!("{summary:?}").contains("precision_at_k"));
        let refused = serde_json::from_str::<Summary>("3").unwrap_err();
        assert!(
            refused.to_string().contains("the figures of an audit"),
            "{refused}"
        );
    }
}
