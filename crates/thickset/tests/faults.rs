//! Every operation of the file layer fails once, or is the last one before a power cut, with and without the loss of what was not
//! synced: the next run ends with the bytes of a run that nothing happened to. `scripts/faults` tries every operation of all of them;
//! benches are tried in `thickset-papers`.

#[path = "support/survive.rs"]
mod survive;

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::Path;

use thickset::Seed;
use thickset::attack::suite::Effort;
use thickset::audit::{
    self, AuditFolder, Event as AuditEvent, Outcome, ResumeFile, ResumeKey, RunOptions,
};
use thickset::config::RunConfig;
use thickset::data::Dataset;
use thickset::explain::ExplanationConfig;
use thickset::model::{AuditOptions, ExplainOptions, LinearConfig, Model, ModelConfig};
use thickset::train::{RunFolder, sweep, train_into};

use survive::survive;

fn config(rest: &str) -> RunConfig {
    let text = format!("name = \"test\"\nk = 4\n{rest}\n[data]\nsource = \"wine-quality\"\n");
    RunConfig::parse(&text, "run.toml").unwrap()
}

fn data() -> Dataset {
    config("").data.open(Seed::new(0)).unwrap()
}

#[test]
fn a_training_survives_faults() {
    let config = config(
        "model = { kind = \"linear\" }\nobjective = { kind = \"vanilla\" }\n\
         train = { epochs = 3, batch = 128, checkpoint_steps = 1 }\nprobe = { rows = 0 }",
    );
    let (run, dataset) = (config.check().unwrap(), data());
    let train = |folder: &Path, resume: bool| {
        let mut observer = |_: &thickset::train::Event<'_>| ControlFlow::Continue(());
        train_into(
            &run,
            &dataset,
            &RunFolder::new(folder),
            resume,
            &mut observer,
        )?;
        Ok(())
    };
    survive(
        "train",
        &train,
        &["model.safetensors", "metrics.jsonl", "run.toml"],
        7,
    );
}

#[test]
fn a_sweep_survives_faults() {
    let config = config(
        "model = { kind = \"linear\" }\nobjective = { kind = \"vanilla\" }\n\
         train = { epochs = 1, batch = 512 }\nprobe = { rows = 0 }\n\
         sweep = { \"train.optimizer.rate\" = [0.01, 0.1] }",
    );
    let run = config.check().unwrap();
    let work = |folder: &Path, resume: bool| {
        let mut observer = |_: usize, _: &thickset::train::Event<'_>| ControlFlow::Continue(());
        sweep(
            &run,
            &RunFolder::new(folder),
            resume,
            NonZero::new(1),
            &mut observer,
        )?;
        Ok(())
    };
    survive("sweep", &work, &["model.safetensors", "sweep.json"], 2);
}

#[test]
fn an_audit_survives_faults() {
    let dataset = data();
    let model = Model::fresh(
        ModelConfig::Linear(LinearConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(1),
    )
    .unwrap();
    let origin = model.origin().unwrap();
    let rows = dataset.test().first(24);
    let audit = |folder: &Path, _: bool| {
        let folder = AuditFolder::create(folder)?;
        let options = AuditOptions {
            effort: Some(Effort::Quick),
            explain: ExplainOptions {
                explanation: Some(ExplanationConfig::default()),
                ..ExplainOptions::default()
            },
            k: Some(3),
            noise_draws: 2,
            worst: 2,
            ..AuditOptions::default()
        };
        let config = model.audit_config(&origin, &rows, &options)?;
        let checked = config.check(rows.schema())?;
        let target = model.audit_target(&origin, &rows, &options);
        let run = RunOptions {
            resume: Some(ResumeFile {
                path: folder.partial(),
                key: ResumeKey::new([7; 32]),
            }),
            chunk: Some(2),
        };
        let mut observer = |_: &AuditEvent<'_>| ControlFlow::Continue(());
        match audit::run(&checked, &target, &run, &mut observer)? {
            Outcome::Done(audit) => folder.write(&audit)?,
            Outcome::Stopped => panic!("nobody stopped it"),
        }
        folder.finish()
    };
    survive("audit", &audit, &["audit.json"], 5);
}
