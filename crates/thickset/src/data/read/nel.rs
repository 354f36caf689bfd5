//! `.nel`, graphs as text: lines `n <node> <label>`, `e <node> <node> <weight>`, `g <name>`, and `x <class>`, which ends
//! a graph. The graphs of ADHD-200 name 190 brain regions `n_0` to `n_189`, each the regions it has, so they are put on
//! the same 190 nodes; an edge that a graph does not list has weight 0.

use super::inputs::Inputs;
use super::zip_entry;
use crate::data::schema::Schema;
use crate::{Error, Result};

/// Regions of the atlas.
pub const REGIONS: usize = 190;

/// The most bytes of text that are unpacked; the largest known file has 226 kB.
const MOST_BYTES: u64 = 64 << 20;

/// The most graphs, so that a file of empty graphs cannot fill the memory.
const MOST_GRAPHS: usize = 1_000;

/// Reads one entry of a zip file.
///
/// # Errors
/// If the zip file is broken, has no such entry, or the entry is not `.nel` text.
pub fn read_zip(bytes: &[u8], entry: &str, path: &str) -> Result<Inputs> {
    // Text packs to a fifth or so; a file that unpacks to far more than its size is none of these.
    let most = MOST_BYTES.min((bytes.len() as u64).saturating_mul(64).max(1 << 20));
    let content = zip_entry::read(bytes, entry, most).map_err(|problem| Error::Malformed {
        path: path.to_owned(),
        line: None,
        problem: format!("cannot read the zip entry `{entry}`: {problem}"),
    })?;
    if content.len() as u64 > most {
        return Err(Error::TooLarge {
            path: format!("{path}/{entry}"),
            what: "the decompressed content".to_owned(),
            limit: format!("{} MiB", most >> 20),
        });
    }
    read(&content, &format!("{path}/{entry}"))
}

/// Reads the text; `path` is for messages. Class `-1` has label 0 and class `1` label 1.
///
/// # Errors
/// If a line is not as above, with its number.
pub fn read(bytes: &[u8], path: &str) -> Result<Inputs> {
    let mut inputs = Inputs {
        values: Vec::new(),
        labels: Vec::new(),
        schema: Schema::graph(REGIONS, 0.0, 1.0),
    };
    let mut graph = Graph::default();
    let mut line = 0;
    for text in bytes.split(|&byte| byte == b'\n') {
        line += 1;
        let malformed = |problem| Error::Malformed {
            path: path.to_owned(),
            line: Some(line),
            problem,
        };
        let text = std::str::from_utf8(text).map_err(|_| Error::NotUtf8 {
            path: path.to_owned(),
            line,
        })?;
        let fields: Vec<&str> = text.split_whitespace().collect();
        match fields.as_slice() {
            [] | ["g", ..] => Ok(()),
            ["n", number, label] => graph.add_node(number, label),
            ["e", from, to, weight] => graph.add_edge(from, to, weight),
            ["x", class] => std::mem::take(&mut graph).finish(class, &mut inputs),
            _ => Err(format!(
                "expected a line `n`, `e`, `g` or `x`, got `{}`",
                shortened(text)
            )),
        }
        .map_err(malformed)?;
    }
    if !graph.regions.is_empty() {
        return Err(Error::Malformed {
            path: path.to_owned(),
            line: Some(line),
            problem: "the file ends inside a graph, before its `x` line".to_owned(),
        });
    }
    if inputs.labels.is_empty() {
        return Err(Error::NoRows {
            path: path.to_owned(),
        });
    }
    Ok(inputs)
}

/// The graph that is being read; problems are in words, the caller knows the line.
#[derive(Default)]
struct Graph {
    /// The region of each node.
    regions: Vec<usize>,
    /// Pairs of regions, the lower first, with their weight.
    edges: Vec<(usize, usize, f32)>,
}

impl Graph {
    fn add_node(&mut self, number: &str, label: &str) -> std::result::Result<(), String> {
        let expected = self.regions.len() + 1;
        if number.parse() != Ok(expected) {
            return Err(format!("expected node {expected}, got `{number}`"));
        }
        let region = label
            .strip_prefix("n_")
            .and_then(|digits| digits.parse().ok());
        let Some(region) = region.filter(|&region| region < REGIONS) else {
            return Err(format!(
                "expected a region `n_0` to `n_{}`, got `{label}`",
                REGIONS - 1
            ));
        };
        if self.regions.contains(&region) {
            return Err(format!("the region `{label}` comes twice in one graph"));
        }
        self.regions.push(region);
        Ok(())
    }

    fn add_edge(&mut self, from: &str, to: &str, weight: &str) -> std::result::Result<(), String> {
        let node = |text: &str| {
            let place = text
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_sub(1));
            let region = place.and_then(|place| self.regions.get(place)).copied();
            region.ok_or_else(|| {
                format!(
                    "expected one of the graph's {} nodes, got `{text}`",
                    self.regions.len()
                )
            })
        };
        let (a, b) = (node(from)?, node(to)?);
        let Some(weight) = weight
            .parse::<f32>()
            .ok()
            .filter(|weight| weight.is_finite())
        else {
            return Err(format!(
                "expected a number as the edge's weight, got `{weight}`"
            ));
        };
        if a == b {
            return Err("an edge joins a node with itself".to_owned());
        }
        self.edges.push((a.min(b), a.max(b), weight));
        Ok(())
    }

    fn finish(self, class: &str, inputs: &mut Inputs) -> std::result::Result<(), String> {
        inputs.labels.push(match class {
            "-1" => 0,
            "1" => 1,
            other => return Err(format!("expected the class -1 or 1, got `{other}`")),
        });
        if inputs.labels.len() > MOST_GRAPHS {
            return Err(format!("more than {MOST_GRAPHS} graphs"));
        }
        let start = inputs.values.len();
        inputs.values.resize(start + inputs.schema.len(), 0.0);
        for (a, b, weight) in self.edges {
            inputs.values[start + edge_index(a, b)] = weight;
        }
        Ok(())
    }
}

/// The place of the pair `a < b` in the upper triangle, row by row.
fn edge_index(a: usize, b: usize) -> usize {
    a * (2 * REGIONS - a - 1) / 2 + (b - a - 1)
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TWO: &str = "n 1 n_3\nn 2 n_0\nn 3 n_189\ne 1 2 1\ne 2 3 0.5\ng Graph 7\nx -1\n\nn 1 n_1\ng Graph 8\nx 1\n";

    #[test]
    fn edges_land_on_their_regions() {
        let inputs = read(TWO.as_bytes(), "a").unwrap();
        assert_eq!(inputs.labels, [0, 1]);
        let width = inputs.schema.len();
        assert_eq!(width, 17_955);
        let set: Vec<(&str, f32)> = (0..2 * width)
            .filter(|&at| inputs.values[at] != 0.0)
            .map(|at| {
                (
                    inputs.schema.features[at % width].name.as_str(),
                    inputs.values[at],
                )
            })
            .collect();
        assert_eq!(set, [("edge[0,3]", 1.0), ("edge[0,189]", 0.5)]);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in [
            ("n 1 n_3\ne 1 2 1\n", 2),
            ("n 1 n_190\n", 1),
            ("n 1 n_3\nn 2 n_3\n", 2),
            ("n 1 n_3\nn 2 n_4\ne 1 2 inf\n", 3),
            ("n 1 n_3\nx 2\n", 2),
            ("hello\n", 1),
            ("n 1 n_3\n", 2),
        ] {
            let error = read(text.as_bytes(), "a").unwrap_err();
            assert!(
                matches!(error, Error::Malformed { line: Some(found), .. } if found == line),
                "{text:?}: {error}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(lines in proptest::collection::vec("[negx]? ?-?[0-9]{0,3} ?(n_)?[0-9]{0,3} ?[0-9a-z.]{0,4}", 0..20)) {
            let _ = read(lines.join("\n").as_bytes(), "a");
        }

        #[test]
        fn no_bytes_make_the_readers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes, "a");
            let _ = read_zip(&bytes, "a", "a");
        }
    }
}
