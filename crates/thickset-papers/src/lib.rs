//! The papers' tables and figures on real data, and speed on generated data.
//!
//! A bench opens each dataset once a seed, trains every setting of every method on it and chooses one on validation rows. The
//! chosen models are measured: attacked, explained, counted. The measurements become the columns of a table, the paper's
//! numbers beside them, and the tables a [`Bench`], which is written as `bench.json` and `bench.md`.

pub mod attack;
pub mod file_speed;
#[doc(hidden)]
pub mod fuzzing;
pub mod method;
pub mod speed;

mod bench_builder;
mod chosen_setting;
mod correlation;
mod count;
mod dataset_plan;
mod dataset_tables;
mod exact;
mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod fig7_igr;
mod fig8;
mod fig9;
mod gain_target;
mod igr;
mod igr_pictures;
mod limit;
mod measure;
mod measure_categories;
mod measure_certificates;
mod measure_maps;
mod options;
mod pairs;
mod paper_numbers;
mod pearson_flip;
mod proposition1;
mod proposition45;
mod proposition46;
mod render;
mod runner;
mod saliency_maps;
mod seeded_dataset;
mod sequence_search;
mod share;
mod simulation;
mod stable;
mod store;
mod table1;
mod table2;
mod table5;
mod table6;
mod table7;
mod table8;
mod table9;
mod table_column;
mod theorem1;
mod training_cell;
mod usual_measure;
mod workers;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use thickset::bench::Bench;
use thickset::model::Shard;
use thickset::registry::nearest;
use thickset::{Error, Result, file};

pub use crate::options::{BenchEffort, BenchOptions};
pub use crate::render::{markdown, terminal};
pub use crate::runner::{BenchStep, OnStep};

use crate::runner::BenchRunner;
use crate::store::Store;

/// A table or figure that can be made.
#[derive(Clone, Copy)]
pub struct BenchInfo {
    /// Its name on the command line; its file is named like it.
    pub id: &'static str,
    /// One sentence without a final period.
    pub summary: &'static str,
    run: fn(&BenchRunner<'_>) -> Result<Bench>,
}

/// All of them, in the papers' order.
pub static BENCHES: &[BenchInfo] = &[
    BenchInfo {
        id: "table1",
        summary: "P@k of every method under ERAttack, the MSE attack and the suite",
        run: table1::run,
    },
    BenchInfo {
        id: "table2",
        summary: "P@k under ERAttack for Grad, SmoothGrad and Integrated Gradients",
        run: table2::run,
    },
    BenchInfo {
        id: "table5",
        summary: "P@k under ERAttack beside thickness",
        run: table5::run,
    },
    BenchInfo {
        id: "table6",
        summary: "AUC before and after the attacks",
        run: table6::run,
    },
    BenchInfo {
        id: "table7",
        summary: "P@k under ERAttack for several k",
        run: table7::run,
    },
    BenchInfo {
        id: "table8",
        summary: "P@k under ERAttack from scratch and retrained from vanilla",
        run: table8::run,
    },
    BenchInfo {
        id: "table9",
        summary: "Faithfulness of the explanations: DFFOT, COMP and SUFF",
        run: table9::run,
    },
    BenchInfo {
        id: "fig2",
        summary: "Steps to the first flip against thickness and Hessian norm, R2ET on COMPAS",
        run: fig2::run,
    },
    BenchInfo {
        id: "fig3",
        summary: "Saliency maps before and after ERAttack, four methods on digits and CIFAR-10",
        run: fig3::run,
    },
    BenchInfo {
        id: "fig4",
        summary: "Rank correlations of the steps to the first flip with thickness and Hessian norm",
        run: fig4::run,
    },
    BenchInfo {
        id: "fig5",
        summary: "Saliency maps of a pair of digits before and after ERAttack, every method",
        run: fig5::run,
    },
    BenchInfo {
        id: "fig6",
        summary: "P@k against sensitivity of constrained attacks on vanilla",
        run: fig6::run,
    },
    BenchInfo {
        id: "fig7",
        summary: "Trade-offs between AUC, distinctness and P@k over all settings",
        run: fig7::run,
    },
    BenchInfo {
        id: "fig8",
        summary: "Vanilla's importances in falling order, dataset by dataset",
        run: fig8::run,
    },
    BenchInfo {
        id: "fig9",
        summary: "P@k against the number of pairs whose gap R2ET widens",
        run: fig9::run,
    },
    BenchInfo {
        id: "stable",
        summary: "Stability at equal distinctness: suite, certificates, AUC, COMP and SUFF",
        run: stable::run,
    },
    BenchInfo {
        id: "limit",
        summary: "The highest mean P@k that the rows' geometry allows",
        run: limit::run,
    },
    BenchInfo {
        id: "exact",
        summary: "The exact worst case beside what each effort of the suite finds",
        run: exact::run,
    },
    BenchInfo {
        id: "proposition45",
        summary: "R2ET's Proposition 4.5 beside exact radii",
        run: proposition45::run,
    },
    BenchInfo {
        id: "proposition46",
        summary: "R2ET's Proposition 4.6: its min-max problem beside R2ET's terms",
        run: proposition46::run,
    },
    BenchInfo {
        id: "pairs",
        summary: "AUC of vanilla on pairs of threes and eights, seed by seed",
        run: pairs::run,
    },
    BenchInfo {
        id: "igr",
        summary: "AT, TRADES and MART with and without IGR, and the rivals, on images",
        run: igr::run,
    },
    BenchInfo {
        id: "igr-radii",
        summary: "The same at the authors' radii, on four datasets, with more images",
        run: igr::run_at_papers_radii,
    },
    BenchInfo {
        id: "fig5-igr",
        summary: "Attributions on Fashion-MNIST under attack, MART with and without IGR",
        run: igr_pictures::fashion,
    },
    BenchInfo {
        id: "fig6-igr",
        summary: "Attributions on CIFAR-10 under attack, MART with and without IGR",
        run: igr_pictures::cifar,
    },
    BenchInfo {
        id: "fig7-igr",
        summary: "Kendall's correlation against Pearson's and the cosine, simulated",
        run: fig7_igr::run,
    },
    BenchInfo {
        id: "theorem1",
        summary: "IGR's Theorem 1 on Kendall's correlation and the cosine, simulated",
        run: theorem1::run,
    },
    BenchInfo {
        id: "pearson-flip",
        summary: "IGR's section B on the sign of Pearson's correlation, simulated",
        run: pearson_flip::run,
    },
    BenchInfo {
        id: "proposition1",
        summary: "IGR's Proposition 1 on the cosine of integrated gradients, simulated",
        run: proposition1::run,
    },
];

/// The datasets of the paper that are tables.
const TABLES: [&str; 3] = ["adult", "bank", "compas"];

/// Makes the cells that fall to one of several machines, [`BenchOptions::shard`], and no table: once the folders `cells` and `models` of all machines lie in
/// one folder, [`run`] finds all that it needs there and trains nothing. How many cells the machine has made or found; none, if the bench has no cells.
///
/// # Errors
/// As for [`run`].
pub fn make_cells(id: &str, options: &BenchOptions, on_step: OnStep<'_>) -> Result<usize> {
    let cells = AtomicUsize::new(0);
    let counted = |step: &BenchStep<'_>| {
        cells.fetch_add(1, Ordering::Relaxed);
        on_step(step);
    };
    (find(id)?.run)(&BenchRunner::new(options, &counted)?)?;
    Store::clear_leftovers(&options.out)?;
    Ok(cells.into_inner())
}

fn find(id: &str) -> Result<&'static BenchInfo> {
    let info = BENCHES.iter().find(|info| info.id == id);
    info.ok_or_else(|| Error::UnknownMethod {
        given: id.to_owned(),
        nearest: nearest(id, BENCHES.iter().map(|info| info.id)),
    })
}

/// Makes a table or figure; what is finished already is found in the folder, and what killed benches have half trained is
/// removed at the end. Writes `<out>/<id>/bench.json` and `bench.md`.
///
/// # Errors
/// When there is no such bench, dataset or method, data is missing, or a file cannot be read or written.
///
/// # Panics
/// Never: a bench is plain data.
pub fn run(id: &str, options: &BenchOptions, on_step: OnStep<'_>) -> Result<(Bench, PathBuf)> {
    let whole = BenchOptions {
        shard: Shard::WHOLE,
        ..options.clone()
    };
    let mut bench = (find(id)?.run)(&BenchRunner::new(&whole, on_step)?)?;
    Store::clear_leftovers(&options.out)?;
    let command = ("command".to_owned(), options.command(id));
    bench.settings.insert(0, command);
    let folder = options.out.join(id);
    file::create_folder(&folder)?;
    let json = serde_json::to_string_pretty(&bench).expect("a bench is plain data");
    file::write(&folder.join("bench.json"), format!("{json}\n").as_bytes())?;
    file::write(&folder.join("bench.md"), markdown(&bench).as_bytes())?;
    Ok((bench, folder))
}
