//! The demonstration: on bundled data, a linear baseline, a plain network and an R2ET network, audited alike.
//!
//! The models of a dataset train on the same rows from the same seed, and the quick suite attacks the explanations of the
//! same test rows, within the same l2 ball. Nothing is chosen after the outcome: what the attacks find is what is reported.

use std::ops::ControlFlow;
use std::path::PathBuf;

use serde::Serialize;

use thickset::attack::ThreatConfig;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::audit::compare::{Verdict, compare};
use thickset::audit::result::SplitRecord;
use thickset::audit::{self, Audit, AuditConfig};
use thickset::config::DataConfig;
use thickset::data::{Dataset, Part};
use thickset::metric::{auc, distinctness, thickness};
use thickset::model::AuditOptions;
use thickset::statistics::Estimate;
use thickset::statistics::paired::Comparison;
use thickset::train::salient_features;
use thickset::{Error, Result, Seed, file};

use super::model::{DATASETS, DemoDataset, RADIUS, VANILLA};
use super::training::{DemoTrained, trained};

/// The options of the demonstration.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// The folder that models and audits are written to.
    pub out: PathBuf,
    /// Decides the split, the fresh weights and every draw.
    pub seed: Seed,
}

/// One model and how it did.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// `linear`, `mlp vanilla`, `cnn r2et` and so on.
    pub model: &'static str,
    /// Its file.
    pub file: PathBuf,
    /// The file of its audit.
    pub audit: PathBuf,
    /// The epoch whose weights were selected on validation rows.
    pub selected_epoch: usize,
    /// AUC on the test rows as they are.
    pub auc: Option<Estimate>,
    /// P@k of the test rows at the worst points that the suite found.
    pub precision_at_k: Estimate,
    /// Thickness in its probability form over gaussian neighbours.
    pub thickness: Option<Estimate>,
    /// One minus the top-k overlap between two different rows.
    pub distinctness: Option<f64>,
    /// Seconds of training steps, without validation and files.
    pub training_seconds: f64,
    /// The same as a multiple of the plain network's.
    pub training_cost: f64,
}

impl Line {
    /// The mean share of the top-k set that two different rows have in common.
    #[must_use]
    pub fn overlap(&self) -> Option<f64> {
        self.distinctness.map(|distinctness| 1.0 - distinctness)
    }
}

/// The models of one dataset.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// The dataset.
    pub data: &'static str,
    /// Rows that train.
    pub training_rows: usize,
    /// Rows that are audited.
    pub test_rows: usize,
    /// Features of a row.
    pub features: usize,
    /// Salient features.
    pub k: usize,
    /// The linear baseline first, then the plain network, then R2ET.
    pub lines: Vec<Line>,
    /// P@k of R2ET minus that of the plain network, row by row.
    pub gain: Comparison,
    /// Whether R2ET is less stable than the plain network.
    pub verdict: Verdict,
}

/// What was done and found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The seed.
    pub seed: Seed,
    /// Radius of the l2 ball.
    pub radius: f64,
    /// How hard the suite tried.
    pub effort: Effort,
    /// One a dataset.
    pub datasets: Vec<Section>,
}

/// Trains the models, audits them and writes both; `on_step` hears what is begun. The audits come in the order of the
/// report's lines.
///
/// # Errors
/// When the folder cannot be written.
pub fn run(options: &DemoOptions, mut on_step: impl FnMut(&str)) -> Result<(Report, Vec<Audit>)> {
    file::create_folder(&options.out)?;
    let mut audits = Vec::new();
    let mut datasets = Vec::new();
    for demo in DATASETS {
        let (section, of_section) = section(&demo, options, &mut on_step)?;
        datasets.push(section);
        audits.extend(of_section);
    }
    let report = Report {
        seed: options.seed,
        radius: RADIUS,
        effort: Effort::Quick,
        datasets,
    };
    Ok((report, audits))
}

fn section(
    demo: &DemoDataset,
    options: &DemoOptions,
    on_step: &mut dyn FnMut(&str),
) -> Result<(Section, Vec<Audit>)> {
    let source = DataConfig {
        source: demo.data.to_owned(),
        ..DataConfig::default()
    };
    let dataset = source.open(options.seed)?;
    let k = salient_features(None, &dataset)?;
    let plan = plan(k, options.seed);
    let mut lines = Vec::new();
    let mut audits = Vec::new();
    for model in demo.models(dataset.shape()) {
        on_step(&format!("training {} on {}", model.label, demo.data));
        let trained = trained(&model, demo, &dataset, options)?;
        on_step(&format!("auditing {} on {}", model.label, demo.data));
        let audit = audited(&plan, &dataset, demo.data, &trained, options.seed)?;
        let file = trained.file.with_extension("audit.json");
        file::write(&file, &audit.to_bytes())?;
        lines.push(Line {
            model: model.label,
            file: trained.file,
            audit: file,
            selected_epoch: trained.selected_epoch,
            auc: audit.summary.estimate(&auc::FIGURE),
            precision_at_k: *audit.summary.precision_at_k(),
            thickness: audit.summary.estimate(&thickness::FIGURE),
            distinctness: audit.summary.value(&distinctness::FIGURE),
            training_seconds: trained.time.as_secs_f64(),
            training_cost: 1.0,
        });
        audits.push(audit);
    }
    let unit = lines[VANILLA].training_seconds;
    for line in &mut lines {
        line.training_cost = line.training_seconds / unit;
    }
    let compared = compare(&audits[VANILLA], &audits[VANILLA + 1], &[])?;
    let section = Section {
        data: demo.data,
        training_rows: dataset.part(Part::Train).len(),
        test_rows: dataset.part(Part::Test).len(),
        features: dataset.features(),
        k,
        lines,
        gain: compared.precision_at_k,
        verdict: compared.verdict,
    };
    Ok((section, audits))
}

fn plan(k: usize, seed: Seed) -> AuditConfig {
    AuditConfig {
        seed,
        suite: SuiteConfig {
            effort: Effort::Quick,
            k,
            threat: ThreatConfig {
                ball: BallConfig {
                    norm: Norm::L2,
                    radius: RADIUS,
                },
                ..ThreatConfig::papers()
            },
        },
        ..AuditConfig::default()
    }
}

fn audited(
    plan: &AuditConfig,
    dataset: &Dataset,
    data: &str,
    trained: &DemoTrained,
    seed: Seed,
) -> Result<Audit> {
    let split = SplitRecord {
        seed: seed.number(),
        ..SplitRecord::default()
    };
    let options = AuditOptions {
        data_name: Some(data.to_owned()),
        ..AuditOptions::default()
    };
    let rows = dataset.test().split_by(&split);
    let mut silent = |_: &audit::Event<'_>| ControlFlow::Continue(());
    let audit = trained
        .model
        .audit_as(&trained.origin, &rows, &options, plan, &mut silent)?;
    // Nobody here stops it.
    audit.ok_or(Error::Empty {
        what: "the rows to audit",
    })
}
