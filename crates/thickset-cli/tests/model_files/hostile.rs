//! Descriptions that are not those of their weights, or of any model.

use std::path::Path;

use thickset::Seed;
use thickset::data::InputShape;
use thickset::model::{Model, ModelConfig};

use super::{refused, replaced, show, sound};

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

/// A model file with this description; its tensors are those of a linear model of three features.
fn described(path: &Path, description: &str) {
    let source = sound_linear();
    std::fs::write(path, source.to_file(description)).unwrap();
}

fn sound_linear() -> thickset_engine::Network {
    let model = ModelConfig::Linear(thickset::model::LinearConfig::default());
    let classes = vec!["no".to_owned(), "yes".to_owned()];
    let model = Model::fresh(model, InputShape::Table, 3, classes, None, Seed::new(1));
    model.unwrap().network
}

/// A description with this encoding of one column, as JSON.
fn with_columns(columns: &str) -> String {
    format!(
        r#"{{"format":1,"model":{{"kind":"linear"}},"input":{{"kind":"table"}},"features":3,"classes":["no","yes"],
            "encoding":{{"read":{{}},"target":{{"column":"y","class":[{{"name":"no"}},{{"name":"yes"}}]}},
            "columns":[{columns}]}}}}"#
    )
}

fn number(column: &str, fields: &str) -> String {
    let mut all = serde_json::json!({
        "kind": "number", "column": column, "name": column, "low": "0", "high": "1", "clip": true, "offset": "0",
        "factor": "1", "impute": "0", "indicator": false, "integer": false, "immutable": false,
    });
    let changed: serde_json::Value = serde_json::from_str(fields).unwrap();
    for (name, value) in changed.as_object().unwrap() {
        all[name] = value.clone();
    }
    all.to_string()
}

#[test]
fn a_hostile_encoding_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let flag = r#"{"kind":"flag","column":"f","on":["a"]}"#;
    let category = |rest: &str| format!(r#"{{"kind":"category","column":"c",{rest}}}"#);
    let two = category(r#""group":[{"name":"a"},{"name":"b"}]"#);
    described(&path, &with_columns(&format!("{flag},{two}")));
    assert_eq!(show(&path).status.code(), Some(0), "a sound one is taken");
    let sound = number("n", "{}");
    for (columns, sentence) in [
        (
            flag.replace(r#"["a"]"#, "[]"),
            "the flag `f` lists no value in `on`",
        ),
        (category(r#""group":[]"#), "the category `c` has no group"),
        (
            category(r#""unseen":"other","other":"z","group":[{"name":"a"}]"#),
            "`other` = one of its groups",
        ),
        (
            number("n", r#"{"low":"NaN"}"#),
            "the range of `n` must be two ascending numbers, got [NaN, 1]",
        ),
        (
            number("n", r#"{"low":"2"}"#),
            "the range of `n` must be two ascending numbers, got [2, 1]",
        ),
        (
            number("n", r#"{"high":"inf"}"#),
            "the range of `n` must be two ascending numbers, got [0, inf]",
        ),
        (
            number("n", r#"{"offset":"-inf"}"#),
            "must be a finite offset and a positive factor",
        ),
        (
            number("n", r#"{"factor":"0"}"#),
            "must be a finite offset and a positive factor",
        ),
        (
            number("n", r#"{"factor":"1e-300"}"#),
            "too wide for single precision",
        ),
        (
            number("n", r#"{"impute":"NaN"}"#),
            "what stands in for a missing `n` must be a number",
        ),
        (
            format!("{sound},{sound}"),
            "column `n` must be encoded once",
        ),
        (
            number("y", "{}"),
            "column `y` must be encoded once, and not be the target",
        ),
        (
            sound.clone(),
            "the encoding gives 1 features, the model takes 3",
        ),
    ] {
        described(&path, &with_columns(&columns));
        refused(&path, sentence);
    }
    let other_classes = with_columns(&format!("{flag},{two}"))
        .replace(r#""classes":["no","yes"]"#, r#""classes":["no","maybe"]"#);
    described(&path, &other_classes);
    refused(&path, "other classes than the model");
}

#[test]
fn a_hostile_input_shape_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    for (model, input, features, sentence) in [
        (
            "cnn",
            // 44 times this width is 16 in 64 bits.
            r#"{"kind":"image","channels":1,"height":44,"width":13415813871788764812}"#,
            16_u64,
            "a row of 16 features is not images of",
        ),
        ("linear", r#"{"kind":"table"}"#, 0, "a row of 0 features"),
        (
            "linear",
            r#"{"kind":"graph","nodes":0}"#,
            0,
            "a row of 0 features",
        ),
        (
            "linear",
            r#"{"kind":"pair","of":{"kind":"graph","nodes":4}}"#,
            6,
            "a row of 6 features is not pairs of graphs of 4 nodes",
        ),
        (
            "cnn",
            r#"{"kind":"image","channels":1,"height":65536,"width":65536}"#,
            4_294_967_296,
            "must be at most 2147483647 numbers",
        ),
    ] {
        let description = format!(
            r#"{{"format":1,"model":{{"kind":"{model}"}},"input":{input},"features":{features},"classes":["no","yes"],"encoding":null}}"#
        );
        described(&path, &description);
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

/// What the command says of a small file that names layers of millions of numbers, where it gets a gigabyte of addresses.
#[cfg(target_os = "linux")]
#[test]
fn a_small_file_of_a_wide_network_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.onnx");
    std::fs::write(&path, include_bytes!("wide_convolution.onnx")).unwrap();
    let command = format!(
        "ulimit -v 1000000; exec '{}' model wide.onnx",
        env!("CARGO_BIN_EXE_thickset")
    );
    // Addresses that an allocator sets aside for each thread are no memory.
    let output = std::process::Command::new("sh")
        .current_dir(folder.path())
        .env("MALLOC_ARENA_MAX", "1")
        .args(["-c", &command])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("to be tried"), "{told}");
}
