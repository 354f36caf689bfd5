//! `thickset check`: whether proofs of certificates hold.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use thickset::Model;
use thickset::certify::check::{Checked, ProofChecker};
use thickset::certify::proof::{Proof, ProofHeader, SCHEMA};

use super::Ending;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset certify --model model.safetensors --data loans.csv --max-rows 0 --proof proofs.jsonl
  thickset check proofs.jsonl --model model.safetensors

Every proof is checked against the model's own weights with bounds that the search which made it does not share. If one does not hold, the exit code is 1.")]
pub struct Arguments {
    /// The file of proofs
    #[arg(value_name = "PROOFS")]
    proofs: PathBuf,
    /// The model file that they are of
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
}

/// The longest file of proofs that is read.
const MOST_BYTES: u64 = 1 << 30;

pub fn run(arguments: &Arguments) -> Result<Ending> {
    let model = Model::load(&arguments.model)?;
    let origin = model.origin()?;
    let shown = arguments.proofs.display();
    let mut text = String::new();
    std::fs::File::open(&arguments.proofs)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text))
        .with_context(|| format!("cannot read `{shown}`"))?;
    if text.len() as u64 > MOST_BYTES {
        bail!("`{shown}` is longer than {MOST_BYTES} bytes, the most that is read");
    }
    let mut lines = text.lines().enumerate();
    let first = lines.next().map_or("", |(_, line)| line);
    let header: ProofHeader = serde_json::from_str(first)
        .with_context(|| format!("`{shown}` does not begin like a file of proofs"))?;
    if header.thickset_proof != SCHEMA {
        bail!(
            "`{shown}` has schema {}, expected {SCHEMA}",
            header.thickset_proof
        );
    }
    if header.model_sha256 != origin.sha256 {
        bail!(
            "`{shown}` is of a model file with the hash {}, got one with {}",
            header.model_sha256,
            origin.sha256
        );
    }
    let checker = ProofChecker::new(&model.network)?;
    let (mut hold, mut all) = (0, 0);
    for (number, line) in lines {
        let proof: Proof = serde_json::from_str(line)
            .with_context(|| format!("line {} of `{shown}` is no proof", number + 1))?;
        all += 1;
        match checker.check(&proof)? {
            Checked::Holds => hold += 1,
            Checked::NotShown(reason) => say!(
                "row {}: at most {} lost within {} is not shown: {reason}",
                proof.row,
                proof.lost_at_most,
                proof.radius
            ),
        }
    }
    say!("{hold} of {all} proofs hold");
    Ok(if hold == all {
        Ending::Fine
    } else {
        Ending::GateFailed
    })
}
