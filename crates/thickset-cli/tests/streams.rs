//! Streams that go away, files without an end, names that a terminal would obey, and two processes at once.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn thickset(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thickset"));
    command
        .current_dir(folder)
        .args(arguments)
        .env("THICKSET_DATA", "")
        .env("HOME", "/nonexistent")
        .env("XDG_DATA_HOME", "/nonexistent");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn refused(output: &Output, sentence: &str) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains(sentence),
        "`{sentence}` is not in: {message}"
    );
}

fn full() -> Option<File> {
    let full = File::options().write(true).open("/dev/full");
    if full.is_err() {
        eprintln!("SKIPPED: this system has no /dev/full");
    }
    full.ok()
}

const QUICK: [&str; 8] = [
    "--set",
    "train.epochs=3",
    "--set",
    "probe.rows=20",
    "--set",
    "probe.steps=3",
    "--progress",
    "jsonl",
];

fn init(folder: &Path) {
    let output = thickset(folder, &["init", "--data", "breast-cancer"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_full_stderr_loses_the_talk_and_not_the_work() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, code) in [
        (&["data", "list"][..], 0),
        (&["init", "--data", "breast-cancer"], 0),
        (&["data", "show", "no-such-data"], 2),
    ] {
        let Some(full) = full() else { return };
        let output = thickset(folder.path(), arguments).stderr(full).output();
        assert_eq!(output.unwrap().status.code(), Some(code), "{arguments:?}");
    }
    assert!(folder.path().join("run.toml").is_file());
}

#[test]
fn a_full_stdout_is_a_failure_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let Some(full) = full() else { return };
    let output = thickset(folder.path(), &["data", "show", "breast-cancer"])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    refused(&output, "cannot write to stdout");
}

#[test]
fn training_ends_though_its_progress_is_no_longer_read() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path());
    let arguments = [&["train", "run.toml"], &QUICK[..]].concat();
    let mut child = thickset(folder.path(), &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut first).unwrap();
    drop(stderr);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let model = folder.path().join("runs/breast-cancer/model.safetensors");
    assert!(model.is_file());
}

#[test]
fn a_second_training_in_the_same_folder_is_told_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path());
    let arguments = [
        &["train", "run.toml", "--set", "train.epochs=200"],
        &QUICK[2..],
    ]
    .concat();
    let mut child = thickset(folder.path(), &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut first).unwrap();
    let second = [&arguments[..], &["--resume"]].concat();
    let output = thickset(folder.path(), &second).output().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    refused(&output, "is in use by process ");
    refused(&output, &format!("process {} on ", child.id()));
    // The system gives the folder back when its process is killed.
    let arguments = [
        &["train", "run.toml", "--resume", "--set", "train.epochs=200"],
        &QUICK[2..],
    ];
    let mut third = thickset(folder.path(), &arguments.concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(third.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    third.kill().unwrap();
    third.wait().unwrap();
    assert!(!line.contains("in use"), "{line}");
}

#[test]
fn names_of_files_reach_the_terminal_as_they_are_and_not_as_orders() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows =
        String::from("\"in\u{1b}[2Jcome\",\"a\u{202e}ge\",\"x\nerror: y\",\"cl\u{9b}ass\"\n");
    for row in 0..60 {
        let class = if row % 2 == 0 {
            "y\u{1b}]0;t\u{7}es"
        } else {
            "no"
        };
        let numbers = [row * 7 % 11, row % 13, row % 5].map(|number| number.to_string());
        rows += &[&numbers.join(".5,"), ",", class, "\n"].concat();
    }
    fs::write(folder.path().join("a.csv"), rows).unwrap();
    for arguments in [
        &["data", "show", "a.csv"][..],
        &["data", "show", "a.csv", "--json"],
        &["data", "show", "a.csv", "--target", "no\u{1b}[31m"],
        &["data", "show", "a.csv", "--recipe"],
        &["init", "--data", "a.csv", "--drop", "a\u{202e}ge"],
    ] {
        let output = thickset(folder.path(), arguments).output().unwrap();
        let (data, talk) = (text(&output.stdout), text(&output.stderr));
        for stream in [&data, &talk] {
            let hidden = |letter: char| {
                (letter.is_control() && letter != '\n')
                    || ('\u{202a}'..='\u{202e}').contains(&letter)
            };
            assert!(!stream.contains(hidden), "{arguments:?}: {stream:?}");
        }
        let mut lines = talk.lines().chain(data.lines());
        let is_forged = lines.any(|line| line.starts_with("error: y"));
        assert!(!is_forged, "{arguments:?}: {talk}{data}");
    }
}

#[test]
fn pipes_and_devices_are_refused_at_once_wherever_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: this system has no mkfifo");
        return;
    }
    let class = folder.path().join("pictures/cat");
    fs::create_dir_all(&class).unwrap();
    std::os::unix::fs::symlink("/dev/zero", class.join("a.png")).unwrap();
    fs::write(folder.path().join("a.csv"), "a,b\n1,x\n").unwrap();
    for file in ["pipe", "/dev/zero"] {
        for arguments in [
            &["train", file][..],
            &["data", "show", "a.csv", "--with", file],
            &["model", file],
            &["report", file],
            &["data", "show", "pictures"],
        ] {
            let output = thickset(folder.path(), arguments).output().unwrap();
            refused(&output, "it is a pipe or a device, expected a regular file");
        }
    }
}

#[test]
fn a_list_of_graphs_names_files_of_its_own_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = folder.path().join("graphs");
    fs::create_dir(&graphs).unwrap();
    fs::write(folder.path().join("secret.csv"), "0,1\n1,0\n").unwrap();
    std::os::unix::fs::symlink("../secret.csv", graphs.join("link.csv")).unwrap();
    for file in [
        "/etc/hostname",
        "../secret.csv",
        "link.csv",
        "a/../../secret.csv",
    ] {
        fs::write(
            graphs.join("labels.csv"),
            format!("file,label\n{file},a\nb.csv,b\n"),
        )
        .unwrap();
        let output = thickset(folder.path(), &["data", "show", "graphs"]).output();
        refused(&output.unwrap(), "expected files inside the folder");
    }
}

#[test]
fn a_limit_on_the_size_of_files_ends_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let command = format!(
        "ulimit -f 8; exec '{}' data export wine-quality --out a.csv",
        env!("CARGO_BIN_EXE_thickset")
    );
    let output = Command::new("sh")
        .current_dir(folder.path())
        .args(["-c", &command])
        .output()
        .unwrap();
    refused(&output, "cannot write `a.csv`");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn many_threads_are_as_many_as_help() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path());
    let sweep = "sweep={ \"objective.gap_weight\" = [0.1, 0.2] }";
    let more = ["train", "run.toml", "--threads", "20000", "--set", sweep];
    let arguments = [&more[..], &QUICK].concat();
    let output = thickset(folder.path(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn init_takes_what_data_show_takes_and_documents_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let row = |row: usize| {
        let (number, class) = (
            row.to_string(),
            if row.is_multiple_of(2) { "y" } else { "n" },
        );
        let number = if row == 5 { "unknown" } else { &number };
        format!("{number};{};{class}\n", row % 9)
    };
    let rows: Vec<String> = (0..60).map(row).collect();
    let rows = rows.concat();
    fs::write(folder.path().join("a.csv"), format!("n;zip;class\n{rows}")).unwrap();
    let arguments = [
        "init",
        "--data",
        "a.csv",
        "--delimiter",
        ";",
        "--missing",
        "unknown",
        "--category",
        "zip",
        "--immutable",
        "zip",
        "--scale",
        "standard",
        "--seed",
        "3",
        "--missing-column",
        "impute",
    ];
    let output = thickset(folder.path(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let written = fs::read_to_string(folder.path().join("run.toml")).unwrap();
    for line in [
        "seed = 3 ",
        "delimiter = \";\"",
        "missing = [\"unknown\"]",
        "categories = [\"zip\"]",
        "immutable = [\"zip\"]",
        "scale = \"standard\"",
        "missing_column = \"impute\"",
        "# recipe = \"recipe.toml\"",
        "# drop = [\"id\"]",
    ] {
        assert!(written.contains(line), "`{line}` is not in: {written}");
    }
}

#[test]
fn instructions_that_no_processor_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = thickset(folder.path(), &["demo"]);
    let output = command
        .env("THICKSET_INSTRUCTIONS", "mmx")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("`portable`; got `mmx`"), "{message}");
}
