//! Every command as a user runs it: exit code, stdout and stderr as snapshots.

mod attack;
mod audit;
mod commands;
mod compare;
mod documents;
mod help;
mod killed;
mod models_of_others;
mod reasons;
mod report;
mod reproduce;
mod shards;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use thickset::Seed;
use thickset::data::{OpenOptions, open};
use thickset::model::{LinearConfig, MlpConfig, Model, ModelConfig};

/// A folder with a table of loans and two models for it with fresh weights.
pub(crate) struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let case = Self { folder };
        case.write("loans.csv", &loans(60, true));
        case.write("unlabelled.csv", &loans(12, false));
        case.save("model.safetensors", ModelConfig::Mlp(MlpConfig::default()));
        case.save(
            "flat.safetensors",
            ModelConfig::Linear(LinearConfig::default()),
        );
        case
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a command line in a folder inside.
    pub(crate) fn run_in(&self, folder: &str, line: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        thickset(&self.path(folder), &words)
    }

    /// Trains a small run called `loans`, which says how it is audited.
    pub(crate) fn train(&self) {
        self.write(
            "run.toml",
            "name = \"loans\"\nseed = 5\nk = 3\n[data]\nsource = \"loans.csv\"\ntarget = \"paid\"\n\
             [objective]\nkind = \"vanilla\"\n[train]\nepochs = 2\n\
             [audit]\neffort = \"quick\"\nradius = 0.25\nrequire = [\"p_at_k>=0\"]\n",
        );
        let output = self.run("train run.toml --progress off");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn save(&self, name: &str, model: ModelConfig) {
        self.save_of("loans.csv", name, model);
    }

    /// A fresh network for another file.
    pub(crate) fn save_for(&self, data: &str, name: &str) {
        self.save_of(data, name, ModelConfig::Mlp(MlpConfig::default()));
    }

    fn save_of(&self, data: &str, name: &str, model: ModelConfig) {
        let options = OpenOptions {
            target: Some("paid".to_owned()),
            ..OpenOptions::default()
        };
        let data = self.path(data);
        let dataset = open(data.to_str().unwrap(), &options).unwrap();
        Model::fresh(
            model,
            dataset.shape().clone(),
            dataset.features(),
            dataset.classes.clone(),
            dataset.encoding.clone(),
            Seed::new(3),
        )
        .unwrap()
        .save(&self.path(name))
        .unwrap();
    }

    /// Runs a command line, its words separated by blanks, in the folder.
    pub(crate) fn run(&self, line: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        thickset(self.folder.path(), &words)
    }

    /// What a command did, for a snapshot.
    pub(crate) fn shown(&self, line: &str) -> String {
        shown(line, &self.run(line))
    }
}

pub(crate) fn loans(count: usize, with_target: bool) -> String {
    let target = if with_target { ",paid" } else { "" };
    let mut csv = format!("age,income,debt,savings,job,town{target}\n");
    let mut stream = Seed::new(1).stream("loans");
    for _ in 0..count {
        let age = 18 + stream.below(50);
        let [income, debt, savings] = [(); 3].map(|()| 900.0 + 4000.0 * stream.uniform());
        let job = ["cook", "nurse", "pilot", "clerk"][stream.below(4)];
        let town = ["north", "south", "west"][stream.below(3)];
        let paid = if stream.uniform() < 0.5 { "yes" } else { "no" };
        let target = if with_target {
            format!(",{paid}")
        } else {
            String::new()
        };
        writeln!(
            csv,
            "{age},{income:.2},{debt:.2},{savings:.2},{job},{town}{target}"
        )
        .unwrap();
    }
    csv
}

pub(crate) fn thickset(folder: &Path, words: &[&str]) -> Output {
    command(folder).args(words).output().unwrap()
}

/// The command in a folder, as a user whose state is kept there.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thickset"));
    command
        .current_dir(folder)
        .env("THICKSET_DATA", "")
        .env("XDG_DATA_HOME", "/nonexistent")
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("HOME", "/nonexistent");
    command
}

/// Command, exit code, stdout and stderr. Decimals are dots, as their last digits are a matter of the processor.
pub(crate) fn shown(line: &str, output: &Output) -> String {
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    format!(
        "$ thickset {line}\nexit code {}\n--- stdout ---\n{}--- stderr ---\n{}",
        output.status.code().unwrap(),
        without_decimals(&stdout),
        without_decimals(&stderr)
    )
}

/// Every digit of a number of three or more decimals becomes `#`, so that columns stay columns.
fn without_decimals(text: &str) -> String {
    let is_number = |word: &str| {
        let digits = word.trim_start_matches(['+', '-']);
        digits.split_once('.').is_some_and(|(whole, places)| {
            let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            !whole.is_empty() && places.len() > 2 && all_digits(whole) && all_digits(places)
        })
    };
    let masked = |piece: &str| -> String {
        let word = piece.trim_end_matches([',', ')', ':', ';', '.']);
        if is_number(word.trim_start_matches('(')) {
            piece
                .chars()
                .map(|one| match one {
                    '0'..='9' => '#',
                    '+' | '-' => '~',
                    other => other,
                })
                .collect()
        } else {
            piece.to_owned()
        }
    };
    let pieces = text.split_inclusive([' ', '\n']).map(|piece| {
        let end = piece.trim_end_matches([' ', '\n']).len();
        masked(&piece[..end]) + &piece[end..]
    });
    pieces.collect()
}
