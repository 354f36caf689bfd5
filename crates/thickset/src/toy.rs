//! A network whose every number fits on paper, for tests: two classes, logits `4 x0 - 2 x1 + x2` and 0.
//!
//! Its margin m is the first logit. At `m = ln 3` the first class has probability 3/4, so `p (1 - p) = 3/16`, the gradient of p
//! is 3/16 of [`WEIGHTS`] and the Hessian -3/32 of their outer product.

use thickset_engine::{
    DType, Device, Init, Network, Parameter, ParameterSource, Role, Tensor, TensorData,
};

use crate::data::{InputShape, Schema};
use crate::model::{LinearConfig, ModelConfig};

/// The margin's gradient; its length is the root of 21.
pub(crate) const WEIGHTS: [f64; 3] = [4.0, -2.0, 1.0];

struct Given;

impl ParameterSource for Given {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let mut values = vec![0.0; shape.iter().product()];
        if name.ends_with("weight") {
            values[..3].copy_from_slice(&WEIGHTS);
        }
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::flex(), DType::F64)))
    }

    fn dtype(&self) -> DType {
        DType::F64
    }
}

pub(crate) fn network() -> Network {
    ModelConfig::Linear(LinearConfig::default())
        .network(&InputShape::Table, 3, 2, &mut Given)
        .expect("a linear map of three numbers")
}

/// Of three numbers.
pub(crate) fn schema() -> Schema {
    Schema::table(&["x0", "x1", "x2"])
}

/// `m = ln 3`.
pub(crate) fn row() -> [f64; 3] {
    [3.0_f64.ln() / 4.0, 1.0, 2.0]
}

pub(crate) fn assert_close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() < 1e-12, "{got} {expected}");
    }
}
