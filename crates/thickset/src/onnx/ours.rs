//! Files that we wrote ourselves: the description stands in their metadata, so they are read back exactly.

use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::problem::{OnnxError, Result, broken};
use super::proto::{NodeProto, TensorProto};
use super::read::Graph;
use crate::data::hexadecimal;
use crate::model::Description;

/// Where the model's description stands.
pub(super) const DESCRIPTION_KEY: &str = "thickset";
/// Where the inputs and outputs of the file are described that this one takes the place of.
pub(super) const INPUTS_KEY: &str = "thickset.inputs";
/// Where the hash of nodes and constants stands, so that a graph that was changed since is not taken for ours.
pub(super) const GRAPH_KEY: &str = "thickset.graph";

/// The hash of everything but weights, which may be changed and are read either way.
pub(super) fn graph_hash(nodes: &[NodeProto], constants: &[TensorProto]) -> String {
    let mut hash = Sha256::new();
    for node in nodes {
        hash.update(node.encode_length_delimited_to_vec());
    }
    let is_weight = |tensor: &&TensorProto| {
        tensor
            .name
            .as_deref()
            .is_some_and(|name| name.starts_with("layers."))
    };
    for tensor in constants.iter().filter(|tensor| !is_weight(tensor)) {
        hash.update(tensor.encode_length_delimited_to_vec());
    }
    hexadecimal(&hash.finalize())
}

/// The description of a model that we wrote and nobody changed; `None` for any other.
///
/// # Errors
/// If it says that it is ours and its description cannot be read.
pub(super) fn description(graph: &Graph) -> Result<Option<Description>> {
    let Some(text) = graph.metadata.get(DESCRIPTION_KEY) else {
        return Ok(None);
    };
    if graph.metadata.get(GRAPH_KEY) != Some(&graph.hash) {
        return Ok(None);
    }
    let description: Description =
        serde_json::from_str(text).map_err(|error| OnnxError::Broken {
            problem: format!("the description in the metadata cannot be read: {error}"),
        })?;
    if description.format != crate::model::FORMAT {
        return Err(broken(format!(
            "the description in the metadata has format {}, expected {}",
            description.format,
            crate::model::FORMAT
        )));
    }
    Ok(Some(description))
}
