//! Broken model files end with exit code 2 and a sentence, never a panic.

mod hostile;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use thickset::Seed;
use thickset::data::InputShape;
use thickset::model::{MlpConfig, Model, ModelConfig};

fn sound(folder: &Path) -> PathBuf {
    let path = folder.join("model.safetensors");
    let config = MlpConfig {
        hidden: vec![5, 4],
        ..MlpConfig::default()
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

fn explain(model: &Path, data: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thickset"));
    command.args(["explain", "--part", "all", "--limit", "9", "--model"]);
    command.arg(model).arg("--data").arg(data).output().unwrap()
}

#[test]
fn rows_of_as_many_features_but_another_shape_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (images, labels) = (
        folder.path().join("a-images-idx3-ubyte"),
        folder.path().join("a-labels-idx1-ubyte"),
    );
    let mut bytes = vec![0, 0, 8, 3];
    bytes.extend([20_u32, 2, 8].iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend((0..=250).cycle().take(20 * 16));
    std::fs::write(&images, bytes).unwrap();
    let mut bytes = vec![0, 0, 8, 1, 0, 0, 0, 20];
    bytes.extend((0..20).map(|row| row % 2));
    std::fs::write(&labels, bytes).unwrap();
    let model_of = |height, width| {
        let path = folder.path().join("model.safetensors");
        let model = ModelConfig::Linear(thickset::model::LinearConfig::default());
        let shape = InputShape::Image {
            channels: 1,
            height,
            width,
        };
        let classes = vec!["0".to_owned(), "1".to_owned()];
        let model = Model::fresh(model, shape, 16, classes, None, Seed::new(1)).unwrap();
        model.save(&path).unwrap();
        path
    };
    let output = explain(&model_of(2, 8), &images);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = explain(&model_of(4, 4), &images);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("holds images of 1 x 2 x 8, the model takes images of 1 x 4 x 4"),
        "{message}"
    );
}

#[test]
fn unseen_and_missing_values_of_new_rows_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..60)
        .map(|row| {
            let town = ["north", "south"][row / 3 % 2];
            format!("{}.5,{town},{}\n", row * 7 % 31, row % 2)
        })
        .collect();
    let data = folder.path().join("a.csv");
    std::fs::write(&data, format!("n,town,y\n{}", rows.concat())).unwrap();
    let options = thickset::data::OpenOptions::default();
    let dataset = thickset::data::open(data.to_str().unwrap(), &options).unwrap();
    let path = folder.path().join("model.safetensors");
    let model = Model::fresh(
        ModelConfig::Linear(thickset::model::LinearConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding,
        Seed::new(1),
    );
    model.unwrap().save(&path).unwrap();
    let new = folder.path().join("new.csv");
    std::fs::write(&new, "n,town\n1,west\n2,\n,north\n,south\n").unwrap();
    let output = explain(&path, &new);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{message}");
    for line in [
        "1 row has a `town` that is none of the model's categories",
        "1 row has no `town`",
        "2 rows have no `n`",
    ] {
        assert!(message.contains(line), "`{line}` is not in: {message}");
    }
}
