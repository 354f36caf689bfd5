//! A table, a model for it, and the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use thickset::Seed;
use thickset::data::{OpenOptions, open};
use thickset::model::{MlpConfig, Model, ModelConfig};

pub fn thickset(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_thickset"))
        .args(arguments)
        .env("THICKSET_DATA", "")
        .env("XDG_DATA_HOME", "/nonexistent")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap()
}

pub fn succeeds(arguments: &[&str]) -> String {
    let output = thickset(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn refuses(arguments: &[&str], parts: &[&str]) {
    let output = thickset(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(message.starts_with("error: "), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    assert!(output.stdout.is_empty());
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A table of loans and a model for it with fresh weights.
pub struct Case {
    pub folder: tempfile::TempDir,
    pub data: String,
    pub model: String,
}

pub fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap()
}

pub fn save_model(data: &Path, model: &Path) {
    let options = OpenOptions {
        target: Some("paid".to_owned()),
        ..OpenOptions::default()
    };
    let dataset = open(data.to_str().unwrap(), &options).unwrap();
    Model::fresh(
        ModelConfig::Mlp(MlpConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(3),
    )
    .unwrap()
    .save(model)
    .unwrap();
}

pub fn case() -> Case {
    let folder = tempfile::tempdir().unwrap();
    let mut csv = "age,income,job,town,paid\n".to_owned();
    let mut stream = Seed::new(1).stream("loans");
    for _ in 0..80 {
        let age = 18 + stream.below(50);
        let income = 900.0 + 4000.0 * stream.uniform();
        let job = ["cook", "nurse", "pilot", "clerk"][stream.below(4)];
        let town = ["north", "south", "west"][stream.below(3)];
        let paid = if stream.uniform() < 0.5 { "yes" } else { "no" };
        writeln!(csv, "{age},{income:.2},{job},{town},{paid}").unwrap();
    }
    let (data, model) = (
        folder.path().join("loans.csv"),
        folder.path().join("model.safetensors"),
    );
    std::fs::write(&data, csv).unwrap();
    save_model(&data, &model);
    Case {
        data: text(data),
        model: text(model),
        folder,
    }
}

impl Case {
    pub fn run<'a>(&'a self, command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [
            &[command, "--model", &self.model, "--data", &self.data],
            more,
        ]
        .concat()
    }
}

pub fn precision(line: &Value) -> f64 {
    line["precision"].as_f64().unwrap()
}
