//! Milliseconds per training step, and input gradients per second.
//!
//! `benches/peer/torch_step.py` does the same work in `PyTorch`: the same architectures, batches,
//! terms and weights of terms, and Adam. Inputs and labels are drawn; speed does not depend on them.

use std::time::{Duration, Instant};

use serde::Serialize;
use thickset::data::{InputShape, Schema};
use thickset::explain::concept::ConceptConfig;
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{CheckedExplain, ExplainConfig};
use thickset::metric::ranking::largest;
use thickset::model::{
    CnnConfig, Fresh, GcnConfig, MlpConfig, ModelConfig, Resnet9Config, Resnet18Config,
    SiameseConfig, resnet18, siamese,
};
use thickset::objective::term::gap::Pairs;
use thickset::objective::term::reading::{mean_over_rows, predicted_one_hot};
use thickset::objective::{Batch, Loss, ObjectiveConfig, igr, mart, r2et, trades, vanilla};
use thickset::registry::{Family, family};
use thickset::{Result, Seed};
use thickset_engine::optimizer::{Adam, Optimizer as _};
use thickset_engine::{Network, Output, Slopes, Tensor, one_hot};

/// Steps of a cell before any is timed.
const WARM_UP: usize = 2;
/// Timed steps at the least, however slow they are.
const LEAST_STEPS: usize = 5;
/// Weight of the mean gap.
const GAP_WEIGHT: f64 = 0.1;
/// Weight of the Hessian norm.
const HESSIAN_WEIGHT: f64 = 0.01;
/// Batches of random labels that steps take by turns, as `torch_step.py` has them: one alone is learnt by heart.
const BATCHES: u64 = 32;
/// Rows of a batch whose input gradients are counted.
const GRADIENT_ROWS: usize = 4096;

/// One line of the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The architecture.
    pub model: &'static str,
    /// What a step does.
    pub step: &'static str,
    /// Rows of a batch.
    pub batch: usize,
    /// Median milliseconds of a step.
    pub median_ms: f64,
    /// Least milliseconds of a step.
    pub best_ms: f64,
    /// Rows per second at the median.
    pub rows_per_second: f64,
    /// The median as a multiple of a vanilla step's on the same model; absent for what is no training step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_vanilla: Option<f64>,
}

/// What is measured, and for how long.
#[derive(Clone, Debug)]
pub struct SpeedOptions {
    /// Seconds of timed steps in each cell.
    pub seconds: f64,
    /// Only the model of this name; all if absent.
    pub only: Option<String>,
    /// Only the step of this name; all if absent.
    pub step: Option<String>,
}

impl SpeedOptions {
    fn wants(&self, model: &str, step: &str) -> bool {
        let fits = |wanted: &Option<String>, name| wanted.as_ref().is_none_or(|it| it == name);
        fits(&self.only, model) && fits(&self.step, step)
    }
}

/// An architecture and the batch it is measured with.
struct TimedModel {
    name: &'static str,
    model: ModelConfig,
    input: InputShape,
    features: usize,
    classes: usize,
    batch: usize,
    k: usize,
    explain: ExplainConfig,
}

impl TimedModel {
    fn schema(&self) -> Schema {
        Schema::of_shape(&self.input, self.features)
    }
}

/// Names of the models that can be measured.
pub const MODELS: [&str; 7] = [
    "mlp-28-64-32-2",
    "mlp-28-128-64-2",
    "cnn",
    "resnet9",
    "siamese-gcn",
    "resnet18",
    "resnet18-large",
];

/// Models that take seconds a step and are measured only when asked for: pairs of graphs of 116 nodes, ResNet-18 on 32 x 32 pixels, and with
/// the large stem on 496 x 768.
const WHEN_ASKED: [&str; 3] = ["siamese-gcn", "resnet18", "resnet18-large"];

/// The step that is no objective: the class loss with a penalty on the input gradient.
const GRAD_PENALTY: &str = "grad-penalty";
/// The measurement that is no step.
const INPUT_GRADIENT: &str = "input-gradient";

/// Objectives with other settings than their defaults: R2ET's, named as in the bench of Table 1, and IGR's bases.
const VARIANTS: [&str; 5] = [
    "r2et-no-h",
    "r2et-mm",
    "r2et-mm-no-h",
    "igr-trades",
    "igr-mart",
];

/// Names of what can be measured: every objective, the variants, and the two that are none.
pub fn steps() -> impl Iterator<Item = &'static str> {
    let objectives = family(Family::Objective).map(|info| info.id);
    objectives
        .chain(VARIANTS)
        .chain([GRAD_PENALTY, INPUT_GRADIENT])
}

fn models() -> [TimedModel; 7] {
    let mlp = |hidden: [usize; 2]| {
        ModelConfig::Mlp(MlpConfig {
            hidden: hidden.to_vec(),
            ..MlpConfig::default()
        })
    };
    let image = |channels, side| InputShape::Image {
        channels,
        height: side,
        width: side,
    };
    let graphs = InputShape::Pair {
        of: Box::new(InputShape::Graph { nodes: 116 }),
    };
    [
        TimedModel {
            name: MODELS[0],
            model: mlp([64, 32]),
            input: InputShape::Table,
            features: 28,
            classes: 2,
            batch: 128,
            k: 8,
            explain: ExplainConfig::default(),
        },
        TimedModel {
            name: MODELS[1],
            model: mlp([128, 64]),
            input: InputShape::Table,
            features: 28,
            classes: 2,
            batch: 128,
            k: 8,
            explain: ExplainConfig::default(),
        },
        TimedModel {
            name: MODELS[2],
            model: ModelConfig::Cnn(CnnConfig::default()),
            input: image(1, 28),
            features: 28 * 28,
            classes: 10,
            batch: 64,
            k: 50,
            explain: ExplainConfig::default(),
        },
        TimedModel {
            name: MODELS[3],
            model: ModelConfig::Resnet9(Resnet9Config::default()),
            input: image(3, 32),
            features: 3 * 32 * 32,
            classes: 10,
            batch: 20,
            k: 100,
            explain: ExplainConfig::default(),
        },
        TimedModel {
            name: MODELS[4],
            model: ModelConfig::Siamese(SiameseConfig {
                embedding: siamese::Embedding::Gcn(GcnConfig::default()),
                ..SiameseConfig::default()
            }),
            input: graphs.clone(),
            features: 2 * 6670,
            classes: 2,
            batch: 128,
            k: 50,
            explain: ExplainConfig::usual(&graphs),
        },
        TimedModel {
            name: MODELS[5],
            model: ModelConfig::Resnet18(Resnet18Config::default()),
            input: image(3, 32),
            features: 3 * 32 * 32,
            classes: 10,
            batch: 20,
            k: 100,
            explain: ExplainConfig::usual(&image(3, 32)),
        },
        TimedModel {
            name: MODELS[6],
            model: ModelConfig::Resnet18(Resnet18Config {
                stem: resnet18::Stem::Large,
                ..Resnet18Config::default()
            }),
            input: InputShape::Image {
                channels: 1,
                height: 496,
                width: 768,
            },
            features: 496 * 768,
            classes: 2,
            batch: 2,
            k: 50,
            explain: ExplainConfig {
                explanation: ConceptConfig::default().into(),
                reduce: ReductionConfig::Signed,
                ..ExplainConfig::default()
            },
        },
    ]
}

/// Weight of the squared input gradient.
const PENALTY_WEIGHT: f64 = 0.1;

/// A training step and its name.
struct TimedStep {
    name: &'static str,
    work: StepWork,
}

/// What a training step minimises: an objective, or the class loss with a penalty on the input gradient, which no method
/// of ours is and which shows what one input gradient costs.
enum StepWork {
    GradPenalty,
    Objective(Box<ObjectiveConfig>),
}

impl TimedStep {
    fn of(name: &'static str, config: ObjectiveConfig) -> Self {
        Self {
            name,
            work: StepWork::Objective(Box::new(config)),
        }
    }

    fn vanilla() -> Self {
        let config = vanilla::VanillaConfig::default();
        Self::of(vanilla::INFO.id, ObjectiveConfig::Vanilla(config))
    }

    fn r2et(name: &'static str, pairs: Pairs, hessian_weight: f64) -> Self {
        let config = r2et::R2etConfig {
            gap: r2et::Gap::Difference,
            gap_weight: GAP_WEIGHT,
            hessian_weight,
            pairs,
            ..r2et::R2etConfig::default()
        };
        Self::of(name, ObjectiveConfig::R2et(config))
    }

    fn igr(name: &'static str, base: igr::Base) -> Self {
        let config = igr::IgrConfig {
            base,
            ..igr::IgrConfig::default()
        };
        Self::of(name, ObjectiveConfig::Igr(config))
    }

    /// What `torch_step.py` does too.
    fn compared() -> Vec<Self> {
        let grad_penalty = Self {
            name: GRAD_PENALTY,
            work: StepWork::GradPenalty,
        };
        let r2et = Self::r2et(r2et::INFO.id, Pairs::All, HESSIAN_WEIGHT);
        vec![Self::vanilla(), grad_penalty, r2et]
    }

    /// Every other objective of the registry, with its defaults, and the variants of R2ET and IGR.
    fn others() -> Vec<Self> {
        let compared = [vanilla::INFO.id, r2et::INFO.id];
        let mut steps: Vec<Self> = family(Family::Objective)
            .filter(|info| !compared.contains(&info.id))
            .filter_map(|info| {
                let text = format!("{{\"kind\": \"{}\"}}", info.id);
                let config = serde_json::from_str(&text).ok()?;
                Some(Self::of(info.id, config))
            })
            .collect();
        let [no_h, mm, mm_no_h, trades, mart] = VARIANTS;
        steps.extend([
            Self::r2et(no_h, Pairs::All, 0.0),
            Self::r2et(mm, Pairs::Closest, HESSIAN_WEIGHT),
            Self::r2et(mm_no_h, Pairs::Closest, 0.0),
            Self::igr(trades, igr::Base::Trades(trades::TradesConfig::default())),
            Self::igr(mart, igr::Base::Mart(mart::MartConfig::default())),
        ]);
        steps
    }
}

/// Measures every chosen cell; `on_cell` hears of each as it is done.
///
/// # Errors
/// If a network cannot be built or a gradient is not finite.
pub fn run(
    options: &SpeedOptions,
    mut on_cell: impl FnMut(&Measurement),
) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for model in models() {
        let mut steps = TimedStep::compared();
        if model.name == MODELS[0] {
            steps.extend(TimedStep::others());
        }
        let is_due = options.only.is_some() || !WHEN_ASKED.contains(&model.name);
        steps.retain(|step| is_due && options.wants(model.name, step.name));
        let vanilla = if steps.is_empty() {
            None
        } else {
            Some(timed(options, &model, &TimedStep::vanilla())?)
        };
        for step in &steps {
            let mut cell = match &vanilla {
                Some(vanilla) if step.name == vanilla.step => vanilla.clone(),
                _ => timed(options, &model, step)?,
            };
            cell.times_vanilla = vanilla
                .as_ref()
                .map(|vanilla| cell.median_ms / vanilla.median_ms);
            on_cell(&cell);
            measurements.push(cell);
        }
        if model.name == MODELS[0] && options.wants(model.name, INPUT_GRADIENT) {
            let mut network = Training::new(&model, &StepWork::GradPenalty)?.network;
            network.untrack();
            let x = batch(&network, GRADIENT_ROWS, 0);
            let cell = measure(options, model.name, INPUT_GRADIENT, GRADIENT_ROWS, || {
                let pass = network.pass(x.clone());
                let classes = predicted_one_hot(&network, &pass.logits())?;
                let gradient = pass.input_gradient(Output::Probability, classes);
                std::hint::black_box(gradient.value());
                Ok(())
            })?;
            on_cell(&cell);
            measurements.push(cell);
        }
    }
    Ok(measurements)
}

fn timed(options: &SpeedOptions, model: &TimedModel, step: &TimedStep) -> Result<Measurement> {
    let mut training = Training::new(model, &step.work)?;
    measure(options, model.name, step.name, model.batch, || {
        training.step(&step.work)
    })
}

fn measure(
    options: &SpeedOptions,
    model: &'static str,
    step: &'static str,
    batch: usize,
    mut work: impl FnMut() -> Result<()>,
) -> Result<Measurement> {
    for _ in 0..WARM_UP {
        work()?;
    }
    let budget = Duration::from_secs_f64(options.seconds);
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < LEAST_STEPS || begin.elapsed() < budget {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let median_ms = times[times.len() / 2];
    #[expect(clippy::cast_precision_loss, reason = "batches are small")]
    let rows_per_second = batch as f64 / (median_ms / 1e3);
    Ok(Measurement {
        model,
        step,
        batch,
        median_ms,
        best_ms: times[0],
        rows_per_second,
        times_vanilla: None,
    })
}

/// A model in training on a few batches by turns.
struct Training {
    network: Network,
    optimizer: Adam,
    batches: Vec<(Tensor<2>, Tensor<2>)>,
    explain: CheckedExplain,
    k: usize,
    steps: u64,
}

impl Training {
    fn new(timed: &TimedModel, work: &StepWork) -> Result<Self> {
        let seed = Seed::new(0);
        let model = match work {
            StepWork::GradPenalty => timed.model.clone(),
            StepWork::Objective(config) => config.objective().model(timed.model.clone()),
        };
        let mut network = model.network(
            &timed.input,
            timed.features,
            timed.classes,
            &mut Fresh::new(seed),
        )?;
        let mut stream = seed.stream("labels");
        let batches = (0..BATCHES)
            .map(|number| {
                let x = batch(&network, timed.batch, number);
                let labels: Vec<_> = (0..timed.batch)
                    .map(|_| stream.below(timed.classes))
                    .collect();
                let labels = one_hot(&labels, timed.classes, network.dtype(), &x.device());
                (x, labels)
            })
            .collect();
        network.track();
        Ok(Self {
            explain: timed.explain.check(&timed.schema())?,
            network,
            optimizer: Adam::new(1e-3),
            batches,
            k: timed.k,
            steps: 0,
        })
    }

    fn step(&mut self, work: &StepWork) -> Result<()> {
        let (x, labels) = self.batches[0].clone();
        self.batches.rotate_left(1);
        let batch = Batch {
            network: &self.network,
            x,
            labels,
            explain: &self.explain,
            k: self.k,
            reference: None,
            perturbed: None,
            seed: Seed::new(0),
            step: self.steps,
            done: 1.0,
            radius: 0.5,
        };
        self.steps += 1;
        let loss = match work {
            StepWork::Objective(config) => config.objective().loss(&batch)?,
            StepWork::GradPenalty => grad_penalty(&batch)?,
        };
        drop(batch);
        let gradients = loss.total.backward();
        self.optimizer.step(&mut self.network, gradients);
        for statistics in &loss.statistics {
            self.network.follow(statistics);
        }
        Ok(())
    }
}

/// The class loss and the squared input gradient.
fn grad_penalty(batch: &Batch<'_>) -> Result<Loss> {
    if let Some(mut step) = batch.network.training_step(&batch.x) {
        let class = step.cross_entropy(&batch.labels);
        let rows = step.logits().chunks(batch.network.classes());
        let classes = rows.map(largest).collect::<Result<Vec<_>>>()?;
        #[expect(clippy::cast_precision_loss, reason = "batches are small")]
        let weight = PENALTY_WEIGHT / classes.len() as f64;
        let gradient = step.input_gradient(&classes);
        let penalty: f64 = gradient.iter().map(|it| weight * it * it).sum();
        let slopes = Slopes {
            gradient: gradient.iter().map(|it| 2.0 * weight * it).collect(),
            ..Slopes::default()
        };
        return Ok(Loss::new("class", step.loss(class + penalty, slopes)));
    }
    let pass = batch.network.pass(batch.x.clone());
    let loss = batch.class_loss_of(&pass);
    let classes = predicted_one_hot(batch.network, &pass.logits())?;
    let gradient = pass.input_gradient(Output::Probability, classes).value();
    let penalty = mean_over_rows(gradient.clone() * gradient);
    Ok(loss.plus("penalty", PENALTY_WEIGHT, penalty, false))
}

fn batch(network: &Network, rows: usize, number: u64) -> Tensor<2> {
    let mut stream = Seed::new(0).stream_at("batch", number);
    let values: Vec<f64> = (0..rows * network.features())
        .map(|_| stream.normal())
        .collect();
    network.batch(&values)
}
