//! `--help` and `thickset completions`.

use crate::{Case, shown, thickset};

#[test]
fn help_says_what_a_command_is_for_with_examples() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "",
        "audit",
        "bench",
        "compare",
        "completions",
        "data",
        "demo",
        "methods",
        "report",
    ] {
        let line = format!("{command} --help");
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = thickset(folder.path(), &words);
        let name = if command.is_empty() {
            "help".to_owned()
        } else {
            format!("help-{command}")
        };
        insta::assert_snapshot!(name, shown(line.trim_start(), &output));
    }
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let case = Case::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = case.run(&format!("completions {shell}"));
        assert_eq!(output.status.code(), Some(0));
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["audit", "compare", "--max-rows", "--require"] {
            let word = if shell == "fish" {
                word.trim_start_matches('-')
            } else {
                word
            };
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    insta::assert_snapshot!("completions-refused", case.shown("completions cmd"));
}
