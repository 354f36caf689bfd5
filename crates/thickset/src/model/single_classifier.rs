//! `f^CL`: the classifier of single inputs on the embedding of a network of pairs.
//!
//! `f^CL(x) = cls(emb(x; w_0); w_2)` (R2ET, B.1.5), with the embedding's weights as the pairs have trained them and a linear `cls`:
//! logistic regression on the training inputs, each once, by L-BFGS. Attacks keep its predictions of both inputs of a pair beside that
//! of the pair.

use thickset_engine::{DType, Device, Init, ParameterSource, Role, Tensor, TensorData};

use super::Model;
use crate::Result;
use crate::audit::linear::logistic;
use crate::data::{Dataset, Part};
use crate::explain::chunk_rows;
use crate::host::read;

/// Fits the classifier of a model of pairs and gives it to its network; does nothing where the rows are no pairs, the model compares
/// no embeddings, or all inputs have one class.
pub(crate) fn fit(model: &mut Model, dataset: &Dataset) -> Result<()> {
    let (Some(inputs), Some(embedding)) = (
        dataset.single_inputs(Part::Train),
        model.network.embedding(),
    ) else {
        return Ok(());
    };
    let classes = inputs.classes.len();
    if classes < 2 {
        return Ok(());
    }
    let (width, size) = (embedding.features(), embedding.classes());
    let mut embedded = Vec::with_capacity(inputs.labels.len() * size);
    for part in inputs.values.chunks(chunk_rows(width) * width) {
        let values = read(embedding.logits(embedding.batch_f32(part)));
        #[expect(clippy::cast_possible_truncation, reason = "models compute in f32")]
        embedded.extend(values.into_iter().map(|value| value as f32));
    }
    let weights = logistic(&embedded, inputs.labels, size, classes);
    let (matrix, bias) = weights.split_at(size * classes);
    let mut source = Fitted {
        matrix,
        bias,
        dtype: model.network.dtype(),
    };
    model
        .network
        .attach_single_classifier(classes, &mut source)?;
    model.description.single_classes = Some(inputs.classes);
    Ok(())
}

/// Hands out the fitted weights.
struct Fitted<'f> {
    matrix: &'f [f64],
    bias: &'f [f64],
    dtype: DType,
}

impl ParameterSource for Fitted<'_> {
    fn values(
        &mut self,
        _: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let values = if shape.len() == 1 {
            self.bias
        } else {
            self.matrix
        };
        let size = thickset_engine::Parameter::matrix_size(shape);
        let data = TensorData::new(values.to_vec(), size);
        Ok(Tensor::from_data(data, (&Device::cpu(), self.dtype)))
    }

    fn dtype(&self) -> DType {
        self.dtype
    }
}
