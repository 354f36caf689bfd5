//! Support-vector machines of two classes with probabilities.

use thickset_engine::layer::Form;

use super::learned::complement;
use super::reduce::along;
use super::{Lowering, Made};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

/// Two classes with probabilities: the coupled sigmoid of a sum of kernels, as libsvm stops coupling.
pub(super) fn support_vectors(to: &mut Lowering<'_>, node: &Node) -> Result<Made> {
    let made = to.tensor(node, 0)?;
    let inputs = made.dims.last().copied().unwrap_or(1);
    let per_class = node.ints("vectors_per_class").unwrap_or_default();
    let vectors = node.floats("support_vectors");
    let coefficients = node.floats("coefficients");
    let count = vectors.len() / inputs.max(1);
    if per_class.len() != 2
        || count == 0
        || vectors.len() != count * inputs
        || coefficients.len() != count
    {
        return Err(node.unsupported(
            "support vectors of two classes are read",
            "calibrate the model (`CalibratedClassifierCV`), which gives probabilities that are read",
        ));
    }
    let (a, b, rho) = (
        node.floats("prob_a"),
        node.floats("prob_b"),
        node.floats("rho"),
    );
    let ([a], [b], [rho]) = (&a[..], &b[..], &rho[..]) else {
        return Err(node.unsupported(
            "it gives scores and no probabilities",
            "train it with `probability=True`, or calibrate it (`CalibratedClassifierCV`)",
        ));
    };
    let parameters = node.floats("kernel_params");
    let parameter = |place: usize| parameters.get(place).copied().unwrap_or(0.0);
    let (gamma, shift, degree) = (parameter(0), parameter(1), parameter(2));
    let kernel = node
        .text("kernel_type")
        .unwrap_or_else(|| "LINEAR".to_owned());
    let kernels = match kernel.as_str() {
        "RBF" => {
            // exp(-gamma |x - v|^2), by 2 gamma <x, v> - gamma |v|^2 - gamma |x|^2
            let lengths = vectors
                .chunks(inputs)
                .map(|vector| -gamma * vector.iter().map(|v| v * v).sum::<f64>());
            let weight = vectors.iter().map(|v| 2.0 * gamma * v).collect();
            let products = to.dense(&made, weight, lengths.collect())?;
            let squares = to.apply(Form::Power { exponent: 2.0 }, &made)?;
            let last = made.dims.len() - 1;
            let length = along(to, node, &squares, &[last], "Sum")?;
            let length = to.affine(&length, &[-gamma], &[0.0], None)?;
            let exponent = to.of_two(node, "Add", &products, &length)?;
            to.apply(Form::Exp, &exponent)?
        }
        "LINEAR" => to.dense(&made, vectors, vec![0.0; count])?,
        "POLY" | "SIGMOID" => {
            let weight = vectors.iter().map(|v| gamma * v).collect();
            let products = to.dense(&made, weight, vec![shift; count])?;
            let form = if kernel == "POLY" {
                Form::Power { exponent: degree }
            } else {
                Form::Tanh
            };
            to.apply(form, &products)?
        }
        other => return Err(node.unsupported(format!("the kernel `{other}`"), "")),
    };
    // The score of the first class, then the logit of the second: `a score + b`.
    let weight = coefficients
        .iter()
        .map(|coefficient| a * coefficient)
        .collect();
    let logit = to.dense(&kernels, weight, vec![a * rho + b])?;
    let logit = to.apply(Form::PairwiseCoupling, &logit)?;
    complement(to, &logit)
}
