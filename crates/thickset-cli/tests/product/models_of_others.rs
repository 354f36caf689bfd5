//! ONNX files as a user has them: checked, compared with ours and with one another, trained further.

use std::path::Path;

use serde_json::Value;

use crate::Case;

/// A pipeline that skl2onnx wrote, and rows of its columns.
fn case() -> Case {
    let case = Case::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../thickset/tests/golden/onnx");
    std::fs::copy(golden.join("pipeline_mlp.onnx"), case.path("theirs.onnx")).unwrap();
    let person = |row: u32| {
        let job = ["clerk", "smith", "baker"][(row % 3) as usize];
        let (age, income) = (18 + row * 7 % 60, 9000 + row * 1931 % 40_000);
        let paid = u32::from((row * 5 + age) % 11 < 5);
        format!("{age},{income},{job},{},{paid}\n", 1 + row % 5)
    };
    let rows: Vec<String> = (0..60).map(person).collect();
    let rows = format!("age,income,job,rooms,paid\n{}", rows.concat());
    case.write("people.csv", &rows);
    case
}

fn run(case: &Case, line: &str, code: i32) -> (String, String) {
    let output = case.run(line);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{line}\n{stdout}{stderr}");
    (stdout, stderr)
}

#[test]
fn a_file_is_compared_with_ours_and_trained_further() {
    let case = case();
    case.save_for("people.csv", "ours.safetensors");
    let options =
        "--data people.csv --target paid --effort quick --k 2 --max-rows 10 --explanation grad";
    let line = format!("compare theirs.onnx ours.safetensors {options} --json");
    let (stdout, stderr) = run(&case, &line, 0);
    let compared: Value = serde_json::from_str(&stdout).unwrap();
    assert!(
        compared["precision_at_k"]["mean"]["value"].is_number(),
        "{stdout}"
    );
    assert!(
        stderr.contains("auditing theirs on 10 of 60 rows"),
        "{stderr}"
    );

    let train = "train --from theirs.onnx --data people.csv --target paid --set name=stable \
                 --set train.epochs=1 --set probe.rows=10 --set audit.effort=quick --progress off";
    run(
        &case,
        &train.split_whitespace().collect::<Vec<_>>().join(" "),
        0,
    );
    assert!(case.path("runs/stable/model.safetensors").exists());
    let line = format!("compare theirs.onnx runs/stable/model.onnx {options}");
    let (stdout, _) = run(&case, &line, 0);
    assert!(stdout.contains("rows are predicted alike"), "{stdout}");
    // What was trained further takes the place of the old file: the same columns go in.
    let (stdout, _) = run(&case, "model runs/stable/model.onnx", 0);
    assert!(stdout.contains("a table, 6 features"), "{stdout}");
}

#[test]
fn expected_probabilities_may_have_a_line_of_column_numbers() {
    let case = case();
    let predicted = case.run("explain --model theirs.onnx --data people.csv --limit 3 --json");
    assert_eq!(predicted.status.code(), Some(0), "{predicted:?}");
    let rows = case.read("people.csv");
    let first: Vec<&str> = rows.lines().take(4).collect();
    case.write("three.csv", &(first.join("\n") + "\n"));
    case.write("wrong.csv", "0,1\n0.5,0.5\n0.5,0.5\n0.5,0.5\n");
    let (_, stderr) = run(
        &case,
        "model theirs.onnx --check three.csv --expect wrong.csv",
        2,
    );
    assert!(
        stderr.contains("3 rows") && stderr.contains("row "),
        "{stderr}"
    );
}

#[test]
fn classes_that_the_file_does_not_name_are_asked_for() {
    let case = case();
    let named = case
        .read("people.csv")
        .replace(",0\n", ",bad\n")
        .replace(",1\n", ",good\n");
    case.write("named.csv", &named);
    let line =
        "audit --model theirs.onnx --data named.csv --target paid --effort quick --max-rows 3";
    let (_, stderr) = run(&case, line, 2);
    assert!(stderr.contains("--classes"), "{stderr}");
    run(
        &case,
        &format!("{line} --classes bad,good --out audited"),
        0,
    );
}
