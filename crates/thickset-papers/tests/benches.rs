//! The papers' tables and figures, in the small, on bundled data.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use thickset::bench::{Bench, Cell, SCHEMA};
use thickset::model::Shard;
use thickset_papers::{BENCHES, BenchOptions};

/// A bench small enough for a test.
fn small(out: &Path, datasets: &str, methods: &str) -> BenchOptions {
    let list = |text: &str| {
        let parts = text.split(',').filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect::<Vec<_>>()
    };
    BenchOptions {
        datasets: list(datasets),
        methods: list(methods),
        seeds: Some(1),
        rows: Some(12),
        train_rows: Some(64),
        epochs: Some(1),
        ..BenchOptions::new(out)
    }
}

fn made(id: &str, options: &BenchOptions) -> (Bench, Vec<u8>) {
    let (bench, folder) =
        thickset_papers::run(id, options, &|_| {}).unwrap_or_else(|error| panic!("{id}: {error}"));
    let bytes = fs::read(folder.join("bench.json")).unwrap();
    let markdown = fs::read_to_string(folder.join("bench.md")).unwrap();
    assert!(markdown.starts_with("# "), "{markdown}");
    let read: Bench = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((read.schema, read.bench.as_str()), (SCHEMA, id));
    (bench, bytes)
}

#[test]
fn every_bench_on_tables_makes_tables_figures_and_findings_from_shared_cells() {
    let folder = tempfile::tempdir().unwrap();
    let options = small(folder.path(), "breast-cancer", "linear,vanilla,r2et-no-h");
    for id in [
        "table1", "table2", "table5", "table6", "table7", "table8", "table9", "fig4", "fig6",
        "fig7", "fig9",
    ] {
        let (bench, _) = made(id, &options);
        assert!(
            !bench.tables.is_empty() || !bench.figures.is_empty(),
            "{id}"
        );
        assert!(
            bench
                .settings
                .iter()
                .any(|(name, _)| name == "breast-cancer"),
            "{id}"
        );
        for table in &bench.tables {
            for row in &table.rows {
                assert_eq!(row.cells.len(), table.columns.len(), "{id}");
                for cell in &row.cells {
                    if let Cell::Number { ours, .. } = cell {
                        assert!(ours.value.is_finite(), "{id} {}", row.label);
                    }
                }
            }
        }
    }
    // Eleven benches, and no model was trained twice: linear, vanilla, four settings of R2ET, as many when retrained, and as
    // many for each number of pairs and either choice of them in fig9.
    let models = fs::read_dir(folder.path().join("models")).unwrap().count();
    assert_eq!(models, 2 + 4 + 4 + 2 * 8 * 4);
    let (bench, _) = made("fig2", &small(folder.path(), "breast-cancer", ""));
    assert_eq!(bench.figures.len(), 6);
}

#[test]
fn table_1_says_which_claims_hold_and_a_linear_model_is_perfectly_steady() {
    let folder = tempfile::tempdir().unwrap();
    let options = small(
        folder.path(),
        "breast-cancer,adhd",
        "linear,vanilla,r2et-no-h,max-thickness",
    );
    let (bench, _) = made("table1", &options);
    let linear = &bench.tables[0].rows[0];
    assert_eq!(linear.label, "Linear");
    for cell in &linear.cells {
        assert!(
            matches!(cell, Cell::Number { ours, .. } if (ours.value - 100.0).abs() < 1e-9),
            "{cell:?}"
        );
    }
    let all = bench.findings.join("\n");
    assert!(
        all.contains("is R2ET's family best under ERAttack?"),
        "{all}"
    );
    assert!(all.contains("over vanilla under the suite"), "{all}");
    let dashes = bench.tables.last().unwrap();
    assert!(
        matches!(&dashes.rows[0].cells[0], Cell::Dash { reason, .. } if reason.contains("not public"))
    );
}

#[test]
fn a_lost_cell_is_made_again_and_the_result_has_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let options = small(folder.path(), "breast-cancer", "vanilla,weight-decay");
    let (_, first) = made("table1", &options);
    let cells = folder.path().join("cells");
    let mut names: Vec<_> = fs::read_dir(&cells)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let kept = fs::read(&names[0]).unwrap();
    // One is lost, one is cut short.
    fs::remove_file(&names[0]).unwrap();
    fs::write(&names[1], "{").unwrap();
    let (_, second) = made("table1", &options);
    assert_eq!(first, second);
    assert_eq!(fs::read(&names[0]).unwrap(), kept);
    // A lost model too.
    for entry in fs::read_dir(folder.path().join("models")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for entry in fs::read_dir(&cells).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert_eq!(made("table1", &options).1, first);
}

/// The only file of a folder whose text has this word.
fn only(folder: &Path, word: &str) -> std::path::PathBuf {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut found =
        files.filter(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).contains(word));
    let only = found.next().unwrap();
    assert!(found.next().is_none(), "one file has `{word}`");
    only
}

#[test]
fn an_edited_cell_or_model_and_one_that_is_no_text_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = small(folder.path(), "breast-cancer", "vanilla");
    let (_, first) = made("table9", &options);
    // A better number than was measured.
    let cell = only(&folder.path().join("cells"), "dffot");
    let kept = fs::read_to_string(&cell).unwrap();
    let (before, after) = kept.split_once("\"dffot\":[").unwrap();
    let (_, rest) = after.split_once(',').unwrap();
    fs::write(&cell, format!("{before}\"dffot\":[0.0001,{rest}")).unwrap();
    assert_eq!(made("table9", &options).1, first);
    assert_eq!(fs::read_to_string(&cell).unwrap(), kept);
    // No text at all.
    fs::write(&cell, [0xff, 0xfe, 0xfd]).unwrap();
    assert_eq!(made("table9", &options).1, first);
    // Another model in the place of the one that was trained.
    let model = only(&folder.path().join("models"), "");
    let bytes = fs::read(&model).unwrap();
    fs::write(&model, &bytes[..bytes.len() - 1]).unwrap();
    fs::remove_file(&cell).unwrap();
    assert_eq!(made("table9", &options).1, first);
    assert_eq!(fs::read(&model).unwrap(), bytes);
}

/// The files of a bench's cells and models.
fn files(folder: &Path) -> BTreeSet<String> {
    let inner = ["cells", "models"].into_iter();
    inner
        .flat_map(|inner| {
            let found = fs::read_dir(folder.join(inner)).unwrap();
            found.map(move |entry| format!("{inner}/{}", entry.unwrap().file_name().display()))
        })
        .collect()
}

#[test]
fn machines_share_the_cells_of_a_bench_and_put_together_they_are_all_that_one_needs() {
    let methods = "linear,vanilla,r2et-no-h";
    let cases = [
        ("table1", 2, 2),
        ("table1", 1, 3),
        ("fig4", 1, 2),
        ("fig9", 1, 2),
    ];
    let alone = tempfile::tempdir().unwrap();
    for (id, seeds, of) in cases {
        let options = |folder: &Path| BenchOptions {
            seeds: Some(seeds),
            ..small(folder, "breast-cancer", methods)
        };
        let (_, expected) = made(id, &options(alone.path()));
        let together = tempfile::tempdir().unwrap();
        let mut shares = Vec::new();
        for number in 1..=of {
            let folder = tempfile::tempdir().unwrap();
            let share = BenchOptions {
                shard: Shard { number, of },
                ..options(folder.path())
            };
            let cells = thickset_papers::make_cells(id, &share, &|_| {});
            assert!(cells.unwrap() > 0, "{id}: {number} of {of}");
            assert!(!folder.path().join(id).exists(), "a share makes no table");
            let own = files(folder.path());
            for inner in ["cells", "models"] {
                fs::create_dir_all(together.path().join(inner)).unwrap();
            }
            for name in &own {
                fs::copy(folder.path().join(name), together.path().join(name)).unwrap();
            }
            shares.push(own);
        }
        let all = files(together.path());
        assert!(
            shares.iter().all(|own| own.len() < all.len()),
            "{id}: one machine of {of} did everything"
        );
        let (_, bytes) = made(id, &options(together.path()));
        assert_eq!(
            files(together.path()),
            all,
            "{id}: something was made again"
        );
        assert!(bytes == expected, "{id}: {of} machines");
    }
    let nothing = small(alone.path(), "", "");
    assert_eq!(
        thickset_papers::make_cells("theorem1", &nothing, &|_| {}).unwrap(),
        0,
        "a simulation has no cells"
    );
}

#[test]
fn a_bench_that_ends_leaves_nothing_half_trained_behind() {
    let folder = tempfile::tempdir().unwrap();
    let options = small(folder.path(), "breast-cancer", "vanilla");
    // What a bench of other settings left when it was killed.
    let left = folder.path().join("training").join("0123456789ab");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("metrics.jsonl"), "{}").unwrap();
    made("table9", &options);
    assert!(!folder.path().join("training").exists());
}

/// A table of five numbers and a class.
fn five_columns(shift: f64) -> String {
    let mut stream = thickset::Seed::new(4).stream("five columns");
    let mut csv = "a,b,c,d,e,class\n".to_owned();
    for _ in 0..80 {
        let values: Vec<f64> = (0..5).map(|_| stream.uniform()).collect();
        let class = if values[0] + shift * values[1] > 0.5 {
            "yes"
        } else {
            "no"
        };
        let values: Vec<String> = values.iter().map(|value| format!("{value:.4}")).collect();
        csv += [values.join(","), format!("{class}\n")].join(",").as_str();
    }
    csv
}

#[test]
fn a_file_of_the_same_name_with_other_rows_is_another_cell() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("five.csv");
    let run = |out: &str, shift: f64| {
        fs::write(&file, five_columns(shift)).unwrap();
        let out = folder.path().join(out);
        made("table9", &small(&out, file.to_str().unwrap(), "vanilla")).1
    };
    let (first, second) = (run("shared", 0.0), run("shared", 2.0));
    assert_ne!(first, second);
    assert_eq!(second, run("own", 2.0));
}

#[test]
fn a_k_that_leaves_no_other_feature_is_a_dash() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("five.csv");
    fs::write(&file, five_columns(1.0)).unwrap();
    let options = small(folder.path(), file.to_str().unwrap(), "vanilla");
    let (bench, _) = made("table7", &options);
    let cells = &bench.tables[0].rows[0].cells;
    assert!(matches!(cells[0], Cell::Number { .. }));
    for cell in &cells[1..] {
        assert!(
            matches!(cell, Cell::Dash { reason, .. } if reason.contains("no other of the 5 features")),
            "{cell:?}"
        );
    }
}

#[test]
fn igr_compares_bases_with_and_without_it_on_images() {
    let folder = tempfile::tempdir().unwrap();
    let options = small(folder.path(), "digits", "pgd-at,pgd-at-igr,art");
    let (bench, _) = made("igr", &options);
    assert_eq!(bench.tables[0].rows.len(), 4, "with vanilla");
    let setting = |name: &str| {
        let found = bench.settings.iter().find(|(known, _)| known == name);
        found.unwrap().1.clone()
    };
    assert!(setting("digits").contains("k = 16, l-infinity radius"));
    assert!(setting("attack").contains("l-infinity"));
    assert!(
        bench.findings[0].contains("does IGR help AT?"),
        "{:?}",
        bench.findings
    );
    // Quick runs have a third of the papers' radius, unless that is what is asked for.
    assert!(setting("digits").contains("radius 0.0333"));
    let labels = |bench: &Bench| -> Vec<String> {
        let rows = bench.tables[0].rows.iter();
        rows.map(|row| row.label.clone()).collect()
    };
    let by_effort = labels(&bench);
    let models = || {
        let files = fs::read_dir(options.out.join("models")).unwrap();
        files.count()
    };
    let before = models();
    let (bench, _) = made("igr-radii", &options);
    let digits = bench.settings.iter().find(|(name, _)| name == "digits");
    assert!(digits.unwrap().1.contains("radius 0.1000"));
    assert_eq!(labels(&bench), by_effort, "rows keep their order");
    // Vanilla, ART, the base, and from its weights the base and the same with IGR.
    assert_eq!(models() - before, 5);
    let numbers = |column: usize| {
        let rows = bench.tables[0].rows.iter();
        rows.filter(move |row| matches!(row.cells[column], Cell::Number { .. }))
            .count()
    };
    assert_eq!(numbers(2), 4, "every method has an accuracy");
}

#[test]
fn proposition_4_6_has_a_line_for_every_network_and_radius() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, _) = made("proposition46", &small(folder.path(), "breast-cancer", ""));
    assert_eq!(bench.tables[0].rows.len(), 9);
    assert_eq!(bench.findings.len(), 3);
}

#[test]
fn pairs_lists_every_seed() {
    let folder = tempfile::tempdir().unwrap();
    let options = BenchOptions {
        seeds: Some(3),
        ..small(folder.path(), "breast-cancer", "")
    };
    let (bench, _) = made("pairs", &options);
    let labels: Vec<&str> = bench.tables[0]
        .rows
        .iter()
        .map(|row| row.label.as_str())
        .collect();
    assert_eq!(labels, ["0", "1", "2"]);
    assert!(
        bench.findings[0].contains("does every seed learn"),
        "{:?}",
        bench.findings
    );
}

#[test]
fn simulations_need_no_data_and_are_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let options = small(folder.path(), "", "");
    for id in ["fig7-igr", "theorem1", "proposition1"] {
        let (bench, first) = made(id, &options);
        assert!(!bench.findings.is_empty(), "{id}");
        assert_eq!(made(id, &options).1, first);
    }
}

#[test]
fn the_list_names_every_bench_once_and_an_unknown_one_is_refused() {
    let mut ids: Vec<&str> = BENCHES.iter().map(|info| info.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), BENCHES.len());
    let folder = tempfile::tempdir().unwrap();
    let refused = |id: &str, options: &BenchOptions| {
        thickset_papers::run(id, options, &|_| {})
            .unwrap_err()
            .to_string()
    };
    let options = small(folder.path(), "breast-cancer", "vanilla");
    assert!(refused("table3", &options).contains("did you mean"));
    let options = small(folder.path(), "breast-cancer", "r2et-no-hh");
    assert!(refused("table1", &options).contains("r2et-no-h"));
    let options = BenchOptions {
        rows: Some(1),
        ..small(folder.path(), "breast-cancer", "")
    };
    assert!(refused("table1", &options).contains("--rows"));
}
