//! Models of other frameworks: real exports against what their frameworks and onnxruntime compute, refusals, and hostile files.

mod compared;
mod exports;
mod hostile;
mod made_up;
mod npz;
mod retrain;
mod round_trip;

use std::path::{Path, PathBuf};

use compared::{compared, inputs};
use thickset::onnx::{self, OnnxOptions};
use thickset::{Error, Rows};

/// How far probabilities may be from onnxruntime's.
const PROBABILITY: f64 = 1e-5;
/// How far gradients may be from the framework's, relative to the largest one of the same class.
const GRADIENT: f64 = 1e-4;
/// The same of Hessian products.
const HESSIAN: f64 = 1e-3;

/// Exports whose own stored gradients are not those of the graph, and where those of the graph are.
///
/// `lda`: what is stored is scikit-learn's, and its converter writes another model (probabilities differ by 0.15).
const OF_THE_GRAPH: [(&str, &str); 1] = [("lda.onnx", "onnx_exact/lda_of_shared.npz")];

/// The exports that are shared; `None`, said loudly, where they are not there.
fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/onnx");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: no exports in {}; only the small ones of tests/golden/onnx are tried",
        folder.display()
    );
    None
}

/// The exports that come with the tests.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/onnx")
}

/// All `.onnx` files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "onnx"))
        .collect();
    files.sort();
    files
}

fn check_all(folder: &Path) {
    let mut problems = Vec::new();
    let files = files(folder);
    assert!(!files.is_empty(), "{}", folder.display());
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let gradients = OF_THE_GRAPH.iter().find(|(export, _)| *export == name);
        let gradients = gradients.map(|(_, file)| golden().with_file_name(file));
        match compared(&path, gradients.as_deref()) {
            Err(error) => problems.push(format!("{name}: {}", described(&error))),
            Ok(difference) => {
                eprintln!("{name}: {difference:?}");
                let fits = difference.probability <= PROBABILITY
                    && difference.gradient.is_none_or(|one| one <= GRADIENT)
                    && difference.hessian.is_none_or(|one| one <= HESSIAN);
                if !fits {
                    problems.push(format!("{name}: {difference:?}"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// An error with its causes.
pub fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    text
}

#[test]
fn small_exports_agree_with_onnxruntime() {
    check_all(&golden());
}

#[test]
fn exports_that_need_more_than_layers_in_a_row_agree() {
    check_all(&golden().with_file_name("onnx_more"));
}

/// Discriminants whose converter is wrong against scikit-learn, naive Bayes, clipping, raw scores: the graph itself is the reference.
#[test]
fn gradients_are_those_of_the_graph_in_double_precision() {
    check_all(&golden().with_file_name("onnx_float64"));
}

/// Classes that are all but certain, libsvm's stopped iteration within a stack, ends of a clipped range, numbers that are categories: what no
/// difference quotient finds, by formulas with 60 digits.
#[test]
fn gradients_are_those_of_formulas_where_no_difference_finds_them() {
    check_all(&golden().with_file_name("onnx_exact"));
}

#[test]
fn small_exports_of_keras_agree() {
    check_all(&golden().with_file_name("onnx_keras"));
}

#[test]
fn exports_of_scikit_learn_agree() {
    if let Some(shared) = shared() {
        check_all(&shared.join("sklearn"));
    }
}

#[test]
fn exports_of_torch_agree() {
    if let Some(shared) = shared() {
        check_all(&shared.join("torch"));
    }
}

#[test]
fn exports_of_keras_agree() {
    if let Some(shared) = shared() {
        check_all(&shared.join("keras"));
    }
}

/// To try other exports: `THICKSET_ONNX_EXPORTS=FOLDER cargo test --test onnx of_ones_own`, where each `.onnx` has its `.npz`.
#[test]
fn exports_of_ones_own_agree() {
    match std::env::var_os("THICKSET_ONNX_EXPORTS") {
        Some(folder) => check_all(Path::new(&folder)),
        None => eprintln!("SKIPPED: THICKSET_ONNX_EXPORTS names no folder of further exports"),
    }
}

#[test]
fn what_has_no_gradient_is_refused_with_the_reason() {
    let Some(shared) = shared() else { return };
    for (file, reason) in [
        ("trees/gradient_boosting.onnx", "trees have no gradient"),
        ("trees/random_forest.onnx", "trees have no gradient"),
        ("refuse/float16.onnx", "half precision"),
        (
            "refuse/keras_normalization_extra_inputs.onnx",
            "extra input",
        ),
        ("refuse/step_function.onnx", "step function"),
    ] {
        let refused = onnx::open(&shared.join(file), &OnnxOptions::default()).unwrap_err();
        let text = described(&refused);
        assert!(text.contains(reason), "{file}: {text}");
        let Error::Onnx { source, .. } = refused else {
            panic!("{file}: {text}")
        };
        assert!(source.instead().is_some(), "{file} says what can be done");
    }
}

#[test]
fn a_converter_that_is_wrong_is_found_by_its_frameworks_probabilities() {
    let Some(shared) = shared() else { return };
    for (name, is_right) in [
        ("lda", false),
        ("logreg_iris", true),
        ("pipe_scaler_mlp", true),
        ("columns_mlp_imputed", true),
    ] {
        let path = shared.join(format!("sklearn/{name}.onnx"));
        let imported = onnx::open(&path, &OnnxOptions::default()).unwrap();
        let arrays = npz::read(&path.with_extension("npz"));
        let values = imported.encode(&inputs(&imported, &arrays)).unwrap();
        let rows = Rows::new(&values, imported.model.schema()).unwrap();
        let compared = imported
            .model
            .compare_probabilities(&rows, arrays["sk:proba"].numbers(), onnx::TOLERANCE)
            .unwrap();
        assert_eq!(
            compared.different.is_empty(),
            is_right,
            "{name}: {compared:?}"
        );
        if !is_right {
            assert!(compared.largest > 0.1);
            let refused = compared.check().unwrap_err().to_string();
            assert!(
                refused.contains("16 rows") && refused.contains("row "),
                "{refused}"
            );
        }
    }
}

#[test]
fn the_scaler_and_the_encoder_of_a_pipeline_become_columns() {
    let Some(shared) = shared() else { return };
    let imported = onnx::open(
        &shared.join("sklearn/columns_mlp_imputed.onnx"),
        &OnnxOptions::default(),
    )
    .unwrap();
    let schema = imported.model.schema();
    let columns: Vec<(&str, usize)> = schema
        .by_column()
        .into_iter()
        .map(|(name, places)| (name, places.len()))
        .collect();
    assert_eq!(
        columns,
        [("age", 1), ("income", 1), ("job", 3), ("city", 4)]
    );
    let age = &schema.features[0];
    assert!(
        (age.offset - 50.0325).abs() < 1e-4 && (age.factor - 18.3438).abs() < 1e-3,
        "{age:?}"
    );
    assert_eq!(schema.features[2].name, "job=baker");
    assert!(!imported.about.wants_scale);
    assert!(
        imported.model.network.chain().is_some(),
        "dense layers alone are left"
    );
    let bare = onnx::open(
        &shared.join("sklearn/mlp_binary_tanh.onnx"),
        &OnnxOptions::default(),
    )
    .unwrap();
    assert!(bare.about.wants_scale);
}
