//! Checkpoints: all that the next step depends on, in one safetensors file.
//!
//! Tensors are the network's parameters under their own names, the optimiser's memory under `optimizer.`, and the
//! parameters of the epochs that may be selected under `candidate.N.`. The rest is JSON in the header, with the hash of the
//! whole file, so that one that was damaged anywhere is not taken for sound.

use std::path::Path;

use serde::{Deserialize, Serialize};
use thickset_engine::optimizer::{Optimizer, State};
use thickset_engine::{MAX_FILE_BYTES, Network, StoredModel, TensorData, read_regular};

use super::fingerprint::Fingerprints;
use super::selection::{Candidate, Front, Standing};
use crate::data::{exact, hash};
use crate::{Error, Result};

/// The version of this form.
const FORMAT: u32 = 3;

/// What stands for the hash while the file is hashed.
const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    /// Steps done.
    pub(super) step: u64,
    /// Epochs done and judged.
    pub(super) epochs: usize,
    /// Steps done of the epoch that has begun.
    pub(super) batches: usize,
    /// Sums over the rows of that epoch, of the loss and each of its terms.
    pub(super) sums: Vec<Sum>,
    /// The same of the weights that are adaptive.
    pub(super) weights: Vec<Sum>,
    /// Epochs since one was better than all before it in some way.
    pub(super) stale: usize,
    /// The lines of `metrics.jsonl`.
    pub(super) records: Vec<String>,
    /// Why training is over, once it is.
    pub(super) ended: Option<String>,
}

/// The sum of one number over rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) name: String,
    #[serde(with = "exact")]
    pub(super) total: f64,
    pub(super) rows: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    /// The hash of the file with zeros in this place.
    sha256: String,
    /// The fingerprint of the settings.
    settings: String,
    /// The fingerprint of the data and the reference.
    data: String,
    progress: Progress,
    optimizer_steps: u32,
    candidates: Vec<Standing>,
}

/// The bytes of a checkpoint.
pub(super) fn to_bytes(
    network: &Network,
    optimizer: &dyn Optimizer,
    progress: &Progress,
    front: &Front,
    made_with: &Fingerprints,
) -> Vec<u8> {
    let state = optimizer.state();
    let header = Header {
        format: FORMAT,
        sha256: NO_HASH.to_owned(),
        settings: made_with.settings.clone(),
        data: made_with.data.clone(),
        progress: progress.clone(),
        optimizer_steps: state.steps,
        candidates: front.0.iter().map(|held| held.standing).collect(),
    };
    let mut tensors: Vec<(String, TensorData)> = state
        .tensors
        .into_iter()
        .map(|(name, values)| (format!("optimizer.{name}"), values))
        .collect();
    for (place, held) in front.0.iter().enumerate() {
        for (parameter, values) in network.parameters().iter().zip(&held.parameters) {
            let name = format!("candidate.{place}.{}", parameter.name);
            tensors.push((name, values.clone()));
        }
    }
    let header = serde_json::to_string(&header).expect("a header is plain data");
    let mut bytes = network.to_file_with(&header, &tensors);
    let own = hash(&bytes);
    replace(&mut bytes, NO_HASH, &own);
    bytes
}

/// Replaces the first occurrence of a text by another one of the same length.
fn replace(bytes: &mut [u8], old: &str, new: &str) {
    let at = bytes
        .windows(old.len())
        .position(|window| window == old.as_bytes());
    if let Some(at) = at {
        bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
    }
}

/// What a checkpoint holds, fitted to a network.
pub(super) struct Restored {
    pub(super) parameters: Vec<TensorData>,
    pub(super) optimizer: State,
    pub(super) progress: Progress,
    pub(super) front: Front,
}

/// Reads a checkpoint of this network, made with these settings and data.
///
/// # Errors
/// [`Error::Checkpoint`] if it is broken or of another network; [`Error::RunChanged`] if it is of other
/// settings, other data or another reference.
pub(super) fn read(path: &Path, network: &Network, made_with: &Fingerprints) -> Result<Restored> {
    let name = path.display().to_string();
    let bytes = read_regular(path, MAX_FILE_BYTES).map_err(|error| Error::Checkpoint {
        path: name.clone(),
        problem: error.to_string(),
    })?;
    parse(bytes, &name, network, made_with)
}

/// The same of the file's bytes.
fn parse(
    mut bytes: Vec<u8>,
    path: &str,
    network: &Network,
    made_with: &Fingerprints,
) -> Result<Restored> {
    let broken = |problem: String| Error::Checkpoint {
        path: path.to_owned(),
        problem,
    };
    let mut stored = StoredModel::parse(&bytes).map_err(|error| broken(error.to_string()))?;
    let header: Header =
        serde_json::from_str(stored.description()).map_err(|error| broken(error.to_string()))?;
    if header.format != FORMAT {
        let got = header.format;
        return Err(broken(format!("it has format {got}, expected {FORMAT}")));
    }
    if header.sha256.len() == NO_HASH.len() {
        replace(&mut bytes, &header.sha256, NO_HASH);
    }
    if hash(&bytes) != header.sha256 {
        return Err(broken(
            "its content has changed since it was written".to_owned(),
        ));
    }
    drop(bytes);
    for (found, expected, what) in [
        (&header.settings, &made_with.settings, "the configuration"),
        (
            &header.data,
            &made_with.data,
            "the data, or the model it began with,",
        ),
    ] {
        if found != expected {
            return Err(Error::RunChanged {
                path: path.to_owned(),
                what,
            });
        }
    }
    let mut take = |prefix: &str| -> Result<Vec<TensorData>> {
        let parameters = network.parameters().into_iter();
        parameters
            .map(|parameter| {
                let name = format!("{prefix}{}", parameter.name);
                let values = stored.take_numbers(&name);
                let values = values.ok_or_else(|| broken(format!("tensor `{name}` is missing")))?;
                if values.num_elements() != parameter.len() || values.dtype() != network.dtype() {
                    return Err(broken(format!("tensor `{name}` is of another network")));
                }
                Ok(values)
            })
            .collect()
    };
    let parameters = take("")?;
    let mut candidates = Vec::with_capacity(header.candidates.len());
    for (place, standing) in header.candidates.into_iter().enumerate() {
        candidates.push(Candidate {
            standing,
            parameters: take(&format!("candidate.{place}."))?,
        });
    }
    let names: Vec<String> = stored
        .names()
        .filter_map(|name| name.strip_prefix("optimizer."))
        .map(str::to_owned)
        .collect();
    let tensors = names
        .into_iter()
        .filter_map(|name| {
            let values = stored.take_numbers(&format!("optimizer.{name}"))?;
            Some((name, values))
        })
        .collect();
    stored.finish().map_err(|error| broken(error.to_string()))?;
    Ok(Restored {
        parameters,
        optimizer: State {
            steps: header.optimizer_steps,
            tensors,
        },
        progress: header.progress,
        front: Front(candidates),
    })
}

/// Reads a checkpoint of any content for this network, as if its hash were right and its settings and data were the run's.
pub(crate) fn read_sealed(mut bytes: Vec<u8>, network: &Network) {
    let Ok(stored) = StoredModel::parse(&bytes) else {
        return;
    };
    let Ok(header) = serde_json::from_str::<Header>(stored.description()) else {
        return;
    };
    if header.sha256.len() == NO_HASH.len() {
        replace(&mut bytes, &header.sha256, NO_HASH);
        let own = hash(&bytes);
        replace(&mut bytes, NO_HASH, &own);
    }
    let made_with = Fingerprints {
        settings: header.settings,
        data: header.data,
    };
    let _ = parse(bytes, "checkpoint", network, &made_with);
}
