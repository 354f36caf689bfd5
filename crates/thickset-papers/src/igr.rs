//! IGR's comparison: adversarial training with and without its regulariser, and the rival defences, on small subsets of images.
//! Integrated gradients under the iterative top-k attack, and predictions under a class attack.

mod scale;
mod training;

use thickset::Result;
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::top_k::TopKConfig;
use thickset::attack::{AttackConfig, ThreatConfig};
use thickset::bench::Bench;
use thickset::explain::{ExplainConfig, ExplanationConfig, Of, integrated_gradients};
use thickset::objective::term::inner_attack::InnerAttack;

pub(crate) use self::scale::Balls;
use self::scale::{TWIN, epsilon, salient, scale};
pub(crate) use self::training::trained;
use self::training::{BATCH, OBJECTIVES, further_epochs};
use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{ChosenDatasets, PaperTable, choose_datasets};
use crate::measure::Measure;
use crate::method::VANILLA;
use crate::options::BenchOptions;
use crate::runner::{BenchRunner, Grid, SeededDatasets};
use crate::seeded_dataset::SeededDataset;
use crate::table_column::{Better, PERCENT, TableColumn, labels, table};

/// A base and the same with IGR.
const PAIRS: [(&str, &str); 3] = [
    ("pgd-at", "pgd-at-igr"),
    ("trades", "trades-igr"),
    ("mart", "mart-igr"),
];

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
    let epochs = runner.options.training_epochs();
    bench.add_setting("effort", runner.options.effort.name());
    bench.add_setting(
        "epochs",
        match balls {
            Balls::ByEffort => format!("{epochs}, the one with the best validation AUC is kept"),
            Balls::Papers => format!(
                "{epochs}, the one with the best validation AUC is kept; then a base and the same with IGR {} more, from the base's weights, likewise",
                further_epochs(epochs)
            ),
        },
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
