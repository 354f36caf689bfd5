//! Files that are broken or made to do harm: refused, and nothing outside of their folder is opened.

use std::path::Path;

use super::{described, files, shared};
use thickset::onnx::{self, OnnxOptions};

fn refusal(path: &Path) -> Option<String> {
    onnx::open(path, &OnnxOptions::default())
        .err()
        .map(|error| described(&error))
}

#[test]
fn broken_and_malicious_files_are_refused() {
    let Some(shared) = shared() else { return };
    for path in files(&shared.join("hostile")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let refused = refusal(&path);
        eprintln!("{name}: {refused:?}");
        match name.as_str() {
            "good.onnx" => assert_eq!(refused, None),
            "unsorted.onnx" => {}
            "external_escape.onnx" => {
                assert!(refused.unwrap().contains("outside of the model's folder"));
            }
            _ => assert!(refused.is_some(), "{name} must be refused"),
        }
    }
}

#[test]
fn every_prefix_and_every_changed_byte_of_a_file_is_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/onnx");
    let path = files(&folder)
        .into_iter()
        .min_by_key(|path| path.metadata().unwrap().len())
        .unwrap();
    let bytes = std::fs::read(path).unwrap();
    for end in 0..bytes.len() {
        let _ = onnx::parse(&bytes[..end], "prefix", &OnnxOptions::default());
    }
    for place in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[place] ^= change;
            let _ = onnx::parse(&changed, "changed", &OnnxOptions::default());
        }
    }
}

#[test]
fn a_model_in_memory_does_not_open_other_files() {
    let Some(shared) = shared() else { return };
    let bytes = std::fs::read(shared.join("torch/cnn_dynamo.onnx")).unwrap();
    let refused = onnx::parse(&bytes, "bytes", &OnnxOptions::default()).unwrap_err();
    assert!(
        described(&refused).contains("lie in another file"),
        "{}",
        described(&refused)
    );
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let Some(shared) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("cnn_dynamo.onnx");
    std::fs::copy(shared.join("torch/cnn_dynamo.onnx"), &model).unwrap();
    let weights = shared
        .join("torch/cnn_dynamo.onnx.data")
        .canonicalize()
        .unwrap();
    std::os::unix::fs::symlink(&weights, folder.path().join("cnn_dynamo.onnx.data")).unwrap();
    assert!(
        refusal(&model)
            .unwrap()
            .contains("outside of the model's folder")
    );
}
