//! `thickset explain` and `thickset attack` as a user runs them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use thickset::Seed;
use thickset::data::{OpenOptions, open};
use thickset::model::{Model, ModelConfig, mlp};

fn thickset(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_thickset"))
        .args(arguments)
        .env("THICKSET_DATA", "")
        .env("XDG_DATA_HOME", "/nonexistent")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap()
}

fn succeeds(arguments: &[&str]) -> String {
    let output = thickset(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

fn refuses(arguments: &[&str], parts: &[&str]) {
    let output = thickset(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(message.starts_with("error: "), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    assert!(output.stdout.is_empty());
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A table of loans and a model for it with fresh weights.
struct Case {
    folder: tempfile::TempDir,
    data: String,
    model: String,
}

fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap()
}

fn save_model(data: &Path, model: &Path) {
    let options = OpenOptions {
        target: Some("paid".to_owned()),
        ..OpenOptions::default()
    };
    let dataset = open(data.to_str().unwrap(), &options).unwrap();
    Model::fresh(
        ModelConfig::Mlp(mlp::Config::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(3),
    )
    .unwrap()
    .save(model)
    .unwrap();
}

fn case() -> Case {
    let folder = tempfile::tempdir().unwrap();
    let mut csv = "age,income,job,town,paid\n".to_owned();
    let mut stream = Seed::new(1).stream("loans");
    for _ in 0..80 {
        let age = 18 + stream.below(50);
        let income = 900.0 + 4000.0 * stream.uniform();
        let job = ["cook", "nurse", "pilot", "clerk"][stream.below(4)];
        let town = ["north", "south", "west"][stream.below(3)];
        let paid = if stream.uniform() < 0.5 { "yes" } else { "no" };
        writeln!(csv, "{age},{income:.2},{job},{town},{paid}").unwrap();
    }
    let (data, model) = (
        folder.path().join("loans.csv"),
        folder.path().join("model.safetensors"),
    );
    std::fs::write(&data, csv).unwrap();
    save_model(&data, &model);
    Case {
        data: text(data),
        model: text(model),
        folder,
    }
}

impl Case {
    fn run<'a>(&'a self, command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [
            &[command, "--model", &self.model, "--data", &self.data],
            more,
        ]
        .concat()
    }
}

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

fn precision(line: &Value) -> f64 {
    line["precision"].as_f64().unwrap()
}

#[test]
fn the_class_explained_after_an_attack_is_the_one_predicted_before() {
    let case = case();
    let options = [
        "--method",
        "mse-attack",
        "--constraint",
        "none",
        "--radius",
        "3",
        "--k",
        "3",
        "--json",
        "--limit",
        "30",
    ];
    let mut changed = 0;
    for line in json_lines(&succeeds(&case.run("attack", &options))) {
        let after = &line["after"];
        assert_eq!(after["class"], line["class"]);
        assert_eq!(
            after["predicted"] == line["class"],
            line["held"].as_bool().unwrap()
        );
        // What was lost follows from the two explanations, so it must agree with P@k.
        let lost = line["lost"].as_array().unwrap().len();
        let expected = 3.0 * (1.0 - precision(&line));
        assert!(
            (f64::from(u32::try_from(lost).unwrap()) - expected).abs() < 1e-9,
            "{line}"
        );
        if after["predicted"] != line["class"] {
            changed += 1;
        }
    }
    assert!(changed > 0, "some predictions change");
}

#[test]
fn the_multi_objective_attack_takes_settings_and_says_how_it_ended() {
    let case = case();
    let method = "{ kind = \"moo\", prediction_budget = 0.3, surrogate = 5.0, iterations = 20 }";
    let options = ["--method", method, "--k", "3", "--limit", "4"];
    let table = succeeds(&case.run("attack", &options));
    let head = table.lines().next().unwrap();
    assert!(head.contains("iterations  ending"), "{table}");
    for line in table.lines().skip(1) {
        let endings = ["flipped", "failed", "unfinished"];
        assert!(endings.iter().any(|ending| line.contains(ending)), "{line}");
    }
    let json = [&options[..], &["--json"]].concat();
    for line in json_lines(&succeeds(&case.run("attack", &json))) {
        assert!(line["iterations"].as_u64().unwrap() <= 20);
        assert!(line.get("first_change").is_none() && !line["ending"].is_null());
    }
    refuses(
        &case.run("attack", &["--method", "{ kind = \"moo\", steps = 3 }"]),
        &["unknown field `steps`"],
    );
}

#[test]
fn a_curve_over_radii_never_rises() {
    let case = case();
    let options = [
        "--radii",
        "0.4,0,0.1",
        "--effort",
        "quick",
        "--k",
        "3",
        "--limit",
        "12",
    ];
    let table = succeeds(&case.run("attack", &options));
    assert_eq!(table.lines().count(), 4, "{table}");
    let json = [&options[..], &["--json"]].concat();
    let lines = json_lines(&succeeds(&case.run("attack", &json)));
    let radii: Vec<f64> = lines
        .iter()
        .map(|line| line["radius"].as_f64().unwrap())
        .collect();
    assert_eq!(radii, [0.0, 0.1, 0.4]);
    let score = |line: &Value| line["precision_at_k"]["value"].as_f64().unwrap();
    assert!(
        lines
            .windows(2)
            .all(|pair| score(&pair[0]) >= score(&pair[1]))
    );
    assert_eq!(
        (score(&lines[0]), lines[0]["unchanged"].as_f64()),
        (1.0, Some(1.0))
    );
    // The same rows alone, within the largest.
    let alone = [
        "--radius", "0.4", "--effort", "quick", "--k", "3", "--limit", "12", "--json",
    ];
    let alone = json_lines(&succeeds(&case.run("attack", &alone)));
    for (alone, curve) in alone.iter().zip(lines[2]["precision"].as_array().unwrap()) {
        assert!(curve.as_f64().unwrap() <= precision(alone));
    }
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let case = case();
    for (options, part) in [
        (
            &["--steps", "3"][..],
            "`--steps` has no effect with `--method suite`",
        ),
        (
            &["--shares"],
            "`--shares` has no effect with `--method suite`",
        ),
        (
            &["--constraint", "qp"],
            "`--constraint` has no effect with `--method suite`",
        ),
        (
            &["--method", "moo", "--restarts", "2"],
            "`--restarts` has no effect with `--method moo`",
        ),
        (
            &["--method", "moo", "--effort", "quick"],
            "`--effort` has no effect with `--method moo`",
        ),
        (
            &[
                "--method",
                "{ kind = \"moo\", input_budget = 0.5 }",
                "--radius",
                "0.3",
            ],
            "`--radius` and `input_budget` are the same for `moo`",
        ),
        (
            &["--method", "er-attack", "--effort", "quick"],
            "`--effort` has no effect with `--method er-attack`",
        ),
        (
            &["--method", "random", "--surrogate", "3"],
            "`--surrogate` has no effect with `--method random`",
        ),
        (
            &["--method", "top-k", "--radii", "0.1"],
            "`--radii` has no effect with `--method top-k`",
        ),
        (&["--norm", "linf"], "`--norm linf` needs `--radius`"),
        (
            &["--radius", "1e308"],
            "`ball.radius` must be at most 1000000",
        ),
    ] {
        refuses(&case.run("attack", options), &[part]);
    }
}

#[test]
fn an_attack_says_what_it_changed_in_the_columns_own_units_and_stays_in_its_set() {
    let case = case();
    let text = succeeds(&case.run(
        "attack",
        &[
            "--effort",
            "quick",
            "--k",
            "4",
            "--radius",
            "1.5",
            "--box",
            "--integer",
            "--one-hot",
            "whole",
            "--column-budget",
            "age=5",
            "--json",
            "--limit",
            "20",
        ],
    ));
    let lines = json_lines(&text);
    assert_eq!(lines.len(), 20);
    let (mut ages, mut jobs) = (0, 0);
    for line in &lines {
        assert_eq!(line["held"], true);
        assert_eq!(line["class"], line["after"]["class"]);
        assert_eq!(line["class"], line["after"]["predicted"]);
        assert!(line["last"]["precision"].as_f64().unwrap() >= precision(line));
        assert!(line["last"]["held"].is_boolean());
        let precision = precision(line);
        let lost = u32::try_from(line["lost"].as_array().unwrap().len()).unwrap();
        let gained = line["gained"].as_array().unwrap().len();
        assert_eq!(usize::try_from(lost).unwrap(), gained);
        assert!(
            (precision - (4.0 - f64::from(lost)) / 4.0).abs() < 1e-9,
            "{line}"
        );
        assert_eq!(line["encoded"].as_object().unwrap().len(), 9);
        let perturbed = line["perturbed"].as_object().unwrap();
        let columns: Vec<&String> = perturbed.keys().collect();
        assert_eq!(columns, ["age", "income", "job", "town"]);
        assert!(perturbed["job"].is_string() && perturbed["town"].is_string());
        assert!(perturbed["age"].as_f64().unwrap().fract() == 0.0);
        for change in line["changes"].as_array().unwrap() {
            if change["name"] == "age" {
                let (from, to) = (
                    change["from"].as_f64().unwrap(),
                    change["to"].as_f64().unwrap(),
                );
                assert!(from.fract() == 0.0 && to.fract() == 0.0, "{change}");
                assert!((1.0..=5.0).contains(&(from - to).abs()), "{change}");
                ages += 1;
            }
            if change["name"] == "job" {
                let known = ["cook", "nurse", "pilot", "clerk"];
                assert!(known.contains(&change["to"].as_str().unwrap()), "{change}");
                jobs += 1;
            }
        }
    }
    assert!(ages > 0 && jobs > 0, "{ages} ages, {jobs} jobs");
}

#[test]
fn a_rows_line_does_not_depend_on_the_other_rows() {
    let case = case();
    let options = [
        "--method",
        "{ kind = \"random\", points = 20 }",
        "--k",
        "3",
        "--json",
    ];
    let many = succeeds(&case.run("attack", &[&options[..], &["--limit", "30"]].concat()));
    let one = succeeds(&case.run("attack", &[&options[..], &["--row", "17"]].concat()));
    assert_eq!(many.lines().nth(16).unwrap(), one.trim_end());
}

#[test]
fn single_attacks_and_the_multi_objective_one_run() {
    let case = case();
    for more in [
        ["--method", "er-attack"],
        ["--method", "mse-attack"],
        ["--method", "top-k"],
        ["--method", "target"],
        ["--method", "moo"],
    ] {
        let text = succeeds(&case.run(
            "attack",
            &[&more[..], &["--k", "3", "--limit", "3"]].concat(),
        ));
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.starts_with("    row"), "{text}");
    }
    let constrained = [
        "--method",
        "er-attack",
        "--constraint",
        "{ kind = \"gda\", rate = 0.1 }",
        "--norm",
        "linf",
        "--radius",
        "0.1",
        "--surrogate",
        "5",
        "--shares",
        "--restarts",
        "2",
        "--steps",
        "10",
        "--json",
        "--limit",
        "2",
    ];
    for line in json_lines(&succeeds(&case.run("attack", &constrained))) {
        assert!(line["perturbed"].is_object());
    }
}

#[test]
fn a_bundled_dataset_works_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = open("breast-cancer", &OpenOptions::default()).unwrap();
    let model = folder.path().join("model.safetensors");
    Model::fresh(
        ModelConfig::Mlp(mlp::Config::default()),
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

#[test]
fn what_cannot_be_is_refused_with_a_sentence() {
    let case = case();
    let other = text(case.folder.path().join("other.csv"));
    std::fs::write(&other, "age,income\n30,1000\n").unwrap();
    refuses(
        &["explain", "--model", &case.model, "--data", &other],
        &["has no column `job`"],
    );
    refuses(
        &[
            "explain",
            "--model",
            "none.safetensors",
            "--data",
            &case.data,
        ],
        &["none.safetensors"],
    );
    refuses(
        &case.run("explain", &["--row", "81"]),
        &["has 80 rows, so there is no row 81"],
    );
    refuses(
        &case.run("explain", &["--k", "10"]),
        &["k must lie in 1..=9, got 10"],
    );
    refuses(
        &case.run("attack", &["--k", "9"]),
        &["k must lie in 1..=8, got 9"],
    );
    refuses(
        &case.run("attack", &["--radius=-1"]),
        &["`ball.radius` must be finite and not negative, got -1"],
    );
    refuses(
        &case.run("attack", &["--column-budget", "agee=1"]),
        &["no column `agee`; did you mean `age`?"],
    );
    refuses(
        &case.run("attack", &["--method", "er-atack"]),
        &["the attack `er-atack` cannot be read", "er-attack"],
    );
    refuses(
        &case.run("attack", &["--method", "mass-center"]),
        &["attack `mass-center` takes", "a table"],
    );
    refuses(
        &case.run("attack", &["--method", "moo", "--box"]),
        &["`moo` stays in an l2 ball"],
    );
    refuses(
        &case.run("explain", &["--explanation", "gradd"]),
        &["gradd"],
    );
    refuses(
        &case.run("attack", &["--column-budget", "age"]),
        &["like age=2"],
    );
}

#[test]
fn help_has_examples() {
    for command in ["explain", "attack"] {
        let help = succeeds(&[command, "--help"]);
        assert!(
            help.contains("Examples:") && help.contains(&format!("thickset {command} --model"))
        );
    }
}
