//! Broken model files end with exit code 2 and a sentence, never a panic.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use thickset::Seed;
use thickset::data::InputShape;
use thickset::model::{Model, ModelConfig, mlp};

fn sound(folder: &Path) -> PathBuf {
    let path = folder.join("model.safetensors");
    let config = mlp::Config {
        hidden: vec![5, 4],
        ..mlp::Config::default()
    };
    let classes = vec!["no".to_owned(), "yes".to_owned()];
    let model = ModelConfig::Mlp(config);
    Model::fresh(model, InputShape::Table, 3, classes, None, Seed::new(1))
        .unwrap()
        .save(&path)
        .unwrap();
    path
}

fn show(path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_thickset"))
        .arg("model")
        .arg(path)
        .output()
        .unwrap()
}

fn refused(path: &Path, sentence: &str) {
    let output = show(path);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("error: "), "{message}");
    assert!(
        message.contains(sentence),
        "expected `{sentence}` in: {message}"
    );
    assert!(!message.contains("panicked"), "{message}");
}

/// The file's bytes with one text replaced by another of the same length.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let place = bytes
        .windows(from.len())
        .position(|part| part == from.as_bytes())
        .unwrap();
    let mut bytes = bytes.to_vec();
    bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
    bytes
}

#[test]
fn a_sound_model_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let output = show(&sound(folder.path()));
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("model    mlp"), "{text}");
    assert!(text.contains("layers.4.weight"), "{text}");
    assert!(text.contains("no, yes"), "{text}");
}

#[test]
fn a_missing_file_names_itself() {
    refused(
        Path::new("no/such/model.safetensors"),
        "no/such/model.safetensors",
    );
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sound(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    for length in [0, 1, 7, 8, 9, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        refused(&path, "not a complete safetensors file");
    }
}

#[test]
fn trailing_bytes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sound(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([0; 16]);
    std::fs::write(&path, bytes).unwrap();
    refused(&path, "not a complete safetensors file");
}

#[test]
fn a_header_that_claims_an_enormous_length_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sound(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    for claim in [u64::MAX, 1 << 40] {
        bytes[..8].copy_from_slice(&claim.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        refused(&path, "not a complete safetensors file");
    }
}

#[test]
fn an_oversized_file_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.safetensors");
    let file = std::fs::File::create(&path).unwrap();
    // Sparse: it takes no room on the disk.
    file.set_len(thickset_engine::MAX_FILE_BYTES + 1).unwrap();
    refused(&path, "more than the");
}

#[test]
fn nan_and_infinite_weights_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sound(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    for value in [f32::NAN, f32::INFINITY] {
        let mut bytes = bytes.clone();
        let last = bytes.len() - 4;
        bytes[last..].copy_from_slice(&value.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        refused(&path, "weights must be finite");
    }
}

#[test]
fn a_file_whose_architecture_is_not_that_of_its_tensors_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sound(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    for (from, to, sentence) in [
        (
            "\\\"hidden\\\":[5,4]",
            "\\\"hidden\\\":[6,4]",
            "must have shape [6, 3], got [5, 3]",
        ),
        (
            "\\\"hidden\\\":[5,4]",
            "\\\"hidden\\\":[5]  ",
            "`layers.2.weight` must have shape [2, 5]",
        ),
        (
            "\\\"hidden\\\":[5,4]",
            "\\\"hidden\\\":[0,4]",
            "`hidden` must be in 1..=1048576, got 0",
        ),
        (
            "\\\"features\\\":3",
            "\\\"features\\\":9",
            "must have shape [5, 9]",
        ),
        (
            "\\\"kind\\\":\\\"mlp\\\"",
            "\\\"kind\\\":\\\"cnn\\\"",
            "model `cnn` takes images, got a table",
        ),
        (
            "\\\"format\\\":1",
            "\\\"format\\\":7",
            "has model format 7, this release reads 1",
        ),
        (
            "layers.4.weight",
            "layers.9.weight",
            "`layers.4.weight` is missing",
        ),
        ("\"thickset\"", "\"thinset_\"", "has no `thickset` entry"),
    ] {
        std::fs::write(&path, replaced(&bytes, from, to)).unwrap();
        refused(&path, sentence);
    }
}

#[test]
fn another_element_type_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sound(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, replaced(&bytes, "\"F32\"", "\"I32\"")).unwrap();
    refused(&path, "must hold F32 or F64");
}

#[test]
fn saving_leaves_nothing_but_the_model() {
    let folder = tempfile::tempdir().unwrap();
    sound(folder.path());
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["model.safetensors"]);
}

#[test]
fn saved_and_loaded_and_saved_again_the_bytes_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = sound(folder.path());
    let again = folder.path().join("again.safetensors");
    Model::load(&path).unwrap().save(&again).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), std::fs::read(again).unwrap());
}
