//! The demonstration: a linear baseline, a plain network and an R2ET network on bundled data, attacked alike.
//!
//! The three train on the same rows from the same seed, and the quick suite attacks the explanations of the same test
//! rows, within the same l2 ball. Nothing is chosen after the outcome: what the attacks find is what is reported.

use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use thickset_engine::Network;

use crate::attack::suite::{Effort, SuiteConfig};
use crate::attack::threat::{BallConfig, Norm};
use crate::attack::{Attacked, ThreatConfig};
use crate::check::as_f64;
use crate::config::{DataConfig, RunConfig};
use crate::data::{Dataset, Part};
use crate::explain::{Binding, CheckedExplain, ExplainConfig, Explained, Rows};
use crate::host::read;
use crate::metric::ranking::TopK;
use crate::metric::thickness::{self, Form};
use crate::metric::{auc, distinctness};
use crate::model::{Model, ModelConfig, linear, mlp};
use crate::objective::{ObjectiveConfig, r2et, vanilla};
use crate::statistics::{self, Estimate};
use crate::train::{Event, OptimizerConfig, RunFolder, TrainConfig, salient_features, train};
use crate::{Error, Result, Seed};

/// The bundled dataset.
pub const DATA: &str = "breast-cancer";
/// The most a row may move, as an l2 distance in encoded units; every feature's range is 0 to 1.
pub const RADIUS: f64 = 0.5;
/// Rows of a step: 397 training rows make 13 steps an epoch.
const BATCH: usize = 32;
const EPOCHS: usize = 30;
/// One convex layer takes longer steps; at the networks' rate it would not be done after as many epochs.
const LINEAR_RATE: f64 = 1e-2;
/// Neighbours of a row, and points on the way to each, that its thickness is averaged over.
const NEIGHBOURS: usize = 10;
const POINTS: usize = 10;

/// What a demonstration may be told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that the models are written to.
    pub out: PathBuf,
    /// Decides the split, the fresh weights and every draw.
    pub seed: Seed,
}

/// One of the three models and how it did.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// `linear`, `mlp vanilla` or `mlp r2et`.
    pub model: &'static str,
    /// Its file.
    pub file: PathBuf,
    /// The epoch whose weights were selected on validation rows.
    pub selected_epoch: usize,
    /// AUC on the test rows as they are.
    pub auc: f64,
    /// P@k of the test rows at the worst points that the suite found.
    pub precision_at_k: Estimate,
    /// Thickness in its probability form over gaussian neighbours.
    pub thickness: Estimate,
    /// One less the top-k overlap between two different rows.
    pub distinctness: f64,
    /// Seconds of training steps, without validation and files.
    pub training_seconds: f64,
    /// The same as a multiple of the plain network's.
    pub training_cost: f64,
}

impl Line {
    /// The mean share of the top-k set that two different rows have in common.
    #[must_use]
    pub fn overlap(&self) -> f64 {
        1.0 - self.distinctness
    }

    /// Whether an attacked row shares less with itself than two different rows share with each other.
    #[must_use]
    pub fn is_below_overlap(&self) -> bool {
        self.precision_at_k.value < self.overlap()
    }
}

/// What was done and found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The dataset.
    pub data: &'static str,
    /// The seed.
    pub seed: Seed,
    /// Rows that train.
    pub training_rows: usize,
    /// Rows that are attacked.
    pub test_rows: usize,
    /// Features of a row.
    pub features: usize,
    /// Salient features.
    pub k: usize,
    /// Radius of the l2 ball.
    pub radius: f64,
    /// How hard the suite tried.
    pub effort: Effort,
    /// The linear baseline first.
    pub lines: Vec<Line>,
}

struct Subject {
    label: &'static str,
    name: &'static str,
    model: ModelConfig,
    objective: ObjectiveConfig,
    optimizer: OptimizerConfig,
}

/// The linear baseline, then the network that costs are measured against, then R2ET.
fn subjects() -> [Subject; 3] {
    let network = || ModelConfig::Mlp(mlp::Config::default());
    let plain = || ObjectiveConfig::Vanilla(vanilla::Config::default());
    [
        Subject {
            label: "linear",
            name: "linear",
            model: ModelConfig::Linear(linear::Config::default()),
            objective: plain(),
            optimizer: OptimizerConfig::Adam { rate: LINEAR_RATE },
        },
        Subject {
            label: "mlp vanilla",
            name: "mlp-vanilla",
            model: network(),
            objective: plain(),
            optimizer: OptimizerConfig::default(),
        },
        Subject {
            label: "mlp r2et",
            name: "mlp-r2et",
            model: network(),
            objective: ObjectiveConfig::R2et(r2et::Config::default()),
            optimizer: OptimizerConfig::default(),
        },
    ]
}

/// The place of the plain network among the subjects.
const VANILLA: usize = 1;

/// Trains the three models, attacks them and writes them; `on_step` hears what is begun.
///
/// # Errors
/// When the folder cannot be written.
pub fn run(options: &Options, mut on_step: impl FnMut(&str)) -> Result<Report> {
    let source = DataConfig {
        source: DATA.to_owned(),
        ..DataConfig::default()
    };
    let dataset = source.open(options.seed)?;
    let scene = Scene::new(&dataset, options.seed)?;
    fs::create_dir_all(&options.out).map_err(|source| failed("create", &options.out, source))?;
    let mut lines = Vec::new();
    for subject in subjects() {
        on_step(&format!("training {}", subject.label));
        let trained = trained(&subject, &source, &dataset, options)?;
        on_step(&format!("attacking {}", subject.label));
        lines.push(scene.line(&subject, trained)?);
    }
    let unit = lines[VANILLA].training_seconds;
    for line in &mut lines {
        line.training_cost = line.training_seconds / unit;
    }
    Ok(Report {
        data: DATA,
        seed: options.seed,
        training_rows: dataset.part(Part::Train).len(),
        test_rows: scene.ids.len(),
        features: dataset.features(),
        k: scene.k,
        radius: RADIUS,
        effort: Effort::Quick,
        lines,
    })
}

struct Trained {
    model: Model,
    file: PathBuf,
    selected_epoch: usize,
    time: Duration,
}

/// Trains in a folder beside the models, keeps the selected model and removes the rest.
fn trained(
    subject: &Subject,
    source: &DataConfig,
    dataset: &Dataset,
    options: &Options,
) -> Result<Trained> {
    let run = RunConfig {
        name: subject.name.to_owned(),
        seed: options.seed,
        data: source.clone(),
        model: subject.model.clone(),
        objective: subject.objective.clone(),
        train: TrainConfig {
            epochs: EPOCHS,
            batch: BATCH,
            optimizer: subject.optimizer.clone(),
            ..TrainConfig::default()
        },
        ..RunConfig::default()
    };
    let scratch = options.out.join(format!(".training-{}", subject.name));
    remove(&scratch)?;
    let folder = RunFolder::new(&scratch);
    let mut clock = StepClock::default();
    let mut observer = |event: &Event<'_>| {
        clock.hear(event);
        ControlFlow::Continue(())
    };
    train(&run.check()?, dataset, &folder, false, &mut observer)?;
    let model = Model::load(&folder.model())?;
    let file = options.out.join(format!("{}.safetensors", subject.name));
    model.save(&file)?;
    remove(&scratch)?;
    Ok(Trained {
        model,
        file,
        selected_epoch: clock.selected,
        time: clock.time,
    })
}

/// Adds up the time of steps alone: what lies between one event and a step's end.
#[derive(Default)]
struct StepClock {
    last: Option<Instant>,
    time: Duration,
    selected: usize,
}

impl StepClock {
    fn hear(&mut self, event: &Event<'_>) {
        let now = Instant::now();
        match (event, self.last) {
            (Event::Step { .. }, Some(last)) => self.time += now - last,
            (Event::End { selected, .. }, _) => self.selected = *selected,
            _ => {}
        }
        self.last = Some(now);
    }
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(failed("remove", folder, source))
        }
        _ => Ok(()),
    }
}

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        action,
        path: path.display().to_string(),
        source,
    }
}

/// The rows that every model is judged on, and how.
struct Scene<'d> {
    dataset: &'d Dataset,
    seed: Seed,
    k: usize,
    explain: CheckedExplain,
    values: Vec<f64>,
    /// The rows' numbers in the dataset, as `thickset attack` names them, so that it finds the same.
    ids: Vec<u64>,
    labels: Vec<usize>,
}

impl<'d> Scene<'d> {
    fn new(dataset: &'d Dataset, seed: Seed) -> Result<Self> {
        let test = dataset.part(Part::Test);
        Ok(Self {
            dataset,
            seed,
            k: salient_features(None, dataset)?,
            explain: ExplainConfig::default().check(&dataset.schema)?,
            values: dataset.gather(test).into_iter().map(f64::from).collect(),
            ids: test.iter().map(|&row| row as u64).collect(),
            labels: dataset.gather_labels(test),
        })
    }

    fn rows(&self) -> Rows<'_> {
        Rows {
            values: &self.values,
            ids: &self.ids,
        }
    }

    fn line(&self, subject: &Subject, trained: Trained) -> Result<Line> {
        let network = &trained.model.network;
        let explained = self.explain.attribute(network, self.rows(), self.seed)?;
        let probabilities: Vec<Vec<f64>> = explained
            .iter()
            .map(|row| row.probabilities.clone())
            .collect();
        let auc = auc::score(&probabilities, &self.labels)?.ok_or(Error::Empty {
            what: "the test rows of a class",
        })?;
        let sets = explained
            .iter()
            .map(|row| TopK::of(&row.importance, self.k))
            .collect::<Result<Vec<_>>>()?;
        let distinctness = distinctness::score(&sets)?.ok_or(Error::Empty {
            what: "the pairs of test rows",
        })?;
        let attacked = self.attacked(network)?;
        let precisions: Vec<f64> = attacked.iter().map(|row| row.precision).collect();
        let thickness = self.thickness(network, &explained)?;
        Ok(Line {
            model: subject.label,
            file: trained.file,
            selected_epoch: trained.selected_epoch,
            auc: auc.value,
            precision_at_k: statistics::mean::estimate(&precisions)?,
            thickness: statistics::mean::estimate(&thickness)?,
            distinctness,
            training_seconds: trained.time.as_secs_f64(),
            training_cost: 1.0,
        })
    }

    fn attacked(&self, network: &Network) -> Result<Vec<Attacked>> {
        let suite = SuiteConfig {
            effort: Effort::Quick,
            k: self.k,
            threat: ThreatConfig {
                ball: BallConfig {
                    norm: Norm::L2,
                    radius: RADIUS,
                },
                ..ThreatConfig::default()
            },
        };
        let suite = suite.check(self.explain.config(), &self.dataset.schema)?;
        Ok(suite.perturb(network, self.rows(), self.seed)?.rows)
    }

    /// The thickness of each row, of the class predicted at the row itself. Neighbours are gaussian, at a root mean square
    /// distance of the attacks' radius.
    fn thickness(&self, network: &Network, explained: &[Explained]) -> Result<Vec<f64>> {
        let features = self.dataset.features();
        let deviation = RADIUS / as_f64(features).sqrt();
        let rows = self.values.chunks(features).zip(&self.ids).zip(explained);
        rows.map(|((x, &id), at_x)| {
            let mut stream = self.seed.stream_at("demo thickness", id);
            let mut points = Vec::with_capacity(NEIGHBOURS * POINTS * features);
            for _ in 0..NEIGHBOURS {
                let way: Vec<f64> = x.iter().map(|_| deviation * stream.normal()).collect();
                for point in 0..POINTS {
                    let t = (as_f64(point) + 0.5) / as_f64(POINTS);
                    points.extend(x.iter().zip(&way).map(|(x, way)| x + t * way));
                }
            }
            let binding = Binding {
                classes: &[at_x.class; NEIGHBOURS * POINTS],
                ids: &[id; NEIGHBOURS * POINTS],
                seed: self.seed,
            };
            let of_row = self.explain.bind(network, binding)?;
            let importance = read(of_row.importance(network, network.batch(&points)));
            let width = at_x.importance.len();
            let paths: Vec<Vec<Vec<f64>>> = importance
                .chunks(POINTS * width)
                .map(|path| path.chunks(width).map(<[f64]>::to_vec).collect())
                .collect();
            let found = thickness::score(&paths, &at_x.importance, self.k, Form::Probability)?;
            Ok(found.mean)
        })
        .collect()
    }
}
