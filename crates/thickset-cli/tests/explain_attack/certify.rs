//! What a certificate says.

use crate::case::{case, json_lines, precision, refuses, succeeds};

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
        &["certificates are of `grad` and `grad-input`, got `integrated-gradients`"],
    );
    refuses(
        &case.run("certify", &["--nodes", "0"]),
        &["`certify.nodes`"],
    );
}
