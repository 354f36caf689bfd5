//! The goldens of the two small MLPs; `tests/golden/SPEC.md` defines every number.

use std::collections::BTreeMap;
use std::path::PathBuf;

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use thickset::data::{Feature, FeatureKind, InputShape, References, Schema};
use thickset::model::{Activation, MlpConfig, ModelConfig};
use thickset_engine::{
    DType, Device, Init, Network, Parameter, ParameterSource, Role, Tensor, TensorData,
};

/// Both models, with everything that is known of them.
pub fn both() -> [Golden; 2] {
    ["mlp_relu", "mlp_softplus"].map(Golden::read)
}

pub struct Golden {
    pub name: &'static str,
    pub network: Network,
    pub k: usize,
    pub rows: usize,
    tensors: BTreeMap<String, Vec<f64>>,
    pub budget: f64,
    pub step_size: f64,
}

impl Golden {
    fn read(name: &'static str) -> Self {
        let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name]
            .iter()
            .collect();
        let text = std::fs::read_to_string(folder.join("spec.json")).unwrap();
        let spec: serde_json::Value = serde_json::from_str(&text).unwrap();
        let spec = &spec["model"];
        let mut tensors = BTreeMap::new();
        for file in ["inputs", "expected", "weights"] {
            let bytes = std::fs::read(folder.join(format!("{file}.safetensors"))).unwrap();
            for (name, view) in SafeTensors::deserialize(&bytes).unwrap().iter() {
                let words = view.data().as_chunks::<8>().0.iter();
                let values = match view.dtype() {
                    Dtype::F64 => words.map(|word| f64::from_le_bytes(*word)).collect(),
                    _ => words.map(|word| i64::from_le_bytes(*word) as f64).collect(),
                };
                tensors.insert(name.replace("net.", "layers."), values);
            }
        }
        let sizes = spec["hidden"].as_array().unwrap().iter();
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: sizes.map(|size| size.as_u64().unwrap() as usize).collect(),
            activation: if spec["act"] == "relu" {
                Activation::Relu
            } else {
                Activation::Softplus {
                    beta: spec["beta"].as_f64().unwrap(),
                }
            },
        });
        let count = |key: &str| spec[key].as_u64().unwrap() as usize;
        let network = model
            .network(
                &InputShape::Table,
                count("n_in"),
                count("classes"),
                &mut Weights(&tensors),
            )
            .unwrap();
        Self {
            name,
            network,
            k: count("k"),
            rows: count("B"),
            budget: spec["eps"].as_f64().unwrap(),
            step_size: spec["alpha"].as_f64().unwrap(),
            tensors,
        }
    }

    pub fn values(&self, name: &str) -> &[f64] {
        &self.tensors[name]
    }

    pub fn indices(&self, name: &str) -> Vec<usize> {
        self.values(name)
            .iter()
            .map(|value| *value as usize)
            .collect()
    }

    pub fn batch(&self, name: &str) -> Tensor<2> {
        self.network.batch(self.values(name))
    }

    pub fn ids(&self) -> Vec<u64> {
        (0..self.rows as u64).collect()
    }

    pub fn schema(&self) -> Schema {
        table(self.network.features())
    }

    /// The largest difference, relative to the expected tensor's largest entry, is within bounds.
    pub fn close(&self, what: &str, got: &[f64], tolerance: f64) {
        close(
            &format!("{} {what}", self.name),
            got,
            self.values(what),
            tolerance,
        );
    }
}

pub fn close(what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}: sizes");
    let scale = expected
        .iter()
        .fold(1e-3_f64, |most, value| most.max(value.abs()));
    for (place, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!(
            (got - expected).abs() <= tolerance * scale,
            "{what}: at {place} got {got}, expected {expected}, largest entry {scale}"
        );
    }
}

/// Parameters by name, in double precision.
pub struct Weights<'a>(pub &'a BTreeMap<String, Vec<f64>>);

impl ParameterSource for Weights<'_> {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let data = TensorData::new(self.0[name].clone(), Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), DType::F64)))
    }

    fn dtype(&self) -> DType {
        DType::F64
    }
}

pub fn values(tensor: Tensor<2>) -> Vec<f64> {
    let data = tensor.without_autodiff().into_data();
    data.convert::<f64>().try_into_vec().unwrap()
}

/// A table of numbers between -3 and 3.
pub fn table(features: usize) -> Schema {
    let feature = |index: usize| Feature {
        name: format!("x{index}"),
        column: format!("x{index}"),
        unit: None,
        kind: FeatureKind::Number,
        offset: 0.0,
        factor: 1.0,
        low: -3.0,
        high: 3.0,
        integer: false,
        group: None,
        immutable: false,
    };
    Schema {
        shape: InputShape::Table,
        features: (0..features).map(feature).collect(),
        references: Some(References {
            typical: vec![0.0; features],
            class_means: std::collections::BTreeMap::new(),
        }),
    }
}
