//! Reads the golden folders and compares tensors with them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use thickset_engine::{
    DType, Device, Init, Network, Parameter, ParameterSource, Role, Tensor, TensorData,
};

pub struct Stored {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

pub struct Golden {
    pub inputs: BTreeMap<String, Stored>,
    weights: BTreeMap<String, Stored>,
    expected: BTreeMap<String, Stored>,
    gradients: BTreeMap<String, Stored>,
    dtype: DType,
}

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name]
        .iter()
        .collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "goldens hold labels and classes as integers"
)]
fn tensors(folder_name: &str, file: &str) -> BTreeMap<String, Stored> {
    let bytes = std::fs::read(folder(folder_name).join(file)).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let read = |view: &safetensors::tensor::TensorView<'_>| -> Vec<f64> {
        let words = view.data().as_chunks::<8>().0.iter();
        match view.dtype() {
            Dtype::F64 => words.map(|word| f64::from_le_bytes(*word)).collect(),
            Dtype::I64 => words.map(|word| i64::from_le_bytes(*word) as f64).collect(),
            other => panic!("goldens hold f64 and i64, got {other:?}"),
        }
    };
    file.iter()
        .map(|(name, view)| {
            let stored = Stored {
                shape: view.shape().to_vec(),
                values: read(&view),
            };
            // The MLPs are called `net.N`; their numbering is ours.
            (name.replace("net.", "layers."), stored)
        })
        .collect()
}

impl Golden {
    pub fn read(folder: &str) -> Self {
        Self {
            inputs: tensors(folder, "inputs.safetensors"),
            weights: tensors(folder, "weights.safetensors"),
            expected: tensors(folder, "expected.safetensors"),
            gradients: tensors(folder, "grads.safetensors"),
            dtype: DType::F64,
        }
    }

    /// The same, to be computed in f32.
    pub fn single(mut self) -> Self {
        self.dtype = DType::F32;
        self
    }

    pub fn weights(&self, rename: fn(usize) -> usize) -> impl ParameterSource {
        let weights = self.weights.iter();
        Weights {
            tensors: weights
                .map(|(name, stored)| (name.clone(), stored.values.clone()))
                .collect(),
            rename,
            dtype: self.dtype,
        }
    }

    pub fn batch(&self, network: &Network, name: &str) -> Tensor<2> {
        network.batch(&self.inputs[name].values)
    }

    pub fn labels(&self) -> Vec<usize> {
        indices(&self.inputs["y"])
    }

    pub fn predicted(&self, case: &str) -> Vec<usize> {
        indices(self.expected(case, "pred"))
    }

    pub fn expected(&self, case: &str, name: &str) -> &Stored {
        let name = if case.is_empty() {
            name.to_owned()
        } else {
            format!("{case}/{name}")
        };
        &self.expected[&name]
    }

    pub fn gradient(&self, name: &str) -> Option<&Stored> {
        self.gradients.get(name)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "goldens hold labels and classes, small and not negative"
)]
fn indices(stored: &Stored) -> Vec<usize> {
    stored.values.iter().map(|value| *value as usize).collect()
}

struct Weights {
    tensors: BTreeMap<String, Vec<f64>>,
    rename: fn(usize) -> usize,
    dtype: DType,
}

impl ParameterSource for Weights {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let values = self.tensors[&renamed(name, self.rename)].clone();
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), self.dtype)))
    }

    fn dtype(&self) -> DType {
        self.dtype
    }
}

/// `layers.4.weight` under the goldens' numbering.
pub fn renamed(name: &str, rename: fn(usize) -> usize) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    format!("layers.{}.{}", rename(parts[1].parse().unwrap()), parts[2])
}

pub fn values(tensor: &Tensor<2>) -> Vec<f64> {
    let data = tensor.clone().without_autodiff().into_data();
    data.iter::<f64>().collect()
}

/// The largest difference, relative to the expected tensor's largest entry, is within bounds.
pub fn close(what: &str, got: &Tensor<2>, expected: &Stored, tolerance: f64) {
    let got = values(got);
    let size = expected.shape.iter().product::<usize>();
    assert_eq!(got.len(), size, "{what}: sizes");
    let scale = expected
        .values
        .iter()
        .fold(1e-300_f64, |most, value| most.max(value.abs()));
    for (place, (got, expected)) in got.iter().zip(&expected.values).enumerate() {
        assert!(
            (got - expected).abs() <= tolerance * scale,
            "{what}: at {place} got {got}, expected {expected}, largest entry {scale}"
        );
    }
}

/// The softplus sharpness in a folder's `spec.json`.
pub fn beta(name: &str) -> f64 {
    let text = std::fs::read_to_string(folder(name).join("spec.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_str(&text).unwrap();
    spec["model"]["beta"].as_f64().unwrap()
}
