//! IGR's comparison: adversarial training with and without its regulariser, and the rival defences, on small subsets of images.
//! Integrated gradients under the iterative top-k attack, and predictions under a class attack.

use thickset::Result;
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::top_k::TopKConfig;
use thickset::attack::{AttackConfig, ThreatConfig};
use thickset::bench::Bench;
use thickset::data::InputShape;
use thickset::explain::{ExplainConfig, ExplanationConfig, Of, integrated_gradients};
use thickset::model::{CnnConfig, MlpConfig, ModelConfig};
use thickset::objective::igr::Base;
use thickset::objective::term::inner_attack::InnerAttack;
use thickset::objective::{
    ObjectiveConfig, adv_aat, art, ig_norm, ig_sum_norm, igr, mart, pgd_at, trades,
};

use crate::column::{Better, Column, PERCENT, labels, table};
use crate::draft::Draft;
use crate::field::Field;
use crate::lab::{Bed, Entry, Grid, Lab, Schema};
use crate::measure::Measure;
use crate::method::{Kin, Method, Place, VANILLA};
use crate::options::{Effort, Options};
use crate::sheet::{Datasets, Printed, datasets};

/// The rows: bases, the same with IGR, the rivals.
const METHODS: [&str; 11] = [
    "vanilla",
    "pgd-at",
    "pgd-at-igr",
    "trades",
    "trades-igr",
    "mart",
    "mart-igr",
    "ig-norm",
    "ig-sum-norm",
    "adv-aat",
    "art",
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
    channels: [usize; 2],
    hidden: usize,
    search_steps: usize,
    attack_steps: usize,
    restarts: usize,
    ig_steps: usize,
}

fn scale(effort: Effort) -> Scale {
    match effort {
        Effort::Quick => Scale {
            rows: 60,
            train_rows: 1000,
            epochs: 8,
            channels: [8, 16],
            hidden: 32,
            search_steps: 5,
            attack_steps: 20,
            restarts: 1,
            ig_steps: 20,
        },
        Effort::Standard => Scale {
            rows: 200,
            train_rows: 6000,
            epochs: 30,
            channels: [16, 32],
            hidden: 64,
            search_steps: 10,
            attack_steps: 200,
            restarts: 5,
            ig_steps: 50,
        },
    }
}

/// Radius of the l-infinity ball: the papers' 0.3 and 0.1 need long training, so a quick run takes a third.
fn epsilon(name: &str, effort: Effort) -> f64 {
    let whole = if name == "mnist" { 0.3 } else { 0.1 };
    match effort {
        Effort::Quick => whole / 3.0,
        Effort::Standard => whole,
    }
}

/// Salient pixels (IGR's k), and fewer where there are fewer pixels.
const K: usize = 100;
fn salient(features: usize) -> usize {
    K.min((features / 4).max(1))
}

/// Sharpness of the softplus twin that directions come from.
const TWIN: f64 = 10.0;

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let scale = scale(lab.options.effort);
    let mut options: Options = lab.options.clone();
    options.rows.get_or_insert(scale.rows);
    options.train_rows.get_or_insert(scale.train_rows);
    options.epochs.get_or_insert(scale.epochs);
    if options.methods.is_empty() {
        options.methods = METHODS.map(str::to_owned).to_vec();
    } else if !options.methods.iter().any(|id| id == VANILLA) {
        options.methods.push(VANILLA.to_owned());
    }
    let lab = &Lab::new(&options, lab.talk)?;
    let mut draft = Draft::new(
        "igr",
        "IGR: adversarial training with and without it, and its rivals",
    );
    note(&mut draft, lab, &scale);
    let own = ["mnist", "fashion-mnist"];
    let Datasets { here, dashes } = datasets(lab, &own, &Printed::figure(&[]))?;
    for name in here {
        let bed = lab.open(&name, 1)?;
        let radius = epsilon(&name, lab.options.effort);
        let k = salient(bed.fields[0].dataset.features());
        draft.bed_attacked(&bed, &format!("k = {k}, l-infinity radius {radius:.4}"));
        let grid = trained(lab, &bed, &scale, radius)?;
        judge(lab, &mut draft, &bed, &grid, &scale, radius)?;
    }
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    Ok(draft.done())
}

fn note(draft: &mut Draft, lab: &Lab<'_>, scale: &Scale) {
    draft.setting("effort", lab.options.effort.name());
    draft.setting(
        "epochs",
        format!(
            "{}, the one with the best validation AUC is kept",
            lab.options.training_epochs()
        ),
    );
    draft.setting(
        "weights",
        "one setting a method, its default, but TRADES' beta is 1 and IG-SUM-NORM's weight 0.1, as their authors have them: there is no validation of weights here",
    );
    draft.setting(
        "attack",
        format!(
            "iterative top-k on integrated gradients of the logit ({} points, black baseline) in an l-infinity ball within the pixels' \
             range, {} steps, {} starts, directions from a softplus twin, worst iterate whose class holds; over the rows that a model \
             predicts as labelled",
            scale.ig_steps, scale.attack_steps, scale.restarts
        ),
    );
}

/// A method's default objective with the ball, range and search of this bench.
fn objective(method: &Method, scale: &Scale, radius: f64) -> Vec<ObjectiveConfig> {
    let search = |attack: InnerAttack| InnerAttack {
        epsilon: radius,
        steps: attack.steps.min(scale.search_steps),
        range: Some([0.0, 1.0]),
        ..attack
    };
    let at = || pgd_at::PgdAtConfig {
        attack: search(pgd_at::PgdAtConfig::default().attack),
    };
    let trades = || trades::TradesConfig {
        beta: TRADES_BETA,
        attack: search(trades::TradesConfig::default().attack),
        ..trades::TradesConfig::default()
    };
    let mart = || mart::MartConfig {
        attack: search(mart::MartConfig::default().attack),
        ..mart::MartConfig::default()
    };
    let with_igr = |base| {
        ObjectiveConfig::Igr(igr::IgrConfig {
            base,
            ..igr::IgrConfig::default()
        })
    };
    vec![match method.id {
        "pgd-at" => ObjectiveConfig::PgdAt(at()),
        "trades" => ObjectiveConfig::Trades(trades()),
        "mart" => ObjectiveConfig::Mart(mart()),
        "pgd-at-igr" => with_igr(Base::PgdAt(at())),
        "trades-igr" => with_igr(Base::Trades(trades())),
        "mart-igr" => with_igr(Base::Mart(mart())),
        "ig-norm" => ObjectiveConfig::IgNorm(ig_norm::IgNormConfig {
            attack: search(InnerAttack::default()),
            ..ig_norm::IgNormConfig::default()
        }),
        "ig-sum-norm" => ObjectiveConfig::IgSumNorm(ig_sum_norm::IgSumNormConfig {
            weight: SUM_NORM_WEIGHT,
            attack: search(InnerAttack::default()),
            ..ig_sum_norm::IgSumNormConfig::default()
        }),
        "adv-aat" => ObjectiveConfig::AdvAat(adv_aat::AdvAatConfig {
            attack: search(InnerAttack::default()),
            ..adv_aat::AdvAatConfig::default()
        }),
        "art" => ObjectiveConfig::Art(art::ArtConfig {
            attack: search(art::ArtConfig::default().attack),
            ..art::ArtConfig::default()
        }),
        // The methods of the other paper: their first setting.
        _ => {
            return method
                .settings(Place { radius })
                .into_iter()
                .take(1)
                .collect();
        }
    }]
}

/// TRADES' weight for these images, the one its authors use for MNIST.
const TRADES_BETA: f64 = 1.0;
/// IG-SUM-NORM's weight for these images, as its authors have it.
const SUM_NORM_WEIGHT: f64 = 0.1;

fn trained(lab: &Lab<'_>, bed: &Bed, scale: &Scale, radius: f64) -> Result<Grid> {
    let shape = bed.fields[0].dataset.shape();
    let model = match shape {
        InputShape::Image { .. } => ModelConfig::Cnn(CnnConfig {
            channels: scale.channels,
            hidden: vec![scale.hidden],
            ..CnnConfig::default()
        }),
        _ => ModelConfig::Mlp(MlpConfig::default()),
    };
    let mut entries = Vec::new();
    for method in Method::chosen(&lab.options.methods)? {
        let mut entry = Entry::new(method, bed);
        if method.kin != Kin::Baseline {
            entry.model = model.clone();
        }
        entry.settings = objective(method, scale, radius);
        entries.push(entry);
    }
    let schema = Schema {
        epochs: lab.options.training_epochs(),
        from: None,
        batch: BATCH,
        by_auc: true,
    };
    lab.grid_by(bed, entries, &schema)
}

/// Rows of a training step.
const BATCH: usize = 50;

fn judge(
    lab: &Lab<'_>,
    draft: &mut Draft,
    bed: &Bed,
    grid: &Grid,
    scale: &Scale,
    radius: f64,
) -> Result<()> {
    let name = &bed.name;
    let attacked = lab.measure_chosen(bed, grid, "top-k attack", |field| {
        top_k_attack(field, scale, radius)
    })?;
    let class = lab.measure_chosen(bed, grid, "class attack", |_| Measure::ClassAttack {
        attack: InnerAttack {
            epsilon: radius,
            steps: scale.attack_steps,
            range: Some([0.0, 1.0]),
            ..InnerAttack::default()
        },
    })?;
    let rows = |name: &str, what, scale| {
        let how = (scale, Better::Higher);
        Column::of_right_rows(name.to_owned(), grid, &attacked, what, how)
    };
    let numbers = |name: &str, what| {
        Column::of_numbers(name.to_owned(), grid, &class, what, Better::Higher, |_| {
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
            let paired = |column: &Column, scale: f64, decimals: usize| {
                let sure = match column.differ(with, base) {
                    Some(true) => "significant",
                    _ => "not significant",
                };
                column.difference(with, base).map_or_else(
                    || "–".to_owned(),
                    |change| format!("{:+.decimals$} ({sure})", scale * change),
                )
            };
            let change = |column: &Column| {
                let value = |row: usize| column.places[row].mean();
                value(with).zip(value(base)).map_or_else(
                    || "–".to_owned(),
                    |(with, base)| format!("{:+.3}", with - base),
                )
            };
            draft.finding(format!(
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
    draft.table(table(
        &format!("{name}: integrated gradients under the iterative top-k attack, and accuracy"),
        &labels(grid),
        &columns,
    )?);
    Ok(())
}

fn top_k_attack(field: &Field, scale: &Scale, radius: f64) -> Measure {
    let features = field.dataset.features();
    Measure::Attack {
        attack: AttackConfig {
            method: TopKConfig {}.into(),
            k: salient(features),
            threat: ThreatConfig {
                ball: BallConfig {
                    norm: Norm::Linf,
                    radius,
                },
                r#box: true,
                ..ThreatConfig::papers()
            },
            steps: scale.attack_steps,
            restarts: scale.restarts,
            surrogate: Some(TWIN),
            ..AttackConfig::default()
        },
        explain: ExplainConfig {
            explanation: ExplanationConfig::IntegratedGradients(
                integrated_gradients::IntegratedGradientsConfig {
                    of: Of::Logit,
                    steps: scale.ig_steps,
                    ..integrated_gradients::IntegratedGradientsConfig::default()
                },
            ),
            ..crate::lab::explain(field)
        },
    }
}
