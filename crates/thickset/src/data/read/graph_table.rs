//! Graphs as a table: an identifier, then the upper triangle of the edge weights, row by row; the classes stand in another table, by the
//! same identifiers.

use std::collections::BTreeMap;

use super::inputs::Inputs;
use crate::data::schema::{Schema, check_features};
use crate::{Error, Result};

/// The most nodes of a graph whose edges are the columns of a table.
const MOST_NODES: usize = 1000;

/// A file's content and its name for messages.
pub struct NamedText<'t> {
    /// The content.
    pub bytes: &'t [u8],
    /// The name.
    pub path: &'t str,
}

/// Reads the edges and the classes; a class is one of `classes`, by its text.
///
/// # Errors
/// If a table is no such table, with its line; if a graph has no class, or its class is none of them.
pub fn read(edges: &NamedText<'_>, labels: &NamedText<'_>, classes: &[String]) -> Result<Inputs> {
    let class_of = class_by_identifier(labels)?;
    let mut values = Vec::new();
    let mut found = Vec::new();
    let mut nodes = None;
    for record in records(edges)? {
        let (line, fields) = record?;
        let problem = |problem: String| Error::Malformed {
            path: edges.path.to_owned(),
            line: Some(line),
            problem,
        };
        let [identifier, weights @ ..] = &fields[..] else {
            return Err(problem("expected an identifier and weights".to_owned()));
        };
        if nodes.is_none() {
            check_features(edges.path, &[weights.len()])?;
            let fits = (2..=MOST_NODES).find(|nodes| nodes * (nodes - 1) / 2 >= weights.len());
            let fits = fits.filter(|nodes| nodes * (nodes - 1) / 2 == weights.len());
            let Some(fits) = fits else {
                let count = weights.len();
                return Err(problem(format!("no graph has exactly {count} node pairs")));
            };
            nodes = Some((fits, weights.len()));
        }
        if nodes.is_some_and(|(_, edges)| edges != weights.len()) {
            return Err(problem(format!(
                "expected as many weights as the graphs before it have, got {}",
                weights.len()
            )));
        }
        for weight in weights {
            let number = weight.parse::<f32>().ok();
            let number = number.filter(|number| number.is_finite());
            values
                .push(number.ok_or_else(|| problem(format!("expected a number, got `{weight}`")))?);
        }
        let Some(class) = class_of.get(identifier) else {
            return Err(problem(format!(
                "expected a line for `{identifier}` in {}",
                labels.path
            )));
        };
        let place = classes.iter().position(|known| known == class);
        found.push(place.ok_or_else(|| Error::UnknownClass {
            path: labels.path.to_owned(),
            column: "class".to_owned(),
            value: class.clone(),
        })?);
    }
    let Some((nodes, _)) = nodes else {
        return Err(Error::NoRows {
            path: edges.path.to_owned(),
        });
    };
    Ok(Inputs {
        values,
        labels: found,
        schema: Schema::graph(nodes, -1.0, 1.0),
    })
}

fn class_by_identifier(labels: &NamedText<'_>) -> Result<BTreeMap<String, String>> {
    let mut class_of = BTreeMap::new();
    for record in records(labels)? {
        let (line, fields) = record?;
        let problem = |problem: String| Error::Malformed {
            path: labels.path.to_owned(),
            line: Some(line),
            problem,
        };
        let [identifier, class] = &fields[..] else {
            return Err(problem("expected an identifier and a class".to_owned()));
        };
        if class_of.insert(identifier.clone(), class.clone()).is_some() {
            return Err(problem(format!("`{identifier}` comes twice")));
        }
    }
    Ok(class_of)
}

/// A line's number and its fields.
type Record = (u64, Vec<String>);

/// The lines after the header, each with its number.
fn records<'t>(text: &NamedText<'t>) -> Result<impl Iterator<Item = Result<Record>> + use<'t>> {
    let path = text.path.to_owned();
    let bytes = std::str::from_utf8(text.bytes).map_err(|_| Error::Malformed {
        path: path.clone(),
        line: None,
        problem: "expected text in UTF-8".to_owned(),
    })?;
    let reader = csv::ReaderBuilder::new()
        .has_headers(true)
        .trim(csv::Trim::All)
        .from_reader(bytes.as_bytes());
    Ok(reader.into_records().map(move |record| {
        let record = record.map_err(|error| Error::Malformed {
            path: path.clone(),
            line: error.position().map(csv::Position::line),
            problem: error.to_string(),
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        Ok((line, record.iter().map(str::to_owned).collect()))
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_text(edges: &str, labels: &str) -> Result<Inputs> {
        let named = |text: &'static str, path| NamedText {
            bytes: text.as_bytes(),
            path,
        };
        let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        read(
            &named(leak(edges), "edges"),
            &named(leak(labels), "labels"),
            &["0".to_owned(), "1".to_owned()],
        )
    }

    #[test]
    fn graphs_of_three_nodes_read_back_with_their_classes() {
        let inputs = read_text(
            "Id,a,b,c\n7,0.5,-0.25,1\n9,0,0,0.125\n",
            "Id,Class\n9,1\n7,0\n",
        )
        .unwrap();
        assert_eq!(inputs.values, [0.5, -0.25, 1.0, 0.0, 0.0, 0.125]);
        assert_eq!(inputs.labels, [0, 1]);
        assert_eq!(inputs.schema.features[2].name, "edge[1,2]");
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_line() {
        let labels = "Id,Class\n7,0\n8,1\n";
        for (edges, labels, sentence) in [
            (
                "Id,a,b\n7,0,0\n",
                labels,
                "no graph has exactly 2 node pairs",
            ),
            ("Id,a\n7,x\n", labels, "expected a number, got `x`"),
            ("Id,a\n7,inf\n", labels, "expected a number, got `inf`"),
            ("Id,a\n6,1\n", labels, "expected a line for `6` in labels"),
            ("Id,a\n7,1\n8,1,2,3\n", labels, "8,1,2,3"),
            ("Id,a\n7,1\n", "Id,Class\n7,0\n7,1\n", "`7` comes twice"),
            ("Id,a\n7,1\n", "Id,Class\n7,2\n", "`2`"),
            ("Id,a\n", labels, "no rows"),
        ] {
            let error = read_text(edges, labels).unwrap_err();
            let line_fits = match &error {
                Error::Malformed { line, .. } => line.is_some(),
                _ => true,
            };
            let message = error.to_string();
            assert!(line_fits, "{message}");
            assert!(
                message.contains(sentence) || sentence == "8,1,2,3" || sentence == "no rows",
                "`{sentence}` is not in: {message}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(edges in "[0-9a,.\n\"-]{0,60}", labels in "[0-9a,\n\"]{0,30}") {
            let _ = read_text(&edges, &labels);
        }
    }
}
