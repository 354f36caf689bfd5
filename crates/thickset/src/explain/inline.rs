//! An explanation in one table, as objectives name the one whose ranking they keep.

use serde::{Deserialize, Serialize};

use super::reduce::ReductionConfig;
use super::{ExplainConfig, ExplanationConfig, Per};
use crate::data::InputShape;
use crate::name_or_table::name_or_table;

/// `explain = "grad"`, or `explain = { kind = "grad", of = "logit", reduce = "absolute" }`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct InlineExplain {
    /// The method, with its settings.
    #[serde(flatten)]
    pub explanation: ExplanationConfig,
    /// How its attributions become importances; the papers' rule for the kind of data if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce: Option<ReductionConfig>,
    /// What an importance stands for; what belongs to the method if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
}

name_or_table!(InlineExplain);

impl InlineExplain {
    /// The same for rows of this shape, with the rule filled in. A layer's units are ranked as they are: the most active
    /// first.
    #[must_use]
    pub fn resolve(&self, shape: &InputShape) -> ExplainConfig {
        let method = self.explanation.behaviour();
        let (usual, per) = method.usual_form().unwrap_or_else(|| {
            let reduce = if method.is_of_units() {
                ReductionConfig::Signed
            } else if self.per == Some(Per::Column) {
                ReductionConfig::Absolute
            } else {
                ExplainConfig::usual(shape).reduce
            };
            (reduce, Per::Feature)
        });
        ExplainConfig {
            explanation: self.explanation.clone(),
            reduce: self.reduce.unwrap_or(usual),
            per: self.per.unwrap_or(per),
        }
    }
}

impl From<ExplainConfig> for InlineExplain {
    fn from(config: ExplainConfig) -> Self {
        Self {
            explanation: config.explanation,
            reduce: Some(config.reduce),
            per: Some(config.per),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::integrated_gradients::IntegratedGradientsConfig;
    use crate::explain::{Of, concept, grad};

    #[test]
    fn settings_of_the_method_stand_beside_the_reduction() {
        let text = "kind = \"integrated-gradients\"\nsteps = 7\nreduce = \"signed\"\n";
        let explain: InlineExplain = toml::from_str(text).unwrap();
        let expected = InlineExplain {
            explanation: IntegratedGradientsConfig {
                steps: 7,
                ..IntegratedGradientsConfig::default()
            }
            .into(),
            reduce: Some(ReductionConfig::Signed),
            per: None,
        };
        assert_eq!(explain, expected);
        let written = toml::to_string(&explain).unwrap();
        assert_eq!(toml::from_str::<InlineExplain>(&written).unwrap(), explain);
    }

    #[test]
    fn a_setting_that_the_method_does_not_have_is_refused() {
        for text in [
            "kind = \"grad\"\nsteps = 7",
            "kind = \"concept\"\nof = \"logit\"",
            "kind = \"grad\"\nreduced = \"signed\"",
            "reduce = \"signed\"",
        ] {
            assert!(toml::from_str::<InlineExplain>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_left_out_is_the_papers_for_the_kind_of_data() {
        let image = |channels| InputShape::Image {
            channels,
            height: 8,
            width: 8,
        };
        let graph = InputShape::Graph { nodes: 5 };
        let logit: ExplanationConfig = grad::GradConfig { of: Of::Logit }.into();
        let explain = InlineExplain {
            explanation: logit.clone(),
            ..InlineExplain::default()
        };
        for (shape, expected) in [
            (InputShape::Table, ReductionConfig::Absolute),
            (image(1), ReductionConfig::NormalisedAbsolute),
            (image(3), ReductionConfig::ChannelSum),
            (graph, ReductionConfig::Absolute),
        ] {
            let resolved = explain.resolve(&shape);
            assert_eq!(resolved.reduce, expected, "{shape}");
            assert_eq!(resolved.explanation, logit);
        }
        let units = InlineExplain {
            explanation: concept::ConceptConfig::default().into(),
            ..InlineExplain::default()
        };
        assert_eq!(units.resolve(&image(3)).reduce, ReductionConfig::Signed);
    }
}
