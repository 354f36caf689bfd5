//! The pack of ABIDE correlation matrices: `AAL116I2`, the number of graphs and of edges, then a graph's label byte and
//! its edges as `round(32767 r)`, the upper triangle row by row. All numbers are little-endian.

use super::inputs::Inputs;
use crate::data::schema::Schema;
use crate::{Error, Result};

const MAGIC: &[u8] = b"AAL116I2";
const HEADER: usize = 16;

/// The code of a correlation of 1.
const ONE: f32 = 32767.0;

/// The most edges of a graph: a complete one of 1449 nodes.
const MOST_EDGES: u32 = 1 << 20;

/// Reads the pack; `path` is for messages. The label is 1 for autism and 0 for control.
///
/// # Errors
/// If it is not one, or its length is not what its header says.
pub fn read(bytes: &[u8], path: &str) -> Result<Inputs> {
    let found = bytes.len() as u64;
    let problem = |problem: String| Error::Malformed {
        path: path.to_owned(),
        line: None,
        problem,
    };
    if bytes.len() < HEADER {
        return Err(Error::Truncated {
            path: path.to_owned(),
            expected: HEADER as u64,
            found,
        });
    }
    if !bytes.starts_with(MAGIC) {
        return Err(problem("expected the magic bytes `AAL116I2`".to_owned()));
    }
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (graphs, edges) = (word(8), word(12));
    if edges > MOST_EDGES {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            what: format!("a claim of {edges} edges a graph"),
            limit: format!("{MOST_EDGES} edges"),
        });
    }
    let nodes = nodes_of(edges)
        .ok_or_else(|| problem(format!("no graph has exactly {edges} node pairs")))?;
    let record = 1 + 2 * edges as usize;
    let expected = HEADER as u64 + u64::from(graphs) * record as u64;
    if found < expected {
        return Err(Error::Truncated {
            path: path.to_owned(),
            expected,
            found,
        });
    }
    if found > expected {
        return Err(problem(format!(
            "{} bytes follow the last graph that the header counts",
            found - expected
        )));
    }
    let mut values = Vec::with_capacity(graphs as usize * edges as usize);
    let mut labels = Vec::with_capacity(graphs as usize);
    for graph in bytes[HEADER..].chunks_exact(record) {
        labels.push(usize::from(graph[0]));
        values.extend(
            graph[1..]
                .chunks_exact(2)
                .map(|code| f32::from(i16::from_le_bytes([code[0], code[1]])) / ONE),
        );
    }
    if labels.is_empty() {
        return Err(Error::NoRows {
            path: path.to_owned(),
        });
    }
    Ok(Inputs {
        values,
        labels,
        schema: Schema::graph(nodes, -1.0, 1.0),
    })
}

/// The number of nodes whose pairs these are.
fn nodes_of(edges: u32) -> Option<usize> {
    (2..=1500_usize)
        .find(|nodes| nodes * (nodes - 1) / 2 >= edges as usize)
        .filter(|nodes| nodes * (nodes - 1) / 2 == edges as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pack(graphs: u32, edges: u32, body: &[u8]) -> Vec<u8> {
        [MAGIC, &graphs.to_le_bytes(), &edges.to_le_bytes(), body].concat()
    }

    #[test]
    fn a_graph_of_three_nodes_reads_back() {
        let inputs = read(&pack(1, 3, &[1, 0xff, 0x7f, 0, 0, 0x01, 0x80]), "a").unwrap();
        assert_eq!(inputs.labels, [1]);
        assert_eq!(inputs.values, [1.0, 0.0, -1.0]);
        assert_eq!(inputs.schema.features[2].name, "edge[1,2]");
    }

    #[test]
    fn claims_are_checked_before_anything_is_allocated() {
        assert!(matches!(
            read(&pack(u32::MAX, 6670, &[]), "a"),
            Err(Error::Truncated { .. })
        ));
        assert!(matches!(
            read(&pack(1, u32::MAX, &[]), "a"),
            Err(Error::TooLarge { .. })
        ));
        assert!(matches!(
            read(&pack(1, 4, &[0; 9]), "a"),
            Err(Error::Malformed { .. })
        ));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(
            graphs: u32, edges in 0_u32..30, body in proptest::collection::vec(any::<u8>(), 0..80)
        ) {
            let _ = read(&pack(graphs % 4, edges, &body), "a");
            let _ = read(&body, "a");
        }
    }
}
