//! A sweep: one run for each combination of some settings' values.
//!
//! `[sweep]` names settings by the same paths as `--set`, each with a list of values. The grid's order is fixed: settings
//! in the order of their names, the last one changing fastest.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{CheckedRun, RunConfig, overrides};
use crate::{Error, Result};

/// More runs than anybody waits for.
const MOST_RUNS: usize = 10_000;

/// One combination of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What it sets.
    pub settings: BTreeMap<String, Value>,
    /// The run, which is no sweep any more.
    pub run: CheckedRun,
}

impl RunConfig {
    /// The runs of the sweep; none where the configuration has no sweep.
    ///
    /// # Errors
    /// If a setting does not exist, has no list of values, or a combination makes no sense.
    pub fn variants(&self) -> Result<Vec<Variant>> {
        let mut axes = Vec::new();
        flatten("", &self.sweep, &mut axes)?;
        if axes.is_empty() {
            return Ok(Vec::new());
        }
        // Another `kind` begins with its own defaults, so it is set before the settings that belong to it.
        axes.sort_by_key(|(path, _)| (!is_kind(path), path.clone()));
        let count = axes
            .iter()
            .try_fold(1_usize, |count, (_, values)| {
                count.checked_mul(values.len())
            })
            .filter(|count| (1..=MOST_RUNS).contains(count));
        let Some(count) = count else {
            return Err(Error::Sweep {
                problem: format!("expected 1 to {MOST_RUNS} runs"),
            });
        };
        let mut plain = self.clone();
        plain.sweep.clear();
        let base: Table = toml::from_str(&plain.to_text()).map_err(|source| Error::RunConfig {
            path: "sweep".to_owned(),
            source: Box::new(source),
        })?;
        (0..count).map(|run| variant(&base, &axes, run)).collect()
    }
}

fn is_kind(path: &str) -> bool {
    path.rsplit('.').next() == Some("kind")
}

/// Lists `a.b = [...]` for tables within tables, so that quotes around a setting's path may be left out.
fn flatten(prefix: &str, table: &Table, axes: &mut Vec<(String, Vec<Value>)>) -> Result<()> {
    for (key, value) in table {
        let path = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            Value::Table(inner) => flatten(&path, inner, axes)?,
            Value::Array(values) if !values.is_empty() => axes.push((path, values.clone())),
            other => {
                return Err(Error::Sweep {
                    problem: format!("expected a list of values for `{path}`, got {other}"),
                });
            }
        }
    }
    Ok(())
}

fn variant(base: &Table, axes: &[(String, Vec<Value>)], run: usize) -> Result<Variant> {
    let mut table = base.clone();
    let mut settings = BTreeMap::new();
    let mut left = run;
    let mut chosen = Vec::with_capacity(axes.len());
    for (path, values) in axes.iter().rev() {
        chosen.push((path, &values[left % values.len()]));
        left /= values.len();
    }
    for (path, value) in chosen.into_iter().rev() {
        if path == "name" || path == "sweep" {
            return Err(Error::Sweep {
                problem: format!("`{path}` is the same for all runs"),
            });
        }
        overrides::set(&mut table, path, value.clone()).map_err(|problem| Error::Sweep {
            problem: format!("`{path}`: {problem}"),
        })?;
        settings.insert(path.clone(), value.clone());
    }
    let label = settings
        .iter()
        .map(|(path, value)| format!("{path}={value}"))
        .collect::<Vec<_>>()
        .join(" ");
    let config: RunConfig =
        table
            .try_into()
            .map_err(|source: toml::de::Error| Error::RunConfig {
                path: format!("sweep: {label}"),
                source: Box::new(source),
            })?;
    Ok(Variant {
        settings,
        run: config.check()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(sweep: &str) -> Result<Vec<Variant>> {
        let text = format!("data = {{ source = \"adult\" }}\n{sweep}\n");
        RunConfig::parse(&text, "run.toml")?.variants()
    }

    fn labels(sweep: &str) -> Vec<String> {
        variants(sweep)
            .unwrap()
            .iter()
            .map(|variant| {
                let values: Vec<String> =
                    variant.settings.values().map(ToString::to_string).collect();
                values.join(" ")
            })
            .collect()
    }

    #[test]
    fn a_grid_has_every_combination_the_last_setting_changing_fastest() {
        let sweep =
            "sweep = { \"train.epochs\" = [1, 2, 3], \"objective.gap_weight\" = [0.0, 0.5] }";
        let expected = ["0.0 1", "0.0 2", "0.0 3", "0.5 1", "0.5 2", "0.5 3"];
        assert_eq!(labels(sweep), expected);
        let runs = variants(sweep).unwrap();
        assert_eq!(runs[4].run.config().train.epochs, 2);
        assert!(runs[4].run.config().sweep.is_empty());
    }

    #[test]
    fn quotes_around_a_path_may_be_left_out() {
        let quoted = "sweep = { \"train.epochs\" = [1, 2], \"seed\" = [5] }";
        let bare = "[sweep]\ntrain.epochs = [1, 2]\nseed = [5]";
        assert_eq!(variants(quoted).unwrap(), variants(bare).unwrap());
    }

    #[test]
    fn a_kind_comes_before_its_settings_and_whole_tables_can_be_values() {
        let sweep =
            "sweep = { \"objective.kind\" = [\"trades\", \"mart\"], \"objective.beta\" = [2.0] }";
        assert_eq!(labels(sweep), ["2.0 \"trades\"", "2.0 \"mart\""]);
        let sweep =
            "sweep = { objective = [{ kind = \"vanilla\" }, { kind = \"cl\", weight = 0.5 }] }";
        let runs = variants(sweep).unwrap();
        assert_eq!(runs[1].run.config().objective.objective().info().id, "cl");
    }

    #[test]
    fn no_sweep_has_no_runs() {
        assert!(variants("").unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_swept_is_refused() {
        for sweep in [
            "sweep = { \"train.epochs\" = 3 }",
            "sweep = { \"train.epochs\" = [] }",
            "sweep = { \"train.epoch\" = [3] }",
            "sweep = { \"train.epochs\" = [0] }",
            "sweep = { name = [\"a\", \"b\"] }",
            "sweep = { \"train.epochs.more\" = [1] }",
        ] {
            assert!(variants(sweep).is_err(), "{sweep}");
        }
        let many = format!("{:?}", (0..200).collect::<Vec<_>>());
        let sweep = format!("sweep = {{ seed = {many}, \"train.epochs\" = {many} }}");
        assert!(matches!(variants(&sweep), Err(Error::Sweep { .. })));
    }
}
