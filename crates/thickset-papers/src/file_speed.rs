//! Milliseconds of what one asks a model's file for: predictions, input gradients, and an attack of some steps.
//!
//! `benches/peer/torch_resnet18.py` does the same in `PyTorch` on the network that the file was exported from. Rows are drawn in
//! [0, 1]; speed does not depend on them.

use std::time::Instant;

use serde::Serialize;
use thickset::attack::{AttackConfig, ThreatConfig};
use thickset::explain::{ExplainConfig, Points};
use thickset::{Model, Result, Seed};
use thickset_engine::{Output, one_hot};

/// Timed runs at the least, however slow they are.
const LEAST_RUNS: usize = 3;
/// Salient features of the attack, or half of all where there are fewer.
const SALIENT: usize = 100;

/// One line of the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileMeasurement {
    /// What was asked for.
    pub step: &'static str,
    /// Rows of a batch.
    pub batch: usize,
    /// Median milliseconds.
    pub median_ms: f64,
    /// Least milliseconds.
    pub best_ms: f64,
}

/// How it is measured.
#[derive(Clone, Copy, Debug)]
pub struct FileSpeedOptions {
    /// Rows of a batch.
    pub batch: usize,
    /// Steps of the attack.
    pub steps: usize,
    /// Seconds of timed runs for each line.
    pub seconds: f64,
}

/// Measures all three; `on_line` sees each result as it comes.
///
/// # Errors
/// If the model cannot be explained by its gradient.
pub fn run(
    model: &Model,
    options: &FileSpeedOptions,
    mut on_line: impl FnMut(&FileMeasurement),
) -> Result<Vec<FileMeasurement>> {
    let network = &model.network;
    let features = network.features();
    let mut stream = Seed::new(0).stream("rows");
    let values: Vec<f64> = (0..options.batch * features)
        .map(|_| stream.uniform())
        .collect();
    let config = AttackConfig {
        k: SALIENT.min(features / 2).max(1),
        threat: ThreatConfig::papers(),
        steps: options.steps,
        ..AttackConfig::default()
    };
    let attack = config.check(&ExplainConfig::default(), model.schema())?;
    let ids: Vec<u64> = (0..options.batch as u64).collect();
    let mut lines = Vec::new();
    let mut measured = |step, work: &mut dyn FnMut() -> Result<()>| -> Result<()> {
        let line = measure(step, options, work)?;
        on_line(&line);
        lines.push(line);
        Ok(())
    };
    measured("forward", &mut || {
        let _ = network.probabilities(network.batch(&values)).into_data();
        Ok(())
    })?;
    measured("input-gradient", &mut || {
        let x = network.batch(&values);
        let device = x.device().without_autodiff();
        let classes = vec![0; options.batch];
        let classes = one_hot(&classes, network.classes(), network.dtype(), &device);
        let pass = network.pass(x);
        let gradient = pass.input_gradient(Output::Probability, classes);
        let _ = gradient.value().into_data();
        Ok(())
    })?;
    measured("er-attack", &mut || {
        let points = Points {
            values: &values,
            ids: &ids,
        };
        attack.perturb(network, points, Seed::new(0)).map(|_| ())
    })?;
    Ok(lines)
}

fn measure(
    step: &'static str,
    options: &FileSpeedOptions,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<FileMeasurement> {
    work()?;
    let (mut times, begun) = (Vec::new(), Instant::now());
    while times.len() < LEAST_RUNS || begun.elapsed().as_secs_f64() < options.seconds {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(FileMeasurement {
        step,
        batch: options.batch,
        median_ms: times[times.len() / 2],
        best_ms: times[0],
    })
}
