//! One file a subcommand.

use anyhow::Result;
use clap::Subcommand;

/// What a user can ask for.
#[derive(Subcommand)]
pub enum Command {}

/// Runs the chosen subcommand.
pub fn run(command: Command) -> Result<()> {
    match command {}
}
