//! `thickset init` and `thickset train`: a run from a configuration to a folder, killed and resumed.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn thickset(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thickset"));
    command.current_dir(folder).args(arguments);
    command
}

fn done(output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{message}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, sentence: &str) {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(sentence), "`{sentence}` in: {message}");
    assert!(!message.contains("panicked"), "{message}");
}

/// A configuration of a few seconds on bundled data.
fn configured(folder: &Path) {
    let output = thickset(folder, &["init", "--data", "breast-cancer"])
        .output()
        .unwrap();
    done(&output);
}

const QUICK: [&str; 10] = [
    "--set",
    "train.epochs=4",
    "--set",
    "train.batch=64",
    "--set",
    "train.checkpoint_steps=2",
    "--set",
    "probe.rows=20",
    "--set",
    "probe.steps=3",
];

fn train<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["train", "run.toml"], &QUICK[..], more].concat()
}

#[test]
fn a_configuration_that_init_writes_trains() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    let text = std::fs::read_to_string(folder.path().join("run.toml")).unwrap();
    assert!(text.contains("# "), "it has comments");
    let output = thickset(folder.path(), &train(&["--json"]))
        .output()
        .unwrap();
    let summary: serde_json::Value = serde_json::from_str(&done(&output)).unwrap();
    assert!(summary["validation_auc"].as_f64().unwrap() > 0.9);
    assert_eq!(summary["epochs"], 4);
    let run = folder.path().join("runs/breast-cancer");
    for file in ["model.safetensors", "run.toml", "metrics.jsonl"] {
        assert!(run.join(file).is_file(), "{file}");
    }
    let model = run.join("model.safetensors").display().to_string();
    let shown = thickset(folder.path(), &["model", &model])
        .output()
        .unwrap();
    assert!(done(&shown).contains("malignant, benign"));
    // The resolved configuration is one that trains to the same model.
    let resolved = run.join("run.toml").display().to_string();
    let again = ["train", &resolved, "--out", "again"];
    done(&thickset(folder.path(), &again).output().unwrap());
    assert_eq!(
        std::fs::read(run.join("model.safetensors")).unwrap(),
        std::fs::read(folder.path().join("again/breast-cancer/model.safetensors")).unwrap()
    );
}

#[test]
fn init_describes_a_csv_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::from("age,income,job,default\n");
    for row in 0..60 {
        let job = ["a", "b", "c"][row % 3];
        let label = if (row * 7) % 10 < 5 { "yes" } else { "no" };
        let line = format!("{},{},{job},{label}\n", 20 + row, row * row);
        rows.push_str(&line);
    }
    std::fs::write(folder.path().join("my loans.csv"), rows).unwrap();
    let init = ["init", "--data", "my loans.csv", "--target", "default"];
    done(&thickset(folder.path(), &init).output().unwrap());
    let output = thickset(folder.path(), &train(&[])).output().unwrap();
    done(&output);
    assert!(
        folder
            .path()
            .join("runs/my-loans/model.safetensors")
            .is_file()
    );
    refused(
        &thickset(folder.path(), &init).output().unwrap(),
        "already exists",
    );
}

#[test]
fn a_run_that_is_killed_and_resumed_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    // Long enough that a kill nearly always comes before the end: 12 epochs of 25 steps.
    let long = ["--set", "train.batch=16", "--set", "train.epochs=12"];
    let with = |more: &[&'static str]| [&train(&long)[..], more].concat();
    done(
        &thickset(folder.path(), &with(&["--out", "whole"]))
            .output()
            .unwrap(),
    );
    let read = |out: &str, file: &str| {
        let run = folder.path().join(out).join("breast-cancer");
        std::fs::read(run.join(file)).unwrap()
    };
    // How many lines of progress are read before each kill; there are about 480.
    let plans: [(&str, &[usize]); 5] = [
        ("a", &[1]),
        ("b", &[4]),
        ("c", &[60, 3]),
        ("d", &[100, 1, 150]),
        ("e", &[400]),
    ];
    let (mut kills_made, mut kills_hit) = (0, 0);
    for (out, kills) in plans {
        let arguments = with(&["--out", out, "--resume", "--progress", "jsonl"]);
        for lines in kills {
            let mut child = thickset(folder.path(), &arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let progress = BufReader::new(child.stderr.take().unwrap());
            for line in progress.lines().take(*lines) {
                line.unwrap();
            }
            // It may have ended by itself, which is as good a moment as any.
            let _ = child.kill();
            kills_made += 1;
            kills_hit += usize::from(!child.wait().unwrap().success());
        }
        done(&thickset(folder.path(), &arguments).output().unwrap());
        for file in ["model.safetensors", "metrics.jsonl"] {
            assert!(
                read("whole", file) == read(out, file),
                "{file} after kills at {kills:?}"
            );
        }
    }
    eprintln!("{kills_hit} of {kills_made} kills came before the end");
}

#[test]
fn bad_configurations_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    let run = |more: &[&str]| thickset(folder.path(), &train(more)).output().unwrap();
    refused(&run(&["--set", "train.epochs"]), "cannot set");
    refused(&run(&["--set", "train.epoch=3"]), "epoch");
    refused(&run(&["--set", "objective.kind=r3et"]), "r3et");
    refused(&run(&["--set", "objective.gap_weight=-1"]), "gap_weight");
    refused(&run(&["--set", "k=30"]), "k must lie in 1..=29");
    refused(&run(&["--set", "data.source=nowhere.csv"]), "nowhere.csv");
    refused(&run(&["--from", "nowhere.safetensors"]), "nowhere");
    let text = std::fs::read_to_string(folder.path().join("run.toml")).unwrap();
    let broken = text.replace("epochs = 30", "epochs = \"many\"");
    std::fs::write(folder.path().join("broken.toml"), broken).unwrap();
    let output = thickset(folder.path(), &["train", "broken.toml"]);
    refused(&{ output }.output().unwrap(), "broken.toml:");
    assert!(!folder.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn a_run_is_not_overwritten_unless_it_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    done(&thickset(folder.path(), &train(&[])).output().unwrap());
    let again = thickset(folder.path(), &train(&[])).output().unwrap();
    refused(&again, "--resume");
    let other = train(&["--resume", "--set", "seed=1"]);
    refused(
        &thickset(folder.path(), &other).output().unwrap(),
        "the configuration has changed",
    );
    done(
        &thickset(folder.path(), &train(&["--resume"]))
            .output()
            .unwrap(),
    );
}
