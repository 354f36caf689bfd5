//! The `thickset` command: argument parsing, messages and exit codes. The work is the library's.

/// Says something on stderr, formatted like `format!`.
macro_rules! say {
    ($($part:tt)*) => {
        $crate::command::output::say(&format!($($part)*))
    };
}

mod command;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use command::output::one_line;

/// Exit code of a figure that is not what was required.
const EXIT_GATE: u8 = 1;

/// Exit code of bad input or a failure of ours.
const EXIT_FAILURE: u8 = 2;

/// Exit code of a command that its user stopped, as shells have it.
const EXIT_INTERRUPTED: u8 = 130;

#[derive(Parser)]
#[command(
    name = "thickset",
    version,
    about,
    propagate_version = true,
    after_help = "Examples:
  thickset demo
  thickset init --data loans.csv --target default && thickset train run.toml
  thickset explain --model runs/loans/model.safetensors --data loans.csv
  thickset audit --model runs/loans/model.safetensors --data loans.csv --require 'p_at_k>=0.9'

Exit codes: 0 fine, 1 a requirement failed, 2 bad input or a failure, 130 stopped by Ctrl-C."
)]
struct Arguments {
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    thickset_engine::memory::keep_freed_blocks();
    thickset_engine::signal::let_long_files_fail();
    let arguments = Arguments::parse();
    if let Err(problem) = thickset_engine::kernel::requested_instructions() {
        report(&problem.into());
        return ExitCode::from(EXIT_FAILURE);
    }
    match command::run(arguments.command) {
        Ok(command::Ending::Fine) => ExitCode::SUCCESS,
        Ok(command::Ending::GateFailed) => ExitCode::from(EXIT_GATE),
        Err(error) => {
            if let Some(stopped) = error.downcast_ref::<command::interrupt::Interrupted>() {
                say!("stopped: {stopped}");
                return ExitCode::from(EXIT_INTERRUPTED);
            }
            report(&error);
            ExitCode::from(EXIT_FAILURE)
        }
    }
}

/// The message first, then each cause on a line of its own, then what can be done.
fn report(error: &anyhow::Error) {
    say!("error: {}", one_line(&error.to_string()));
    for cause in error.chain().skip(1) {
        say!("  cause: {cause}");
    }
    if let Some(hint) = command::hint(error) {
        say!("\nhint: {hint}");
    }
}
