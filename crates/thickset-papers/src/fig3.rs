//! Figure 3: saliency maps before and after `ERAttack` on threes and eights and on CIFAR-10, of the four methods that the paper shows.

use thickset::Result;
use thickset::bench::Bench;

use crate::bench_builder::BenchBuilder;
use crate::runner::BenchRunner;
use crate::saliency_maps;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let title = "Figure 3: saliency maps before and after ERAttack";
    saliency_maps::run(
        runner,
        BenchBuilder::new("fig3", title),
        &["mnist-3-8-pairs", "cifar10"],
        &["vanilla", "weight-decay", "r2et", "r2et-mm"],
    )
}
