//! Networks whose every number fits on paper, for tests. The first: two classes, logits `4 x0 - 2 x1 + x2` and 0.
//!
//! Its margin m is the first logit. At `m = ln 3` the first class has probability 3/4, so `p (1 - p) = 3/16`, the gradient of p
//! is 3/16 of [`WEIGHTS`] and the Hessian -3/32 of their outer product.

use std::collections::VecDeque;

use thickset_engine::{
    DType, Device, Init, Network, Parameter, ParameterSource, Role, Tensor, TensorData,
};

use crate::Seed;
use crate::attack::threat::BallConfig;
use crate::attack::{AttackConfig, AttackKind};
use crate::data::{InputShape, Schema};
use crate::explain::{ExplainConfig, Points};
use crate::model::{LinearConfig, MlpConfig, ModelConfig};

/// The margin's gradient; its length is the root of 21.
pub(crate) const WEIGHTS: [f64; 3] = [4.0, -2.0, 1.0];

/// The weights of the layers, each filled up with zeros, like all biases.
struct Given(VecDeque<Vec<f64>>);

impl ParameterSource for Given {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let mut values = Vec::new();
        if name.ends_with("weight") {
            values = self.0.pop_front().expect("weights for every layer");
        }
        values.resize(shape.iter().product(), 0.0);
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), DType::F64)))
    }

    fn dtype(&self) -> DType {
        DType::F64
    }
}

pub(crate) fn network() -> Network {
    ModelConfig::Linear(LinearConfig::default())
        .network(
            &InputShape::Table,
            3,
            2,
            &mut Given(VecDeque::from([WEIGHTS.to_vec()])),
        )
        .expect("a linear map of three numbers")
}

/// Two classes, logits `2 relu(x0) + relu(x1)` and 0. Where both features are positive the margin's gradient is (2, 1) and the first
/// feature is the salient one; beyond the kink at `x0 = 0` it is (0, 1).
pub(crate) fn kinked_network() -> Network {
    one_hidden_layer(2, 2, [vec![1.0, 0.0, 0.0, 1.0], vec![2.0, 1.0]])
}

/// Two classes behind one layer of `ReLU`s, with the weights of both layers.
pub(crate) fn one_hidden_layer(features: usize, hidden: usize, weights: [Vec<f64>; 2]) -> Network {
    ModelConfig::Mlp(MlpConfig {
        hidden: vec![hidden],
        ..MlpConfig::default()
    })
    .network(&InputShape::Table, features, 2, &mut Given(weights.into()))
    .expect("one hidden layer")
}

/// A row of the kinked network, 0.3 away from the kink.
pub(crate) const KINKED_ROW: [f64; 2] = [0.3, 1.0];

/// P@1 of [`KINKED_ROW`] after an attack within a radius; the truth is 1 up to 0.3 and 0 beyond.
pub(crate) fn kinked_precision(method: AttackKind, radius: f64) -> f64 {
    let schema = Schema::table(&["x0", "x1"]);
    let mut config = AttackConfig {
        method,
        k: 1,
        ..AttackConfig::default()
    };
    config.threat.ball.radius = radius;
    let rows = Points {
        values: &KINKED_ROW,
        ids: &[0],
    };
    let found = config
        .check(&ExplainConfig::default(), &schema)
        .and_then(|attack| attack.perturb(&kinked_network(), rows, Seed::new(1)))
        .expect("an attack that fits");
    let size = BallConfig::default().size(&KINKED_ROW, &found[0].perturbed);
    assert!(found[0].held && size <= radius + 1e-12);
    found[0].precision
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
