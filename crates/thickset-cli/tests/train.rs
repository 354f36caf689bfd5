//! `thickset init` and `thickset train`: a run from a configuration to a folder, killed and resumed.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn thickset(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thickset"));
    command.current_dir(folder).args(arguments);
    command
}

fn done(output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{message}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, sentence: &str) {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(sentence), "`{sentence}` in: {message}");
    assert!(!message.contains("panicked"), "{message}");
}

/// A configuration of a few seconds on bundled data.
fn configured(folder: &Path) {
    let output = thickset(folder, &["init", "--data", "breast-cancer"])
        .output()
        .unwrap();
    done(&output);
}

const QUICK: [&str; 12] = [
    // Smaller than the model that `init` writes.
    "--set",
    "model={ kind = \"mlp\" }",
    "--set",
    "train.epochs=4",
    "--set",
    "train.batch=64",
    "--set",
    "train.checkpoint_steps=2",
    "--set",
    "probe.rows=20",
    "--set",
    "probe.steps=3",
];

fn train<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["train", "run.toml"], &QUICK[..], more].concat()
}

#[test]
fn a_configuration_that_init_writes_trains() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    let text = std::fs::read_to_string(folder.path().join("run.toml")).unwrap();
    assert!(text.contains("# "), "it has comments");
    let output = thickset(folder.path(), &train(&["--json"]))
        .output()
        .unwrap();
    let summary: serde_json::Value = serde_json::from_str(&done(&output)).unwrap();
    assert!(summary["validation_auc"].as_f64().unwrap() > 0.9);
    assert_eq!(summary["epochs"], 4);
    let run = folder.path().join("runs/breast-cancer");
    for file in ["model.safetensors", "run.toml", "metrics.jsonl"] {
        assert!(run.join(file).is_file(), "{file}");
    }
    let model = run.join("model.safetensors").display().to_string();
    let shown = thickset(folder.path(), &["model", &model])
        .output()
        .unwrap();
    assert!(done(&shown).contains("malignant, benign"));
    // The resolved configuration is one that trains to the same model.
    let resolved = run.join("run.toml").display().to_string();
    let again = ["train", &resolved, "--out", "again"];
    done(&thickset(folder.path(), &again).output().unwrap());
    assert_eq!(
        std::fs::read(run.join("model.safetensors")).unwrap(),
        std::fs::read(folder.path().join("again/breast-cancer/model.safetensors")).unwrap()
    );
}

#[test]
fn init_describes_a_csv_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::from("age,income,job,default\n");
    for row in 0..60 {
        let job = ["a", "b", "c"][row % 3];
        let label = if (row * 7) % 10 < 5 { "yes" } else { "no" };
        let line = format!("{},{},{job},{label}\n", 20 + row, row * row);
        rows.push_str(&line);
    }
    std::fs::write(folder.path().join("my loans.csv"), rows).unwrap();
    let init = ["init", "--data", "my loans.csv", "--target", "default"];
    done(&thickset(folder.path(), &init).output().unwrap());
    let output = thickset(folder.path(), &train(&[])).output().unwrap();
    done(&output);
    assert!(
        folder
            .path()
            .join("runs/my-loans/model.safetensors")
            .is_file()
    );
    refused(
        &thickset(folder.path(), &init).output().unwrap(),
        "already exists",
    );
}

#[test]
fn a_run_that_is_killed_and_resumed_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    // Long enough that a kill nearly always comes before the end: 12 epochs of 25 steps.
    let long = ["--set", "train.batch=16", "--set", "train.epochs=12"];
    let with = |more: &[&'static str]| [&train(&long)[..], more].concat();
    done(
        &thickset(folder.path(), &with(&["--out", "whole"]))
            .output()
            .unwrap(),
    );
    let read = |out: &str, file: &str| {
        let run = folder.path().join(out).join("breast-cancer");
        std::fs::read(run.join(file)).unwrap()
    };
    // How many lines of progress are read before each kill; there are about 480.
    let plans: [(&str, &[usize]); 5] = [
        ("a", &[1]),
        ("b", &[4]),
        ("c", &[60, 3]),
        ("d", &[100, 1, 150]),
        ("e", &[400]),
    ];
    let (mut kills_made, mut kills_hit) = (0, 0);
    for (out, kills) in plans {
        let arguments = with(&["--out", out, "--resume", "--progress", "jsonl"]);
        for lines in kills {
            let mut child = thickset(folder.path(), &arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // It may have ended by itself, which is as good a moment as any.
            kills_made += 1;
            kills_hit += usize::from(killed_after(&mut child, *lines));
        }
        done(&thickset(folder.path(), &arguments).output().unwrap());
        for file in ["model.safetensors", "metrics.jsonl"] {
            assert!(
                read("whole", file) == read(out, file),
                "{file} after kills at {kills:?}"
            );
        }
    }
    // Those after a line or four come when hardly a step is done.
    assert!(
        kills_hit >= 3,
        "{kills_hit} of {kills_made} kills came before the end"
    );
}

/// Reads so many lines of progress, kills, and tells whether that was before the end.
fn killed_after(child: &mut Child, lines: usize) -> bool {
    // Kept open until the end: a program that cannot write would fail by itself.
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..lines {
        if let Some(line) = progress.next() {
            line.unwrap();
        }
    }
    let _ = child.kill();
    !child.wait().unwrap().success()
}

const GRID: &str = "sweep={ \"objective.gap_weight\" = [0.0, 0.3], \"train.batch\" = [16, 32] }";

#[test]
fn a_sweep_that_is_killed_and_resumed_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    let with = |more: &[&'static str]| [&train(&["--set", GRID])[..], more].concat();
    let whole = with(&["--out", "whole", "--json"]);
    let text = done(&thickset(folder.path(), &whole).output().unwrap());
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["runs"].as_array().unwrap().len(), 4);
    let chosen = usize::try_from(result["selected"].as_u64().unwrap()).unwrap() - 1;
    assert!(
        result["runs"][chosen]["standing"]["epoch"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert!(result["runs"][chosen]["best_auc"].as_f64().unwrap() > 0.9);
    let arguments = with(&["--out", "parts", "--resume", "--progress", "jsonl"]);
    let mut hits = 0;
    for lines in [3, 60] {
        let mut child = thickset(folder.path(), &arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        hits += usize::from(killed_after(&mut child, lines));
    }
    assert!(hits > 0);
    let again = with(&["--out", "parts", "--resume"]);
    let table = done(&thickset(folder.path(), &again).output().unwrap());
    let heads = table.lines().next().unwrap();
    for head in ["run", "AUC", "P@k", "objective.gap_weight", "train.batch"] {
        assert!(heads.contains(head), "{table}");
    }
    assert_eq!(table.lines().count(), 5, "{table}");
    let marked = format!("{}*", chosen + 1);
    assert_eq!(
        table
            .lines()
            .filter(|line| line.starts_with(&marked))
            .count(),
        1,
        "{table}"
    );
    for file in [
        "model.safetensors",
        "metrics.jsonl",
        "run.toml",
        "sweep.json",
    ] {
        let [whole, parts] = ["whole", "parts"].map(|out| {
            let run = folder.path().join(out).join("breast-cancer");
            std::fs::read(run.join(file)).unwrap()
        });
        assert!(whole == parts, "{file}");
    }
}

#[test]
fn retraining_begins_with_a_model_and_gives_it_back_if_the_auc_falls() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    let vanilla = train(&["--set", "objective.kind=vanilla"]);
    done(&thickset(folder.path(), &vanilla).output().unwrap());
    let model = "runs/breast-cancer/model.safetensors";
    let from = |more: &[&'static str]| [&train(&["--from", model])[..], more].concat();
    let gentle = from(&["--set", "name=gentle", "--set", "train.optimizer.rate=1e-5"]);
    done(&thickset(folder.path(), &gentle).output().unwrap());
    let metrics = folder.path().join("runs/gentle/metrics.jsonl");
    let metrics = std::fs::read_to_string(metrics).unwrap();
    assert_eq!(metrics.lines().count(), 4, "{metrics}");
    assert!(metrics.lines().all(|line| line.contains("agreement")));
    let rough = from(&[
        "--set",
        "name=rough",
        "--set",
        "retrain.least_agreement=0",
        "--set",
        "retrain.most_auc_drop=0",
        "--set",
        "train.optimizer.rate=3",
    ]);
    let text = done(&thickset(folder.path(), &rough).output().unwrap());
    assert!(text.contains("the model it began with is kept"), "{text}");
    assert!(
        text.contains("the AUC fell below the reference's"),
        "{text}"
    );
    let [kept, reference] = ["runs/rough/model.safetensors", model]
        .map(|path| std::fs::read(folder.path().join(path)).unwrap());
    assert!(kept == reference);
}

#[test]
fn init_writes_a_configuration_that_trains_for_images_and_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let mut labels = String::from("file,label\n");
    std::fs::create_dir(folder.path().join("brains")).unwrap();
    for number in 0..20 {
        let weight = |shift: usize| format!("0.{}", (number * 3 + shift * 5) % 9 + 1);
        let [a, b, c] = [0, 1, 2].map(weight);
        let text = format!("0,{a},{b}\n{a},0,{c}\n{b},{c},0\n");
        let file = format!("brains/g{number}.csv");
        std::fs::write(folder.path().join(file), text).unwrap();
        let label = ["sick", "well"][number % 2];
        writeln!(labels, "g{number}.csv,{label}").unwrap();
    }
    std::fs::write(folder.path().join("brains/labels.csv"), labels).unwrap();
    let small = [
        "--set",
        "model.channels=[2, 2]",
        "--set",
        "model.hidden=[4]",
    ];
    for (data, kind, more) in [("digits", "cnn", &small[..]), ("brains", "mlp", &[])] {
        let out = format!("{data}.toml");
        let init = ["init", "--data", data, "--out", &out];
        done(&thickset(folder.path(), &init).output().unwrap());
        let text = std::fs::read_to_string(folder.path().join(&out)).unwrap();
        assert!(text.contains(&format!("kind = \"{kind}\"")), "{text}");
        let once = ["--set", "train.epochs=1", "--set", "probe.rows=4"];
        let train = [&["train", &out], &once[..], more].concat();
        done(&thickset(folder.path(), &train).output().unwrap());
        let model = format!("runs/{data}/model.safetensors");
        assert!(folder.path().join(model).is_file());
    }
}

#[test]
fn what_must_be_known_is_told_and_nothing_panics() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    let run = |more: &[&str]| thickset(folder.path(), &train(more)).output().unwrap();
    let unreachable = [
        "--set",
        "selection.auc_at_least=1.0",
        "--set",
        "train.optimizer.rate=1e-9",
    ];
    let output = run(&unreachable);
    done(&output);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("note: no epoch reached the AUC"), "{told}");
    done(&run(&["--set", "name=2024"]));
    assert!(folder.path().join("runs/2024/model.safetensors").is_file());
    refused(
        &run(&["--set", "name=b", "--set", "objective.pair_count=31"]),
        "pair_count",
    );
    assert!(!folder.path().join("runs/b").exists());
    let init = [
        "init",
        "--data",
        "breast-cancer",
        "--name",
        "a b",
        "--out",
        "b.toml",
    ];
    refused(&thickset(folder.path(), &init).output().unwrap(), "a b");
    assert!(!folder.path().join("b.toml").exists());
    let endless = train(&[
        "--set",
        "name=endless",
        "--set",
        "train.epochs=9223372036854775807",
        "--progress",
        "jsonl",
    ]);
    let mut child = thickset(folder.path(), &endless)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(killed_after(&mut child, 5));
    let metrics = folder.path().join("runs/endless");
    assert!(metrics.join("run.toml").is_file());
}

#[cfg(unix)]
#[test]
fn a_model_whose_path_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    let path = std::ffi::OsStr::from_bytes(b"model-\xff.safetensors");
    let mut command = thickset(folder.path(), &train(&["--from"]));
    refused(&command.arg(path).output().unwrap(), "UTF-8");
}

#[test]
fn bad_configurations_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    let run = |more: &[&str]| thickset(folder.path(), &train(more)).output().unwrap();
    refused(&run(&["--set", "train.epochs"]), "cannot set");
    refused(&run(&["--set", "train.epoch=3"]), "epoch");
    refused(&run(&["--set", "objective.kind=r3et"]), "r3et");
    refused(&run(&["--set", "objective.gap_weight=-1"]), "gap_weight");
    refused(&run(&["--set", "k=30"]), "k must lie in 1..=29");
    refused(&run(&["--set", "data.source=nowhere.csv"]), "nowhere.csv");
    refused(&run(&["--from", "nowhere.safetensors"]), "nowhere");
    let text = std::fs::read_to_string(folder.path().join("run.toml")).unwrap();
    let set = text.lines().find(|line| line.starts_with("epochs = "));
    let broken = text.replace(set.expect("epochs are set"), "epochs = \"many\"");
    std::fs::write(folder.path().join("broken.toml"), broken).unwrap();
    let output = thickset(folder.path(), &["train", "broken.toml"]);
    refused(&{ output }.output().unwrap(), "broken.toml:");
    assert!(!folder.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn a_run_is_not_overwritten_unless_it_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    configured(folder.path());
    done(&thickset(folder.path(), &train(&[])).output().unwrap());
    let again = thickset(folder.path(), &train(&[])).output().unwrap();
    refused(&again, "--resume");
    let other = train(&["--resume", "--set", "seed=1"]);
    refused(
        &thickset(folder.path(), &other).output().unwrap(),
        "the configuration has changed",
    );
    done(
        &thickset(folder.path(), &train(&["--resume"]))
            .output()
            .unwrap(),
    );
}
