//! `thickset demo`: six models on bundled data, audited, in one table and one page.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn thickset(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thickset"));
    // No data folder: what the demo needs is in the program.
    command.env_remove("THICKSET_DATA");
    command.current_dir(folder).args(arguments);
    command.output().unwrap()
}

fn done(output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{message}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

const MODELS: [&str; 6] = [
    "breast-cancer-linear",
    "breast-cancer-mlp-r2et",
    "breast-cancer-mlp-vanilla",
    "digits-cnn-r2et",
    "digits-cnn-vanilla",
    "digits-linear",
];

#[test]
fn the_demo_prints_six_rows_and_writes_models_audits_and_a_page_the_same_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    let output = thickset(folder.path(), &["demo", "--seed", "3"]);
    let table = done(&output);
    let models: Vec<&str> = table
        .lines()
        .skip(1)
        .map(|line| line[..26].trim_end())
        .collect();
    assert_eq!(
        models,
        [
            "breast-cancer  linear",
            "breast-cancer  mlp vanilla",
            "breast-cancer  mlp r2et",
            "digits         linear",
            "digits         cnn vanilla",
            "digits         cnn r2et",
        ]
    );
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("paired t-test"), "{message}");
    let out = folder.path().join("thickset-demo");
    let mut files: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut expected: Vec<String> = MODELS
        .iter()
        .flat_map(|name| [format!("{name}.audit.json"), format!("{name}.safetensors")])
        .chain(["report.html".to_owned()])
        .collect();
    expected.sort();
    assert_eq!(
        files, expected,
        "nothing of the training is left beside them"
    );
    // What it says to type next works as it stands.
    let explain = message
        .lines()
        .find_map(|line| line.trim().strip_prefix("thickset explain "))
        .unwrap();
    let words: Vec<&str> = ["explain"].into_iter().chain(explain.split(' ')).collect();
    done(&thickset(folder.path(), &words));

    let json = thickset(
        folder.path(),
        &["demo", "--seed", "3", "--out", "again", "--json"],
    );
    let report: Value = serde_json::from_str(&done(&json)).unwrap();
    for (section, data) in report["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .zip(["breast-cancer", "digits"])
    {
        assert_eq!(section["data"], data);
        assert_eq!(section["lines"].as_array().unwrap().len(), 3);
    }
    for file in &files {
        assert_eq!(
            std::fs::read(out.join(file)).unwrap(),
            std::fs::read(folder.path().join("again").join(file)).unwrap(),
            "{file}"
        );
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_before_training() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taken"), "a file").unwrap();
    let output = thickset(folder.path(), &["demo", "--out", "taken"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("cannot create `taken`"), "{message}");
    assert!(!message.contains("training"), "{message}");
}
