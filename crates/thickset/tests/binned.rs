//! Models with bins of every number, from training to contributions, attacks and certificates.

use thickset::attack::ThreatConfig;
use thickset::config::RunConfig;
use thickset::explain::contributions::ContributionsConfig;
use thickset::model::{AttackOptions, CertifyOptions, ExplainOptions, Model};
use thickset::{Dataset, Seed, train};

/// The class depends on bands of the first number, on the second and on which of two categories a row has.
fn banded() -> Dataset {
    let mut stream = Seed::new(2).stream("rows");
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for row in 0..600 {
        let (a, b, side) = (stream.uniform(), stream.uniform(), row % 2);
        let band = (12.0 * a).sin();
        labels.push(usize::from(band + 0.5 * (b - 0.5) > 0.0));
        let hot = |wanted: usize| f32::from(u8::from(side == wanted));
        #[expect(clippy::cast_possible_truncation, reason = "rows are f32")]
        values.extend([a as f32, b as f32, hot(0), hot(1)]);
    }
    let mut data = Dataset::from_rows(values, labels, &["a", "b", "c0", "c1"]).unwrap();
    for feature in &mut data.schema.features[2..] {
        feature.group = Some(0);
    }
    data
}

fn trained(data: &Dataset, model: &str) -> (Model, f64) {
    let text = format!(
        "k = 2\nexplain = {{ kind = \"grad\", reduce = \"absolute\" }}\nmodel = {model}\nobjective = {{ kind = \"vanilla\" }}\n\
         [train]\nepochs = 12\nbatch = 32\nschedule = \"cosine\"\noptimizer = {{ kind = \"adam\", rate = 0.01 }}\n[probe]\nrows = 0\n"
    );
    let run = RunConfig::parse(&text, "run.toml").unwrap();
    let trained = train(&run.check().unwrap(), data).unwrap();
    (trained.model, trained.best_auc)
}

const BINNED: &str = "{ kind = \"binned\", hidden = [8, 6], bins = 6 }";

#[test]
fn bins_learn_bands_that_the_same_layers_miss_without_them() {
    let data = banded();
    let (_, plain) = trained(&data, "{ kind = \"mlp\", hidden = [8, 6] }");
    let (_, binned) = trained(&data, BINNED);
    assert!(binned > 0.93, "{binned}");
    assert!(binned > plain + 0.02, "{binned} {plain}");
}

#[test]
fn contributions_of_the_columns_add_up_to_the_difference_of_the_scores() {
    let data = banded();
    let (model, _) = trained(&data, BINNED);
    let rows = data.test();
    let options = ExplainOptions {
        explanation: Some(ContributionsConfig::default().into()),
        ..ExplainOptions::default()
    };
    let explained = model.explain(&rows, &options).unwrap();
    // What is left of a row's score without its contributions is the score of the reference row, the same for all.
    let mut left = Vec::new();
    let mut own = [0.0_f32; 4];
    for (place, row) in explained.rows.iter().enumerate() {
        rows.copy(place, &mut own);
        let own: Vec<f64> = own.iter().copied().map(f64::from).collect();
        let logits = model.network.logits(model.network.batch(&own));
        let logits: Vec<f64> = logits.into_data().iter::<f64>().collect();
        let sum: f64 = row.importance.iter().sum();
        let score = logits[row.class] - logits[1 - row.class];
        left.push(if row.class == 1 {
            score - sum
        } else {
            sum - score
        });
    }
    let (least, most) = (
        left.iter().copied().fold(f64::INFINITY, f64::min),
        left.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    assert!(left.len() > 50 && most - least < 1e-4, "{least} {most}");
}

#[test]
fn no_attack_breaks_a_certificate_of_a_model_with_bins() {
    let data = banded();
    let (model, _) = trained(&data, BINNED);
    let rows = data.test();
    let mut proved = 0;
    for radius in [0.01, 0.04] {
        let certify = CertifyOptions {
            k: Some(2),
            radius: Some(radius),
            threat: ThreatConfig::papers(),
            ..CertifyOptions::default()
        };
        let attack = AttackOptions {
            k: Some(2),
            radius: Some(radius),
            threat: Some(ThreatConfig::papers()),
            ..AttackOptions::default()
        };
        let certificates = model.certify(&rows, &certify).unwrap().rows;
        let attacked = model.attack(&rows, &attack).unwrap();
        for (row, certificate) in attacked.rows.iter().zip(&certificates) {
            let least = certificate.worst_case.kept_at_least;
            proved += usize::from(least == 2);
            assert!(row.found.precision * 2.0 + 1e-9 >= f64::from(u32::try_from(least).unwrap()));
        }
    }
    assert!(proved > 20, "{proved}");
}
