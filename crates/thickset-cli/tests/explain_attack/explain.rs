//! Why a model predicts what it predicts.

use serde_json::Value;
use thickset::Seed;
use thickset::data::{OpenOptions, open};
use thickset::model::{MlpConfig, Model, ModelConfig};

use crate::case::{case, json_lines, refuses, succeeds, text};

#[test]
fn a_row_is_explained_by_name() {
    let case = case();
    let table = succeeds(&case.run("explain", &["--k", "3"]));
    assert_eq!(table.lines().count(), 11, "{table}");
    assert!(table.lines().next().unwrap().ends_with("top 3"), "{table}");
    let lines = json_lines(&succeeds(
        &case.run("explain", &["--json", "--k", "3", "--limit", "0"]),
    ));
    assert_eq!(lines.len(), 80);
    for (index, line) in lines.iter().enumerate() {
        assert_eq!(line["row"], index + 1);
        let (yes, no) = (&line["probabilities"]["yes"], &line["probabilities"]["no"]);
        let sum = yes.as_f64().unwrap() + no.as_f64().unwrap();
        assert!((sum - 1.0).abs() < 1e-6);
        let class = if yes.as_f64() > no.as_f64() {
            "yes"
        } else {
            "no"
        };
        assert_eq!(line["class"], class);
        let attribution = line["attribution"].as_object().unwrap();
        assert_eq!(attribution.len(), 9);
        let top = line["top"].as_array().unwrap();
        assert_eq!(top.len(), 3);
        let value = |name: &Value| attribution[name.as_str().unwrap()].as_f64().unwrap();
        assert!(value(&top[0]) >= value(&top[1]) && value(&top[1]) >= value(&top[2]));
    }
}

#[test]
fn every_explanation_runs_and_columns_add_up() {
    let case = case();
    for explanation in [
        "grad-input",
        "integrated-gradients",
        "concept",
        "{ kind = \"smooth-grad\", draws = 5, variance = 0.01 }",
        "{ kind = \"grad\", of = \"loss\" }",
    ] {
        let lines = json_lines(&succeeds(&case.run(
            "explain",
            &[
                "--explanation",
                explanation,
                "--reduce",
                "signed",
                "--json",
                "--row",
                "7",
            ],
        )));
        assert_eq!(lines[0]["row"], 7, "{explanation}");
    }
    let line = |per| {
        let text = succeeds(&case.run("explain", &["--per", per, "--json", "--row", "2"]));
        json_lines(&text).remove(0)["attribution"].clone()
    };
    let (columns, features) = (line("column"), line("feature"));
    assert_eq!(columns.as_object().unwrap().len(), 4);
    let jobs: f64 = features
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.starts_with("job="))
        .map(|(_, value)| value.as_f64().unwrap())
        .sum();
    assert!((columns["job"].as_f64().unwrap() - jobs).abs() < 1e-6);
}

#[test]
fn a_bundled_dataset_works_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = open("breast-cancer", &OpenOptions::default()).unwrap();
    let model = folder.path().join("model.safetensors");
    Model::fresh(
        ModelConfig::Mlp(MlpConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(3),
    )
    .unwrap()
    .save(&model)
    .unwrap();
    let model = text(model);
    let arguments = [
        "explain",
        "--model",
        &model,
        "--data",
        "breast-cancer",
        "--json",
        "--limit",
        "3",
    ];
    let lines = json_lines(&succeeds(&arguments));
    let test = dataset.part(thickset::data::Part::Test);
    for (line, row) in lines.iter().zip(test) {
        assert_eq!(line["row"], row + 1);
    }
    refuses(
        &[
            "explain",
            "--model",
            &model,
            "--data",
            "breast-cancer",
            "--split-seed",
            "9",
        ],
        &["encoded by other training rows", "--split-seed"],
    );
    refuses(
        &["explain", "--model", &model, "--data", "digits"],
        &["digits"],
    );
}
