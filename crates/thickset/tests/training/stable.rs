//! What R2ET is for: under the suite, its explanations hold better than plain training's at the same AUC.

use thickset::Seed;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::data::Part;
use thickset::explain::{ExplainConfig, Points};
use thickset::metric::auc;
use thickset::model::Model;
use thickset::statistics::paired;

use super::{config, data, run};

/// How far the AUC may fall for stability.
const AUC_LOSS: f64 = 0.01;

/// The AUC on test rows and each row's P@8 at the worst point that the quick suite finds.
fn measured(objective: &str, seed: u64) -> (f64, Vec<f64>) {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&format!(
        "seed = {seed}\nexplain = {{ kind = \"grad\", reduce = \"absolute\" }}\nobjective = {{ kind = \"{objective}\" }}\ntrain = {{ epochs = 30, batch = 32 }}"
    ));
    run(&config, folder.path());
    let network = Model::load(&folder.path().join("model.safetensors"))
        .unwrap()
        .network;
    let dataset = data(&config);
    let test = dataset.part(Part::Test);
    let gathered = dataset.gather(test);
    let classes: Vec<f64> = network
        .probabilities(network.batch_f32(&gathered))
        .into_data()
        .iter()
        .collect();
    let classes: Vec<Vec<f64>> = classes.chunks(2).map(<[f64]>::to_vec).collect();
    let auc = auc::score(&classes, &dataset.gather_labels(test)).unwrap();
    let values: Vec<f64> = gathered.into_iter().map(f64::from).collect();
    let ids: Vec<u64> = test.iter().map(|row| *row as u64).collect();
    let suite = SuiteConfig {
        effort: Effort::Quick,
        ..SuiteConfig::default()
    };
    let found = suite
        .check(&ExplainConfig::default(), &dataset.schema)
        .unwrap()
        .perturb(
            &network,
            Points {
                values: &values,
                ids: &ids,
            },
            Seed::new(seed),
        )
        .unwrap();
    let precisions = found.rows.into_iter().map(|row| row.precision).collect();
    (auc.unwrap().value, precisions)
}

#[test]
fn r2et_holds_better_under_the_suite_than_vanilla_at_the_same_auc() {
    let (mut stable, mut plain) = (Vec::new(), Vec::new());
    for seed in 0..3 {
        let (auc, precisions) = measured("r2et", seed);
        let (plain_auc, plain_precisions) = measured("vanilla", seed);
        assert!(
            auc >= plain_auc - AUC_LOSS,
            "seed {seed}: {auc}, {plain_auc}"
        );
        let gain = paired::compare(&precisions, &plain_precisions).unwrap();
        assert!(gain.mean.value > 0.0, "seed {seed}: {gain:?}");
        stable.extend(precisions);
        plain.extend(plain_precisions);
    }
    let gain = paired::compare(&stable, &plain).unwrap();
    let interval = gain.mean.interval.unwrap();
    assert!(interval.low > 0.03, "{gain:?}");
    assert!(gain.wilcoxon.p_value < 0.001, "{gain:?}");
}
