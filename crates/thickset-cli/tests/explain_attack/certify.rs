//! What a certificate says.

use crate::case::{case, json_lines, precision, refuses, succeeds, text, thickset};

#[test]
fn a_certificate_has_a_bracket_and_a_point_where_the_set_changes() {
    let case = case();
    let options = ["--k", "3", "--radius", "0.3", "--limit", "12", "--json"];
    let lines = json_lines(&succeeds(&case.run("certify", &options)));
    assert_eq!(lines.len(), 12);
    let mut settled = 0;
    for line in &lines {
        let found = &line["certified_radius"];
        let certified = found["certified"].as_f64().unwrap();
        assert!((0.0..=0.3).contains(&certified), "{line}");
        match found["status"].as_str().unwrap() {
            "exact" => {
                let change = &found["counterexample"];
                assert!(change["size"].as_f64().unwrap() >= certified, "{line}");
                assert!(change["kept"].as_u64().unwrap() < 3, "{line}");
            }
            "certified" => assert!(found["counterexample"].is_null(), "{line}"),
            _ => continue,
        }
        settled += 1;
        let (low, high) = (
            line["certified_p_at_k"].as_f64().unwrap(),
            line["reached_p_at_k"].as_f64().unwrap(),
        );
        assert!((0.0..=high).contains(&low), "{line}");
    }
    assert!(settled >= 10, "{settled} of 12 rows are settled");
}

#[test]
fn no_attack_goes_below_what_is_certified() {
    let case = case();
    let options = ["--k", "3", "--radius", "0.4", "--limit", "12", "--json"];
    let certified = json_lines(&succeeds(&case.run("certify", &options)));
    let attacked = json_lines(&succeeds(&case.run("attack", &options)));
    for (certified, attacked) in certified.iter().zip(&attacked) {
        assert_eq!(certified["row"], attacked["row"]);
        let low = certified["certified_p_at_k"].as_f64().unwrap();
        assert!(precision(attacked) >= low - 1e-9, "{certified}, {attacked}");
    }
}

#[test]
fn the_table_names_what_is_proved() {
    let case = case();
    let options = ["--k", "3", "--radius", "0.2", "--limit", "3"];
    let table = succeeds(&case.run("certify", &options));
    let head = table.lines().next().unwrap();
    for word in [
        "row",
        "no change",
        "change at",
        "P@3",
        "within 0.2",
        "parts",
    ] {
        assert!(head.contains(word), "{table}");
    }
    assert_eq!(table.lines().count(), 4, "{table}");
}

#[test]
fn what_has_no_certificate_is_refused() {
    let case = case();
    refuses(
        &case.run("certify", &["--explanation", "integrated-gradients"]),
        &[
            "certificates are of `contributions`, `grad` and `grad-input`, got `integrated-gradients`",
            "--smoothed",
        ],
    );
    refuses(
        &case.run("certify", &["--nodes", "0"]),
        &["`certify.nodes`"],
    );
}

#[test]
fn proofs_are_checked_and_a_forged_claim_is_not_shown() {
    let case = case();
    let proofs = text(case.folder.path().join("proofs.jsonl"));
    let options = [
        "--k", "3", "--radius", "0.3", "--limit", "6", "--proof", &proofs,
    ];
    succeeds(&case.run("certify", &options));
    let check = ["check", proofs.as_str(), "--model", case.model.as_str()];
    succeeds(&check);
    let written = std::fs::read_to_string(&proofs).unwrap();
    let mut lines = json_lines(&written);
    assert!(lines.len() > 6, "{written}");
    // A row whose set changes somewhere is claimed to keep it ten times as far.
    let claim = lines[1..]
        .iter_mut()
        .find(|claim| claim["lost_at_most"] == 0 && claim["radius"].as_f64().unwrap() < 0.2);
    let claim = claim.unwrap();
    claim["radius"] = (10.0 * claim["radius"].as_f64().unwrap()).into();
    let forged: Vec<String> = lines.iter().map(ToString::to_string).collect();
    std::fs::write(&proofs, forged.join("\n")).unwrap();
    let output = thickset(&check);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("is not shown"), "{message}");
    // Another model's proofs, and what is none.
    let other = forged
        .join("\n")
        .replacen("sha256\":\"", "sha256\":\"00", 1);
    std::fs::write(&proofs, other).unwrap();
    refuses(&check, &["is of a model file with the hash 00"]);
    std::fs::write(&proofs, "{}").unwrap();
    refuses(&check, &["does not begin like a file of proofs"]);
}

#[test]
fn whole_categories_stay_where_the_ball_is_small() {
    let case = case();
    let whole = [
        "--k",
        "3",
        "--radius",
        "0.5",
        "--limit",
        "4",
        "--one-hot",
        "whole",
        "--json",
    ];
    let free = ["--k", "3", "--radius", "0.5", "--limit", "4", "--json"];
    let whole = json_lines(&succeeds(&case.run("certify", &whole)));
    let free = json_lines(&succeeds(&case.run("certify", &free)));
    for (whole, free) in whole.iter().zip(&free) {
        let least =
            |line: &serde_json::Value| line["certified_radius"]["certified"].as_f64().unwrap();
        assert!(least(whole) >= least(free) - 1e-9, "{whole}, {free}");
        if let Some(point) = whole["certified_radius"]["counterexample"]["point"].as_array() {
            let values = point.iter().skip(2).map(|value| value.as_f64().unwrap());
            assert!(
                values
                    .into_iter()
                    .all(|value| (value - value.round()).abs() < 1e-9),
                "{whole}"
            );
        }
    }
}

#[test]
fn a_smoothed_certificate_says_what_it_is_of() {
    let case = case();
    let options = [
        "--k",
        "3",
        "--radius",
        "0.05",
        "--limit",
        "2",
        "--smoothed",
        "--draws",
        "200",
    ];
    let output = thickset(&case.run("certify", &options));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert!(message.contains("of the smoothed explanation"), "{message}");
    assert!(
        message.contains("not a certificate of the explanation itself"),
        "{message}"
    );
}

#[test]
fn tolerances_are_ranges_in_the_columns_own_units() {
    let case = case();
    let options = [
        "--k",
        "3",
        "--radius",
        "0.5",
        "--row",
        "2",
        "--tolerances",
        "--json",
    ];
    let lines = json_lines(&succeeds(&case.run("certify", &options)));
    let names: Vec<&str> = lines
        .iter()
        .map(|line| line["feature"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["age", "income"]);
    for line in &lines {
        let number = |key: &str| line[key].as_f64().unwrap();
        assert!(
            number("from") <= number("value") && number("value") <= number("to"),
            "{line}"
        );
    }
    let table = succeeds(&case.run("certify", &options[..7]));
    assert!(
        table.contains("row 2: the reasons hold for any income between "),
        "{table}"
    );
}
