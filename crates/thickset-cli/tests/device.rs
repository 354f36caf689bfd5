//! `--device gpu`: computed there, or refused with the reason.

use std::path::Path;
use std::process::{Command, Output};

fn thickset(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thickset"));
    command.current_dir(folder).args(arguments);
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    thickset(folder, arguments).output().unwrap()
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

/// A training of a moment on a bundled table.
const TRAIN: [&str; 15] = [
    "train",
    "--data",
    "breast-cancer",
    "--set",
    "name=test",
    "--set",
    "model={ kind = \"mlp\", hidden = [6] }",
    "--set",
    "train.epochs=1",
    "--set",
    "train.batch=256",
    "--set",
    "probe.rows=4",
    "--set",
    "probe.steps=2",
];
const MODEL: [&str; 6] = [
    "--model",
    "runs/test/model.safetensors",
    "--data",
    "breast-cancer",
    "--max-rows",
    "3",
];
const GPU: [&str; 2] = ["--device", "gpu"];

fn with_model<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command], &MODEL[..], more].concat()
}

/// What is asked of a model on the GPU.
fn questions() -> Vec<Vec<&'static str>> {
    vec![
        with_model("explain", &GPU),
        with_model(
            "attack",
            &[&["--method", "er-attack", "--steps", "2"], &GPU[..]].concat(),
        ),
        with_model(
            "audit",
            &[&["--effort", "quick", "--out", "audited"], &GPU[..]].concat(),
        ),
    ]
}

#[test]
#[cfg(not(feature = "gpu"))]
fn a_build_without_a_gpu_says_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let missing = "cargo build --release --features gpu";
    refused(&run(folder.path(), &[&TRAIN[..], &GPU].concat()), missing);
    assert!(!folder.path().join("runs").exists(), "nothing was begun");
    done(&run(
        folder.path(),
        &[&TRAIN[..], &["--device", "cpu"]].concat(),
    ));
    for question in questions() {
        refused(&run(folder.path(), &question), missing);
    }
}

#[test]
#[cfg(feature = "gpu")]
fn networks_train_and_answer_on_the_gpu() {
    let folder = tempfile::tempdir().unwrap();
    if let Err(error) = thickset::DeviceKind::Gpu.open() {
        refused(
            &run(folder.path(), &[&TRAIN[..], &GPU].concat()),
            "no GPU was found",
        );
        eprintln!("skipped: {error}");
        return;
    }
    done(&run(folder.path(), &[&TRAIN[..], &GPU].concat()));
    let config = std::fs::read_to_string(folder.path().join("runs/test/run.toml")).unwrap();
    assert!(config.contains("device = \"gpu\""), "{config}");
    for question in questions() {
        done(&run(folder.path(), &question));
    }
    let audit = std::fs::read_to_string(folder.path().join("audited/audit.json")).unwrap();
    assert!(audit.contains("\"instruction_set\":\"gpu\""), "{audit}");
}

#[test]
#[cfg(all(feature = "gpu", target_os = "linux"))]
fn a_machine_without_an_adapter_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = thickset(folder.path(), &[&TRAIN[..], &GPU].concat());
    // The loaders of both graphics interfaces find no driver.
    for variable in [
        "VK_DRIVER_FILES",
        "VK_ICD_FILENAMES",
        "__EGL_VENDOR_LIBRARY_FILENAMES",
    ] {
        command.env(variable, "/nonexistent");
    }
    refused(&command.output().unwrap(), "no GPU was found");
    assert!(!folder.path().join("runs").exists(), "nothing was begun");
}
