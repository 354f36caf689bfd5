//! How to make the same audit again.

use std::fmt::Write as _;

use thickset::attack::threat::{Norm, OneHot};
use thickset::audit::Audit;
use thickset::explain::{ExplanationConfig, Per};

use crate::number::count;
use crate::prose::budget;

/// What an audit was made of, by name.
pub fn facts(audit: &Audit) -> Vec<(&'static str, String)> {
    let part = audit.data.part.map_or("the whole file", |part| part.name());
    vec![
        ("thickset", audit.version.clone()),
        ("model", audit.model.name.clone()),
        ("model’s sha256", audit.model.sha256.clone()),
        (
            "architecture",
            format!(
                "{}, {} parameters",
                audit.model.architecture.kind(),
                count(audit.model.parameters)
            ),
        ),
        (
            "objective",
            audit
                .model
                .objective
                .clone()
                .unwrap_or_else(|| "not recorded".to_owned()),
        ),
        (
            "data",
            format!(
                "{}, {part}, {} rows, {}",
                audit.data.name,
                count(audit.data.rows),
                audit.data.shape
            ),
        ),
        ("rows’ sha256", audit.data.sha256.clone()),
        ("split seed", audit.data.split_seed.to_string()),
        ("seed", audit.settings.seed.number().to_string()),
    ]
}

/// The command that makes it again. Settings of an explanation beyond its kind are in the JSON.
pub fn command(audit: &Audit) -> String {
    let settings = &audit.settings;
    let threat = &settings.suite.threat;
    let mut command = format!(
        "thickset audit --model {} --data {}",
        quoted(&audit.model.name),
        quoted(&audit.data.name)
    );
    let mut add = |text: &str| {
        command.push(' ');
        command.push_str(text);
    };
    if let Some(part) = audit.data.part {
        add(&format!(
            "--part {} --split-seed {}",
            part.name(),
            audit.data.split_seed
        ));
    }
    add(&format!(
        "--seed {} --k {}",
        settings.seed.number(),
        settings.k
    ));
    let explanation = &settings.explain.explanation;
    add(&format!(
        "--explanation {} --reduce {}",
        kinds(explanation),
        settings.explain.reduce.kind()
    ));
    if settings.explain.per == Per::Column {
        add("--per column");
    }
    add(&format!(
        "--effort {}",
        budget::effort(settings.suite.effort)
    ));
    let norm = match threat.ball.norm {
        Norm::L2 => "l2",
        Norm::Linf => "linf",
    };
    add(&format!("--norm {norm} --radius {}", threat.ball.radius));
    for (flag, is_on) in [
        ("--box", threat.r#box),
        ("--immutable", threat.immutable),
        ("--integer", threat.integer),
    ] {
        if is_on {
            add(flag);
        }
    }
    match threat.one_hot {
        OneHot::Free => {}
        OneHot::Simplex => add("--one-hot simplex"),
        OneHot::Whole => add("--one-hot whole"),
    }
    for (column, most) in &threat.feature_budget {
        add(&format!(
            "--column-budget {}",
            quoted(&format!("{column}={most}"))
        ));
    }
    for requirement in &audit.gate {
        add(&format!("--require {}", quoted(&requirement.text)));
    }
    command
}

/// The id of an explanation, or a table where it wraps another.
fn kinds(explanation: &ExplanationConfig) -> String {
    match explanation {
        ExplanationConfig::SmoothGrad(config) => {
            let mut table = String::from("'{ kind = \"smooth-grad\", base = ");
            let _ = write!(table, "{{ kind = \"{}\" }} }}'", config.base.kind());
            table
        }
        other => other.kind().to_owned(),
    }
}

/// As a shell reads it.
fn quoted(word: &str) -> String {
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
}
