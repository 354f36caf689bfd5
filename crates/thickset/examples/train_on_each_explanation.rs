//! Does R2ET keep the explanation that it is trained on?
//!
//! On the bundled digits, one convolutional network is trained plainly, one by R2ET on the papers' explanation of grey images,
//! the gradient as shares of its sum, and one by R2ET on each other kind of explanation. Every explanation is then attacked
//! in the network that was trained on it, in the one that was trained on the gradient, and in the plain one: the same rows,
//! the same suite.
//!
//! ```sh
//! cargo run --release -p thickset --example train_on_each_explanation
//! ```

use thickset::attack::ThreatConfig;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::BallConfig;
use thickset::config::RunConfig;
use thickset::data::{Dataset, Part};
use thickset::explain::{ExplainConfig, Points};
use thickset::metric::ranking::TopK;
use thickset::metric::{auc, distinctness};
use thickset::objective::ObjectiveConfig;
use thickset::statistics::{mean, paired};
use thickset::{Model, Result, defaults, host, train};

/// What R2ET is trained on. Few draws and steps, so that the whole table takes minutes.
const EXPLANATIONS: [(&str, &str); 5] = [
    ("grad", "{ kind = \"grad\" }"),
    ("grad-input", "{ kind = \"grad-input\" }"),
    ("smooth-grad", "{ kind = \"smooth-grad\", draws = 4 }"),
    (
        "integrated-gradients",
        "{ kind = \"integrated-gradients\", steps = 4 }",
    ),
    ("concept", "{ kind = \"concept\" }"),
];

/// Test rows that are attacked.
const ATTACKED: usize = 60;

/// Radius of the l2 ball; pixels are in 0 to 1.
const RADIUS: f64 = 0.5;

/// Trains one network; only the objective differs.
fn trained(objective: &str, data: &Dataset) -> Result<Model> {
    let text = format!(
        "name = \"example\"\nobjective = {objective}\n\
         model = {{ kind = \"cnn\", channels = [8, 16], hidden = [32] }}\n\
         train = {{ epochs = 6, batch = 32 }}\nprobe = {{ rows = 32 }}\ndata = {{ source = \"digits\" }}\n"
    );
    let run = RunConfig::parse(&text, "example")?.check()?;
    Ok(train(&run, data)?.model)
}

/// How one explanation does in one network.
struct Stability {
    /// Of each attacked row.
    precision: Vec<f64>,
    distinctness: Option<f64>,
}

fn stability(model: &Model, explain: &ExplainConfig, data: &Dataset) -> Result<Stability> {
    let checked = explain.check(&data.schema)?;
    let k = defaults::salient(None, checked.importances(&model.network)?);
    let suite = SuiteConfig {
        effort: Effort::Quick,
        k,
        threat: ThreatConfig {
            ball: BallConfig {
                radius: RADIUS,
                ..BallConfig::default()
            },
            ..ThreatConfig::default()
        },
    };
    let test = &data.part(Part::Test)[..ATTACKED];
    let values: Vec<f64> = data.gather(test).into_iter().map(f64::from).collect();
    let ids: Vec<u64> = test.iter().map(|row| *row as u64).collect();
    let rows = Points {
        values: &values,
        ids: &ids,
    };
    let seed = thickset::Seed::new(0);
    let suite = suite.check(explain, &data.schema)?;
    let attacked = suite.perturb(&model.network, rows, seed)?;
    let explained = checked.attribute(&model.network, rows, seed)?;
    let sets: Vec<TopK> = explained
        .iter()
        .map(|row| TopK::of(&row.importance, k))
        .collect::<Result<_>>()?;
    Ok(Stability {
        precision: attacked.rows.iter().map(|row| row.precision).collect(),
        distinctness: distinctness::score(&sets)?,
    })
}

/// AUC on all test rows.
fn test_auc(model: &Model, data: &Dataset) -> Result<f64> {
    let test = data.part(Part::Test);
    let network = &model.network;
    let x = network.batch_f32(&data.gather(test));
    let probabilities = host::read(network.probabilities(x));
    let rows: Vec<Vec<f64>> = probabilities
        .chunks(network.classes())
        .map(<[f64]>::to_vec)
        .collect();
    let auc = auc::score(&rows, &data.gather_labels(test))?;
    Ok(auc.map_or(f64::NAN, |auc| auc.value))
}

fn main() -> Result<()> {
    let run = RunConfig::parse("data = { source = \"digits\" }", "example")?;
    let data = run.data.open(run.seed)?;
    let vanilla = trained("{ kind = \"vanilla\" }", &data)?;
    let objective =
        |explain: &str| format!("{{ kind = \"r2et\", hessian_weight = 1.0, explain = {explain} }}");
    let on_gradient = trained(&objective(EXPLANATIONS[0].1), &data)?;
    println!("AUC of the plain network {:.4}", test_auc(&vanilla, &data)?);
    println!(
        "| explanation | AUC | P@k, trained on it | on the gradient | plainly | gain over the gradient (95% interval) | distinctness: on it | on the gradient | plainly |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, explain) in EXPLANATIONS {
        let own = trained(&objective(explain), &data)?;
        let config: ObjectiveConfig = objective(explain).parse()?;
        let explain = config.explain(&data.schema);
        let [on_it, by_gradient, plain] = [
            stability(&own, &explain, &data)?,
            stability(&on_gradient, &explain, &data)?,
            stability(&vanilla, &explain, &data)?,
        ];
        let gain = paired::compare(&on_it.precision, &by_gradient.precision)?.mean;
        let mean_of = |stability: &Stability| mean::estimate(&stability.precision);
        let of = |stability: &Stability| stability.distinctness.unwrap_or(f64::NAN);
        let interval = gain.interval.map_or_else(String::new, |interval| {
            format!(" ({:+.3} to {:+.3})", interval.low, interval.high)
        });
        println!(
            "| {name} | {:.4} | {:.3} | {:.3} | {:.3} | {:+.3}{interval} | {:.3} | {:.3} | {:.3} |",
            test_auc(&own, &data)?,
            mean_of(&on_it)?.value,
            mean_of(&by_gradient)?.value,
            mean_of(&plain)?.value,
            gain.value,
            of(&on_it),
            of(&by_gradient),
            of(&plain),
        );
    }
    Ok(())
}
