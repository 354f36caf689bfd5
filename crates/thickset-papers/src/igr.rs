//! IGR's comparison: adversarial training with and without its regulariser, and the rival defences, on small subsets of images.
//! Integrated gradients under the iterative top-k attack, and predictions under a class attack.

use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::top_k::TopKConfig;
use thickset::attack::{AttackConfig, ThreatConfig};
use thickset::bench::Bench;
use thickset::data::InputShape;
use thickset::explain::{ExplainConfig, ExplanationConfig, Of, integrated_gradients};
use thickset::model::{CnnConfig, MlpConfig, ModelConfig};
use thickset::objective::ObjectiveConfig;
use thickset::objective::term::inner_attack::InnerAttack;
use thickset::train::OptimizerConfig;
use thickset::{Error, Result};

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{ChosenDatasets, PaperTable, choose_datasets};
use crate::measure::Measure;
use crate::method::{self, BenchMethod, MethodRole, VANILLA};
use crate::options::{BenchEffort, BenchOptions};
use crate::runner::{BenchRunner, Grid, GridEntry, SeededDatasets, TrainingPlan};
use crate::seeded_dataset::SeededDataset;
use crate::table_column::{Better, PERCENT, TableColumn, labels, table};

/// The rows beside vanilla: bases, the same with IGR, the rivals. TRADES' and IG-SUM-NORM's weights are those that their authors
/// have for such images; all else is the objective's default.
const OBJECTIVES: [(&str, &str); 10] = [
    ("pgd-at", "kind = 'pgd-at'"),
    ("pgd-at-igr", "kind = 'igr'\nbase = { kind = 'pgd-at' }"),
    ("trades", "kind = 'trades'\nbeta = 1.0"),
    (
        "trades-igr",
        "kind = 'igr'\nbase = { kind = 'trades', beta = 1.0 }",
    ),
    ("mart", "kind = 'mart'"),
    ("mart-igr", "kind = 'igr'\nbase = { kind = 'mart' }"),
    ("ig-norm", "kind = 'ig-norm'"),
    ("ig-sum-norm", "kind = 'ig-sum-norm'\nweight = 0.1"),
    ("adv-aat", "kind = 'adv-aat'"),
    ("art", "kind = 'art'"),
];

/// A base and the same with IGR.
const PAIRS: [(&str, &str); 3] = [
    ("pgd-at", "pgd-at-igr"),
    ("trades", "trades-igr"),
    ("mart", "mart-igr"),
];

/// What an effort comes to.
struct Scale {
    rows: usize,
    train_rows: usize,
    epochs: usize,
    network: CnnConfig,
    rate: f64,
    search_steps: i64,
    attack_steps: usize,
    restarts: usize,
    ig_steps: usize,
}

fn scale(effort: BenchEffort, balls: Balls) -> Scale {
    let quick = Scale {
        rows: 60,
        train_rows: 1000,
        epochs: 8,
        network: CnnConfig {
            channels: [8, 16],
            hidden: vec![32],
            ..CnnConfig::default()
        },
        rate: 1e-3,
        search_steps: 5,
        attack_steps: 20,
        restarts: 1,
        ig_steps: 20,
    };
    match (effort, balls) {
        (BenchEffort::Quick, Balls::ByEffort) => quick,
        (BenchEffort::Quick, Balls::Papers) => Scale {
            train_rows: 6000,
            network: CnnConfig::default(),
            rate: RATE,
            ..quick
        },
        (BenchEffort::Standard, _) => Scale {
            rows: 200,
            train_rows: 6000,
            epochs: 30,
            network: CnnConfig::default(),
            rate: RATE,
            search_steps: 10,
            attack_steps: 200,
            restarts: 5,
            ig_steps: 50,
        },
    }
}

/// Adam's rate at the papers' radii. On MNIST's validation images AT and MART predict the same of every image at 1e-3, or with half of the channels, and learn at 3e-4 within
/// eight epochs; at the 1e-4 of IGR's authors, who train for 90, they learn more slowly.
const RATE: f64 = 3e-4;

/// The balls that models are trained and attacked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Balls {
    /// A third of the papers' radius in a quick run, which trains shortly; the papers' in a standard one.
    ByEffort,
    /// The papers' radius, whatever the effort.
    Papers,
}

/// Radius of the l-infinity ball: the papers' 0.3, 0.1 and 8/255, or a third.
fn epsilon(name: &str, effort: BenchEffort, balls: Balls) -> f64 {
    let whole = match name {
        "mnist" => 0.3,
        "cifar10" | "gtsrb" => 8.0 / 255.0,
        _ => 0.1,
    };
    match (effort, balls) {
        (BenchEffort::Quick, Balls::ByEffort) => whole / 3.0,
        _ => whole,
    }
}

/// Salient pixels (IGR's k), and fewer where there are fewer pixels.
const K: usize = 100;
fn salient(features: usize) -> usize {
    K.min((features / 4).max(1))
}

/// Sharpness of the softplus twin that directions come from.
const TWIN: f64 = 10.0;

/// The options, with this bench's own where nothing is said, and these methods. Vanilla is always one of them.
pub(crate) fn with_defaults(
    options: &BenchOptions,
    methods: &[&str],
    balls: Balls,
) -> BenchOptions {
    let scale = scale(options.effort, balls);
    let mut options = options.clone();
    options.rows.get_or_insert(scale.rows);
    options.train_rows.get_or_insert(scale.train_rows);
    options.epochs.get_or_insert(scale.epochs);
    if options.methods.is_empty() {
        options.methods = methods.iter().map(|&id| id.to_owned()).collect();
    }
    if !options.methods.iter().any(|id| id == VANILLA) {
        options.methods.push(VANILLA.to_owned());
    }
    options
}

/// Every method on two datasets.
pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let options = with_defaults(
        runner.options,
        &OBJECTIVES.map(|(id, _)| id),
        Balls::ByEffort,
    );
    let title = "IGR: adversarial training with and without it, and its rivals";
    let plan = (Balls::ByEffort, &["mnist", "fashion-mnist"][..], 1);
    compare(runner, &options, BenchBuilder::new("igr", title), plan)
}

/// Adversarial training with and without IGR at the papers' radii, with the whole network and more images, on the papers' datasets.
pub(crate) fn run_at_papers_radii(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut options = runner.options.clone();
    options.seeds.get_or_insert(SEEDS);
    let methods: Vec<&str> = PAIRS
        .iter()
        .flat_map(|&(base, with)| [base, with])
        .collect();
    let options = with_defaults(&options, &methods, Balls::Papers);
    let title = "IGR at its authors' radii: adversarial training with and without it";
    let plan = (
        Balls::Papers,
        &["mnist", "fashion-mnist", "gtsrb", "cifar10"][..],
        SEEDS,
    );
    compare(
        runner,
        &options,
        BenchBuilder::new("igr-radii", title),
        plan,
    )
}

/// Seeds at the papers' radii.
const SEEDS: u64 = 3;

fn compare(
    runner: &BenchRunner<'_>,
    options: &BenchOptions,
    mut bench: BenchBuilder,
    (balls, own, seeds): (Balls, &[&str], u64),
) -> Result<Bench> {
    let runner = &BenchRunner::new(options, runner.on_step)?;
    note(&mut bench, runner, balls);
    let ChosenDatasets { to_run, not_run } =
        choose_datasets(runner, own, &PaperTable::figure(&[]))?;
    for name in to_run {
        let datasets = runner.open(&name, seeds)?;
        note_datasets(&mut bench, runner, &datasets, balls);
        let grid = trained(runner, &datasets, balls)?;
        judge(runner, &mut bench, &datasets, &grid, balls)?;
    }
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    Ok(bench.finish())
}

/// Notes a dataset and its ball.
pub(crate) fn note_datasets(
    bench: &mut BenchBuilder,
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    balls: Balls,
) {
    let radius = epsilon(&datasets.name, runner.options.effort, balls);
    let k = salient(datasets.seeds[0].dataset.features());
    bench.note_attacked_datasets(datasets, &format!("k = {k}, l-infinity radius {radius:.4}"));
}

/// Notes what all datasets have in common.
pub(crate) fn note(bench: &mut BenchBuilder, runner: &BenchRunner<'_>, balls: Balls) {
    let scale = scale(runner.options.effort, balls);
    bench.add_setting("effort", runner.options.effort.name());
    bench.add_setting(
        "epochs",
        format!(
            "{}, the one with the best validation AUC is kept",
            runner.options.training_epochs()
        ),
    );
    bench.add_setting(
        "network",
        format!(
            "convolutions of {:?} channels, hidden layers of {:?}; Adam at {}, {BATCH} images a step, adversarial images in training by {} steps",
            scale.network.channels, scale.network.hidden, scale.rate, scale.search_steps
        ),
    );
    bench.add_setting(
        "weights",
        "one setting a method, its default, but TRADES' beta is 1 and IG-SUM-NORM's weight 0.1, as their authors have them: there is no validation of weights here",
    );
    bench.add_setting(
        "attack",
        format!(
            "iterative top-k on integrated gradients of the logit ({} points, black baseline) in an l-infinity ball within the pixels' \
             range, {} steps, {} starts, directions from a softplus twin, worst iterate whose class holds; over the rows that a model \
             predicts as labelled",
            scale.ig_steps, scale.attack_steps, scale.restarts
        ),
    );
}

/// What a method is trained with here: one objective, its default, with the ball, range and search of this bench. Methods of the
/// other paper have the first of their settings.
fn objective(method: &BenchMethod, scale: &Scale, radius: f64) -> Result<Vec<ObjectiveConfig>> {
    let Some((_, text)) = OBJECTIVES.iter().find(|(id, _)| *id == method.id) else {
        let first = method.settings(radius, 1.0)?.into_iter().take(1);
        return Ok(first.collect());
    };
    let default = settings(text)?;
    // As it is written with all its defaults, so that every search of it is found.
    let mut whole =
        toml::Table::try_from(method::objective(default)?).map_err(|problem| Error::Settings {
            what: "an objective of this bench",
            text: (*text).to_owned(),
            problem: problem.to_string(),
        })?;
    limit_searches(&mut whole, scale, radius);
    Ok(vec![method::objective(whole)?])
}

fn settings(text: &str) -> Result<toml::Table> {
    text.parse()
        .map_err(|problem: toml::de::Error| Error::Settings {
            what: "an objective of this bench",
            text: text.to_owned(),
            problem: problem.message().to_owned(),
        })
}

/// Gives every search for perturbed inputs in an objective, also in the one it is built on, this bench's ball and range, and at
/// most its steps.
fn limit_searches(settings: &mut toml::Table, scale: &Scale, radius: f64) {
    for (name, value) in settings.iter_mut() {
        let toml::Value::Table(inner) = value else {
            continue;
        };
        if name == "attack" {
            inner.insert("epsilon".to_owned(), radius.into());
            inner.insert("range".to_owned(), vec![0.0, 1.0].into());
            if let Some(toml::Value::Integer(steps)) = inner.get_mut("steps") {
                *steps = (*steps).min(scale.search_steps);
            }
        } else {
            limit_searches(inner, scale, radius);
        }
    }
}

/// Trains the chosen methods.
pub(crate) fn trained(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    balls: Balls,
) -> Result<Grid> {
    let scale = scale(runner.options.effort, balls);
    let radius = epsilon(&datasets.name, runner.options.effort, balls);
    let shape = datasets.seeds[0].dataset.shape();
    let model = match shape {
        InputShape::Image { .. } => ModelConfig::Cnn(scale.network.clone()),
        _ => ModelConfig::Mlp(MlpConfig::default()),
    };
    let mut entries = Vec::new();
    for method in BenchMethod::chosen(&runner.options.methods)? {
        let mut entry = GridEntry::new(method, datasets)?;
        if method.role != MethodRole::Baseline {
            entry.model = model.clone();
            entry.optimizer = OptimizerConfig::Adam { rate: scale.rate };
        }
        entry.settings = objective(method, &scale, radius)?;
        entries.push(entry);
    }
    let plan = TrainingPlan {
        epochs: runner.options.training_epochs(),
        from: None,
        batch: BATCH,
        by_auc: true,
        as_distinct: false,
    };
    runner.grid_by(datasets, entries, &plan)
}

/// Rows of a training step.
const BATCH: usize = 50;

fn judge(
    runner: &BenchRunner<'_>,
    bench: &mut BenchBuilder,
    datasets: &SeededDatasets,
    grid: &Grid,
    balls: Balls,
) -> Result<()> {
    let name = &datasets.name;
    let scale = scale(runner.options.effort, balls);
    let radius = epsilon(name, runner.options.effort, balls);
    let attacked = runner.measure_chosen(datasets, grid, "top-k attack", |data| {
        let (attack, explain) = top_k_attack(runner, name, data, balls);
        Measure::Attack { attack, explain }
    })?;
    let class =
        runner.measure_chosen(datasets, grid, "class attack", |_| Measure::ClassAttack {
            attack: InnerAttack {
                epsilon: radius,
                steps: scale.attack_steps,
                range: Some([0.0, 1.0]),
                ..InnerAttack::default()
            },
        })?;
    let rows = |name: &str, what, scale| {
        let how = (scale, Better::Higher);
        TableColumn::of_right_rows(name.to_owned(), grid, &attacked, what, how)
    };
    let numbers = |name: &str, what| {
        TableColumn::of_numbers(name.to_owned(), grid, &class, what, Better::Higher, |_| {
            None
        })
    };
    let columns = [
        rows("top-k intersection", "precision", PERCENT)?,
        rows("Kendall", "kendall", 1.0)?,
        numbers("clean accuracy", "accuracy")?,
        numbers("adversarial accuracy", "adversarial accuracy")?,
    ];
    for (base, with) in PAIRS {
        let place = |id: &str| grid.rows.iter().position(|row| row.entry.id == id);
        if let (Some(base), Some(with)) = (place(base), place(with)) {
            // Over the images that both predict as labelled: those of one model alone may be the easy ones.
            let paired = |column: &TableColumn, scale: f64, decimals: usize| {
                let sure = match column.differ(with, base) {
                    Some(true) => "significant",
                    _ => "not significant",
                };
                column.difference(with, base).map_or_else(
                    || "–".to_owned(),
                    |change| format!("{:+.decimals$} ({sure})", scale * change),
                )
            };
            let change = |column: &TableColumn| {
                let value = |row: usize| column.entries[row].mean();
                value(with).zip(value(base)).map_or_else(
                    || "–".to_owned(),
                    |(with, base)| format!("{:+.3}", with - base),
                )
            };
            bench.add_finding(format!(
                "{name}: does IGR help {}? on the images that both get right, points of top-k intersection {}, Kendall {}; clean accuracy \
                 {}, adversarial accuracy {}",
                grid.rows[base].entry.label,
                paired(&columns[0], PERCENT, 1),
                paired(&columns[1], 1.0, 3),
                change(&columns[2]),
                change(&columns[3])
            ));
        }
    }
    bench.add_table(table(
        &format!("{name}: integrated gradients under the iterative top-k attack, and accuracy"),
        &labels(grid),
        &columns,
    )?);
    Ok(())
}

/// The iterative top-k attack of integrated gradients on a dataset, and how these are taken.
pub(crate) fn top_k_attack(
    runner: &BenchRunner<'_>,
    name: &str,
    data: &SeededDataset,
    balls: Balls,
) -> (AttackConfig, ExplainConfig) {
    let scale = scale(runner.options.effort, balls);
    let attack = AttackConfig {
        method: TopKConfig {}.into(),
        k: salient(data.dataset.features()),
        threat: ThreatConfig {
            ball: BallConfig {
                norm: Norm::Linf,
                radius: epsilon(name, runner.options.effort, balls),
            },
            r#box: true,
            ..ThreatConfig::papers()
        },
        steps: scale.attack_steps,
        restarts: scale.restarts,
        surrogate: Some(TWIN),
        ..AttackConfig::default()
    };
    let explanation =
        ExplanationConfig::IntegratedGradients(integrated_gradients::IntegratedGradientsConfig {
            of: Of::Logit,
            steps: scale.ig_steps,
            ..integrated_gradients::IntegratedGradientsConfig::default()
        });
    let explain = ExplainConfig {
        explanation,
        ..crate::usual_measure::explain(data)
    };
    (attack, explain)
}
