//! One file a subcommand.

mod attack;
mod bench;
mod bench_paper;
mod data;
mod data_view;
mod demo;
mod explain;
mod hint;
mod init;
mod methods;
mod model;
mod output;
mod rows;
mod train;

use anyhow::Result;
use clap::Subcommand;

pub use hint::hint;

/// What a user can ask for.
#[derive(Subcommand)]
pub enum Command {
    /// Change rows a little, and see how far their explanations change
    Attack(attack::Arguments),
    /// Measure speed on this machine, or make the papers' tables and figures
    Bench(bench::Arguments),
    /// List, look at and export datasets
    Data(data::Arguments),
    /// Show it all on bundled data: three models, attacked, in one table
    ///
    /// Trains a linear model, a plain network and an R2ET network, attacks the explanations of the test rows of all three
    /// alike, and prints one table. Needs no file and no connection.
    Demo(demo::Arguments),
    /// Say why a model predicts what it predicts
    Explain(explain::Arguments),
    /// Write a commented configuration for your data
    Init(init::Arguments),
    /// List the methods, or describe one
    Methods(methods::Methods),
    /// Say what a model file holds
    Model(model::Arguments),
    /// Train a model by its configuration
    Train(train::Arguments),
}

/// Runs the chosen subcommand.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Attack(arguments) => attack::run(&arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Data(arguments) => data::run(arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Methods(arguments) => methods::run(&arguments),
        Command::Model(arguments) => model::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
    }
}
