//! The command that a report ends with makes the same audit again, to the byte.

use std::path::Path;
use std::process::Command;

use thickset::Seed;
use thickset::data::{OpenOptions, open};
use thickset::model::{MlpConfig, Model, ModelConfig};

use crate::Case;

/// The command of a page, as a shell reads it.
fn command(page: &str) -> String {
    let (_, rest) = page
        .split_once("<pre tabindex=\"0\" aria-label=\"Command\"><code>")
        .unwrap();
    let (text, _) = rest.split_once("</code>").unwrap();
    let escapes = [
        ("&#39;", "'"),
        ("&#34;", "\""),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#38;", "&"),
    ];
    escapes
        .iter()
        .fold(text.to_owned(), |text, (escape, sign)| {
            text.replace(escape, sign)
        })
}

/// Audits in a folder of the case, then does what the page says, and compares.
fn again(case: &Case, folder: &str, line: &str) {
    let output = case.run_in(folder, &format!("{line} --out first"));
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    let command = command(&case.read(&format!("{folder}/first/report.html")));
    let program = Path::new(env!("CARGO_BIN_EXE_thickset")).parent().unwrap();
    let output = Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("{command} --out again"))
        .current_dir(case.path(folder))
        .env("PATH", program)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{command}: {output:?}");
    for file in ["audit.json", "report.html"] {
        let [first, second] =
            ["first", "again"].map(|out| case.read(&format!("{folder}/{out}/{file}")));
        assert_eq!(first, second, "{file} of {command}");
    }
}

#[test]
fn of_a_file_that_was_taken_whole() {
    let case = Case::new();
    again(
        &case,
        ".",
        "audit --model model.safetensors --data loans.csv --effort quick --k 3 --max-rows 5 --worst 2 --box --integer \
         --column-budget age=2.5 --norm linf --radius 0.1 --seed 7 --noise-draws 3 --require p_at_k>=0 \
         --explanation {kind=\"grad\",of=\"logit\"} --reduce signed",
    );
    again(
        &case,
        ".",
        "audit --model flat.safetensors --data unlabelled.csv --effort quick --per column --neighbours 3 --points 4 \
         --one-hot whole --keep-immutable",
    );
}

#[test]
fn of_the_data_that_a_run_was_trained_on() {
    let case = Case::new();
    case.train();
    std::fs::copy(case.path("loans.csv"), case.path("runs/loans/loans.csv")).unwrap();
    let line = "audit --model model.safetensors --data loans.csv";
    again(&case, "runs/loans", &format!("{line} --require auc>=0"));
    again(
        &case,
        "runs/loans",
        &format!("{line} --part all --max-rows 7"),
    );
}

#[test]
fn of_a_dataset_that_was_split_otherwise() {
    let case = Case::new();
    let options = OpenOptions {
        seed: Seed::new(2),
        random_test: true,
        ..OpenOptions::default()
    };
    let dataset = open("breast-cancer", &options).unwrap();
    Model::fresh(
        ModelConfig::Mlp(MlpConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(1),
    )
    .unwrap()
    .save(&case.path("cells.safetensors"))
    .unwrap();
    again(
        &case,
        ".",
        "audit --model cells.safetensors --data breast-cancer --split-seed 2 --random-test --part validation \
         --effort quick --max-rows 4",
    );
}
