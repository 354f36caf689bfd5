//! `thickset explain` and `thickset attack`, on a table and on images.

use thickset::Seed;
use thickset::data::{OpenOptions, open};
use thickset::model::{MlpConfig, Model, ModelConfig};

use crate::Case;

/// What a command did, without the decimals of any number: attacks reach points whose last digits are a matter of the
/// processor.
fn shown(case: &Case, line: &str) -> String {
    let is_decimal = |word: &str| {
        let digits = word.trim_start_matches('-');
        digits.split_once('.').is_some_and(|(whole, places)| {
            let all = |text: &str| text.bytes().all(|byte| b"0123456789#".contains(&byte));
            all(whole) && all(places) && !whole.is_empty() && !places.is_empty()
        })
    };
    let text = case.shown(line);
    let lines = text.lines().map(|line| {
        let words = line.split_whitespace().map(|word| {
            let end = word.trim_end_matches([',', ';', ')']).len();
            let number = word[..end].trim_start_matches('(');
            if is_decimal(number) {
                word.replace(number, "#.#")
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The folder with a model for the bundled digits.
fn with_digits() -> Case {
    let case = Case::new();
    let dataset = open("digits", &OpenOptions::default()).unwrap();
    Model::fresh(
        ModelConfig::Mlp(MlpConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(3),
    )
    .unwrap()
    .save(&case.path("digits.safetensors"))
    .unwrap();
    case
}

#[test]
fn rows_of_a_table_are_explained_and_attacked() {
    let case = Case::new();
    let of = |command: &str| {
        format!("{command} --model model.safetensors --data loans.csv --k 3 --limit 3")
    };
    insta::assert_snapshot!("explain", shown(&case, &of("explain")));
    insta::assert_snapshot!(
        "attack",
        shown(&case, &format!("{} --effort quick", of("attack")))
    );
    insta::assert_snapshot!(
        "attack-single",
        shown(
            &case,
            &format!("{} --method mse-attack --steps 20", of("attack"))
        )
    );
    insta::assert_snapshot!(
        "attack-radii",
        shown(
            &case,
            &format!("{} --effort quick --radii 0,0.2", of("attack"))
        )
    );
}

#[test]
fn the_theory_of_rows_is_told_beside_their_reasons() {
    let case = Case::new();
    let line =
        "explain --model model.safetensors --data loans.csv --k 3 --limit 2 --theory --radius 0.3";
    let output = case.run(line);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for said in [
        "thickness (Prop. 4.4, an estimate)",
        "radius (Prop. 4.5 at the row, no certificate)",
        "iterations (Theorem 5.1, an estimate)",
        "margin risk (Theorem 5.2, without its covering number",
    ] {
        assert_eq!(text.matches(said).count(), 2, "{said}: {text}");
    }
    let alone = case.run("explain --model model.safetensors --data loans.csv --radius 0.3");
    assert_eq!(alone.status.code(), Some(2), "a radius wants --theory");
}

#[test]
fn images_are_explained_and_attacked() {
    let case = with_digits();
    let of = |command: &str| {
        format!("{command} --model digits.safetensors --data digits --k 5 --limit 2")
    };
    insta::assert_snapshot!("explain-images", shown(&case, &of("explain")));
    insta::assert_snapshot!(
        "attack-images",
        shown(
            &case,
            &format!(
                "{} --method er-attack --steps 10 --norm linf --radius 0.2 --box",
                of("attack")
            )
        )
    );
}

#[test]
fn bad_input_is_refused_with_what_was_expected() {
    let case = with_digits();
    let table = "--model model.safetensors --data loans.csv";
    let refused: Vec<String> = [
        format!("explain {table} --k 99"),
        format!("explain {table} --explanation gradd"),
        format!("explain {table} --row 61"),
        "explain --model digits.safetensors --data loans.csv".to_owned(),
        format!("attack {table} --k 0"),
        format!("attack {table} --method er-atack"),
        format!("attack {table} --steps 3"),
        format!("attack {table} --method er-attack --effort quick"),
        format!("attack {table} --norm linf"),
        format!("attack {table} --radius 0.1 --radii 0.1,0.2"),
        format!("attack {table} --method mass-center"),
        format!("attack {table} --method moo --box"),
        "attack --model digits.safetensors --data digits --per column --reduce channel-sum"
            .to_owned(),
    ]
    .iter()
    .map(|line| shown(&case, line))
    .collect();
    insta::assert_snapshot!("attack-refused", refused.join("\n\n"));
}
