//! Rows per second of `ERAttack`, in batches and row by row.
//!
//! `benches/peer/torch_attack.py` does the same work in `PyTorch`: the MLP 28-64-32-2 with fresh weights, k = 8, 100 steps in
//! an l2 ball of radius 0.5, rows drawn in [0, 1].

use std::time::{Duration, Instant};

use thickset::attack::{AttackConfig, CheckedAttack, ThreatConfig};
use thickset::data::{InputShape, Schema};
use thickset::explain::{ExplainConfig, Points};
use thickset::model::{Fresh, MlpConfig, ModelConfig};
use thickset::{Result, Seed};

use crate::speed::Measurement;

/// Rows attacked at once.
pub const BATCHES: [usize; 5] = [128, 512, 2048, 8192, 16384];
/// Rows of the run that attacks one at a time.
const LOOP_ROWS: usize = 4;
/// Timed runs at the least, however slow they are.
const LEAST_RUNS: usize = 3;
const FEATURES: usize = 28;
const MODEL: &str = "mlp-28-64-32-2";

/// Measures every batch size, for so many seconds each; `on_cell` sees each result as it comes.
///
/// # Errors
/// Never on these fixed inputs, unless memory runs out.
pub fn run(seconds: f64, mut on_cell: impl FnMut(&Measurement)) -> Result<Vec<Measurement>> {
    let network = ModelConfig::Mlp(MlpConfig::default()).network(
        &InputShape::Table,
        FEATURES,
        2,
        &mut Fresh::new(Seed::new(0)),
    )?;
    let config = AttackConfig {
        k: 8,
        threat: ThreatConfig::papers(),
        steps: 100,
        ..AttackConfig::default()
    };
    let attack = config.check(&ExplainConfig::default(), &schema())?;
    let mut cells = Vec::new();
    for batch in BATCHES {
        let cell = measure("er-attack", batch, batch, seconds, &attack, &network)?;
        on_cell(&cell);
        cells.push(cell);
    }
    let cell = measure(
        "er-attack-row-by-row",
        LOOP_ROWS,
        1,
        seconds,
        &attack,
        &network,
    )?;
    on_cell(&cell);
    cells.push(cell);
    Ok(cells)
}

fn measure(
    step: &'static str,
    rows: usize,
    batch: usize,
    seconds: f64,
    attack: &CheckedAttack,
    network: &thickset_engine::Network,
) -> Result<Measurement> {
    let mut stream = Seed::new(0).stream("rows");
    let values: Vec<f64> = (0..rows * FEATURES).map(|_| stream.uniform()).collect();
    let ids: Vec<u64> = (0..rows as u64).collect();
    let all = Points {
        values: &values,
        ids: &ids,
    };
    let once = || -> Result<Duration> {
        let start = Instant::now();
        for part in all.parts(FEATURES, batch) {
            attack.perturb(network, part, Seed::new(0))?;
        }
        Ok(start.elapsed())
    };
    once()?;
    let (mut times, begun) = (Vec::new(), Instant::now());
    while times.len() < LEAST_RUNS || begun.elapsed().as_secs_f64() < seconds {
        times.push(once()?.as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    #[expect(clippy::cast_precision_loss, reason = "batches are small")]
    let rows_per_second = rows as f64 / median;
    Ok(Measurement {
        model: MODEL,
        step,
        batch,
        median_ms: median * 1e3,
        best_ms: times[0] * 1e3,
        rows_per_second,
        times_vanilla: None,
    })
}

/// A table of numbers in [0, 1].
fn schema() -> Schema {
    let names: Vec<String> = (0..FEATURES).map(|index| format!("x{index}")).collect();
    Schema::table(&names)
}
