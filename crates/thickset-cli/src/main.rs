//! The `thickset` command: argument parsing, messages and exit codes. The work is the library's.

mod command;
mod progress;

use std::process::ExitCode;

use clap::Parser;

/// Exit code of bad input or a failure of ours; 1 is kept for a failed audit gate.
const EXIT_FAILURE: u8 = 2;

#[derive(Parser)]
#[command(name = "thickset", version, about, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    thickset_engine::memory::keep_freed_blocks();
    match command::run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::from(EXIT_FAILURE)
        }
    }
}

/// The message first, then each cause on a line of its own, then what can be done.
fn report(error: &anyhow::Error) {
    eprintln!("error: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  cause: {cause}");
    }
    if let Some(hint) = command::hint(error) {
        eprintln!("\nhint: {hint}");
    }
}
