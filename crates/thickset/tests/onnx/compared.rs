//! An export beside what was stored with it: probabilities, gradients and Hessian products.

use std::collections::BTreeMap;
use std::path::Path;

use thickset::data::FeatureKind;
use thickset::onnx::{self, Head, Imported, OnnxOptions, RawInput};
use thickset::{Error, Rows};
use thickset_engine::{Output, Tensor, one_hot};

use super::npz::{self, Stored};

pub fn inputs(imported: &Imported, arrays: &BTreeMap<String, Stored>) -> Vec<RawInput> {
    let inputs = imported.inputs();
    inputs
        .iter()
        .map(|(name, _)| arrays[&format!("in:{name}")].values.clone())
        .collect()
}

/// Probabilities of the output that was read, as its head says.
fn expected(imported: &Imported, arrays: &BTreeMap<String, Stored>) -> Vec<f64> {
    let outputs = imported.about.output.split(", ");
    let outputs: Vec<&[f64]> = outputs
        .map(|name| arrays[&format!("out:{name}")].numbers())
        .collect();
    let rows = outputs[0].len();
    // One output, or one a class.
    let row = |row: usize| {
        outputs
            .iter()
            .map(move |output| output[row])
            .collect::<Vec<_>>()
    };
    let columns: Vec<f64> = (0..rows).flat_map(row).collect();
    let values = if let [only] = outputs[..] {
        only
    } else {
        &columns
    };
    let classes = imported.model.classes().len();
    let is_one =
        |row: &[f64]| row.iter().all(|&p| p >= 0.0) && (row.iter().sum::<f64>() - 1.0).abs() < 1e-3;
    assert!(
        imported.about.head != Head::Logits || !values.chunks(classes).all(is_one),
        "probabilities are read as logits"
    );
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
        Head::Sigmoid | Head::OneProbability => values.iter().flat_map(|&p| [1.0 - p, p]).collect(),
        Head::LogSoftmax => values.iter().map(|log| log.exp()).collect(),
        _ => values.to_vec(),
    }
}

/// What a case differs by: probabilities, gradients, Hessian products; the last two where there is something to compare with.
#[derive(Debug, Default)]
pub struct Difference {
    pub probability: f64,
    pub gradient: Option<f64>,
    pub hessian: Option<f64>,
}

/// `gradients` names the file of stored gradients that counts instead of those beside the export.
#[expect(clippy::too_many_lines, reason = "one comparison after the other")]
pub fn compared(path: &Path, gradients: Option<&Path>) -> Result<Difference, Error> {
    let imported = onnx::open(path, &OnnxOptions::default())?;
    let mut arrays = npz::read(&path.with_extension("npz"));
    if let Some(gradients) = gradients {
        arrays.extend(npz::read(gradients));
    }
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
    let white = white(&imported);
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
        // Images come in 0 to 1 here, in 0 to 255 where the graph itself divides.
        let own =
            |tensor| -> Vec<f64> { original(tensor).iter().map(|value| value / white).collect() };
        let theirs = laid_out(&imported, gradient);
        difference.gradient = Some(relative(&own(found.value()), &theirs));
        if let Some(product) = arrays.get("torch:hvp_sign_p64") {
            let signs: Vec<f64> = theirs
                .iter()
                .enumerate()
                .map(|(at, g)| g.signum() / factors[at % factors.len()] / white)
                .collect();
            let direction = network.batch(&signs);
            let found = found.hessian_product(direction);
            difference.hessian = Some(relative(&own(found), &laid_out(&imported, product)));
        }
    }
    let by_class = |gradient: &Stored, read: &[(usize, usize)]| {
        let (classes, width) = (network.classes(), gradient.shape[2]);
        assert_eq!(
            gradient.shape[..2],
            [count, classes],
            "{}: gradients of other rows or classes are stored",
            path.display()
        );
        let of_class = |class: usize| {
            let found = original(
                pass.input_gradient(Output::Probability, hot(&vec![class; count]))
                    .value(),
            );
            let pairs = (0..count).flat_map(|row| {
                let theirs = &gradient.numbers()[(row * classes + class) * width..][..width];
                let ours = &found[row * factors.len()..][..factors.len()];
                read.iter()
                    .map(|&(feature, place)| (ours[feature], theirs[place]))
            });
            let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.collect();
            relative(&ours, &theirs)
        };
        (0..classes).map(of_class).fold(0.0, f64::max)
    };
    if let Some(gradient) = arrays.get("grad:proba") {
        let columns = imported.inputs().into_iter();
        let columns: Vec<String> = columns.flat_map(|(_, columns)| columns).collect();
        let place = |column: &str| columns.iter().position(|one| one == column).unwrap();
        // Columns that the model does not read have no feature; those of a category have no slope of their own.
        let features = model.schema().features.iter().enumerate();
        let read: Vec<(usize, usize)> = features
            .filter(|(_, feature)| feature.kind == FeatureKind::Number)
            .map(|(feature, one)| (feature, place(&one.column)))
            .collect();
        if !read.is_empty() {
            difference.gradient = Some(by_class(gradient, &read));
        }
    }
    if let Some(gradient) = arrays.get("grad:features") {
        assert_eq!(gradient.shape[2], factors.len(), "{}", path.display());
        let all: Vec<(usize, usize)> = (0..factors.len()).map(|at| (at, at)).collect();
        difference.gradient = Some(by_class(gradient, &all));
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
        let theirs = laid_out(&imported, gradient);
        let found: Vec<f64> = found.iter().map(|value| value / white).collect();
        let scale = |values: &[f64]| values.iter().map(|value| value.abs()).fold(0.0, f64::max);
        assert!(scale(&found) > 0.0 || scale(&theirs) == 0.0);
        difference.gradient = Some(relative(&found, &theirs));
    }
    Ok(difference)
}

/// Numbers of the graph's own input as ours are laid out: channel by channel, where it has them last.
fn laid_out(imported: &Imported, stored: &Stored) -> Vec<f64> {
    let values = stored.numbers();
    let is_table = imported.model.description.encoding.is_some();
    match stored.shape[..] {
        [rows, height, width, channels]
            if !is_table && matches!(channels, 1 | 3) && !matches!(height, 1 | 3) =>
        {
            let pixels = height * width;
            let turned = (0..rows * pixels * channels).map(|at| {
                let (row, at) = (at / (pixels * channels), at % (pixels * channels));
                values[row * pixels * channels + (at % pixels) * channels + at / pixels]
            });
            turned.collect()
        }
        _ => values.to_vec(),
    }
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
