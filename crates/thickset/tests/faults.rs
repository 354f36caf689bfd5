//! Every operation of the file layer fails once, or is the last one before a power cut, with and without the loss of what was not
//! synced: the next run ends with the bytes of a run that nothing happened to. `scripts/faults` tries every operation of all of them;
//! benches are tried in `thickset-papers`.

#[path = "support/survive.rs"]
mod survive;

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::Path;

use thickset::attack::suite::Effort;
use thickset::audit::{AuditFolder, Event as AuditEvent, ResumeFile, ResumeKey};
use thickset::config::RunConfig;
use thickset::data::Dataset;
use thickset::model::{AuditOptions, LinearConfig, Model, ModelConfig};
use thickset::train::{RunFolder, sweep, train_into};
use thickset::Seed;

use survive::survive;

fn config(rest: &str) -> RunConfig {
    let text = format!("name = \"test\"\nk = 4\n{rest}\n[data]\nsource = \"wine-quality\"\n");
    RunConfig::parse(&text, "run.toml").unwrap()
}

fn data() -> Dataset {
    config("").data.open(Seed::new(0)).unwrap()
}

#[test]
fn a_training_survives_every_fault() {
    let config = config(
        "model = { kind = \"linear\" }\nobjective = { kind = \"vanilla\" }\n\
         train = { epochs = 2, batch = 512, checkpoint_steps = 2 }\nprobe = { rows = 0 }",
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
        1,
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
fn an_audit_survives_every_fault() {
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
            k: Some(3),
            noise_draws: 2,
            worst: 2,
            resume: Some(ResumeFile {
                path: folder.partial(),
                key: ResumeKey::new([7; 32]),
            }),
            ..AuditOptions::default()
        };
        let config = model.audit_config(&origin, &rows, &options)?;
        let mut observer = |_: &AuditEvent<'_>| ControlFlow::Continue(());
        let audit = model.audit_as(&origin, &rows, &options, &config, &mut observer)?;
        folder.write(&audit.expect("nobody stopped it"))?;
        folder.finish()
    };
    survive("audit", &audit, &["audit.json"], 1);
}
