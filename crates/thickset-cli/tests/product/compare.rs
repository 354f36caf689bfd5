//! `thickset compare`.

use serde_json::Value;

use crate::Case;

const OPTIONS: &str = "--data loans.csv --effort quick --k 3 --max-rows 20";

#[test]
fn two_models_are_compared_row_by_row() {
    let case = Case::new();
    let line = format!("compare flat.safetensors model.safetensors {OPTIONS}");
    insta::assert_snapshot!("compare", case.shown(&line));
    assert!(
        !case.path("compare.json").exists(),
        "nothing is written unless asked for"
    );
    let holding = format!("{line} --require agreement>=0 --require p_at_k_difference<=1");
    insta::assert_snapshot!("compare-gate-holds", case.shown(&holding));
    let gated = format!("{line} --require p_at_k_difference>=0.5 --require p_at_k>=0 --out out");
    insta::assert_snapshot!("compare-gate-fails", case.shown(&gated));
    let written: Value = serde_json::from_str(&case.read("out/compare.json")).unwrap();
    assert_eq!(written["rows"].as_array().unwrap().len(), 20);
    let files: Vec<_> = std::fs::read_dir(case.path("out")).unwrap().collect();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(case.path("out/report.html").exists());
    let json = case.run(&format!("{line} --json"));
    let figures: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(figures["precision_at_k"], written["precision_at_k"]);
    let itself = format!("compare model.safetensors model.safetensors {OPTIONS}");
    insta::assert_snapshot!("compare-with-itself", case.shown(&itself));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let case = Case::new();
    case.write(
        "others.csv",
        &case.read("loans.csv").replace("yes", "maybe"),
    );
    case.save_for("others.csv", "others.safetensors");
    let all: Vec<String> = [
        "compare model.safetensors none.safetensors --data loans.csv",
        "compare model.safetensors flat.safetensors --data none.csv",
        "compare model.safetensors flat.safetensors --data loans.csv --require difference>=0",
        "compare model.safetensors --data loans.csv",
        "compare model.safetensors others.safetensors --data unlabelled.csv --effort thorough",
    ]
    .iter()
    .map(|line| case.shown(line))
    .collect();
    for shown in &all {
        assert!(shown.contains("exit code 2"), "{shown}");
    }
    insta::assert_snapshot!("compare-refused", all.join("\n"));
}
