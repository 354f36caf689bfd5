//! Saliency maps of one image under every method, before and after `ERAttack`: what Figures 3 and 5 share.

use thickset::Result;
use thickset::bench::{Bench, Picture, PictureRow, PictureTable};
use thickset::data::InputShape;
use thickset::metric::ranking::TopK;

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, over_datasets};
use crate::measure::{Measure, Measured};
use crate::method::VANILLA;
use crate::runner::{BenchRunner, Grid, GridEntry, SeededDatasets};
use crate::usual_measure::{attack, er_attack, explain};

/// The pictures of a dataset's first seed.
const SEEDS: u64 = 1;

/// The images before and after, in the order of the columns.
const COLUMNS: [&str; 4] = [
    "image",
    "attacked",
    "salient pixels",
    "salient pixels, attacked",
];

/// A figure of these datasets and methods; every method of the paper where none is named.
pub(crate) fn run(
    runner: &BenchRunner<'_>,
    mut bench: BenchBuilder,
    datasets: &[&str],
    methods: &[&str],
) -> Result<Bench> {
    bench.note_training(runner);
    over_datasets(
        runner,
        &mut bench,
        (datasets, &PaperTable::figure(&[])),
        SEEDS,
        |bench, datasets| {
            bench.note_datasets(datasets);
            let entries = if methods.is_empty() {
                runner.entries(datasets)?
            } else {
                GridEntry::of(runner.options.methods_or(methods)?, datasets)?
            };
            let grid = runner.grid(datasets, entries)?;
            add(runner, bench, datasets, &grid)
        },
    )?;
    Ok(bench.finish())
}

fn add(
    runner: &BenchRunner<'_>,
    bench: &mut BenchBuilder,
    datasets: &SeededDatasets,
    grid: &Grid,
) -> Result<()> {
    let data = &datasets.seeds[0];
    let place = shown_row(runner, datasets, grid)?;
    let maps = runner.measure_chosen(datasets, grid, "saliency maps", |data| Measure::Maps {
        attack: er_attack(data),
        explain: explain(data),
        place,
    })?;
    let mut rows = Vec::new();
    for (row, found) in grid.rows.iter().zip(maps) {
        let found = found.as_ref().and_then(|by_seed| by_seed.first());
        let Some(found) = found else {
            continue;
        };
        let shown = pictures(found, data.dataset.shape(), data.k)?;
        let Some(pictures) = shown else {
            bench.add_finding(format!("{}: its rows are no images", datasets.name));
            return Ok(());
        };
        bench.add_finding(format!(
            "{}, {}: P@{} of the image {:.2}",
            datasets.name,
            row.entry.label,
            data.k,
            found.number("precision")?
        ));
        rows.push(PictureRow {
            label: row.entry.label.clone(),
            pictures: pictures.into(),
        });
    }
    bench.add_pictures(PictureTable {
        title: format!("{}: salient pixels before and after ERAttack", datasets.name),
        caption: format!(
            "The first of the attacked test rows that vanilla predicts as labelled, under each method: the image, the image at the \
             worst point that ERAttack found (pixels beyond 0 and 1 are drawn as 0 and 1), and the {} most important pixels of each, the \
             brighter the more important.",
            data.k
        ),
        corner: "method".to_owned(),
        columns: COLUMNS.map(str::to_owned).into(),
        rows,
    });
    Ok(())
}

/// The place of the first attacked row that vanilla predicts as labelled; the first one's where there is none.
fn shown_row(runner: &BenchRunner<'_>, datasets: &SeededDatasets, grid: &Grid) -> Result<usize> {
    let vanilla = grid.rows.iter().filter(|row| row.entry.id == VANILLA);
    let vanilla = vanilla.filter_map(|row| row.keys()?.into_iter().next());
    let jobs: Vec<(usize, String, Measure)> = vanilla
        .map(|key| {
            let data = &datasets.seeds[0];
            (0, key, attack(er_attack(data), data))
        })
        .collect();
    for found in runner.measure(datasets, "ERAttack", &jobs)? {
        let right = found.rows("right")?.iter().position(|right| *right > 0.0);
        if let Some(place) = right {
            return Ok(place);
        }
    }
    Ok(0)
}

/// The pictures of one row of the columns; none where the rows are no images.
pub(crate) fn pictures(
    found: &Measured,
    shape: &InputShape,
    k: usize,
) -> Result<Option<[Picture; 4]>> {
    let (before, after) = (
        found.rows("importance")?,
        found.rows("attacked importance")?,
    );
    let (input, attacked) = (found.rows("input")?, found.rows("attacked input")?);
    // Pixels lie in 0 to 1. Attacks that leave it would make every image of their row paler than those of other rows.
    let image = |values: &[f64]| {
        let seen: Vec<f64> = values.iter().map(|value| value.clamp(0.0, 1.0)).collect();
        Picture::image(&seen, shape, (0.0, 1.0), String::new())
    };
    let map = |importance: &[f64], note: String| -> Result<Option<Picture>> {
        let top = TopK::of(importance, k)?;
        Ok(Picture::saliency(importance, &top, shape, note))
    };
    let kept = format!("P@{k} {:.2}", found.number("precision")?);
    let (before, after) = (map(before, String::new())?, map(after, kept)?);
    let images = image(input).zip(image(attacked));
    let all = images.zip(before.zip(after));
    Ok(all.map(|((input, attacked), (before, after))| [input, attacked, before, after]))
}
