//! `thickset demo`: three models on bundled data, attacked, in one table.

use std::path::Path;
use std::process::{Command, Output};

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

/// The table without its last column, which is a time.
fn without_time(table: &str) -> Vec<&str> {
    table
        .lines()
        .filter_map(|line| line.trim_end().rsplit_once("  "))
        .map(|(rest, _)| rest.trim_end())
        .collect()
}

#[test]
fn the_demo_prints_three_rows_and_writes_three_models_the_same_ones_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    let output = thickset(folder.path(), &["demo", "--seed", "3"]);
    let table = done(&output);
    let models: Vec<&str> = table.lines().skip(1).map(|line| &line[..11]).collect();
    assert_eq!(models, ["linear     ", "mlp vanilla", "mlp r2et   "]);
    let message = String::from_utf8(output.stderr).unwrap();
    let out = folder.path().join("thickset-demo");
    let mut files: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let expected = ["linear", "mlp-r2et", "mlp-vanilla"].map(|name| format!("{name}.safetensors"));
    assert_eq!(
        files, expected,
        "nothing of the training is left beside them"
    );
    for file in &files {
        let path = format!("thickset-demo/{file}");
        assert!(message.contains(&path), "{message}");
        let shown = thickset(folder.path(), &["model", &path]);
        assert!(done(&shown).contains("malignant, benign"));
    }
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
    let report: serde_json::Value = serde_json::from_str(&done(&json)).unwrap();
    assert_eq!(report["lines"].as_array().unwrap().len(), 3);
    for file in &files {
        assert_eq!(
            std::fs::read(out.join(file)).unwrap(),
            std::fs::read(folder.path().join("again").join(file)).unwrap(),
            "{file}"
        );
    }
    let second = thickset(folder.path(), &["demo", "--seed", "3"]);
    assert_eq!(without_time(&table), without_time(&done(&second)));
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
