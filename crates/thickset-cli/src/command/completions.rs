//! `thickset completions`: what a shell needs to complete commands and options.

use anyhow::Result;
use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::output::print;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset completions bash > ~/.local/share/bash-completion/completions/thickset
  thickset completions zsh > ~/.zfunc/_thickset
  thickset completions fish > ~/.config/fish/completions/thickset.fish")]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut script = Vec::new();
    let mut command = crate::Arguments::command();
    generate(arguments.shell, &mut command, "thickset", &mut script);
    print(&String::from_utf8(script)?)
}
