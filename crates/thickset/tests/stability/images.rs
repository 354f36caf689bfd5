//! Attacks on images.

use thickset::attack::AttackConfig;
use thickset::data::{InputShape, Schema};
use thickset::explain::{ExplainConfig, Points, reduce::ReductionConfig};
use thickset::model::{Activation, CnnConfig, Fresh, ModelConfig};
use thickset::{Error, Seed};

use crate::configs::{ball, kind};
use crate::golden::table;

#[test]
fn of_an_image_a_few_exchanged_pixels_are_no_manipulation() {
    let shape = InputShape::Image {
        channels: 1,
        height: 8,
        width: 8,
    };
    let model = ModelConfig::Cnn(CnnConfig {
        channels: [4, 4],
        hidden: vec![8],
        activation: Activation::Softplus { beta: 3.0 },
    });
    let network = model
        .network(&shape, 64, 3, &mut Fresh::new(Seed::new(1)))
        .unwrap();
    let mut stream = Seed::new(2).stream("x");
    let x: Vec<f64> = (0..8 * 64).map(|_| stream.uniform()).collect();
    let batch = Points {
        values: &x,
        ids: &[0, 1, 2, 3, 4, 5, 6, 7],
    };
    let config = AttackConfig {
        method: kind("mse-attack"),
        k: 10,
        threat: ball(3.0),
        steps: 20,
        ..AttackConfig::default()
    };
    let attack = config
        .check(&ExplainConfig::default(), &Schema::image(1, 8, 8, 255.0))
        .unwrap();
    let attacked = attack.perturb(&network, batch, Seed::new(1)).unwrap();
    let mut later = 0;
    for row in &attacked {
        assert_eq!(
            row.manipulation_epoch.is_some(),
            row.precision < 0.8,
            "{row:?}"
        );
        assert!(row.first_change.is_some() || row.manipulation_epoch.is_none());
        later += usize::from(row.manipulation_epoch > row.first_change);
    }
    assert!(later > 0, "{attacked:?}");
}

#[test]
fn the_centre_of_an_images_importances_is_moved() {
    let image = InputShape::Image {
        channels: 3,
        height: 8,
        width: 8,
    };
    let model = ModelConfig::Cnn(CnnConfig {
        channels: [4, 4],
        hidden: vec![8],
        activation: Activation::Softplus { beta: 3.0 },
    });
    let network = model
        .network(&image, 192, 3, &mut Fresh::new(Seed::new(1)))
        .unwrap();
    let schema = Schema::image(3, 8, 8, 255.0);
    let explain = ExplainConfig {
        reduce: ReductionConfig::ChannelSum,
        ..ExplainConfig::default()
    };
    let mut stream = Seed::new(2).stream("x");
    let x: Vec<f64> = (0..5 * 192).map(|_| stream.uniform()).collect();
    let config = AttackConfig {
        method: kind("mass-center"),
        threat: ball(2.0),
        steps: 20,
        ..AttackConfig::default()
    };
    let attack = config.check(&explain, &schema).unwrap();
    let batch = Points {
        values: &x,
        ids: &[0, 1, 2, 3, 4],
    };
    let (_, trace) = attack
        .perturb_traced(&network, batch, Seed::new(1))
        .unwrap();
    for row in 0..5 {
        // The value is the negative distance of the centres.
        assert!(trace.values[0][row].abs() < 1e-4);
        assert!(trace.values[19][row] < -0.005, "{}", trace.values[19][row]);
    }
    let refused = config
        .check(&ExplainConfig::default(), &table(4))
        .unwrap_err();
    assert!(matches!(refused, Error::AttackInput { .. }), "{refused}");
}
