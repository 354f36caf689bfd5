//! `thickset merge`: the parts of an audit that several machines made, as one audit.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use thickset::audit::{self, AuditFolder, AuditPart};

use super::{Ending, audit::finish};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset audit --model model.safetensors --data loans.csv --shard 1/2 --out part-1
  thickset audit --model model.safetensors --data loans.csv --shard 2/2 --out part-2
  thickset merge part-* --out audit

The result has the same bytes as the audit of one machine. Rows that `explain`, `attack` and `certify` write with --shard need no merging: the files follow one another.")]
pub struct Arguments {
    /// The parts: folders of `thickset audit --shard`, or the files in them
    #[arg(value_name = "PART", required = true)]
    parts: Vec<PathBuf>,
    /// The folder for audit.json and report.html
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<Ending> {
    let merged = audit::merge(AuditPart::read_all(&arguments.parts)?)?;
    let folder = AuditFolder::create(&arguments.out)?;
    folder.write(&merged)?;
    finish(&folder, &merged, arguments.json)
}
