//! Small trained classifiers, so that attacks meet explanations that mean something.

use thickset::Seed;
use thickset::data::InputShape;
use thickset::model::{Activation, Fresh, MlpConfig, ModelConfig};
use thickset_engine::optimizer::{Adam, Optimizer as _};
use thickset_engine::{Network, activation::log_softmax};

pub const FEATURES: usize = 12;

/// Rows in [0, 1], two classes by a rule with products and a threshold in it.
pub fn rows(count: usize, seed: u64) -> (Vec<f64>, Vec<usize>) {
    let mut stream = Seed::new(seed).stream("rows");
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let row: Vec<f64> = (0..FEATURES).map(|_| stream.uniform()).collect();
        let score = 2.0 * row[0] * row[1] + (row[2] - 0.5).abs() - row[3] * row[4]
            + 0.6 * (row[5] - row[6])
            + 0.3 * (row[7] - 0.5).max(0.0)
            - 0.3 * row[8];
        labels.push(usize::from(score > 0.3));
        x.extend(row);
    }
    (x, labels)
}

/// A binary MLP after a few hundred steps of Adam.
pub fn binary(activation: Activation) -> Network {
    let model = ModelConfig::Mlp(MlpConfig {
        hidden: vec![32, 16],
        activation,
    });
    let mut network = model
        .network(
            &InputShape::Table,
            FEATURES,
            2,
            &mut Fresh::new(Seed::new(7)),
        )
        .unwrap();
    let (x, labels) = rows(512, 1);
    let hot: Vec<f64> = labels
        .iter()
        .flat_map(|&label| [f64::from(label == 0), f64::from(label == 1)])
        .collect();
    let mut optimizer = Adam::new(1e-2);
    network.track();
    for _ in 0..300 {
        let loss = -(log_softmax(network.logits(network.batch(&x)), 1)
            * network.tensor(hot.clone(), [labels.len(), 2]))
        .sum()
            * (1.0 / labels.len() as f64);
        let gradients = loss.backward();
        optimizer.step(&mut network, gradients);
    }
    network.untrack();
    network
}
