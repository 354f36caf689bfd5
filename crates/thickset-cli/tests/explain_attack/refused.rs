//! What is refused, and what help says.

use crate::case::{case, refuses, succeeds, text};

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
            "`--radius` has no effect with `--method moo`",
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
        (&["--norm", "linf"], "an l-infinity ball needs a radius"),
        (
            &["--radius", "1e308"],
            "`ball.radius` must be at most 1000000",
        ),
    ] {
        refuses(&case.run("attack", options), &[part]);
    }
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
        &["attack `moo` takes an l2 ball"],
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
