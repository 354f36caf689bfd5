//! How far a column may move, as people say it: in its own unit, as a share of a row's own value, or as far as the data goes.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Threat, ThreatConfig};
use crate::data::{Feature, FeatureKind, Schema};
use crate::registry::nearest;
use crate::{Error, Result};

/// How far a column may move: `100` of its unit, `"5%"` of the row's value, or `"free"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many of the column's own unit.
    Units(f64),
    /// This share of the row's own value.
    Share(f64),
    /// Within the range of the training rows, or to any category.
    Free,
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let problem = || format!("expected a number, a percentage or `free`, got `{text}`");
        let number = |text: &str| -> std::result::Result<f64, String> {
            let number: f64 = text.trim().parse().map_err(|_| problem())?;
            if number >= 0.0 && number.is_finite() {
                Ok(number)
            } else {
                Err(format!("expected finite and not negative, got `{text}`"))
            }
        };
        match text.trim() {
            "free" => Ok(Self::Free),
            text => match text.strip_suffix('%') {
                Some(share) => Ok(Self::Share(number(share)? / 100.0)),
                None => Ok(Self::Units(number(text)?)),
            },
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units(amount) => write!(formatter, "{amount}"),
            // Seven digits are more than anyone states, and fewer than rounding shows in.
            Self::Share(share) => {
                let percent = (share * 1e9).round() / 1e7;
                write!(formatter, "{percent}%")
            }
            Self::Free => formatter.write_str("free"),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Units(amount) => serializer.serialize_f64(*amount),
            other => serializer.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText)
    }
}

struct NumberOrText;

impl Visitor<'_> for NumberOrText {
    type Value = Amount;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, a percentage like \"5%\", or \"free\"")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<Amount, E> {
        value.to_string().parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> std::result::Result<Amount, E> {
        value.to_string().parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> std::result::Result<Amount, E> {
        value.to_string().parse().map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Amount, E> {
        text.parse().map_err(E::custom)
    }
}

impl Amount {
    fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Units(amount) => Self::Units(amount * factor),
            Self::Share(share) => Self::Share(share * factor),
            Self::Free => Self::Free,
        }
    }

    /// The largest move of a feature by this much, encoded, over the values of the training rows.
    fn largest(self, feature: &Feature) -> f64 {
        match self {
            Self::Units(amount) => amount / feature.factor,
            Self::Share(share) => {
                let ends = [feature.low, feature.high].map(|end| feature.decode(end).abs());
                share * ends[0].max(ends[1]) / feature.factor
            }
            Self::Free => f64::from(feature.high - feature.low),
        }
    }
}

/// The name that stands for every number.
pub(super) const EVERY_NUMBER: &str = "*";

/// Lets columns move by these amounts, and remembers that they are named.
pub(super) fn apply(
    setting: &'static str,
    amounts: &BTreeMap<String, Amount>,
    schema: &Schema,
    threat: &mut Threat,
) -> Result<()> {
    for (name, amount) in amounts {
        let mut is_known = false;
        for (place, feature) in schema.features.iter().enumerate() {
            if !names(name, feature) {
                continue;
            }
            is_known = true;
            let is_number = feature.kind == FeatureKind::Number;
            if !is_number && *amount != Amount::Free && feature.kind != FeatureKind::Missing {
                return Err(Error::Settings {
                    what: setting,
                    text: format!("{name}={amount}"),
                    problem: "a category has no unit; `free` lets it change".to_owned(),
                });
            }
            threat
                .named
                .get_or_insert_with(|| vec![false; schema.len()])[place] = true;
            match amount {
                Amount::Units(amount) => {
                    threat.limits[place] = threat.limits[place].min(amount / feature.factor);
                }
                Amount::Share(share) => {
                    threat.shares[place] = Some(super::OwnShare {
                        share: *share,
                        offset: feature.offset,
                        factor: feature.factor,
                    });
                }
                Amount::Free => {}
            }
        }
        if !is_known {
            let known = schema.features.iter();
            return Err(Error::UnknownFeature {
                what: "column",
                name: name.clone(),
                nearest: nearest(name, known.map(|feature| feature.column.as_str())),
            });
        }
    }
    Ok(())
}

fn names(name: &str, feature: &Feature) -> bool {
    if name == EVERY_NUMBER {
        return feature.kind == FeatureKind::Number;
    }
    feature.column == name || feature.name == name
}

impl ThreatConfig {
    /// Whether single columns are named, so that all others stay.
    #[must_use]
    pub fn names_columns(&self) -> bool {
        !(self.only.is_empty() && self.error.is_empty())
    }

    /// The length of the longest move by the named columns: a ball of this radius does not cut them short.
    #[must_use]
    pub fn reach(&self, schema: &Schema) -> f64 {
        let mut square = 0.0;
        for feature in &schema.features {
            let amounts = self.only.iter().chain(&self.error);
            let amounts = amounts.filter(|(name, _)| names(name, feature));
            let longest = amounts.map(|(_, amount)| amount.largest(feature));
            square += longest.fold(0.0, f64::max).powi(2);
        }
        square.sqrt()
    }

    /// The same set with every distance times this factor.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone();
        scaled.ball.radius *= factor;
        for amount in scaled.only.values_mut().chain(scaled.error.values_mut()) {
            *amount = amount.scaled(factor);
        }
        for budget in scaled.feature_budget.values_mut() {
            *budget *= factor;
        }
        scaled
    }

    /// What of these settings has no effect on rows of this schema, in sentences.
    #[must_use]
    pub fn without_effect(&self, schema: &Schema) -> Vec<String> {
        let mut notes = Vec::new();
        let given = self.only.keys().chain(self.error.keys());
        let given = given.chain(self.feature_budget.keys());
        for name in given {
            let features = schema.features.iter().filter(|one| names(name, one));
            let named: Vec<&Feature> = features.collect();
            let all_stay = !named.is_empty() && named.iter().all(|one| one.immutable);
            if self.immutable && name != EVERY_NUMBER && all_stay {
                notes.push(format!(
                    "the amount for `{name}` has no effect: the column is marked immutable, so it never moves"
                ));
            }
        }
        let largest = self.ball.radius;
        let is_l2 = self.ball.norm == super::Norm::L2;
        let category = if is_l2 { std::f64::consts::SQRT_2 } else { 1.0 };
        let free_category = self.only.iter().find(|(name, amount)| {
            let mut features = schema.features.iter().filter(|one| names(name, one));
            **amount == Amount::Free && features.any(|one| one.group.is_some())
        });
        if let Some((name, _)) = free_category.filter(|_| largest < category) {
            notes.push(format!(
                "`{name}` cannot change: another category is a move of {category:.3}, the radius is {largest}"
            ));
        }
        for (name, amount) in self.only.iter().chain(&self.error) {
            let mut features = schema.features.iter().filter(|one| names(name, one));
            let stays_whole = |one: &Feature| self.integer && one.integer;
            let is_short =
                |one: &Feature| stays_whole(one) && amount.largest(one) * one.factor < 1.0;
            if name != EVERY_NUMBER && features.any(is_short) {
                notes.push(format!(
                    "`{name}` cannot move by {amount}: it holds whole numbers, and the next one is further away"
                ));
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, expected) in [
            ("0", Amount::Units(0.0)),
            ("100", Amount::Units(100.0)),
            ("5%", Amount::Share(0.05)),
            ("free", Amount::Free),
        ] {
            assert_eq!(text.parse::<Amount>().unwrap(), expected);
            assert_eq!(expected.to_string(), text);
        }
        for text in ["-1", "5 percent", "nan", "inf%", ""] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_reach_of_named_columns_is_in_encoded_units() {
        let mut schema = Schema::table(&["income", "age"]);
        schema.features[0].factor = 1000.0;
        schema.features[1].factor = 10.0;
        schema.features[1].high = 8.0;
        let config = ThreatConfig {
            only: [("income".to_owned(), Amount::Units(3000.0))].into(),
            error: [("age".to_owned(), Amount::Share(0.5))].into(),
            ..ThreatConfig::table()
        };
        // Three units of income, and half of 80 years of which 10 are a unit.
        assert!((config.reach(&schema) - 5.0).abs() < 1e-12);
        assert!((config.scaled(0.5).reach(&schema) - 2.5).abs() < 1e-12);
    }

    /// An income of 1000 a unit, a whole number of children, and a job of two levels.
    fn people() -> Schema {
        let mut schema = Schema::table(&["income", "children", "job=a", "job=b"]);
        schema.features[0].factor = 1000.0;
        schema.features[1].integer = true;
        schema.features[1].factor = 2.0;
        for feature in &mut schema.features[2..] {
            feature.kind = FeatureKind::Level { values: vec![] };
            feature.column = "job".to_owned();
            feature.group = Some(0);
        }
        schema
    }

    fn only(amounts: &[(&str, Amount)]) -> ThreatConfig {
        let amounts = amounts.iter();
        ThreatConfig {
            only: amounts
                .map(|(name, amount)| ((*name).to_owned(), *amount))
                .collect(),
            ..ThreatConfig::table()
        }
    }

    #[test]
    fn amounts_come_from_numbers_and_texts_and_are_written_as_they_came() {
        #[derive(Serialize, Deserialize)]
        struct Amounts {
            all: Vec<Amount>,
        }
        let read: Amounts = toml::from_str("all = [2, 0.5, \"5%\", \"free\"]").unwrap();
        let expected = [
            Amount::Units(2.0),
            Amount::Units(0.5),
            Amount::Share(0.05),
            Amount::Free,
        ];
        assert_eq!(read.all, expected);
        let written = serde_json::to_string(&read.all).unwrap();
        assert_eq!(written, "[2.0,0.5,\"5%\",\"free\"]");
        let read: Vec<Amount> = serde_json::from_str("[3, 0.5, \"7%\"]").unwrap();
        assert_eq!(
            read,
            [Amount::Units(3.0), Amount::Units(0.5), Amount::Share(0.07)]
        );
        let error = serde_json::from_str::<Amount>("-3")
            .unwrap_err()
            .to_string();
        assert!(error.contains("not negative"), "{error}");
        let error = serde_json::from_str::<Amount>("true")
            .unwrap_err()
            .to_string();
        assert!(error.contains("a percentage like"), "{error}");
    }

    #[test]
    fn scaling_a_set_scales_every_amount_in_it() {
        let mut config = only(&[
            ("income", Amount::Units(100.0)),
            ("children", Amount::Share(0.5)),
            ("job", Amount::Free),
        ]);
        config.ball.radius = 2.0;
        config.error = [("income".to_owned(), Amount::Share(0.1))].into();
        config.feature_budget = [("income".to_owned(), 8.0)].into();
        let scaled = config.scaled(4.0);
        assert!((scaled.ball.radius - 8.0).abs() < 1e-12);
        assert_eq!(scaled.only["income"], Amount::Units(400.0));
        assert_eq!(scaled.only["children"], Amount::Share(2.0));
        assert_eq!(scaled.only["job"], Amount::Free);
        assert_eq!(scaled.error["income"], Amount::Share(0.4));
        assert!((scaled.feature_budget["income"] - 32.0).abs() < 1e-12);
    }

    #[test]
    fn the_farthest_that_a_column_moves_is_in_encoded_units() {
        let mut feature = people().features.swap_remove(0);
        (feature.low, feature.high, feature.offset) = (-2.0, 3.0, 500.0);
        let largest = |amount: Amount| amount.largest(&feature);
        assert!((largest(Amount::Units(250.0)) - 0.25).abs() < 1e-12);
        // 3500 is farther from zero than -1500.
        assert!((largest(Amount::Share(0.1)) - 0.35).abs() < 1e-12);
        assert!((largest(Amount::Free) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn an_amount_limits_its_column_and_others_stay() {
        let limits = |config: ThreatConfig| config.check(&people()).map(|threat| threat.limits);
        let free = f64::INFINITY;
        let mut config = ThreatConfig::papers();
        config.only = [("income".to_owned(), Amount::Units(250.0))].into();
        assert_eq!(limits(config.clone()).unwrap(), [0.25, 0.0, 0.0, 0.0]);
        config.only = [("*".to_owned(), Amount::Units(10.0))].into();
        assert_eq!(limits(config.clone()).unwrap(), [0.01, 5.0, 0.0, 0.0]);
        config.only = [("job".to_owned(), Amount::Free)].into();
        assert_eq!(limits(config.clone()).unwrap(), [0.0, 0.0, free, free]);
        config.only = [("job=b".to_owned(), Amount::Free)].into();
        assert_eq!(limits(config.clone()).unwrap(), [0.0, 0.0, 0.0, free]);
        config.only = [("jobs".to_owned(), Amount::Free)].into();
        let error = limits(config.clone()).unwrap_err();
        assert!(matches!(error, Error::UnknownFeature { .. }), "{error}");
        assert!(error.to_string().contains("job"), "{error}");
        config.only = [("job".to_owned(), Amount::Share(0.1))].into();
        let error = limits(config).unwrap_err().to_string();
        assert!(error.contains("a category has no unit"), "{error}");
    }

    #[test]
    fn whether_a_value_is_missing_may_be_named_with_the_columns_amount() {
        let mut schema = people();
        schema.features[2].kind = FeatureKind::Missing;
        schema.features[2].column = "income".to_owned();
        schema.features.truncate(3);
        let mut config = ThreatConfig::papers();
        config.only = [("income".to_owned(), Amount::Units(250.0))].into();
        let limits = config.check(&schema).unwrap().limits;
        assert_eq!(limits[..2], [0.25, 0.0]);
    }

    #[test]
    fn columns_are_named_by_what_may_change_and_by_errors() {
        assert!(!ThreatConfig::table().names_columns());
        let named = only(&[("income", Amount::Free)]);
        assert!(named.names_columns());
        let error = ThreatConfig {
            error: named.only,
            ..ThreatConfig::table()
        };
        assert!(error.names_columns());
    }

    #[test]
    fn an_amount_of_an_immutable_column_is_said_to_have_no_effect() {
        let mut schema = people();
        schema.features[0].immutable = true;
        let notes = |config: &ThreatConfig| config.without_effect(&schema);
        let mut config = only(&[("income", Amount::Units(250.0))]);
        let said = notes(&config);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("the amount for `income` has no effect"));
        config.immutable = false;
        assert!(notes(&config).is_empty());
        config.immutable = true;
        // A name that is not known, and all numbers, of which one can move, say nothing.
        config.only = [("rent", 9.0), ("*", 9.0)]
            .map(|(name, amount)| (name.to_owned(), Amount::Units(amount)))
            .into();
        assert!(notes(&config).is_empty());
        schema.features[1].immutable = true;
        assert!(config.without_effect(&schema).is_empty());
    }

    #[test]
    fn a_free_category_beyond_the_radius_is_said_not_to_change() {
        let schema = people();
        let mut config = only(&[("job", Amount::Free)]);
        let notes = |config: &ThreatConfig| config.without_effect(&schema);
        config.ball.radius = 1.2;
        let expected =
            "`job` cannot change: another category is a move of 1.414, the radius is 1.2";
        assert_eq!(notes(&config), [expected]);
        config.ball.radius = 1.5;
        assert!(notes(&config).is_empty());
        config.ball.norm = super::super::Norm::Linf;
        config.ball.radius = 1.0;
        assert!(notes(&config).is_empty());
        config.ball.radius = 0.9;
        assert_eq!(notes(&config).len(), 1);
        config.only = [("income".to_owned(), Amount::Free)].into();
        assert!(notes(&config).is_empty());
    }

    #[test]
    fn less_than_one_of_a_whole_number_is_said_not_to_move_it() {
        let schema = people();
        let notes =
            |amount: f64| only(&[("children", Amount::Units(amount))]).without_effect(&schema);
        let expected = "`children` cannot move by 0.9: it holds whole numbers, and the next one is further away";
        assert_eq!(notes(0.9), [expected]);
        assert!(notes(1.0).is_empty());
        let mut config = only(&[("children", Amount::Units(0.9))]);
        config.integer = false;
        assert!(config.without_effect(&schema).is_empty());
        for name in ["income", "*"] {
            assert!(
                only(&[(name, Amount::Units(0.9))])
                    .without_effect(&schema)
                    .is_empty()
            );
        }
    }
}
