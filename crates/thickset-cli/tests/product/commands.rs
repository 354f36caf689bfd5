//! Commands that need no audit: `methods`, `data`, `model`, `init`, `train`, `bench`.

use crate::Case;

/// What several command lines do, one after another; all of them end with this exit code.
fn shown(case: &Case, code: i32, lines: &[&str]) -> String {
    let all: Vec<String> = lines.iter().map(|line| case.shown(line)).collect();
    for one in &all {
        assert!(one.contains(&format!("exit code {code}\n")), "{one}");
    }
    all.join("\n")
}

#[test]
fn methods_are_listed_and_described() {
    let case = Case::new();
    let good = [
        "methods",
        "methods r2et",
        "methods --family attack",
        "methods auc --json",
    ];
    insta::assert_snapshot!("methods", shown(&case, 0, &good));
    let bad = [
        "methods r2ett",
        "methods --family attacks",
        "methods r2et --family attack",
    ];
    insta::assert_snapshot!("methods-refused", shown(&case, 2, &bad));
}

#[test]
fn data_is_listed_shown_and_exported() {
    let case = Case::new();
    let good = [
        "data list",
        "data show loans.csv --target paid",
        "data show loans.csv --target paid --recipe",
        "data export loans.csv --target paid --out encoded.csv",
    ];
    insta::assert_snapshot!("data", shown(&case, 0, &good));
    assert_eq!(case.read("encoded.csv").lines().count(), 61);
    let bad = [
        "data show adult",
        "data show none.csv",
        "data show loans.csv --target unpaid",
        "data export loans.csv --target paid --out encoded.txt",
        "data",
    ];
    insta::assert_snapshot!("data-refused", shown(&case, 2, &bad));
}

#[test]
fn a_model_file_says_what_it_holds() {
    let case = Case::new();
    let good = ["model model.safetensors", "model flat.safetensors --json"];
    insta::assert_snapshot!("model", shown(&case, 0, &good));
    let bad = ["model none.safetensors", "model loans.csv", "model"];
    insta::assert_snapshot!("model-refused", shown(&case, 2, &bad));
}

#[test]
fn a_configuration_is_written_and_trained() {
    let case = Case::new();
    let init = "init --data loans.csv --target paid --name loans";
    insta::assert_snapshot!("init", shown(&case, 0, &[init]));
    let bad = [init, "init --data none.csv --out other.toml", "init"];
    insta::assert_snapshot!("init-refused", shown(&case, 2, &bad));
    let train = "train run.toml --set train.epochs=1 --set probe.rows=0";
    insta::assert_snapshot!("train", shown(&case, 0, &[train]));
    let bad = [
        train,
        "train none.toml",
        "train run.toml --set train.epochs=none",
        "train run.toml --set objective.kind=r2ett --set name=other",
    ];
    insta::assert_snapshot!("train-refused", shown(&case, 2, &bad));
}

#[test]
fn a_dataset_whose_files_are_not_here_is_a_dash_and_the_others_are_run() {
    let case = Case::new();
    let line = "bench table6 --datasets compas,breast-cancer --methods linear,vanilla --seeds 1 --rows 5 --epochs 1 --train-rows 40 --out out";
    let output = case.run(line);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("breast-cancer ERAttack"), "{table}");
    assert!(
        table.contains("– its files are not here; `thickset data show compas`"),
        "{table}"
    );
}

#[test]
fn a_bench_is_printed_and_written_with_its_page() {
    let case = Case::new();
    let line = "bench theorem1 --rows 20 --out out";
    insta::assert_snapshot!("bench", shown(&case, 0, &[line]));
    let page = case.read("out/theorem1/report.html");
    assert!(
        page.contains("Theorem 1") && page.contains("</html>"),
        "{page}"
    );
    // What report makes of the JSON is the same page.
    case.run("report out/theorem1/bench.json --out again.html");
    assert_eq!(case.read("again.html"), page);
    let bad = [
        "bench theorem2",
        "bench theorem1 --rows 1",
        "bench table1 --methods r2ett",
        "bench table1 --datasets compas --methods linear",
        "bench table1 --datasets breast-cancer,adlut --methods linear",
    ];
    insta::assert_snapshot!("bench-refused", shown(&case, 2, &bad));
    let models = std::fs::read_dir(case.path("thickset-bench/models")).unwrap();
    assert_eq!(
        models.count(),
        0,
        "a misspelt dataset is found before anything is trained"
    );
}
