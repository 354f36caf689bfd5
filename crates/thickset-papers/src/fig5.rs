//! Figure 5: saliency maps of a pair of digits before and after `ERAttack`, of every method that the paper has on them.

use thickset::Result;
use thickset::bench::Bench;

use crate::bench_builder::BenchBuilder;
use crate::runner::BenchRunner;
use crate::saliency_maps;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let title = "Figure 5: saliency maps of a pair of digits under every method";
    saliency_maps::run(
        runner,
        BenchBuilder::new("fig5", title),
        &["mnist-3-8-pairs"],
        &[],
    )
}
