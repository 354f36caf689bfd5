//! What an attack reports.

use serde_json::Value;

use crate::case::{case, json_lines, precision, refuses, succeeds};

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
