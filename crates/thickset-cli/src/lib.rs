//! The `thickset` command: argument parsing, messages and exit codes. The work is the library's.
//!
//! It is a library with a `main` of one line, so that the Python package can be the same command.

/// Says something on stderr, formatted like `format!`.
macro_rules! say {
    ($($part:tt)*) => {
        $crate::command::output::say(&format!($($part)*))
    };
}

mod command;
mod progress;

use std::ffi::OsString;

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

/// Runs the command with these arguments, the first of which is its own name, and returns its exit code: 0 fine, 1 a requirement
/// failed, 2 bad input or a failure of ours, 130 stopped by its user.
///
/// To be called once by a process that does nothing else: it sets how the process keeps memory and meets long files.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    thickset_engine::memory::keep_freed_blocks();
    thickset_engine::signal::let_long_files_fail();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(answer) => {
            // Help and version go to stdout, mistakes to stderr. A pipe that nobody reads any more is no failure.
            let _ = answer.print();
            return if answer.use_stderr() { EXIT_FAILURE } else { 0 };
        }
    };
    if let Err(problem) = thickset_engine::kernel::requested_instructions() {
        report(&problem.into());
        return EXIT_FAILURE;
    }
    match thickset_engine::on_workers(|| command::run(arguments.command)) {
        Ok(command::Ending::Fine) => 0,
        Ok(command::Ending::GateFailed) => EXIT_GATE,
        Err(error) => {
            if let Some(stopped) = error.downcast_ref::<command::interrupt::Interrupted>() {
                say!("stopped: {stopped}");
                return EXIT_INTERRUPTED;
            }
            report(&error);
            EXIT_FAILURE
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
