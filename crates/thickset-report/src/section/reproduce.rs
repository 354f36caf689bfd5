//! How to make the same audit again.

use serde_json::Value;
use thickset::attack::ThreatConfig;
use thickset::attack::threat::{Norm, OneHot};
use thickset::audit::Audit;
use thickset::explain::{ExplanationConfig, Per};

use crate::number::count;
use crate::prose::budget;

/// What an audit was made of, by name.
pub fn facts(audit: &Audit) -> Vec<(&'static str, String)> {
    let model = &audit.model;
    let data = &audit.data;
    let part = match (data.part, &data.split) {
        (Some(part), _) => part.name(),
        (None, Some(_)) => "all parts",
        (None, None) => "the whole file",
    };
    let objective = model.objective.as_deref().unwrap_or("not recorded");
    let mut facts = vec![
        ("thickset", audit.version.clone()),
        ("model", model.name.clone()),
        ("model’s sha256", model.sha256.clone()),
        (
            "architecture",
            format!(
                "{}, {} parameters",
                model.architecture.kind(),
                count(model.parameters)
            ),
        ),
        ("objective", objective.to_owned()),
        (
            "data",
            format!(
                "{}, {part}, {} rows, {}",
                data.name,
                count(data.rows),
                data.shape
            ),
        ),
        ("rows’ sha256", data.sha256.clone()),
        ("seed", audit.settings.seed.number().to_string()),
    ];
    if let Some(instructions) = &audit.instruction_set {
        facts.push(("instruction set", instructions.clone()));
    }
    if let Some(split) = &data.split {
        facts.push(("split seed", split.seed.to_string()));
        if let Some(recipe) = &split.recipe {
            facts.push(("recipe", recipe.clone()));
        }
    }
    facts
}

/// What the command needs beside it.
pub fn needs(audit: &Audit) -> String {
    let mut needs = "Files are named without their folders. The same files and this command give the same audit, to the byte".to_owned();
    if audit.model.objective.is_some() {
        needs.push_str(", where run.toml and metrics.jsonl of the model's run lie beside it; without them there is nothing of its training");
    }
    needs + "."
}

/// The command that makes it again, every setting written out.
pub fn command(audit: &Audit) -> String {
    let settings = &audit.settings;
    let threat = &settings.suite.threat;
    let mut words: Vec<String> = vec!["thickset audit".to_owned()];
    let mut add = |flag: &str, value: &str| words.push(format!("--{flag} {}", quoted(value)));
    add("model", &audit.model.file);
    add("data", &audit.data.name);
    if let Some(split) = &audit.data.split {
        add("part", audit.data.part.map_or("all", |part| part.name()));
        add("split-seed", &split.seed.to_string());
        if let Some((height, width)) = split.image_size {
            add("image-size", &format!("{height}x{width}"));
        }
    }
    add("max-rows", &audit.data.rows.to_string());
    add("seed", &settings.seed.number().to_string());
    add("k", &settings.k.to_string());
    add("explanation", &explanation(&settings.explain.explanation));
    add("reduce", settings.explain.reduce.kind());
    let is_reason = matches!(
        settings.explain.explanation,
        ExplanationConfig::Contributions(_)
    );
    match settings.explain.per {
        Per::Column => add("per", "column"),
        Per::Feature if is_reason => add("per", "feature"),
        Per::Feature => {}
    }
    if let Some(adverse) = &settings.decision.adverse {
        add("adverse", adverse);
    }
    if let Some(cutoff) = settings.decision.cutoff {
        add("cutoff", &cutoff.to_string());
    }
    add("effort", budget::effort(settings.suite.effort));
    let norm = match threat.ball.norm {
        Norm::L2 => "l2",
        Norm::Linf => "linf",
    };
    add("norm", norm);
    add("radius", &threat.ball.radius.to_string());
    let table = ThreatConfig::table();
    let is_table = threat.r#box == table.r#box
        && threat.immutable == table.immutable
        && threat.integer == table.integer
        && threat.one_hot == table.one_hot;
    add("threat", if is_table { "table" } else { "papers" });
    match threat.one_hot {
        OneHot::Free => {}
        OneHot::Whole if is_table => {}
        OneHot::Simplex => add("one-hot", "simplex"),
        OneHot::Whole => add("one-hot", "whole"),
    }
    for (column, most) in &threat.only {
        add("only", &format!("{column}={most}"));
    }
    for (column, most) in &threat.error {
        add("error", &format!("{column}={most}"));
    }
    for (column, most) in &threat.feature_budget {
        add("column-budget", &format!("{column}={most}"));
    }
    add("noise-draws", &settings.noise_draws.to_string());
    add("neighbours", &settings.thickness.neighbours.to_string());
    add("points", &settings.thickness.points.to_string());
    add("worst", &settings.worst.to_string());
    if settings.theory > 0 {
        add("theory", &settings.theory.to_string());
    }
    for requirement in &audit.gate {
        add("require", &requirement.text);
    }
    let split = audit.data.split.as_ref();
    let flags = [
        (
            "--random-test",
            split.is_some_and(|split| split.random_test),
        ),
        ("--box", threat.r#box && !is_table),
        ("--keep-immutable", threat.immutable && !is_table),
        ("--integer", threat.integer && !is_table),
        ("--no-certificates", !settings.certify),
    ];
    words.extend(
        flags
            .iter()
            .filter(|(_, is_on)| *is_on)
            .map(|(flag, _)| (*flag).to_owned()),
    );
    words.join(" ")
}

/// The explanation's id, or a table where its settings are not the usual ones.
fn explanation(explanation: &ExplanationConfig) -> String {
    let id = explanation.kind();
    if id
        .parse()
        .is_ok_and(|usual: ExplanationConfig| usual == *explanation)
    {
        return id.to_owned();
    }
    serde_json::to_value(explanation).map_or_else(|_| id.to_owned(), |value| inline(&value))
}

/// A value as TOML writes it on one line. Kinds come first, as a reader expects.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let mut entries: Vec<(&String, &Value)> = table.iter().collect();
            entries.sort_by_key(|(name, _)| (name.as_str() != "kind", (*name).clone()));
            let entries: Vec<String> = entries
                .iter()
                .map(|(name, value)| format!("{name} = {}", inline(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        // A text, number or truth is written alike in JSON and in TOML.
        other => other.to_string(),
    }
}

/// The text as one word of a POSIX shell.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain =
        |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-' | '/' | '=' | ',');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        let written: Vec<String> = ["a.csv", "p_at_k>=0.9", "it's", ""].map(quoted).into();
        assert_eq!(written, ["a.csv", "'p_at_k>=0.9'", "'it'\\''s'", "''"]);
    }

    #[test]
    fn an_explanation_reads_back_as_itself() {
        for text in [
            "grad",
            "{ kind = \"grad\", of = \"logit\" }",
            "integrated-gradients",
            "{ kind = \"smooth-grad\", draws = 7, variance = 0.5, base = { kind = \"grad-input\", of = \"loss\" } }",
        ] {
            let config: ExplanationConfig = text.parse().unwrap();
            let written = explanation(&config);
            assert_eq!(
                written.parse::<ExplanationConfig>().unwrap(),
                config,
                "{written}"
            );
        }
        assert_eq!(explanation(&"grad".parse().unwrap()), "grad");
    }
}
