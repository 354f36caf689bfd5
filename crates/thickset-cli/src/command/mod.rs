//! One file a subcommand.

mod attack;
mod attack_view;
mod audit;
mod audit_options;
mod bench;
mod bench_paper;
mod certify;
mod check;
mod compare;
mod completions;
mod data;
mod data_view;
mod demo;
mod device;
mod explain;
mod export;
mod hint;
mod init;
pub mod interrupt;
mod merge;
mod methods;
mod model;
mod model_file;
mod model_rows;
pub mod output;
mod radii;
mod reasons;
mod report;
mod row_output;
mod rows;
mod threat;
mod train;

use anyhow::Result;
use clap::Subcommand;

pub use hint::hint;

/// What a user can ask for.
#[derive(Subcommand)]
pub enum Command {
    /// Change rows a little, and see how far their explanations change
    Attack(attack::Arguments),
    /// Say how far a model's explanations can be trusted, and fail if not far enough
    ///
    /// Explains the model's predictions, attacks the explanations with a suite of attacks, measures what random noise
    /// does to them, how thick, how distinct and how faithful they are, and fits a linear model for comparison. Writes
    /// audit.json and report.html, prints the figures, and checks what is required of them.
    Audit(audit::Arguments),
    /// Measure speed on this machine, or make the papers' tables and figures
    Bench(bench::Arguments),
    /// Prove how far a row can move before its explanation changes
    ///
    /// For networks of dense layers with `ReLU`: finds, row by row, the smallest move that changes the top-k set of the gradient,
    /// and the lowest P@k that any move within the radius reaches. What is proved holds for the model as it computes, rounding
    /// included; every counterexample is a point at which the model was run.
    Certify(certify::Arguments),
    /// Check proofs that `thickset certify --proof` wrote, by bounds of its own
    Check(check::Arguments),
    /// Compare two models on the same rows: which reasons changed, and is the second less stable?
    Compare(compare::Arguments),
    /// Print a script that completes commands and options in a shell
    Completions(completions::Arguments),
    /// List, look at and export datasets
    #[command(after_help = "Examples:
  thickset data list
  thickset data show loans.csv --target default
  thickset data export adult --out adult.csv")]
    Data(data::Arguments),
    /// Show it all on bundled data: six models, audited, in one table and one page
    ///
    /// On a table and on small images, trains a linear model, a plain network and an R2ET network, audits the test rows of
    /// all of them alike, prints one table, says whether R2ET helped, and writes report.html. Needs no file and no
    /// connection.
    Demo(demo::Arguments),
    /// Say why a model predicts what it predicts
    Explain(explain::Arguments),
    /// Write a model as an ONNX file, for other programs to run
    Export(export::Arguments),
    /// Write a commented configuration for your data
    Init(init::Arguments),
    /// Put the parts of an audit together that several machines made
    Merge(merge::Arguments),
    /// List the methods, or describe one
    Methods(methods::Methods),
    /// Say what a model file holds
    Model(model::Arguments),
    /// Say why rows are decided against, as a person can be told, and how far those reasons hold
    Reasons(reasons::Arguments),
    /// Make the page of audits or of a bench from their JSON
    Report(report::Arguments),
    /// Train a model by its configuration
    Train(train::Arguments),
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Fine,
    /// A figure is not what was required.
    GateFailed,
}

/// Runs the chosen subcommand.
pub fn run(command: Command) -> Result<Ending> {
    match command {
        Command::Audit(arguments) => return audit::run(&arguments),
        Command::Check(arguments) => return check::run(&arguments),
        Command::Compare(arguments) => return compare::run(&arguments),
        Command::Merge(arguments) => return merge::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Attack(arguments) => attack::run(&arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Certify(arguments) => certify::run(&arguments),
        Command::Data(arguments) => data::run(arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Methods(arguments) => methods::run(&arguments),
        Command::Model(arguments) => model::run(&arguments),
        Command::Reasons(arguments) => reasons::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
    }?;
    Ok(Ending::Fine)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    /// The full names of commands whose help has no examples.
    fn without_examples(command: &clap::Command, name: &str) -> Vec<String> {
        let help = command.get_after_help().map(ToString::to_string);
        let mut found = Vec::new();
        if !help.is_some_and(|help| help.contains("Examples:\n  thickset")) {
            found.push(name.to_owned());
        }
        for inner in command.get_subcommands() {
            found.extend(without_examples(
                inner,
                &format!("{name} {}", inner.get_name()),
            ));
        }
        found
    }

    #[test]
    fn the_help_of_every_command_has_examples() {
        let command = crate::Arguments::command();
        command.clone().debug_assert();
        assert_eq!(without_examples(&command, "thickset"), [""; 0]);
    }
}
