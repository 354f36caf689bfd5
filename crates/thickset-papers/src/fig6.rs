//! Figure 6: how constrained attacks trade P@k against sensitivity, on vanilla: constraints and step sizes.

use thickset::Result;
use thickset::attack::constraint::early_stop::EarlyStopConfig;
use thickset::attack::constraint::gda::GdaConfig;
use thickset::attack::constraint::hedge::HedgeConfig;
use thickset::attack::constraint::no_update::NoUpdateConfig;
use thickset::attack::constraint::none::NoneConfig;
use thickset::attack::constraint::qp::QpConfig;
use thickset::attack::{AttackConfig, ConstraintConfig};
use thickset::bench::{Bench, Figure, Series, Style};

use crate::TABLES;
use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{ChosenDatasets, PaperTable, SEEDS, choose_datasets};
use crate::measure::Measure;
use crate::runner::{BenchRunner, SeededDatasets};
use crate::usual_measure::{er_attack, explain, mse_attack};

/// Step sizes as multiples of the usual one.
const FACTORS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// The most sensitivity an attack may have to be chosen.
const MOST: f64 = 0.02;
/// GDA's and Hedge's rate: divergences of tables are small, so the released 1e-4 would change no weight.
const RATE: f64 = 1.0;

fn constraints() -> [(&'static str, ConstraintConfig); 6] {
    [
        ("unconstrained", ConstraintConfig::None(NoneConfig {})),
        ("no update", ConstraintConfig::NoUpdate(NoUpdateConfig {})),
        (
            "early stop",
            ConstraintConfig::EarlyStop(EarlyStopConfig {}),
        ),
        ("GDA", ConstraintConfig::Gda(GdaConfig { rate: RATE })),
        ("Hedge", ConstraintConfig::Hedge(HedgeConfig { rate: RATE })),
        ("QP", ConstraintConfig::Qp(QpConfig {})),
    ]
}

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "fig6",
        "Figure 6: P@k against sensitivity of constrained attacks on vanilla",
    );
    bench.note_training(runner);
    bench.add_setting("points", "the last iterate of each attack, mean over rows and seeds; step sizes 0.5, 1, 2 and 4 times 2.5 radius / steps");
    bench.add_setting("rates", format!("{RATE} for GDA and Hedge"));
    let printed = PaperTable::figure(&["adhd", "bp"]);
    let ChosenDatasets { to_run, not_run } = choose_datasets(runner, &TABLES, &printed)?;
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        for (attack, base) in [
            ("ERAttack", er_attack(&datasets.seeds[0])),
            ("MSE attack", mse_attack(&datasets.seeds[0])),
        ] {
            let series = series(runner, &datasets, attack, &base)?;
            let chosen = series
                .iter()
                .flat_map(|one| one.points.iter().map(move |point| (&one.name, point)))
                .filter(|(_, point)| point[0] <= MOST)
                .min_by(|a, b| a.1[1].total_cmp(&b.1[1]));
            if let Some((constraint, [sensitivity, precision])) = chosen {
                bench.add_finding(format!(
                    "{name}, {attack}: of the attacks with a sensitivity of at most {MOST}, {constraint} has the lowest P@k, {precision:.1} \
                     at a sensitivity of {sensitivity:.4}"
                ));
            }
            bench.add_figure(Figure {
                title: format!("{attack} on {name}"),
                caption: "An attacker wants both low: P@k for harm, sensitivity for stealth."
                    .to_owned(),
                x_label: "sensitivity".to_owned(),
                y_label: "P@k in per cent".to_owned(),
                style: Style::Points,
                series,
            });
        }
    }
    Ok(bench.finish())
}

fn series(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    name: &str,
    base: &AttackConfig,
) -> Result<Vec<Series>> {
    let vanilla = runner.vanilla(datasets)?;
    let mut jobs = Vec::new();
    for (_, constraint) in constraints() {
        for factor in FACTORS {
            for (index, data) in datasets.seeds.iter().enumerate() {
                let attack = AttackConfig {
                    constraint,
                    step_size: Some(factor * 2.5 * data.radius / as_f64(base.steps)),
                    ..base.clone()
                };
                let explain = explain(data);
                jobs.push((
                    index,
                    vanilla[index].key.clone(),
                    Measure::Attack { attack, explain },
                ));
            }
        }
    }
    let found = runner.measure(datasets, name, &jobs)?;
    let mut points = Vec::new();
    for one in found.chunks(datasets.seeds.len()) {
        let (mut sensitivity, mut precision) = (0.0, 0.0);
        for seed in one {
            sensitivity += seed.number("last sensitivity")?;
            precision += 100.0 * seed.mean("last precision")?;
        }
        let seeds = as_f64(one.len());
        points.push([sensitivity / seeds, precision / seeds]);
    }
    let names = constraints().map(|(name, _)| name.to_owned());
    let series = names.into_iter().zip(points.chunks(FACTORS.len()));
    Ok(series
        .map(|(name, points)| Series {
            name,
            points: points.to_vec(),
        })
        .collect())
}
