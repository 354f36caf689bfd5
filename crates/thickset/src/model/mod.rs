//! Models: architectures that a configuration names, and one-file models on disk.

pub mod binned;
pub mod cnn;
pub mod foreign;
pub mod gcn;
pub mod graph;
pub mod linear;
pub mod mlp;
pub mod resnet18;
pub mod resnet9;
pub mod segmented;
pub mod siamese;

mod attack;
mod audit;
mod audit_reasons;
mod base_values;
mod certify;
mod decide;
mod device;
mod explain;
mod file_rows;
mod fresh;
mod image;
mod memory;
mod open_rows;
mod opened_rows;
mod origin;
mod predict;
mod reasons;
mod references;
mod row_choice;
mod row_stream;
pub(crate) mod single_classifier;
mod stored;
pub(crate) mod theory;

pub use attack::{AttackOptions, AttackedRow, Attacks, RadiusCurve};
pub use audit::AuditOptions;
pub use binned::BinnedConfig;
pub use certify::{
    Certificates, CertifiedRow, CertifyOptions, SmoothedCertificates, SmoothedOptions,
    ToleratedRange,
};
pub use cnn::CnnConfig;
pub use explain::{ExplainOptions, Explanations};
pub use foreign::ForeignConfig;
pub use fresh::Fresh;
pub use gcn::GcnConfig;
pub use graph::{GraphConfig, GraphLayer};
pub use linear::LinearConfig;
pub use mlp::MlpConfig;
pub use opened_rows::{OpenedRows, PartChoice, RowsConfig, Selection};
pub use origin::Origin;
pub use predict::Prediction;
pub use reasons::ReasonsOptions;
pub use resnet9::Resnet9Config;
pub use resnet18::Resnet18Config;
pub use row_choice::{RowChoice, Shard};
pub use row_stream::RowStream;
pub use segmented::{Gate, SegmentedConfig};
pub use siamese::SiameseConfig;
pub use stored::{Description, Model};
pub(crate) use stored::{FORMAT, ModelSource};
pub use theory::TheoryOptions;

use serde::{Deserialize, Serialize};
use thickset_engine::layer::{Relu, Softplus};
use thickset_engine::{
    DType, Device, Init, Network, NetworkBuilder, ParameterSource, Role, Source, Tensor,
};

use crate::data::InputShape;
use crate::kinds::kinds;
use crate::registry::Info;
use crate::{Error, Result};

/// The widest layer or deepest stack that a configuration may ask for.
const MAX_SIZE: usize = 1 << 20;

/// The most numbers of a network: with their gradients and an optimiser's two averages they take 4 GiB in single precision.
const MAX_NUMBERS: usize = 1 << 28;

/// A way to build a network, with its settings.
pub trait Architecture {
    /// The registry's entry.
    fn info(&self) -> &'static Info;

    /// Adds its layers for inputs of this shape, the last with one output a class.
    ///
    /// # Errors
    /// If it does not fit the input, or a size is out of range.
    fn build(
        &self,
        input: &InputShape,
        classes: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()>;

    /// The same architecture with another activation; itself, if it has none.
    fn with_activation(&self, activation: Activation) -> ModelConfig;
}

kinds! {
    /// An architecture as a configuration states it: `model = { kind = "mlp", hidden = [64, 32] }`.
    pub enum ModelConfig of Architecture, read as "the model" {
        Binned(BinnedConfig),
        Cnn(CnnConfig),
        Foreign(ForeignConfig),
        Graph(GraphConfig),
        Linear(LinearConfig),
        Mlp(MlpConfig),
        Resnet18(Resnet18Config),
        Resnet9(Resnet9Config),
        Segmented(SegmentedConfig),
        Siamese(SiameseConfig),
    }
}

/// The registry's entries of this family: the architectures, and what one of them is made of.
pub(crate) fn infos() -> impl Iterator<Item = &'static Info> {
    let kinds = ModelConfig::all().into_iter();
    kinds
        .map(|kind| kind.behaviour().info())
        .chain(std::iter::once(&gcn::INFO))
}

impl ModelConfig {
    /// The same architecture with another activation; a linear one has none.
    #[must_use]
    pub fn with_activation(&self, activation: Activation) -> Self {
        self.behaviour().with_activation(activation)
    }

    /// Builds the network over `features` of the given shape, its weights taken from `source`.
    ///
    /// # Errors
    /// If the architecture does not fit the input, has too many weights, or the source cannot fill it.
    pub fn network(
        &self,
        input: &InputShape,
        features: usize,
        classes: usize,
        source: &mut dyn ParameterSource,
    ) -> Result<Network> {
        // Before the first weight is made.
        self.build(input, features, classes, &mut Count::default())?;
        self.build(input, features, classes, source)
    }

    fn build(
        &self,
        input: &InputShape,
        features: usize,
        classes: usize,
        source: &mut dyn ParameterSource,
    ) -> Result<Network> {
        if features == 0 {
            return Err(Error::ModelSize {
                name: "features",
                expected: "at least 1",
                got: features,
            });
        }
        if classes < 2 {
            return Err(Error::ModelSize {
                name: "classes",
                expected: "at least 2",
                got: classes,
            });
        }
        let mut builder = NetworkBuilder::new(features, source);
        self.behaviour().build(input, classes, &mut builder)?;
        Ok(builder.finish()?)
    }
}

/// Counts what a network asks for, and gives it nothing to compute with.
#[derive(Default)]
struct Count {
    numbers: usize,
}

impl ParameterSource for Count {
    fn values(
        &mut self,
        _: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let more = shape
            .iter()
            .fold(1_usize, |product, &size| product.saturating_mul(size));
        self.numbers = self.numbers.saturating_add(more);
        if self.numbers > MAX_NUMBERS {
            return Err(thickset_engine::Error::Size {
                name: "weights of the network",
                most: MAX_NUMBERS,
                got: self.numbers,
            });
        }
        Ok(Tensor::zeros([1, 1], &Device::cpu()))
    }

    fn dtype(&self) -> DType {
        DType::F32
    }
}

/// The nonlinearity between layers: `"relu"` or `{ softplus = { beta = 1.0 } }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Activation {
    /// `max(x, 0)`.
    #[default]
    Relu,
    /// `log(1 + exp(beta x)) / beta`.
    Softplus {
        /// Sharpness; ReLU in the limit.
        beta: f64,
    },
}

impl Activation {
    fn add(self, builder: &mut NetworkBuilder<'_>) -> Result<Source> {
        Ok(match self {
            Self::Relu => builder.then(|_| Ok(Relu))?,
            Self::Softplus { beta } => builder.then(|_| Softplus::new(beta))?,
        })
    }
}

/// Fully connected layers of these sizes with an activation after each but the last.
fn dense(
    hidden: &[usize],
    outputs: usize,
    activation: Activation,
    builder: &mut NetworkBuilder<'_>,
) -> Result<()> {
    for &size in hidden {
        check_size("hidden", size)?;
        let features = builder.features(builder.last());
        builder.then(|scope| thickset_engine::layer::Linear::new(features, size, scope))?;
        activation.add(builder)?;
    }
    let features = builder.features(builder.last());
    builder.then(|scope| thickset_engine::layer::Linear::new(features, outputs, scope))?;
    Ok(())
}

fn check_size(name: &'static str, got: usize) -> Result<()> {
    if (1..=MAX_SIZE).contains(&got) {
        Ok(())
    } else {
        Err(Error::ModelSize {
            name,
            expected: "in 1..=1048576",
            got,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn parsed(text: &str) -> std::result::Result<ModelConfig, toml::de::Error> {
        #[derive(Deserialize)]
        struct File {
            model: ModelConfig,
        }
        toml::from_str::<File>(text).map(|file| file.model)
    }

    #[test]
    fn every_kind_is_reachable_from_a_configuration_with_its_defaults() {
        for (kind, expected) in [
            ("binned", ModelConfig::Binned(BinnedConfig::default())),
            ("linear", ModelConfig::Linear(LinearConfig::default())),
            ("mlp", ModelConfig::Mlp(MlpConfig::default())),
            ("cnn", ModelConfig::Cnn(CnnConfig::default())),
            ("graph", ModelConfig::Graph(GraphConfig::default())),
            ("resnet9", ModelConfig::Resnet9(Resnet9Config::default())),
            ("resnet18", ModelConfig::Resnet18(Resnet18Config::default())),
            (
                "segmented",
                ModelConfig::Segmented(SegmentedConfig::default()),
            ),
            ("siamese", ModelConfig::Siamese(SiameseConfig::default())),
        ] {
            let model = parsed(&format!("model = {{ kind = \"{kind}\" }}")).unwrap();
            assert_eq!(model, expected);
            assert_eq!(model.kind(), kind);
        }
    }

    #[test]
    fn settings_and_composition_are_fields() {
        let model = parsed(
            "model = { kind = \"mlp\", hidden = [9], activation = { softplus = { beta = 2.0 } } }",
        );
        let expected = MlpConfig {
            hidden: vec![9],
            activation: Activation::Softplus { beta: 2.0 },
        };
        assert_eq!(model.unwrap(), ModelConfig::Mlp(expected));
        let model =
            parsed("model = { kind = \"siamese\", embedding = { kind = \"gcn\", hidden = 8 } }");
        let ModelConfig::Siamese(siamese) = model.unwrap() else {
            panic!("a siamese model")
        };
        assert!(matches!(siamese.embedding, siamese::Embedding::Gcn(gcn) if gcn.hidden == 8));
    }

    #[test]
    fn unknown_kinds_and_settings_are_refused() {
        for text in [
            "model = { kind = \"mpl\" }",
            "model = { kind = \"mlp\", hiden = [9] }",
            "model = { kind = \"linear\", hidden = [9] }",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_network_of_terabytes_is_refused_before_a_weight_is_drawn() {
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: vec![1 << 20, 1 << 20],
            ..MlpConfig::default()
        });
        let mut source = Fresh::new(Seed::new(0));
        let refused = model.network(&InputShape::Table, 28, 2, &mut source);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "`weights of the network` must lie in 1..=268435456, got 1099542036480"
        );
    }

    #[test]
    fn an_architecture_that_does_not_fit_its_input_says_so() {
        let image = InputShape::Image {
            channels: 1,
            height: 28,
            width: 28,
        };
        let refusal = |model: ModelConfig, input: &InputShape, features| {
            let mut source = Fresh::new(Seed::new(0));
            let refused = model.network(input, features, 2, &mut source);
            refused.unwrap_err().to_string()
        };
        let cnn = || ModelConfig::Cnn(CnnConfig::default());
        assert_eq!(
            refusal(cnn(), &InputShape::Table, 28),
            "model `cnn` takes images, got a table"
        );
        assert_eq!(
            refusal(ModelConfig::Siamese(SiameseConfig::default()), &image, 784),
            "model `siamese` takes pairs of images or graphs, got images of 1 x 28 x 28"
        );
        assert_eq!(
            refusal(cnn(), &image, 100),
            "layer 0 (`conv2d`) cannot read inputs of [100] features"
        );
        let softplus = MlpConfig {
            activation: Activation::Softplus { beta: -1.0 },
            ..MlpConfig::default()
        };
        assert_eq!(
            refusal(ModelConfig::Mlp(softplus), &InputShape::Table, 3),
            "`beta` must be finite and positive, got -1"
        );
    }
}
