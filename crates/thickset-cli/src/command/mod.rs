//! One file a subcommand.

mod data;
mod hint;
mod methods;
mod output;

use anyhow::Result;
use clap::Subcommand;

pub use hint::hint;

/// What a user can ask for.
#[derive(Subcommand)]
pub enum Command {
    /// List, look at and export datasets
    Data(data::Arguments),
    /// List the methods, or describe one
    Methods(methods::Methods),
}

/// Runs the chosen subcommand.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Data(arguments) => data::run(arguments),
        Command::Methods(arguments) => methods::run(&arguments),
    }
}
