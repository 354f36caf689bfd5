//! One file a subcommand.

mod methods;

use anyhow::Result;
use clap::Subcommand;

/// What a user can ask for.
#[derive(Subcommand)]
pub enum Command {
    /// List the methods, or describe one
    Methods(methods::Methods),
}

/// Runs the chosen subcommand.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Methods(arguments) => methods::run(&arguments),
    }
}
