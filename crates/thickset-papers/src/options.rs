//! The options of a bench, and what it does where one is left out.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thickset::attack::suite;
use thickset::model::Shard;
use thickset::{Error, Result};

use crate::method::BenchMethod;

/// How much work a bench does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenchEffort {
    /// To see something soon: the quick suite, few rows.
    #[default]
    Quick,
    /// To report: the standard suite, more rows.
    Standard,
}

impl BenchEffort {
    /// The suite that goes with it.
    #[must_use]
    pub fn suite(self) -> suite::Effort {
        match self {
            Self::Quick => suite::Effort::Quick,
            Self::Standard => suite::Effort::Standard,
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
        }
    }
}

impl std::str::FromStr for BenchEffort {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "quick" => Ok(Self::Quick),
            "standard" => Ok(Self::Standard),
            _ => Err("expected quick or standard".to_owned()),
        }
    }
}

/// The options of a bench.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The folder for cells, models and results.
    pub out: PathBuf,
    /// Names of datasets; the bench's own where empty.
    pub datasets: Vec<String>,
    /// Ids of methods; all that apply where empty.
    pub methods: Vec<String>,
    /// Seeds 0 to this, without it; the bench's own number where absent.
    pub seeds: Option<u64>,
    /// How much work.
    pub effort: BenchEffort,
    /// Most test rows that are attacked; the effort's own number where absent.
    pub rows: Option<usize>,
    /// Most training rows, and most validation rows; the effort's own number where absent.
    pub train_rows: Option<usize>,
    /// Epochs of each training; the effort's own number where absent.
    pub epochs: Option<usize>,
    /// A folder to look for known datasets in.
    pub data_dir: Option<PathBuf>,
    /// Which of several machines that share the cells this one is; see [`crate::make_cells`].
    pub shard: Shard,
}

impl BenchOptions {
    /// A quick bench of everything into this folder.
    #[must_use]
    pub fn new(out: impl Into<PathBuf>) -> Self {
        Self {
            out: out.into(),
            datasets: Vec::new(),
            methods: Vec::new(),
            seeds: None,
            effort: BenchEffort::default(),
            rows: None,
            train_rows: None,
            epochs: None,
            data_dir: None,
            shard: Shard::WHOLE,
        }
    }

    /// Refuses numbers that leave nothing to do.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn check(&self) -> Result<()> {
        let counts = [
            ("`--rows`", self.rows, 2),
            ("`--train-rows`", self.train_rows, 1),
            ("`--epochs`", self.epochs, 1),
        ];
        for (what, given, least) in counts {
            if given.is_some_and(|given| given < least) {
                return Err(Error::OutOfRange {
                    what,
                    expected: if least == 2 {
                        "at least 2"
                    } else {
                        "at least 1"
                    },
                    got: crate::count::as_f64(given.unwrap_or(0)),
                });
            }
        }
        if self.seeds == Some(0) {
            return Err(Error::OutOfRange {
                what: "`--seeds`",
                expected: "at least 1",
                got: 0.0,
            });
        }
        Ok(())
    }

    /// The methods that were asked for, or a bench's usual ones where none was.
    ///
    /// # Errors
    /// As for [`BenchMethod::find`].
    pub fn methods_or(&self, usual: &[&str]) -> Result<Vec<&'static BenchMethod>> {
        if self.methods.is_empty() {
            let usual: Vec<String> = usual.iter().map(|&id| id.to_owned()).collect();
            BenchMethod::chosen(&usual)
        } else {
            BenchMethod::chosen(&self.methods)
        }
    }

    /// What to type for the same numbers: all that was chosen, without the folders of this machine.
    #[must_use]
    pub fn command(&self, id: &str) -> String {
        let mut words = vec![format!("thickset bench {id}")];
        let mut add = |name: &str, value: String| words.push(format!("--{name} {value}"));
        for (name, chosen) in [("datasets", &self.datasets), ("methods", &self.methods)] {
            if !chosen.is_empty() {
                add(name, chosen.join(","));
            }
        }
        if let Some(seeds) = self.seeds {
            add("seeds", seeds.to_string());
        }
        add("effort", self.effort.name().to_owned());
        let counts = [
            ("rows", self.rows),
            ("train-rows", self.train_rows),
            ("epochs", self.epochs),
        ];
        for (name, count) in counts {
            if let Some(count) = count {
                add(name, count.to_string());
            }
        }
        words.join(" ")
    }

    /// Most test rows that are attacked.
    #[must_use]
    pub fn test_rows(&self) -> usize {
        let own = match self.effort {
            BenchEffort::Quick => 400,
            BenchEffort::Standard => 1000,
        };
        self.rows.unwrap_or(own)
    }

    /// Most training rows.
    #[must_use]
    pub fn most_training_rows(&self) -> usize {
        let own = match self.effort {
            BenchEffort::Quick => 4000,
            BenchEffort::Standard => 16000,
        };
        self.train_rows.unwrap_or(own)
    }

    /// Epochs of each training.
    #[must_use]
    pub fn training_epochs(&self) -> usize {
        self.epochs.unwrap_or(30)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_says_what_was_chosen_and_no_folder() {
        let mut options = BenchOptions::new("/tmp/somewhere");
        assert_eq!(
            options.command("fig2"),
            "thickset bench fig2 --effort quick"
        );
        options.datasets = vec!["adult".to_owned(), "bank".to_owned()];
        options.methods = vec!["vanilla".to_owned()];
        options.seeds = Some(2);
        options.epochs = Some(5);
        options.effort = BenchEffort::Standard;
        assert_eq!(
            options.command("table1"),
            "thickset bench table1 --datasets adult,bank --methods vanilla --seeds 2 --effort standard --epochs 5"
        );
    }
}
