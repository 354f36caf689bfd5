//! A run's configuration: what is trained, on what, and how. TOML becomes a [`RunConfig`], which `check` makes a
//! [`CheckedRun`]; only checked runs run.

mod audit;
mod data;
mod overrides;
mod sweep;
mod template;
mod tune;

pub use audit::AuditDefaults;
pub use data::DataConfig;
pub use sweep::Variant;
pub use template::template;

use serde::{Deserialize, Serialize};

use crate::attack::ThreatConfig;
use crate::data::Schema;
use crate::decision::DecisionConfig;
use crate::explain::{ExplainConfig, InlineExplain};
use crate::model::{MlpConfig, ModelConfig};
use crate::objective::ObjectiveConfig;
use crate::train::{RetrainConfig, SelectionConfig, TrainConfig, ValidationAttackConfig};
use crate::{Error, Result, Seed};

/// All settings of a run; what is left out has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// Names the run's folder.
    pub name: String,
    /// Decides the split, the fresh weights and every draw.
    pub seed: Seed,
    /// Size of the salient set; the dataset's own, or 8 and at most half of the features, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// What is handed out, trained for, attacked and audited; signed contributions of columns for tables, and what the papers
    /// explain by for all others, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
    /// What a row could become; the possible for tables, and a ball for all others, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threat: Option<ThreatConfig>,
    /// Which class is adverse, and from which probability on.
    #[serde(skip_serializing_if = "DecisionConfig::is_empty")]
    pub decision: DecisionConfig,
    /// Where rows come from.
    pub data: DataConfig,
    /// The architecture.
    pub model: ModelConfig,
    /// What is minimised.
    pub objective: ObjectiveConfig,
    /// How it is minimised.
    pub train: TrainConfig,
    /// The quick attack on validation rows.
    pub probe: ValidationAttackConfig,
    /// Which epoch's weights are kept.
    pub selection: SelectionConfig,
    /// Begins with another model, and keeps its ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrain: Option<RetrainConfig>,
    /// Settings by their paths, each with a list of values: every combination is a run.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub sweep: toml::Table,
    /// How the trained model is audited, and what it must reach.
    #[serde(skip_serializing_if = "AuditDefaults::is_default")]
    pub audit: AuditDefaults,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            name: "run".to_owned(),
            seed: Seed::new(0),
            k: None,
            explain: None,
            threat: None,
            decision: DecisionConfig::default(),
            data: DataConfig::default(),
            model: ModelConfig::Mlp(MlpConfig::default()),
            objective: ObjectiveConfig::default(),
            train: TrainConfig::default(),
            probe: ValidationAttackConfig::default(),
            selection: SelectionConfig::default(),
            retrain: None,
            sweep: toml::Table::new(),
            audit: AuditDefaults::default(),
        }
    }
}

impl RunConfig {
    /// Reads a configuration; `path` is for messages.
    ///
    /// # Errors
    /// If the text is not one, with the line.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        toml::from_str(text).map_err(|source| at(path, text, source))
    }

    /// The same with single settings over those of the text, like `train.epochs=50`, in the order given.
    ///
    /// # Errors
    /// If the text is no configuration, or a setting does not exist or has the wrong type.
    pub fn parse_with(text: &str, path: &str, overrides: &[String]) -> Result<Self> {
        // As it stands first, so that a mistake in the text is told with its line.
        let plain = Self::parse(text, path)?;
        if overrides.is_empty() {
            return Ok(plain);
        }
        let mut table: toml::Table =
            toml::from_str(text).map_err(|source| at(path, text, source))?;
        let is_valid = |table: &toml::Table| table.clone().try_into::<Self>().is_ok();
        for given in overrides {
            let mut as_text = table.clone();
            overrides::apply(&mut table, given)?;
            // A name or a column may look like a number: `name=2024`.
            overrides::apply_text(&mut as_text, given)?;
            if !is_valid(&table) && is_valid(&as_text) {
                table = as_text;
            }
        }
        table
            .try_into()
            .map_err(|source: toml::de::Error| Error::RunConfig {
                path: format!("{path} with --set {}", overrides.join(" --set ")),
                source: Box::new(source),
            })
    }

    /// The text of the configuration, with every setting.
    ///
    /// # Panics
    /// Never for a checked configuration: it is plain data, and its paths are text.
    #[must_use]
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a configuration is plain data")
    }

    /// Refuses settings that make no sense.
    ///
    /// # Errors
    /// The first such setting, by name.
    pub fn check(mut self) -> Result<CheckedRun> {
        let plain = |character: char| character.is_alphanumeric() || "-_.".contains(character);
        if self.name.is_empty() || self.name.starts_with('.') || !self.name.chars().all(plain) {
            return Err(Error::Override {
                given: format!("name = {:?}", self.name),
                problem: "expected letters, digits, `-`, `_` and `.`, not beginning with `.`"
                    .to_owned(),
            });
        }
        self.check_paths()?;
        if self.k == Some(0) {
            return Err(Error::OutOfRange {
                what: "`k`",
                expected: "at least 1",
                got: 0.0,
            });
        }
        self.objective.objective().check()?;
        self.train.check()?;
        self.probe.check()?;
        self.selection.check()?;
        if let Some(retrain) = &self.retrain {
            retrain.check()?;
        }
        self.audit.check()?;
        self.decision.check()?;
        // Every combination makes sense, or none is begun. Each has an objective, and so a model, of its own.
        if self.variants()?.is_empty() {
            self.model = self.objective.objective().model(self.model);
        }
        Ok(CheckedRun(self))
    }

    /// What is handed out for rows of this schema, and so attacked and audited.
    #[must_use]
    pub fn handed_out(&self, schema: &Schema) -> ExplainConfig {
        let own = self.explain.as_ref();
        match own.or_else(|| self.objective.objective().explain()) {
            Some(explain) => explain.resolve(&schema.shape),
            None => ExplainConfig::for_schema(schema),
        }
    }

    /// What the objective ranks in rows of this schema: its own `explain`, else what is handed out.
    #[must_use]
    pub fn trained_for(&self, schema: &Schema) -> ExplainConfig {
        match self.objective.objective().explain() {
            Some(explain) => explain.resolve(&schema.shape),
            None => self.handed_out(schema),
        }
    }

    /// What the rows of this schema could become, as far as the run is concerned; its radius is not the data's yet.
    #[must_use]
    pub fn threat_of(&self, schema: &Schema) -> ThreatConfig {
        let usual = || ThreatConfig::usual(&schema.shape);
        self.threat.clone().unwrap_or_else(usual)
    }

    /// Refuses paths that cannot be written into a configuration.
    fn check_paths(&self) -> Result<()> {
        let from = self.retrain.as_ref().map(|retrain| &retrain.from);
        let paths = [
            ("data.folder", self.data.folder.as_ref()),
            ("data.recipe", self.data.recipe.as_ref()),
            ("retrain.from", from),
        ];
        for (setting, path) in paths {
            if let Some(path) = path.filter(|path| path.to_str().is_none()) {
                return Err(Error::Override {
                    given: format!("{setting} = {}", path.display()),
                    problem: "expected a path in UTF-8".to_owned(),
                });
            }
        }
        Ok(())
    }
}

fn at(path: &str, text: &str, source: toml::de::Error) -> Error {
    let line = source.span().map(|span| {
        let before = text.get(..span.start).unwrap_or_default();
        before.matches('\n').count() + 1
    });
    Error::RunConfig {
        path: line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}")),
        source: Box::new(source),
    }
}

/// A configuration whose settings make sense by themselves; whether they fit the data is seen when it is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedRun(RunConfig);

impl CheckedRun {
    /// The settings.
    #[must_use]
    pub fn config(&self) -> &RunConfig {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_comes_back_from_its_text() {
        let text = "name = \"a\"\nobjective = { kind = \"igr\", weight = 1.0, base = { kind = \"trades\", beta = 6.0 } }\n\
                    [data]\nsource = \"adult\"\n[train]\nclip = 1.0\n";
        let config = RunConfig::parse(text, "run.toml").unwrap();
        assert_eq!(
            RunConfig::parse(&config.to_text(), "again").unwrap(),
            config
        );
    }

    #[test]
    fn a_misspelt_setting_is_refused_with_its_line() {
        let text = "name = \"a\"\n[train]\nepoch = 3\n";
        let error = RunConfig::parse(text, "run.toml").unwrap_err();
        assert!(error.to_string().contains("run.toml:3"), "{error}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("epoch"), "{cause}");
    }

    #[test]
    fn a_text_that_looks_like_a_number_may_be_set_without_quotes() {
        let set = ["name=2024", "data.target=7", "train.epochs=5"].map(str::to_owned);
        let config = RunConfig::parse_with("", "run.toml", &set).unwrap();
        assert_eq!(config.name, "2024");
        assert_eq!(config.data.target.as_deref(), Some("7"));
        assert_eq!(config.train.epochs, 5);
        let wrong = ["train.epochs=many".to_owned()];
        let error = RunConfig::parse_with("", "run.toml", &wrong).unwrap_err();
        assert!(error.to_string().contains("train.epochs=many"), "{error}");
    }

    #[test]
    fn a_name_stands_for_the_table_with_that_kind() {
        let names = "explain = \"grad\"\nmodel = \"linear\"\nobjective = { kind = \"igr\", base = \"mart\" }\n[train]\noptimizer = \"sgd\"\n";
        let tables = "explain = { kind = \"grad\" }\nmodel = { kind = \"linear\" }\n\
                      objective = { kind = \"igr\", base = { kind = \"mart\" } }\n[train]\noptimizer = { kind = \"sgd\" }\n";
        let config = RunConfig::parse(names, "run.toml").unwrap();
        assert_eq!(config, RunConfig::parse(tables, "run.toml").unwrap());
        assert_eq!(config.objective.kind(), "igr");
        let set = ["objective=vanilla".to_owned()];
        let config = RunConfig::parse_with(names, "run.toml", &set).unwrap();
        assert_eq!(config.objective.kind(), "vanilla");
        for (wrong, expected) in [
            ("objective = \"vanila\"", "`vanilla`"),
            ("model = 3", "a name in quotes, or a table with a `kind`"),
        ] {
            let error = RunConfig::parse(wrong, "run.toml").unwrap_err();
            let cause = std::error::Error::source(&error).unwrap().to_string();
            assert!(cause.contains(expected), "{cause}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_no_text_is_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        let path = std::ffi::OsString::from_vec(b"model-\xff.safetensors".to_vec());
        let mut config = RunConfig::parse("data = { source = \"adult\" }", "run.toml").unwrap();
        config.retrain.get_or_insert_default().from = path.into();
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains("retrain.from"), "{error}");
    }

    #[test]
    fn settings_without_sense_are_refused_by_name() {
        for (text, expected) in [
            ("name = \"../a\"", "name"),
            ("k = 0", "k"),
            (
                "objective = { kind = \"trades\", beta = -1.0 }",
                "trades.beta",
            ),
            ("train = { epochs = 0 }", "train.epochs"),
            ("train = { batch = 0 }", "train.batch"),
            (
                "train = { optimizer = { kind = \"adam\", rate = 0.0 } }",
                "rate",
            ),
            ("train = { clip = 0.0 }", "train.clip"),
            ("selection = { auc_within = -0.1 }", "selection.auc_within"),
            ("probe = { epsilon = 0.0 }", "probe.epsilon"),
            ("audit = { radius = 0.0 }", "audit.radius"),
            ("audit = { require = [\"p_at_8>=0.9\"] }", "p_at_8>=0.9"),
        ] {
            let text = if text.is_empty() {
                text.to_owned()
            } else {
                format!("{text}\n[data]\nsource = \"adult\"\n")
            };
            let config = RunConfig::parse(&text, "run.toml").unwrap();
            let message = config.check().unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn softplus_changes_the_architecture() {
        let text =
            "objective = { kind = \"softplus\", rho = 2.0 }\ndata = { source = \"adult\" }\n";
        let run = RunConfig::parse(text, "run.toml").unwrap().check().unwrap();
        let ModelConfig::Mlp(model) = &run.config().model else {
            panic!("an MLP")
        };
        assert_eq!(
            model.activation,
            crate::model::Activation::Softplus { beta: 2.0 }
        );
    }
}
