//! All architectures that tests go through, small.

use thickset::data::InputShape;
use thickset::model::{
    Activation, CnnConfig, GcnConfig, LinearConfig, MlpConfig, ModelConfig, Resnet9Config,
    Resnet18Config, SiameseConfig, resnet18, siamese,
};

fn image(channels: usize, side: usize) -> InputShape {
    InputShape::Image {
        channels,
        height: side,
        width: side,
    }
}

/// Each with the shape of its inputs and their features.
pub fn every_architecture() -> Vec<(ModelConfig, InputShape, usize)> {
    let activation = Activation::Softplus { beta: 2.0 };
    let cnn = CnnConfig {
        channels: [2, 3],
        hidden: vec![5, 4],
        activation,
    };
    let gcn = GcnConfig {
        hidden: 4,
        embedding: 3,
        activation,
    };
    let pair = |of| InputShape::Pair { of: Box::new(of) };
    let siamese = |embedding| ModelConfig::Siamese(SiameseConfig { embedding, size: 3 });
    vec![
        (ModelConfig::Linear(LinearConfig {}), InputShape::Table, 5),
        (
            ModelConfig::Mlp(MlpConfig {
                hidden: vec![6, 5],
                activation,
            }),
            InputShape::Table,
            5,
        ),
        (
            ModelConfig::Mlp(MlpConfig {
                hidden: vec![6, 5],
                activation: Activation::Relu,
            }),
            InputShape::Table,
            5,
        ),
        (ModelConfig::Cnn(cnn.clone()), image(2, 8), 128),
        (
            ModelConfig::Resnet9(Resnet9Config {
                width: 1,
                activation,
            }),
            image(3, 8),
            192,
        ),
        (
            ModelConfig::Resnet18(Resnet18Config {
                width: 1,
                activation,
                ..Resnet18Config::default()
            }),
            image(3, 8),
            192,
        ),
        (
            ModelConfig::Resnet18(Resnet18Config {
                width: 1,
                stem: resnet18::Stem::Large,
                activation,
            }),
            image(1, 12),
            144,
        ),
        (
            siamese(siamese::Embedding::Cnn(cnn)),
            pair(image(1, 8)),
            128,
        ),
        (
            siamese(siamese::Embedding::Gcn(gcn)),
            pair(InputShape::Graph { nodes: 4 }),
            12,
        ),
    ]
}
