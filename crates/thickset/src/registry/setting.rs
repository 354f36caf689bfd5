//! The settings of a method. Its file names and explains them; their default values are read from the default configuration
//! itself, so that no value is written down twice.

use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::{Family, Info};
use crate::attack::suite::SuiteConfig;
use crate::attack::{AttackConfig, AttackKind, ConstraintConfig, ThreatConfig, suite};
use crate::certify::CertifyConfig;
use crate::certify::smoothed_top_k::{self, SmoothedTopKConfig};
use crate::explain::ExplanationConfig;
use crate::model::{ModelConfig, siamese};
use crate::objective::ObjectiveConfig;

/// One setting of a method: its key in a configuration and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The key in a configuration.
    pub name: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// What it comes to when left out, where the default configuration holds no value.
    pub in_words: Option<&'static str>,
}

impl Setting {
    /// A setting whose default value is in the configuration's `Default`.
    #[must_use]
    pub const fn new(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            in_words: None,
        }
    }

    /// A setting that is absent by default, so that only words can say what it comes to.
    #[must_use]
    pub const fn in_words(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            meaning,
            in_words: Some(default),
        }
    }
}

/// A setting with its default, as it would be typed or in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DescribedSetting {
    /// The key in a configuration.
    pub name: &'static str,
    /// The value when the key is left out.
    pub value: String,
    /// What it means, in a few words.
    pub meaning: &'static str,
}

impl Info {
    /// The settings and the values they have when left out.
    #[must_use]
    pub fn settings(&self) -> Vec<DescribedSetting> {
        let defaults = default_values(self);
        let described = self.defaults.iter().map(|setting| DescribedSetting {
            name: setting.name,
            value: match defaults.get(setting.name) {
                Some(value) => value.to_string(),
                None => setting.in_words.unwrap_or_default().to_owned(),
            },
            meaning: setting.meaning,
        });
        described.collect()
    }
}

impl Serialize for Info {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Info", 9)?;
        fields.serialize_field("id", self.id)?;
        fields.serialize_field("label", self.label)?;
        fields.serialize_field("family", &self.family)?;
        fields.serialize_field("summary", self.summary)?;
        fields.serialize_field("formula", self.formula)?;
        fields.serialize_field("source", self.source)?;
        fields.serialize_field("direction", &self.direction)?;
        fields.serialize_field("cost", self.cost)?;
        fields.serialize_field("defaults", &self.settings())?;
        fields.end()
    }
}

/// The settings of the method's default configuration, without its `kind`.
pub(super) fn default_values(info: &Info) -> toml::Table {
    let id = info.id;
    let mut values = match info.family {
        Family::Model => match of_kind::<ModelConfig>(id) {
            Some(values) => values,
            // What only embeds one input of a pair is no model by itself.
            None => of_kind::<siamese::Embedding>(id).unwrap_or_default(),
        },
        Family::Explanation => of_kind::<ExplanationConfig>(id).unwrap_or_default(),
        Family::Objective => of_kind::<ObjectiveConfig>(id).unwrap_or_default(),
        Family::Attack if id == suite::INFO.id => table(&SuiteConfig::default()),
        Family::Attack => {
            let mut values = table(&AttackConfig::default());
            values.extend(of_kind::<AttackKind>(id).unwrap_or_default());
            values
        }
        Family::Constraint => of_kind::<ConstraintConfig>(id).unwrap_or_default(),
        Family::Threat => {
            let values = table(&ThreatConfig::default());
            match values.get(id) {
                Some(toml::Value::Table(own)) => own.clone(),
                _ => values,
            }
        }
        Family::Certificate if id == smoothed_top_k::INFO.id => {
            table(&SmoothedTopKConfig::default())
        }
        Family::Certificate => table(&CertifyConfig::default()),
        Family::Reduction | Family::Metric => toml::Table::new(),
    };
    values.remove("kind");
    values
}

/// The default configuration of the method with this id.
fn of_kind<T: DeserializeOwned + Serialize>(id: &str) -> Option<toml::Table> {
    let kind = toml::Table::from_iter([("kind".to_owned(), id.into())]);
    kind.try_into::<T>().ok().map(|config| table(&config))
}

fn table(config: &impl Serialize) -> toml::Table {
    toml::Table::try_from(config).expect("a configuration is plain data")
}

#[cfg(test)]
mod tests {
    use super::super::METHODS;
    use super::*;

    #[test]
    fn a_setting_is_described_in_words_only_where_the_default_configuration_holds_no_value() {
        for info in METHODS.iter() {
            let defaults = default_values(info);
            for setting in info.defaults {
                assert_eq!(
                    setting.in_words.is_none(),
                    defaults.contains_key(setting.name),
                    "`{}`.{}",
                    info.id,
                    setting.name
                );
            }
        }
    }

    #[test]
    fn every_setting_of_a_configuration_is_described() {
        let whole = [
            Family::Model,
            Family::Explanation,
            Family::Objective,
            Family::Constraint,
        ];
        for info in METHODS.iter().filter(|info| whole.contains(&info.family)) {
            for name in default_values(info).keys() {
                assert!(
                    info.defaults.iter().any(|setting| setting.name == name),
                    "`{}`.{name}",
                    info.id
                );
            }
        }
    }

    #[test]
    fn values_are_those_of_the_default_configuration_as_they_would_be_typed() {
        let settings = super::super::find("r2et").unwrap().settings();
        let value = |name: &str| {
            let setting = settings.iter().find(|setting| setting.name == name);
            setting.unwrap().value.clone()
        };
        assert_eq!(value("gap_weight"), "0.05");
        assert_eq!(value("pairs"), "\"all\"");
        assert_eq!(value("pair_count"), "k");
    }
}
