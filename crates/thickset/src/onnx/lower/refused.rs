//! What is said of an operator that has no layer here.

use crate::onnx::problem::{OnnxError, WITHOUT_GRADIENT};
use crate::onnx::read::Node;

/// Whether an operator is refused whatever it reads, so that it can be said before anything else is.
pub(super) fn never_read(node: &Node) -> bool {
    let operator = node.operator.as_str();
    matches!(operator, "If" | "Loop" | "Scan" | "LSTM" | "GRU" | "RNN")
        || operator.starts_with("TreeEnsemble")
}

/// The refusal of an operator that no family knows.
pub(super) fn refused(node: &Node) -> OnnxError {
    let (reason, instead) = match node.operator.as_str() {
        "TreeEnsembleClassifier" | "TreeEnsembleRegressor" | "TreeEnsemble" => {
            ("trees have no gradient", WITHOUT_GRADIENT.to_owned())
        }
        "If" | "Loop" | "Scan" => (
            "control flow is not read",
            "export the model by tracing one example, without branches or loops".to_owned(),
        ),
        "LSTM" | "GRU" | "RNN" => ("recurrent layers are not read", WITHOUT_GRADIENT.to_owned()),
        "TopK" | "Unique" | "NonMaxSuppression" => (
            "what is picked by its rank is not read",
            WITHOUT_GRADIENT.to_owned(),
        ),
        "Floor" | "Ceil" | "Round" | "Sign" | "ArgMax" | "ArgMin" | "Binarizer" | "Hardmax"
        | "NonZero" => (
            "a step function has no gradient",
            WITHOUT_GRADIENT.to_owned(),
        ),
        "QuantizeLinear"
        | "DequantizeLinear"
        | "QLinearConv"
        | "QLinearMatMul"
        | "DynamicQuantizeLinear"
        | "MatMulInteger"
        | "ConvInteger" => (
            "quantised models step, and have no gradient",
            "export the model before it is quantised".to_owned(),
        ),
        "RandomNormal" | "RandomUniform" | "RandomNormalLike" | "RandomUniformLike"
        | "Bernoulli" | "Multinomial" => (
            "the model draws at random",
            "export the model in evaluation mode".to_owned(),
        ),
        _ => (
            "it has no layer here",
            format!(
                "write the model without it, audit it from its probabilities alone, or ask for the operator; docs/onnx.md lists those that are read{}",
                if node.operator.contains('.') {
                    " (operators of other domains are none of them)"
                } else {
                    ""
                }
            ),
        ),
    };
    node.unsupported(reason, instead)
}

/// The refusal of a value that is a label, or else a sign.
pub(super) fn step(name: &str, is_label: bool) -> OnnxError {
    let what = if is_label {
        "the label that a classifier predicts"
    } else {
        "made by the operator `Sign`"
    };
    OnnxError::Refused {
        problem: format!("`{name}` is read, {what}: a step function has no gradient"),
        instead: WITHOUT_GRADIENT.to_owned(),
    }
}
