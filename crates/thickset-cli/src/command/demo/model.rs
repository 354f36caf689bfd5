//! Which models the demonstration trains, on which data.

use thickset::data::InputShape;
use thickset::model::{CnnConfig, LinearConfig, MlpConfig, ModelConfig};
use thickset::objective::{ObjectiveConfig, r2et, vanilla};
use thickset::train::OptimizerConfig;

/// The most a row may move, as an l2 distance in encoded units; every feature's range is 0 to 1.
pub(super) const RADIUS: f64 = 0.5;

/// One convex layer takes longer steps; at the networks' rate it would not be done after as many epochs.
const LINEAR_RATE: f64 = 1e-2;

/// A dataset and the network that fits it.
pub(super) struct DemoDataset {
    /// The bundled dataset.
    pub(super) data: &'static str,
    /// Times that every training row is seen.
    pub(super) epochs: usize,
    network: fn() -> ModelConfig,
    /// The network's names, plain and with R2ET.
    labels: [&'static str; 2],
}

/// Tables first: that is what most people have.
pub(super) const DATASETS: [DemoDataset; 2] = [
    DemoDataset {
        data: "breast-cancer",
        epochs: 30,
        network: || ModelConfig::Mlp(MlpConfig::default()),
        labels: ["mlp vanilla", "mlp r2et"],
    },
    DemoDataset {
        data: "digits",
        epochs: 10,
        network: || {
            ModelConfig::Cnn(CnnConfig {
                channels: [8, 16],
                hidden: vec![32],
                ..CnnConfig::default()
            })
        },
        labels: ["cnn vanilla", "cnn r2et"],
    },
];

/// One model to train.
pub(super) struct DemoModel {
    pub(super) label: &'static str,
    pub(super) model: ModelConfig,
    pub(super) objective: ObjectiveConfig,
    pub(super) optimizer: OptimizerConfig,
}

/// The place of the plain network among the models; R2ET follows it.
pub(super) const VANILLA: usize = 1;

impl DemoDataset {
    /// The linear baseline, then the network that costs are measured against, then R2ET.
    pub(super) fn models(&self, shape: &InputShape) -> [DemoModel; 3] {
        let plain = || ObjectiveConfig::Vanilla(vanilla::VanillaConfig::default());
        let [vanilla, r2et] = self.labels;
        [
            DemoModel {
                label: "linear",
                model: ModelConfig::Linear(LinearConfig::default()),
                objective: plain(),
                optimizer: OptimizerConfig::Adam { rate: LINEAR_RATE },
            },
            DemoModel {
                label: vanilla,
                model: (self.network)(),
                objective: plain(),
                optimizer: OptimizerConfig::default(),
            },
            DemoModel {
                label: r2et,
                model: (self.network)(),
                objective: ObjectiveConfig::R2et(r2et::R2etConfig {
                    hessian_weight: r2et::hessian_weight(shape),
                    ..r2et::R2etConfig::default()
                }),
                optimizer: OptimizerConfig::default(),
            },
        ]
    }

    /// The name of a model's file, without its ending: `breast-cancer-mlp-r2et`.
    pub(super) fn name(&self, model: &DemoModel) -> String {
        format!("{}-{}", self.data, model.label.replace(' ', "-"))
    }
}
