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
use crate::count::as_f64;
use crate::draft::Draft;
use crate::lab::{Bed, Lab, er_attack, explain, mse_attack};
use crate::measure::Measure;
use crate::sheet::{Datasets, Printed, SEEDS, datasets};

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

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new(
        "fig6",
        "Figure 6: P@k against sensitivity of constrained attacks on vanilla",
    );
    draft.training(lab);
    draft.setting("points", "the last iterate of each attack, mean over rows and seeds; step sizes 0.5, 1, 2 and 4 times 2.5 radius / steps");
    draft.setting("rates", format!("{RATE} for GDA and Hedge"));
    let printed = Printed::figure(&["adhd", "bp"]);
    let Datasets { here, dashes } = datasets(lab, &TABLES, &printed)?;
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    for name in here {
        let bed = lab.open(&name, SEEDS)?;
        draft.bed(&bed);
        for (attack, base) in [
            ("ERAttack", er_attack(&bed.fields[0])),
            ("MSE attack", mse_attack(&bed.fields[0])),
        ] {
            let series = series(lab, &bed, attack, &base)?;
            let chosen = series
                .iter()
                .flat_map(|one| one.points.iter().map(move |point| (&one.name, point)))
                .filter(|(_, point)| point[0] <= MOST)
                .min_by(|a, b| a.1[1].total_cmp(&b.1[1]));
            if let Some((constraint, [sensitivity, precision])) = chosen {
                draft.finding(format!(
                    "{name}, {attack}: of the attacks with a sensitivity of at most {MOST}, {constraint} has the lowest P@k, {precision:.1} \
                     at a sensitivity of {sensitivity:.4}"
                ));
            }
            draft.figure(Figure {
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
    Ok(draft.done())
}

fn series(lab: &Lab<'_>, bed: &Bed, name: &str, base: &AttackConfig) -> Result<Vec<Series>> {
    let vanilla = lab.vanilla(bed)?;
    let mut jobs = Vec::new();
    for (_, constraint) in constraints() {
        for factor in FACTORS {
            for (index, field) in bed.fields.iter().enumerate() {
                let attack = AttackConfig {
                    constraint,
                    step_size: Some(factor * 2.5 * field.radius / as_f64(base.steps)),
                    ..base.clone()
                };
                let explain = explain(field);
                jobs.push((
                    index,
                    vanilla[index].key.clone(),
                    Measure::Attack { attack, explain },
                ));
            }
        }
    }
    let found = lab.measure(bed, name, &jobs)?;
    let mut points = Vec::new();
    for one in found.chunks(bed.fields.len()) {
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
