//! The binary: see the library of the same package.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(thickset_cli::run(std::env::args_os()))
}
