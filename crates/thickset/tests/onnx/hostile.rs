//! Files that are broken or made to do harm: refused, and nothing outside of their folder is opened.

use std::path::Path;

use super::made_up::{self, Attribute, floats, list, node, node_with, value};
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

/// `y` of the four columns `x`, by the nodes before, which make `x2`.
fn small(nodes: &[Vec<u8>], constants: &[Vec<u8>]) -> Vec<u8> {
    let mut nodes = nodes.to_vec();
    nodes.push(node("MatMul", &["x2", "W"], &["y"]));
    let mut constants = constants.to_vec();
    constants.push(floats("W", &[4, 3], &[0.5; 12]));
    made_up::model(&nodes, &constants, &[value("x", 1, &[4])])
}

fn parsed(bytes: &[u8]) -> Result<onnx::Imported, String> {
    let parsed = onnx::parse(bytes, "made up", &OnnxOptions::default());
    parsed.map_err(|error| described(&error))
}

fn assert_refused(what: &str, bytes: &[u8], reason: &str) {
    match parsed(bytes) {
        Ok(_) => panic!("{what} is read"),
        Err(text) => assert!(text.contains(reason) && text.len() < 5000, "{what}: {text}"),
    }
}

#[test]
fn sizes_that_cannot_be_counted_are_refused() {
    let huge = 1_i64 << 40;
    for dims in [
        &[huge, huge][..],
        &[huge, huge, 0],
        &[0, 1 << 62, 1 << 62],
        &[-4, -3],
        &[i64::MAX],
        &[4, 0],
    ] {
        let bytes = made_up::model(
            &[node("MatMul", &["x", "V"], &["y"])],
            &[floats("V", dims, &[0.0; 12])],
            &[value("x", 1, &[4])],
        );
        assert!(parsed(&bytes).is_err(), "{dims:?}");
    }
}

#[test]
fn a_small_file_makes_no_large_constants() {
    let sum = |kind: &str, inputs: &[&str]| {
        [
            node(kind, inputs, &["k"]),
            node("ReduceSum", &["k"], &["r"]),
            node("Add", &["x", "r"], &["x2"]),
        ]
    };
    let one = floats("one", &[1], &[1.0]);
    for size in [1_i64 << 26, 1 << 31, 1 << 62] {
        let constants = [list("s", &[size]), one.clone()];
        for (kind, inputs) in [
            ("ConstantOfShape", &["s"][..]),
            ("Expand", &["one", "s"]),
            ("Tile", &["one", "s"]),
        ] {
            assert_refused(kind, &small(&sum(kind, inputs), &constants), "numbers");
        }
    }
    let zero = [list("s", &[1 << 62, 1 << 62, 0])];
    assert_refused(
        "no number of too many sizes",
        &small(&sum("ConstantOfShape", &["s"]), &zero),
        "numbers",
    );
    // Each of them is small enough, all of them together are not.
    let mut nodes = Vec::new();
    for place in 0..40 {
        let name = format!("a{place}");
        let before = if place == 0 {
            "one".to_owned()
        } else {
            format!("a{}", place - 1)
        };
        let axis = [("axis", Attribute::Int(0))];
        nodes.push(node_with("Concat", &[&before, &before], &[&name], &axis));
    }
    nodes.push(node("ReduceSum", &["a39"], &["r"]));
    nodes.push(node("Add", &["x", "r"], &["x2"]));
    assert_refused("doubled 40 times", &small(&nodes, &[one]), "numbers");
}

#[test]
fn reading_the_same_large_constant_again_and_again_is_refused() {
    let mut nodes = vec![node("Expand", &["one", "s"], &["k"])];
    let names: Vec<String> = (0..3000).map(|place| format!("r{place}")).collect();
    let no_axes = [("keepdims", Attribute::Int(0))];
    for name in &names {
        nodes.push(node_with("ReduceSum", &["k"], &[name], &no_axes));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    nodes.push(node("Sum", &names, &["r"]));
    nodes.push(node("Add", &["x", "r"], &["x2"]));
    let constants = [list("s", &[1 << 20]), floats("one", &[1], &[1.0])];
    assert_refused("3000 sums", &small(&nodes, &constants), "steps");
}

#[test]
fn tensors_and_columns_are_not_repeated_without_end() {
    for start in ["Identity", "Relu"] {
        for size in [1_i64 << 20, 1 << 40, i64::MAX] {
            let nodes = [
                node(start, &["x"], &["b"]),
                node("Tile", &["b", "t"], &["x2"]),
            ];
            let bytes = small(&nodes, &[list("t", &[1, size])]);
            assert!(parsed(&bytes).is_err(), "{start} {size}");
        }
    }
    for pads in [
        [0, i64::MIN, 0, i64::MAX],
        [0, i64::MIN, 0, 0],
        [0, 0, 0, 1 << 40],
    ] {
        let nodes = [node("Pad", &["x", "p"], &["x2"])];
        assert_refused("Pad", &small(&nodes, &[list("p", &pads)]), "padding");
    }
    let wide = made_up::model(
        &[node("MatMul", &["x", "W"], &["y"])],
        &[floats("W", &[4, 3], &[0.5; 12])],
        &[value("x", 1, &[1 << 22])],
    );
    assert_refused("four million columns", &wide, "columns");
}

#[test]
fn windows_beyond_any_image_are_refused() {
    let large = [1_i64 << 62; 4];
    for (name, value) in [
        ("strides", Attribute::Ints(&large[..2])),
        ("dilations", Attribute::Ints(&large[..2])),
        ("pads", Attribute::Ints(&large)),
        ("group", Attribute::Int(i64::MIN)),
    ] {
        for (operator, kind) in [
            ("Conv", &[2, 1, 3, 3][..]),
            ("ConvTranspose", &[1, 2, 3, 3]),
        ] {
            let same = ("auto_pad", Attribute::Text("SAME_UPPER"));
            for attributes in [&[(name, value.clone())][..], &[(name, value.clone()), same]] {
                let nodes = [
                    node_with(operator, &["x", "K"], &["k"], attributes),
                    node("GlobalAveragePool", &["k"], &["p"]),
                    node("Flatten", &["p"], &["y"]),
                ];
                let kernel = floats("K", kind, &[1.0; 18]);
                let bytes =
                    made_up::model(&nodes, &[kernel], &[made_up::value("x", 1, &[1, 8, 8])]);
                let is_whole = name == "pads" && attributes.len() == 2;
                assert!(parsed(&bytes).is_err() || is_whole, "{operator} {name}");
            }
        }
    }
}

#[test]
fn chains_of_many_nodes_are_read_or_refused() {
    let chain = |operator: &str, length: usize| {
        let names: Vec<String> = (0..=length).map(|place| format!("a{place}")).collect();
        let mut nodes = vec![node("MatMul", &["x", "V"], &["a0"])];
        for pair in names.windows(2) {
            nodes.push(match operator {
                "Relu" => node("Relu", &[&pair[0]], &[&pair[1]]),
                other => node(other, &[&pair[0], "one"], &[&pair[1]]),
            });
        }
        nodes.push(node("Identity", &[&names[length]], &["x2"]));
        let constants = [
            floats("V", &[4, 4], &[0.1; 16]),
            floats("one", &[4], &[1.0; 4]),
        ];
        small(&nodes, &constants)
    };
    assert!(parsed(&chain("Add", 20_000)).is_ok());
    assert!(parsed(&chain("Relu", 200)).is_ok());
    assert_refused("20,000 layers", &chain("Relu", 20_000), "layers");
}

#[test]
fn what_steps_is_refused_and_a_sign_that_does_not_is_read() {
    let coefficients = [1.0, 0.0, 0.0, 0.5, -1.0, 0.0, 0.0, -0.5];
    let classifier = [
        ("coefficients", Attribute::Floats(&coefficients)),
        ("intercepts", Attribute::Floats(&[0.1, -0.1])),
        ("classlabels_ints", Attribute::Ints(&[0, 1])),
        ("post_transform", Attribute::Text("SOFTMAX")),
    ];
    let with_label = |last: Vec<u8>| {
        let nodes = [
            node_with("LinearClassifier", &["x"], &["label", "p"], &classifier),
            node("ReduceSum", &["label"], &["sum"]),
            last,
        ];
        small(&nodes, &[])
    };
    assert!(parsed(&with_label(node("Relu", &["x"], &["x2"]))).is_ok());
    assert_refused(
        "a label that is added",
        &with_label(node("Add", &["x", "sum"], &["x2"])),
        "the label that a classifier predicts",
    );
    let sign = |other: &str| {
        let nodes = [
            node("Sign", &["x"], &["s"]),
            node("Abs", &["x"], &["size"]),
            node("Add", &["size", "one"], &["more"]),
            node("Mul", &["s", other], &["x2"]),
        ];
        small(&nodes, &[floats("one", &[4], &[1.0; 4])])
    };
    assert!(parsed(&sign("size")).is_ok());
    // From -1 to 1 where the number passes zero.
    for other in ["more", "one"] {
        assert_refused(other, &sign(other), "made by the operator `Sign`");
    }
    // Each within the next.
    let mut nodes = vec![node("MatMul", &["x", "V"], &["a0"])];
    for place in 0..1000 {
        let (a, s, b, next) = (
            format!("a{place}"),
            format!("s{place}"),
            format!("b{place}"),
            format!("a{}", place + 1),
        );
        nodes.push(node("Sign", &[&a], &[&s]));
        nodes.push(node("Abs", &[&a], &[&b]));
        nodes.push(node("Mul", &[&s, &b], &[&next]));
    }
    nodes.push(node("Identity", &["a1000"], &["x2"]));
    let bytes = small(&nodes, &[floats("V", &[4, 4], &[0.1; 16])]);
    assert_refused("a thousand signs", &bytes, "far more steps");
}

#[test]
fn attributes_of_another_kind_and_names_of_any_length_are_refused() {
    let softmax = |value: Attribute<'_>| {
        let axis = [("axis", value)];
        small(&[node_with("Softmax", &["x"], &["x2"], &axis)], &[])
    };
    assert!(parsed(&softmax(Attribute::Int(1))).is_ok());
    for value in [
        Attribute::Float(1.0),
        Attribute::Text("1"),
        Attribute::Ints(&[1]),
    ] {
        assert_refused(
            "an axis",
            &softmax(value),
            "`axis` of a node `Softmax` must be",
        );
    }
    let long = "n".repeat(1 << 20);
    for nodes in [
        [node(&long, &["x"], &["x2"])],
        [node("Relu", &[&long], &["x2"])],
    ] {
        assert_refused(
            "a long name",
            &small(&nodes, &[]),
            "a name of 1048576 bytes",
        );
    }
    let mode = [("mode", Attribute::Text(&long))];
    let nodes = [node_with("Pad", &["x", "p"], &["x2"], &mode)];
    assert_refused(
        "a long mode",
        &small(&nodes, &[list("p", &[0, 1, 0, 1])]),
        "padding by `nnn",
    );
    let twice = [value("x", 1, &[4]), value("x", 1, &[4])];
    let nodes = [node("MatMul", &["x", "W"], &["y"])];
    let bytes = made_up::model(&nodes, &[floats("W", &[4, 3], &[0.5; 12])], &twice);
    assert_refused("two inputs", &bytes, "two inputs are called `x`");
}

#[test]
fn thousands_of_categories_are_read_and_more_refused() {
    let encoded = |count: usize| {
        let names: Vec<String> = (0..count).map(|place| format!("value {place}")).collect();
        let categories = [("cats_strings", Attribute::Texts(&names))];
        let nodes = [
            node_with("OneHotEncoder", &["x"], &["k"], &categories),
            node("Flatten", &["k"], &["f"]),
            node("MatMul", &["f", "V"], &["y"]),
        ];
        let size = i64::try_from(count).unwrap();
        let weights = floats("V", &[size, 3], &vec![0.5; 3 * count]);
        made_up::model(&nodes, &[weights], &[value("x", 8, &[1])])
    };
    let imported = parsed(&encoded(2000)).unwrap();
    assert_eq!(imported.model.schema().features.len(), 2000);
    assert_refused("60,000 categories", &encoded(60_000), "60000 categories");
}

#[test]
fn many_constants_in_one_file_beside_the_model_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(folder.path().join("weights.bin")).unwrap();
    file.set_len(1 << 22).unwrap();
    let names: Vec<String> = (0..2000).map(|place| format!("W{place}")).collect();
    let constants: Vec<Vec<u8>> = names
        .iter()
        .map(|name| made_up::beside(name, &[1 << 20], "weights.bin", 1 << 22))
        .collect();
    let mut nodes = Vec::new();
    for (place, name) in names.iter().enumerate() {
        nodes.push(node("ReduceSum", &[name], &[&format!("r{place}")]));
    }
    let sums: Vec<String> = (0..2000).map(|place| format!("r{place}")).collect();
    let sums: Vec<&str> = sums.iter().map(String::as_str).collect();
    nodes.push(node("Sum", &sums, &["r"]));
    nodes.push(node("Add", &["x", "r"], &["x2"]));
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, small(&nodes, &constants)).unwrap();
    let refused = refusal(&path).unwrap();
    assert!(refused.contains("numbers"), "{refused}");
}
