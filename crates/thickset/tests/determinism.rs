//! The same bits for 1, 2 and 4 threads, and per row for any batch.

use thickset::Seed;
use thickset::data::InputShape;
use thickset::model::{
    CnnConfig, Fresh, GcnConfig, LinearConfig, MlpConfig, ModelConfig, Resnet9Config,
    Resnet18Config, SiameseConfig, siamese,
};
use thickset_engine::optimizer::{Adam, Optimizer as _};
use thickset_engine::{Network, Output, Tensor, one_hot};

fn networks() -> Vec<(&'static str, Network)> {
    let image = |channels, side| InputShape::Image {
        channels,
        height: side,
        width: side,
    };
    let graph = InputShape::Pair {
        of: Box::new(InputShape::Graph { nodes: 12 }),
    };
    let gcn = SiameseConfig {
        embedding: siamese::Embedding::Gcn(GcnConfig {
            hidden: 24,
            embedding: 9,
            ..GcnConfig::default()
        }),
        size: 1,
    };
    let pictures = InputShape::Pair {
        of: Box::new(image(1, 8)),
    };
    let embedded = SiameseConfig {
        embedding: siamese::Embedding::Cnn(CnnConfig {
            channels: [4, 8],
            hidden: vec![12],
            ..CnnConfig::default()
        }),
        size: 6,
    };
    let deep = Resnet18Config {
        width: 4,
        ..Resnet18Config::default()
    };
    let resnet = Resnet9Config {
        width: 8,
        ..Resnet9Config::default()
    };
    [
        (
            "mlp",
            ModelConfig::Mlp(MlpConfig::default()),
            InputShape::Table,
            28,
            2,
        ),
        (
            "cnn",
            ModelConfig::Cnn(CnnConfig::default()),
            image(1, 28),
            784,
            10,
        ),
        (
            "resnet9",
            ModelConfig::Resnet9(resnet),
            image(3, 16),
            768,
            4,
        ),
        ("resnet18", ModelConfig::Resnet18(deep), image(3, 8), 192, 4),
        ("siamese gcn", ModelConfig::Siamese(gcn), graph, 132, 2),
        (
            "siamese cnn",
            ModelConfig::Siamese(embedded),
            pictures,
            128,
            2,
        ),
        (
            "linear",
            ModelConfig::Linear(LinearConfig::default()),
            InputShape::Table,
            28,
            3,
        ),
    ]
    .into_iter()
    .map(|(name, model, input, features, classes)| {
        let mut source = Fresh::new(Seed::new(1));
        (
            name,
            model
                .network(&input, features, classes, &mut source)
                .unwrap(),
        )
    })
    .collect()
}

fn rows(network: &Network, count: usize) -> Vec<f64> {
    let mut stream = Seed::new(2).stream("rows");
    (0..count * network.features())
        .map(|_| stream.normal())
        .collect()
}

fn bits(tensor: Tensor<2>) -> Vec<u32> {
    let values: Vec<f32> = tensor.without_autodiff().into_data().try_to_vec().unwrap();
    values.into_iter().map(f32::to_bits).collect()
}

/// Logits, input gradient and Hessian product of each row, as bits.
fn explained(network: &Network, rows: &[f64]) -> Vec<Vec<u32>> {
    let x = network.batch(rows);
    let count = x.dims()[0];
    let direction = x.clone() * 0.5 + 0.25;
    let pass = network.pass(x);
    let logits = pass.logits();
    let classes = one_hot(
        &vec![1; count],
        network.classes(),
        network.dtype(),
        &logits.device(),
    );
    let gradient = pass.input_gradient(Output::Probability, classes);
    let product = gradient.hessian_product(direction);
    let all = Tensor::cat(
        vec![logits, pass.probabilities(), gradient.value(), product],
        1,
    );
    let width = all.dims()[1];
    bits(all).chunks(width).map(<[u32]>::to_vec).collect()
}

/// The weights after two steps on a loss with an input gradient and a Hessian product.
fn trained(network: &Network, rows: &[f64]) -> Vec<Vec<u32>> {
    let mut network = network.clone();
    network.track();
    let mut optimizer = Adam::new(1e-2);
    for _ in 0..2 {
        let x = network.batch(rows);
        let count = x.dims()[0];
        let direction = x.clone() * 0.5 + 0.25;
        let (logits, statistics) = network.logits_fitting(x.clone());
        let pass = network.pass(x);
        let device = logits.device().without_autodiff();
        let classes = one_hot(&vec![0; count], network.classes(), network.dtype(), &device);
        let log = thickset_engine::activation::log_softmax(logits, 1);
        let gradient = pass.input_gradient(Output::Probability, classes.clone());
        let product = gradient.hessian_product(direction);
        let loss = -(log * classes).sum()
            + gradient.value().abs().sum()
            + (product.clone() * product).sum();
        drop(gradient);
        drop(pass);
        let gradients = loss.backward();
        optimizer.step(&mut network, gradients);
        network.follow(&statistics);
    }
    let parameters = network.parameters();
    parameters
        .iter()
        .map(|parameter| bits(parameter.value.clone()))
        .collect()
}

#[test]
fn a_row_has_the_same_bits_alone_and_in_any_batch() {
    for (name, network) in networks() {
        let rows = rows(&network, 70);
        let together = explained(&network, &rows);
        for start in [0, 1, 33, 69] {
            for count in [1, 2, 7, 20] {
                if start + count > 70 {
                    continue;
                }
                let part = &rows[start * network.features()..(start + count) * network.features()];
                let apart = explained(&network, part);
                assert!(
                    apart == together[start..start + count],
                    "{name}: rows {start}..{} differ from the batch of 70",
                    start + count
                );
            }
        }
    }
}

#[test]
fn explanations_and_training_have_the_same_bits_for_any_number_of_threads() {
    for (name, network) in networks() {
        let rows = rows(&network, 33);
        let with_threads = |count: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(count)
                .build()
                .unwrap();
            pool.install(|| (explained(&network, &rows), trained(&network, &rows)))
        };
        let one = with_threads(1);
        for count in [2, 4] {
            assert!(
                one == with_threads(count),
                "{name}: {count} threads differ from one"
            );
        }
    }
}
