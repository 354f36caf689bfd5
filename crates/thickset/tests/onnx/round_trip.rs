//! Our own models as ONNX and back: the same bits.

use thickset::data::InputShape;
use thickset::model::{
    Activation, CnnConfig, GcnConfig, LinearConfig, MlpConfig, Model, ModelConfig, Resnet9Config,
    Resnet18Config, SegmentedConfig, SiameseConfig, siamese,
};
use thickset::onnx::{self, ExportOptions, OnnxOptions};
use thickset::{Rows, Seed};

use super::golden;

/// Every architecture of ours with an input that it takes.
pub fn architectures() -> Vec<(&'static str, ModelConfig, InputShape, usize)> {
    let image = |channels, side| InputShape::Image {
        channels,
        height: side,
        width: side,
    };
    let pair = |of: InputShape| InputShape::Pair { of: Box::new(of) };
    let soft = MlpConfig {
        hidden: vec![6],
        activation: Activation::Softplus { beta: 2.0 },
    };
    let gcn = SiameseConfig {
        embedding: siamese::Embedding::Gcn(GcnConfig {
            hidden: 4,
            embedding: 3,
            ..GcnConfig::default()
        }),
        ..SiameseConfig::default()
    };
    vec![
        (
            "linear",
            LinearConfig::default().into(),
            InputShape::Table,
            5,
        ),
        ("mlp", MlpConfig::default().into(), InputShape::Table, 5),
        ("mlp softplus", soft.into(), InputShape::Table, 5),
        (
            "segmented",
            SegmentedConfig {
                blocks: vec![2, 3],
                ..SegmentedConfig::default()
            }
            .into(),
            InputShape::Table,
            5,
        ),
        ("cnn", CnnConfig::default().into(), image(1, 12), 144),
        (
            "resnet9",
            Resnet9Config::default().into(),
            image(3, 32),
            3072,
        ),
        (
            "resnet18",
            Resnet18Config {
                width: 8,
                ..Resnet18Config::default()
            }
            .into(),
            image(3, 32),
            3072,
        ),
        (
            "siamese cnn",
            SiameseConfig::default().into(),
            pair(image(1, 12)),
            288,
        ),
        (
            "siamese gcn",
            gcn.into(),
            pair(InputShape::Graph { nodes: 5 }),
            20,
        ),
    ]
}

#[test]
fn every_architecture_comes_back_with_the_same_bits() {
    for (name, config, input, features) in architectures() {
        let classes = ["no", "yes"].map(str::to_owned).to_vec();
        let model = Model::fresh(config, input, features, classes, None, Seed::new(3)).unwrap();
        let bytes = model.to_onnx(ExportOptions::default()).unwrap();
        let back = onnx::parse(&bytes, name, &OnnxOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {}", super::described(&error)));
        assert_eq!(back.model.description, model.description, "{name}");
        let mut stream = Seed::new(1).stream("rows");
        #[expect(clippy::cast_possible_truncation, reason = "rows")]
        let values: Vec<f32> = (0..3 * features).map(|_| stream.uniform() as f32).collect();
        let rows = Rows::new(&values, model.schema()).unwrap();
        assert_eq!(
            model.predict(&rows).unwrap(),
            back.model.predict(&rows).unwrap(),
            "{name}"
        );
        assert_eq!(model.to_bytes(), back.model.to_bytes(), "{name}");
    }
}

#[test]
fn a_graph_that_was_changed_is_read_by_its_operators() {
    let classes = ["no", "yes"].map(str::to_owned).to_vec();
    let config = MlpConfig {
        hidden: vec![4],
        ..MlpConfig::default()
    };
    let model = Model::fresh(
        config.into(),
        InputShape::Table,
        3,
        classes,
        None,
        Seed::new(3),
    )
    .unwrap();
    let bytes = model.to_onnx(ExportOptions::default()).unwrap();
    // The node `Relu` becomes `Tanh`, which the description does not know.
    let place = bytes.windows(4).position(|part| part == b"Relu").unwrap();
    let mut changed = bytes;
    changed[place..place + 4].copy_from_slice(b"Tanh");
    let back = onnx::parse(&changed, "changed", &OnnxOptions::default()).unwrap();
    assert_eq!(back.model.description.model.kind(), "graph");
    assert_eq!(back.model.network.forms().unwrap().len(), 3);
    assert!(!back.model.network.is_piecewise_linear());
}

#[test]
fn a_models_own_graph_read_by_its_operators_gives_the_same_probabilities() {
    let read = ["linear", "mlp", "mlp softplus", "cnn", "resnet9"];
    let all = architectures().into_iter();
    for (name, config, input, features) in all.filter(|(name, ..)| read.contains(name)) {
        let classes = ["no", "yes"].map(str::to_owned).to_vec();
        let model = Model::fresh(config, input, features, classes, None, Seed::new(3)).unwrap();
        let bytes = model.to_onnx(ExportOptions::default()).unwrap();
        // Without its metadata a file of ours is a file like any other.
        let place = bytes
            .windows(14)
            .position(|part| part == b"thickset.graph")
            .unwrap();
        let mut plain = bytes;
        plain[place] = b'T';
        let back = onnx::parse(&plain, name, &OnnxOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {}", super::described(&error)));
        assert_eq!(back.model.description.model.kind(), "graph", "{name}");
        let mut stream = Seed::new(1).stream("rows");
        #[expect(clippy::cast_possible_truncation, reason = "rows")]
        let values: Vec<f32> = (0..3 * features).map(|_| stream.uniform() as f32).collect();
        let ours = model
            .predict(&Rows::new(&values, model.schema()).unwrap())
            .unwrap();
        let theirs = back
            .model
            .predict(&Rows::new(&values, back.model.schema()).unwrap())
            .unwrap();
        for (ours, theirs) in ours.iter().zip(&theirs) {
            for (a, b) in ours.probabilities.iter().zip(&theirs.probabilities) {
                assert!((a - b).abs() < 1e-6, "{name}: {a} and {b}");
            }
        }
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let file = golden().with_file_name("onnx_more").join("svc_three.onnx");
    let model = onnx::open(&file, &OnnxOptions::default()).unwrap().model;
    let refused = model.to_onnx(ExportOptions::default()).unwrap_err();
    assert!(
        refused.to_string().contains("support-vector machine"),
        "{refused}"
    );
}
