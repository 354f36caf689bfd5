//! IGR's Figures 5 and 6: integrated gradients of images before and after the iterative top-k attack, for MART with and without
//! IGR.

use thickset::Result;
use thickset::bench::{Bench, Picture, PictureRow, PictureTable};

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, over_datasets};
use crate::igr::{self, Balls};
use crate::measure::{Measure, Measured};
use crate::runner::{BenchRunner, SeededDatasets};
use crate::saliency_maps::pictures;

/// The model without IGR, and with it.
const METHODS: [&str; 2] = ["mart", "mart-igr"];
/// Images that are shown.
const IMAGES: usize = 4;
const COLUMNS: [&str; 5] = [
    "image",
    "attacked",
    "MART",
    "MART, attacked",
    "MART+IGR, attacked",
];

/// Figure 5.
pub(crate) fn fashion(runner: &BenchRunner<'_>) -> Result<Bench> {
    let title = "IGR's Figure 5: attributions on Fashion-MNIST before and after the attack";
    run(
        runner,
        BenchBuilder::new("fig5-igr", title),
        "fashion-mnist",
    )
}

/// Figure 6.
pub(crate) fn cifar(runner: &BenchRunner<'_>) -> Result<Bench> {
    let title = "IGR's Figure 6: attributions on CIFAR-10 before and after the attack";
    run(runner, BenchBuilder::new("fig6-igr", title), "cifar10")
}

fn run(runner: &BenchRunner<'_>, mut bench: BenchBuilder, dataset: &str) -> Result<Bench> {
    let options = igr::with_defaults(runner.options, &METHODS, Balls::ByEffort);
    let runner = &BenchRunner::new(&options, runner.on_step)?;
    igr::note(&mut bench, runner, Balls::ByEffort);
    over_datasets(
        runner,
        &mut bench,
        (&[dataset], &PaperTable::figure(&[])),
        1,
        |bench, datasets| {
            igr::note_datasets(bench, runner, datasets, Balls::ByEffort);
            add(runner, bench, datasets)
        },
    )?;
    Ok(bench.finish())
}

fn add(
    runner: &BenchRunner<'_>,
    bench: &mut BenchBuilder,
    datasets: &SeededDatasets,
) -> Result<()> {
    let name = &datasets.name;
    let data = &datasets.seeds[0];
    let grid = igr::trained(runner, datasets, Balls::ByEffort)?;
    let key = |id: &str| {
        let row = grid.rows.iter().find(|row| row.entry.id == id)?;
        row.keys()?.into_iter().next()
    };
    let [Some(base), Some(with)] = METHODS.map(key) else {
        bench.add_finding(format!("{name}: MART, or MART with IGR, was not trained"));
        return Ok(());
    };
    let (attack, explain) = igr::top_k_attack(runner, name, data, Balls::ByEffort);
    let measure = |measure: Measure| {
        let jobs = [&base, &with].map(|key| (0, key.clone(), measure.clone()));
        runner.measure(datasets, "top-k attack", &jobs)
    };
    let all = measure(Measure::Attack {
        attack: attack.clone(),
        explain: explain.clone(),
    })?;
    let mut rows = Vec::new();
    for place in both_right(&all)?.into_iter().take(IMAGES) {
        let maps = measure(Measure::Maps {
            attack: attack.clone(),
            explain: explain.clone(),
            place,
        })?;
        let shown: Vec<Option<[Picture; 4]>> = maps
            .iter()
            .map(|one| pictures(one, data.dataset.shape(), attack.k))
            .collect::<Result<_>>()?;
        let [Some(base), Some([.., protected])] = shown.as_slice() else {
            bench.add_finding(format!("{name}: its rows are no images"));
            return Ok(());
        };
        let mut pictures = base.to_vec();
        pictures.push(protected.clone());
        rows.push(PictureRow {
            label: format!("row {}", data.rows().ids[place] + 1),
            pictures,
        });
    }
    if rows.is_empty() {
        bench.add_finding(format!(
            "{name}: none of the attacked images is predicted as labelled by both models, so there is nothing to show; more --train-rows or --epochs help"
        ));
        return Ok(());
    }
    bench.add_finding(format!(
        "{name}: the first {} of the attacked images that both models predict as labelled",
        rows.len()
    ));
    bench.add_pictures(PictureTable {
        title: format!("{name}: integrated gradients of MART, and of MART with IGR"),
        caption: format!(
            "The image; the image as the attack on MART left it; the {} pixels that matter most to MART before and after it; and \
             those that matter most to MART with IGR after an attack on that model. Below, the share of the pixels that stayed.",
            attack.k
        ),
        corner: "image".to_owned(),
        columns: COLUMNS.map(str::to_owned).into(),
        rows,
    });
    Ok(())
}

/// The places of the rows that every model predicts as labelled.
fn both_right(measured: &[Measured]) -> Result<Vec<usize>> {
    let by_model = measured
        .iter()
        .map(|one| one.rows("right"))
        .collect::<Result<Vec<_>>>()?;
    let rows = by_model.first().map_or(0, |rows| rows.len());
    let is_right = |&place: &usize| by_model.iter().all(|rows| rows[place] > 0.0);
    Ok((0..rows).filter(is_right).collect())
}
