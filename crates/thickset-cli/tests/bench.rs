//! `thickset bench`: the papers' tables and figures from the command line.

use std::path::Path;
use std::process::{Command, Output};

fn thickset(folder: &Path, threads: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thickset"));
    command.env_remove("THICKSET_DATA");
    command.env("RAYON_NUM_THREADS", threads);
    command.current_dir(folder).args(arguments);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const SMALL: [&str; 15] = [
    "bench",
    "table1",
    "--datasets",
    "breast-cancer",
    "--methods",
    "linear,vanilla,weight-decay",
    "--seeds",
    "2",
    "--rows",
    "12",
    "--epochs",
    "1",
    "--train-rows",
    "64",
    "--progress=off",
];

#[test]
fn a_table_is_printed_and_written_and_does_not_depend_on_threads() {
    let mut written = Vec::new();
    for threads in ["1", "3"] {
        let folder = tempfile::tempdir().unwrap();
        let output = thickset(folder.path(), threads, &SMALL);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let table = text(&output.stdout);
        assert!(table.contains("breast-cancer ERAttack"), "{table}");
        assert!(
            table
                .lines()
                .any(|line| line.starts_with("Linear ") && line.contains("100.0")),
            "{table}"
        );
        let out = folder.path().join("thickset-bench").join("table1");
        assert!(out.join("bench.md").is_file());
        written.push((table, std::fs::read(out.join("bench.json")).unwrap()));
    }
    assert_eq!(written[0], written[1]);
}

#[test]
fn a_share_of_a_bench_makes_cells_and_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let share = |shard: &str| {
        thickset(
            folder.path(),
            "2",
            &[&SMALL[..], &["--shard", shard]].concat(),
        )
    };
    let output = share("2/2");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.contains(
            "cells are done; put the folders `cells` and `models` of `thickset-bench` together"
        ),
        "{said}"
    );
    let out = folder.path().join("thickset-bench");
    assert!(std::fs::read_dir(out.join("cells")).unwrap().count() > 0);
    assert!(!out.join("table1").exists());
    assert_eq!(share("3/2").status.code(), Some(2));
    let simulated = thickset(folder.path(), "2", &["bench", "theorem1", "--shard", "1/2"]);
    let message = text(&simulated.stderr);
    assert_eq!(simulated.status.code(), Some(2), "{message}");
    assert!(
        message.contains("has no cells that machines could share"),
        "{message}"
    );
}

#[test]
fn help_lists_every_bench_with_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let help = text(&thickset(folder.path(), "1", &["bench", "--help"]).stdout);
    for info in thickset_papers::BENCHES {
        let line = help
            .lines()
            .find(|line| line.split_whitespace().next() == Some(info.id));
        assert!(
            line.is_some_and(|line| line.contains(info.summary)),
            "{} in {help}",
            info.id
        );
    }
    assert!(help.contains("speed") && help.contains("attack"), "{help}");
}

#[test]
fn what_does_not_exist_is_refused_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (
            ["bench", "table1", "--methods", "r2ett"].as_slice(),
            "did you mean `r2et`",
        ),
        (
            &[
                "bench",
                "table1",
                "--datasets",
                "adlut",
                "--methods",
                "linear",
            ],
            "adlut",
        ),
        (&["bench", "table1", "--rows", "0"], "--rows"),
        (
            &["bench", "table1", "--effort", "huge"],
            "quick or standard",
        ),
        (&["bench", "table3"], "table3"),
    ] {
        let output = thickset(folder.path(), "1", arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn speed_is_told_as_milliseconds_and_as_a_multiple_of_vanilla() {
    let folder = tempfile::tempdir().unwrap();
    let model = "mlp-28-64-32-2";
    let bench = |step: &str, more: &[&str]| {
        let given = ["bench", "speed", "--only", model, "--step", step];
        let output = thickset(
            folder.path(),
            "1",
            &[&given[..], &["--seconds", "0.01"], more].concat(),
        );
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    for step in ["vanilla", "r2et-mm", "igr-mart"] {
        let cells: serde_json::Value = serde_json::from_str(&bench(step, &["--json"])).unwrap();
        let [cell] = cells.as_array().unwrap().as_slice() else {
            panic!("one cell: {cells}")
        };
        assert_eq!(
            (&cell["model"], &cell["step"]),
            (&model.into(), &step.into())
        );
        assert_eq!(cell["batch"], 128);
        for field in ["median_ms", "best_ms", "rows_per_second", "times_vanilla"] {
            assert!(cell[field].as_f64().unwrap() > 0.0, "{field} of {cell}");
        }
        if step == "vanilla" {
            assert_eq!(cell["times_vanilla"], 1.0);
        }
    }
    let table = bench("vanilla", &[]);
    assert!(
        table.contains("X VANILLA") && table.contains(" 1.00"),
        "{table}"
    );
}
