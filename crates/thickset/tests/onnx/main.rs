//! Models of other frameworks: real exports against what their frameworks and onnxruntime compute, refusals, and hostile files.

mod exports;
mod hostile;
mod npz;
mod retrain;
mod round_trip;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use npz::Stored;
use thickset::data::FeatureKind;
use thickset::onnx::{self, Head, Imported, OnnxOptions, RawInput};
use thickset::{Error, Rows};
use thickset_engine::{Output, Tensor, one_hot};

/// How far probabilities may be from onnxruntime's.
const PROBABILITY: f64 = 1e-5;
/// How far gradients may be from the framework's, relative to the largest of the case.
const GRADIENT: f64 = 1e-4;
/// The same of Hessian products.
const HESSIAN: f64 = 1e-3;

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

fn inputs(imported: &Imported, arrays: &BTreeMap<String, Stored>) -> Vec<RawInput> {
    let inputs = imported.inputs();
    inputs
        .iter()
        .map(|(name, _)| arrays[&format!("in:{name}")].values.clone())
        .collect()
}

/// Probabilities of the output that was read, as its head says.
fn expected(imported: &Imported, arrays: &BTreeMap<String, Stored>) -> Vec<f64> {
    let output = &arrays[&format!("out:{}", imported.about.output)];
    let values = output.numbers();
    let classes = imported.model.classes().len();
    let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
    match imported.about.head {
        Head::Logits => values
            .chunks(classes)
            .flat_map(|row| {
                let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let exps: Vec<f64> = row.iter().map(|z| (z - most).exp()).collect();
                let sum: f64 = exps.iter().sum();
                exps.into_iter().map(move |exp| exp / sum)
            })
            .collect(),
        Head::OneLogit => values
            .iter()
            .flat_map(|&z| [1.0 - sigmoid(z), sigmoid(z)])
            .collect(),
        Head::Sigmoid => values.iter().flat_map(|&p| [1.0 - p, p]).collect(),
        Head::LogSoftmax => values.iter().map(|log| log.exp()).collect(),
        _ => values.to_vec(),
    }
}

/// What a case differs by: probabilities, gradients, Hessian products; the last two where there is something to compare with.
#[derive(Debug, Default)]
struct Difference {
    probability: f64,
    gradient: Option<f64>,
    hessian: Option<f64>,
}

#[expect(clippy::too_many_lines, reason = "one comparison after the other")]
fn compared(path: &Path) -> Result<Difference, Error> {
    let imported = onnx::open(path, &OnnxOptions::default())?;
    let arrays = npz::read(&path.with_extension("npz"));
    let values = imported.encode(&inputs(&imported, &arrays))?;
    let model = &imported.model;
    let rows = Rows::new(&values, model.schema())?;
    let predictions = model.predict(&rows)?;
    let ours: Vec<f64> = predictions
        .iter()
        .flat_map(|one| one.probabilities.clone())
        .collect();
    let theirs = expected(&imported, &arrays);
    assert_eq!(ours.len(), theirs.len(), "{}", path.display());
    let mut difference = Difference {
        probability: largest(&ours, &theirs),
        ..Difference::default()
    };
    let network = &model.network;
    let batch = network.batch_f32(&values);
    let pass = network.pass(batch.clone());
    let device = batch.device().without_autodiff();
    let hot = |classes: &[usize]| one_hot(classes, network.classes(), network.dtype(), &device);
    let count = rows.len();
    // What an original number is divided by to become a feature.
    let factors: Vec<f64> = model
        .schema()
        .features
        .iter()
        .map(|feature| {
            if feature.kind == FeatureKind::Number {
                feature.factor
            } else {
                1.0
            }
        })
        .collect();
    let original = |tensor: Tensor<2>| -> Vec<f64> {
        let values = numbers(tensor);
        let scaled = values
            .iter()
            .enumerate()
            .map(|(at, value)| value / factors[at % factors.len()]);
        scaled.collect()
    };
    if let (Some(classes), Some(gradient)) =
        (arrays.get("torch:class"), arrays.get("torch:grad_p64"))
    {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "classes"
        )]
        let classes: Vec<usize> = classes
            .numbers()
            .iter()
            .map(|&class| class as usize)
            .collect();
        let found = pass.input_gradient(Output::Probability, hot(&classes));
        difference.gradient = Some(relative(&original(found.value()), gradient.numbers()));
        if let Some(product) = arrays.get("torch:hvp_sign_p64") {
            let signs: Vec<f64> = gradient
                .numbers()
                .iter()
                .enumerate()
                .map(|(at, g)| g.signum() / factors[at % factors.len()])
                .collect();
            let direction = network.batch(&signs);
            let found = found.hessian_product(direction);
            difference.hessian = Some(relative(&original(found), product.numbers()));
        }
    }
    if let Some(gradient) = arrays.get("grad:proba") {
        let classes = network.classes();
        let mut worst = 0.0_f64;
        for class in 0..classes {
            let found = original(
                pass.input_gradient(Output::Probability, hot(&vec![class; count]))
                    .value(),
            );
            let features = gradient.shape[2];
            let theirs: Vec<f64> = (0..count)
                .flat_map(|row| {
                    gradient.numbers()[(row * classes + class) * features..][..features].to_vec()
                })
                .collect();
            // Columns that the model does not read have no feature; here each column has one.
            assert_eq!(found.len(), theirs.len(), "{}", path.display());
            worst = worst.max(relative(&found, &theirs));
        }
        difference.gradient = Some(worst);
    }
    if let Some(gradient) = arrays.get("tf:grad_p") {
        let classes: Vec<usize> = predictions
            .iter()
            .map(|one| {
                if imported.about.head == Head::Sigmoid {
                    1
                } else {
                    one.class
                }
            })
            .collect();
        let found = original(
            pass.input_gradient(Output::Probability, hot(&classes))
                .value(),
        );
        // As the graph lays pixels out: channels last.
        let theirs = match gradient.shape[..] {
            [rows, height, width, channels] => {
                let pixels = height * width;
                let turned = (0..rows * pixels * channels).map(|at| {
                    let (row, at) = (at / (pixels * channels), at % (pixels * channels));
                    gradient.numbers()
                        [row * pixels * channels + (at % pixels) * channels + at / pixels]
                });
                turned.collect()
            }
            _ => gradient.numbers().to_vec(),
        };
        // Images come in 0 to 1 here, in 0 to 255 where the graph itself divides.
        let found: Vec<f64> = found.iter().map(|value| value / white(&imported)).collect();
        let scale = |values: &[f64]| values.iter().map(|value| value.abs()).fold(0.0, f64::max);
        assert!(scale(&found) > 0.0);
        difference.gradient = Some(relative(&found, &theirs));
    }
    Ok(difference)
}

/// What a pixel of the graph's own input is for one of ours: found by encoding a white image.
fn white(imported: &Imported) -> f64 {
    let features = imported.model.description.features;
    if imported.model.description.encoding.is_some() {
        return 1.0;
    }
    let encoded = imported
        .encode(&[RawInput::Numbers(vec![255.0; features])])
        .unwrap();
    255.0 / f64::from(encoded[0])
}

fn numbers(tensor: Tensor<2>) -> Vec<f64> {
    tensor
        .without_autodiff()
        .into_data()
        .iter::<f64>()
        .collect()
}

fn largest(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

fn relative(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let size = theirs
        .iter()
        .map(|value| value.abs())
        .fold(0.0, f64::max)
        .max(1e-12);
    largest(ours, theirs) / size
}

fn check_all(folder: &Path) {
    let mut problems = Vec::new();
    let files = files(folder);
    assert!(!files.is_empty(), "{}", folder.display());
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match compared(&path) {
            Err(error) => problems.push(format!("{name}: {}", described(&error))),
            Ok(difference) => {
                eprintln!("{name}: {difference:?}");
                // The gradients of `lda` are the framework's own, and its converter is wrong.
                let has_gradient = name != "lda.onnx";
                let fits = difference.probability <= PROBABILITY
                    && difference
                        .gradient
                        .is_none_or(|one| one <= GRADIENT || !has_gradient)
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
