//! What we write, as onnxruntime computes it: every architecture, raw columns with texts and missing values, and layers of other
//! frameworks written again.
//!
//! `tests/golden/onnx_export/make.py` has each file written (`THICKSET_WRITE_EXPORTS=FOLDER`), checks it with `onnx.checker` and
//! runs it; what it computed is kept. Here the same files are made again: the kept hash of the graph shows that they are
//! those, and our probabilities must be the kept ones.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use thickset::data::{self, ColumnEncoding, OpenOptions};
use thickset::model::{Gate, Model, SegmentedConfig};
use thickset::onnx::{self, ExportOptions, OnnxOptions, RawInput};
use thickset::{Dataset, Rows, Seed};
use thickset_engine::TensorData;

use super::round_trip::architectures;
use super::{files, golden, inputs, npz};

/// How far probabilities may be from onnxruntime's.
const PROBABILITY: f64 = 1e-5;

/// A file, what goes in, and what we say comes out.
struct Export {
    name: String,
    bytes: Vec<u8>,
    inputs: Vec<(String, RawInput, Vec<usize>)>,
    classes: Vec<String>,
    probabilities: Vec<f64>,
}

/// Weights of exact arithmetic alone, so that they are the same on every machine.
fn plain_weights(model: &mut Model) {
    let mut stream = Seed::new(5).stream("weights");
    let names: Vec<(String, Vec<usize>)> = model
        .network
        .parameters()
        .into_iter()
        .map(|parameter| (parameter.name.clone(), parameter.shape.clone()))
        .collect();
    let values = model.network.parameter_values();
    let drawn = names.iter().zip(values).map(|((name, shape), old)| {
        let read: usize = shape.iter().skip(1).product();
        #[expect(clippy::cast_precision_loss, reason = "sizes")]
        let bound = (3.0 / read.max(1) as f64).sqrt();
        let is_size =
            name.ends_with("running_var") || (shape.len() == 1 && name.ends_with("weight"));
        let draw = |_| {
            let u = stream.uniform();
            #[expect(clippy::cast_possible_truncation, reason = "weights")]
            let value = if is_size {
                0.5 + u
            } else {
                bound * (2.0 * u - 1.0)
            } as f32;
            value
        };
        let values: Vec<f32> = (0..old.num_elements()).map(draw).collect();
        TensorData::new(values, *old.shape())
    });
    let drawn: Vec<TensorData> = drawn.collect();
    model.network.set_parameter_values(&drawn).unwrap();
}

fn rows(count: usize) -> Vec<f32> {
    let mut stream = Seed::new(1).stream("rows");
    #[expect(clippy::cast_possible_truncation, reason = "rows")]
    let draw = |_| stream.uniform() as f32;
    (0..count).map(draw).collect()
}

fn probabilities(model: &Model, values: &[f32]) -> Vec<f64> {
    let rows = Rows::new(values, model.schema()).unwrap();
    let predicted = model.predict(&rows).unwrap();
    predicted
        .into_iter()
        .flat_map(|one| one.probabilities)
        .collect()
}

/// One matrix, or an image, goes in.
fn of_matrix(name: &str, model: &Model, options: ExportOptions) -> Export {
    const ROWS: usize = 3;
    let features = model.description.features;
    let values = rows(ROWS * features);
    let shape = match model.description.input {
        data::InputShape::Image {
            channels,
            height,
            width,
        } => vec![channels, height, width],
        _ => vec![features],
    };
    let numbers = values.iter().map(|&value| f64::from(value)).collect();
    Export {
        name: name.to_owned(),
        bytes: model.to_onnx(options).unwrap(),
        inputs: vec![("input".to_owned(), RawInput::Numbers(numbers), shape)],
        classes: model.classes().to_vec(),
        probabilities: probabilities(model, &values),
    }
}

/// Numbers with and without missing values, a column of two sides, categories with a missing one and with rare ones.
const TABLE: &str = "age,income,member,job,town,bad\n\
    25,1200.5,yes,baker,Ulm,no\n34,,no,cook,Bonn,yes\n61,3100,yes,,Ulm,no\n47,2800.25,no,baker,Köln,yes\n\
    52,4100,yes,clerk,Bonn,no\n29,1500,no,cook,Ulm,yes\n38,,yes,baker,Köln,no\n44,2250,no,clerk,Bonn,yes\n\
    57,3900,yes,cook,,no\n31,1750.75,no,baker,Ulm,yes\n49,3300,yes,clerk,Köln,no\n36,2050,no,cook,Bonn,yes\n";

/// Further rows: a town that nobody knows, a missing member, everything missing that may be.
const NEW_ROWS: &str = "age,income,member,job,town\n40,2000,yes,baker,Mainz\n41,,,cook,Ulm\n70,9999,no,,\n18,0,yes,clerk,Bonn\n";

fn dataset(text: &str) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, text).unwrap();
    let options = OpenOptions {
        target: Some("bad".to_owned()),
        ..OpenOptions::default()
    };
    data::open(&path.display().to_string(), &options).unwrap()
}

/// One input a column.
fn of_columns(name: &str, model: &Model, text: &str) -> Export {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, text).unwrap();
    let encoding = model.description.encoding.as_ref().unwrap();
    let values = data::read_encoded(&path, encoding).unwrap().values;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let cells: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let column = |column: &ColumnEncoding| {
        let place = header
            .iter()
            .position(|name| *name == column.name())
            .unwrap();
        let texts = cells.iter().map(|row| row[place]);
        let input = if matches!(column, ColumnEncoding::Number(_)) {
            RawInput::Numbers(texts.map(|text| text.parse().unwrap_or(f64::NAN)).collect())
        } else {
            RawInput::Texts(texts.map(str::to_owned).collect())
        };
        (column.name().to_owned(), input, vec![1])
    };
    Export {
        name: name.to_owned(),
        bytes: model.to_onnx(ExportOptions::default()).unwrap(),
        inputs: encoding.columns.iter().map(column).collect(),
        classes: model.classes().to_vec(),
        probabilities: probabilities(model, &values),
    }
}

/// A graph of another framework, read and written again.
fn written_again(path: &Path) -> Option<Export> {
    let imported = onnx::open(path, &OnnxOptions::default()).unwrap();
    if imported.model.network.dtype() != thickset_engine::DType::F32 {
        return None;
    }
    let arrays = npz::read(&path.with_extension("npz"));
    let given = inputs(&imported, &arrays);
    let values = imported.encode(&given).unwrap();
    let options = ExportOptions { encoded: true };
    let stem = path.file_stem().unwrap().to_string_lossy();
    let features = imported.model.description.features;
    let shape = match imported.model.description.input {
        data::InputShape::Image {
            channels,
            height,
            width,
        } => vec![channels, height, width],
        _ => vec![features],
    };
    let numbers = values.iter().map(|&value| f64::from(value)).collect();
    Some(Export {
        name: format!("again {stem}"),
        bytes: imported.model.to_onnx(options).unwrap(),
        inputs: vec![("input".to_owned(), RawInput::Numbers(numbers), shape)],
        classes: imported.model.classes().to_vec(),
        probabilities: probabilities(&imported.model, &values),
    })
}

fn exports() -> Vec<Export> {
    let mut exports = Vec::new();
    for (name, config, input, features) in architectures() {
        let classes = ["no", "yes"].map(str::to_owned).to_vec();
        let mut model = Model::fresh(config, input, features, classes, None, Seed::new(3)).unwrap();
        plain_weights(&mut model);
        exports.push(of_matrix(name, &model, ExportOptions::default()));
    }
    let data = dataset(TABLE);
    let segmented = |gate| SegmentedConfig {
        gate,
        prototypes: Some(3),
        ..SegmentedConfig::default()
    };
    let configs = [
        ("columns mlp", thickset::model::MlpConfig::default().into()),
        ("columns segmented", segmented(Gate::Argmax).into()),
        (
            "columns sparsemax",
            segmented(Gate::Sparsemax { delta: 0.4 }).into(),
        ),
    ];
    for (name, config) in configs {
        let mut model = Model::for_dataset(config, &data, Seed::new(3)).unwrap();
        if name == "columns mlp" {
            plain_weights(&mut model);
            exports.push(of_matrix(
                "encoded mlp",
                &model,
                ExportOptions { encoded: true },
            ));
        } else {
            gated_weights(&mut model);
        }
        exports.push(of_columns(name, &model, TABLE));
        exports.push(of_columns(&format!("{name}, new rows"), &model, NEW_ROWS));
    }
    exports.extend(
        files(&golden())
            .iter()
            .filter_map(|path| written_again(path)),
    );
    exports
}

/// Only the maps: which segment a row lies in was learned from the rows.
fn gated_weights(model: &mut Model) {
    let mut stream = Seed::new(5).stream("maps");
    let names: Vec<String> = model
        .network
        .parameters()
        .iter()
        .map(|one| one.name.clone())
        .collect();
    let values = model.network.parameter_values();
    let drawn = names.iter().zip(values).map(|(name, old)| {
        if name.contains("score") {
            return old;
        }
        #[expect(clippy::cast_possible_truncation, reason = "weights")]
        let draw = |_| (stream.uniform() * 2.0 - 1.0) as f32;
        let values: Vec<f32> = (0..old.num_elements()).map(draw).collect();
        TensorData::new(values, *old.shape())
    });
    let drawn: Vec<TensorData> = drawn.collect();
    model.network.set_parameter_values(&drawn).unwrap();
}

/// The hash of the graph's nodes and constants, which stands in the file.
fn graph_hash(bytes: &[u8]) -> String {
    let key = b"thickset.graph";
    let place = bytes
        .windows(key.len())
        .rposition(|part| part == key)
        .unwrap();
    // The key, the tag of the value and its length, then 64 digits.
    let start = place + key.len() + 2;
    String::from_utf8(bytes[start..start + 64].to_vec()).unwrap()
}

fn described(export: &Export) -> Value {
    let inputs: Vec<Value> = export
        .inputs
        .iter()
        .map(|(name, input, shape)| match input {
            RawInput::Numbers(values) => {
                let values: Vec<Option<f64>> = values
                    .iter()
                    .map(|value| (!value.is_nan()).then_some(*value))
                    .collect();
                json!({ "name": name, "shape": shape, "numbers": values })
            }
            RawInput::Texts(values) => json!({ "name": name, "shape": shape, "texts": values }),
        })
        .collect();
    json!({
        "name": export.name,
        "graph": graph_hash(&export.bytes),
        "classes": export.classes,
        "inputs": inputs,
        "probabilities": export.probabilities,
    })
}

#[test]
fn what_we_write_is_what_onnxruntime_computes() {
    let exports = exports();
    if let Some(folder) = std::env::var_os("THICKSET_WRITE_EXPORTS") {
        let folder = Path::new(&folder);
        for (number, export) in exports.iter().enumerate() {
            std::fs::write(folder.join(format!("{number}.onnx")), &export.bytes).unwrap();
            let text = serde_json::to_string(&described(export)).unwrap();
            std::fs::write(folder.join(format!("{number}.json")), text).unwrap();
        }
        return;
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/onnx_export/outputs.json");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    let kept: BTreeMap<&str, &Value> = kept["exports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one))
        .collect();
    assert_eq!(kept.len(), exports.len(), "run make.py again");
    for export in &exports {
        let name = export.name.as_str();
        let kept = kept
            .get(name)
            .unwrap_or_else(|| panic!("{name}: run make.py again"));
        assert_eq!(
            kept["graph"].as_str(),
            Some(graph_hash(&export.bytes).as_str()),
            "{name}: other operators are written than onnxruntime was given; run make.py again"
        );
        let theirs: Vec<f64> = kept["probabilities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p.as_f64().unwrap())
            .collect();
        assert_eq!(theirs.len(), export.probabilities.len(), "{name}");
        for (ours, theirs) in export.probabilities.iter().zip(&theirs) {
            assert!(
                (ours - theirs).abs() <= PROBABILITY,
                "{name}: {ours} and {theirs}"
            );
        }
    }
}
