//! `thickset bench table1` and its kind: the papers' tables and figures, one subcommand each, listed by the library.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use serde_json::json;
use thickset::model::Shard;
use thickset_papers::{BENCHES, BenchEffort, BenchOptions, BenchStep};

use super::output::{print, print_json};
use crate::progress::{Progress, ProgressOption};

#[derive(Args, Clone)]
pub struct Arguments {
    /// Datasets, with commas between them; the paper's own if left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    datasets: Vec<String>,
    /// Methods, with commas between them; all that apply if left out
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    methods: Vec<String>,
    /// How many seeds: 0, 1, and so on
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// quick or standard: which suite, and how many rows and epochs where they are not given
    #[arg(long, default_value = "quick")]
    effort: BenchEffort,
    /// Most test rows to attack
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Most rows to train on
    #[arg(long, value_name = "N")]
    train_rows: Option<usize>,
    /// Epochs of each training
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// The folder for results and for finished cells, which a later run goes on with and other benches share
    #[arg(long, value_name = "FOLDER", default_value = "thickset-bench")]
    out: PathBuf,
    /// A folder to look for known datasets in
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// This machine's share of the cells, like 3/64 for the third of 64 machines; once the folders `cells` and `models` of all machines lie in one folder, the
    /// same command without --shard makes the table of them and trains nothing
    #[arg(
        long,
        value_name = "NUMBER/OF",
        default_value = "1/1",
        hide_default_value = true
    )]
    shard: Shard,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressOption,
}

/// One of the library's benches, and its options.
#[derive(Clone)]
pub struct Chosen {
    id: String,
    arguments: Arguments,
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (id, inner) = matches
            .subcommand()
            .ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))?;
        Ok(Self {
            id: id.to_owned(),
            arguments: Arguments::from_arg_matches(inner)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Chosen {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let benches = BENCHES.iter().map(|info| {
            let example = format!(
                "Examples:\n  thickset bench {id}\n  thickset bench {id} --datasets compas --seeds 1 --rows 100 --out results",
                id = info.id
            );
            // Last, or the words on a group of options would stand for the bench.
            Arguments::augment_args(clap::Command::new(info.id))
                .about(info.summary)
                .long_about(None)
                .after_help(example)
        });
        command.subcommands(benches)
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        BENCHES.iter().any(|info| info.id == name)
    }
}

pub fn run(chosen: Chosen) -> Result<()> {
    let arguments = chosen.arguments;
    let options = BenchOptions {
        out: arguments.out,
        datasets: arguments.datasets,
        methods: arguments.methods,
        seeds: arguments.seeds,
        effort: arguments.effort,
        rows: arguments.rows,
        train_rows: arguments.train_rows,
        epochs: arguments.epochs,
        data_dir: arguments.data_dir,
        shard: arguments.shard,
    };
    let bar = Mutex::new(Bar {
        progress: arguments.progress.start(),
        shown: String::new(),
    });
    let on_step = |step: &BenchStep<'_>| {
        bar.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .hear(step);
    };
    if !options.shard.is_whole() {
        let cells = thickset_papers::make_cells(&chosen.id, &options, &on_step)?;
        drop(bar);
        if cells == 0 {
            bail!(
                "bench `{}` has no cells that machines could share; run it without --shard",
                chosen.id
            );
        }
        if arguments.json {
            return print_json(&json!({ "folder": options.out, "cells": cells }));
        }
        return print(&format!(
            "{cells} cells are done; put the folders `cells` and `models` of `{}` together with the other machines', then give the same command without --shard\n",
            options.out.display()
        ));
    }
    let (found, folder) = thickset_papers::run(&chosen.id, &options, &on_step)?;
    drop(bar);
    if arguments.json {
        print_json(&found)?;
    } else {
        print(&thickset_papers::terminal(&found))?;
    }
    let page = folder.join("report.html");
    super::report::write(&page, &thickset_report::bench(&found)?)?;
    say!(
        "wrote {}, and bench.json and bench.md beside it",
        page.display()
    );
    Ok(())
}

/// A bar for each kind of cell.
struct Bar {
    progress: Progress,
    shown: String,
}

impl Bar {
    fn hear(&mut self, step: &BenchStep<'_>) {
        self.progress.event(step);
        let shown = format!("{}: {}", step.dataset, step.what);
        if shown != self.shown {
            self.progress.begin(step.cells as u64, 0);
            self.progress.message(shown.clone());
            self.shown = shown;
        }
        self.progress.set(step.done as u64);
    }
}
