//! The names of the classes, where the file has them.

use super::array::Data;
use super::problem::{OnnxError, Result};
use super::read::Graph;

/// A name for each of `count` classes: those given, those of a classifier or of the label's branch, or numbers.
pub(super) fn class_names(graph: &Graph, count: usize, given: &[String]) -> Result<Vec<String>> {
    if !given.is_empty() {
        if given.len() != count {
            return Err(OnnxError::Refused {
                problem: format!(
                    "{} names of classes were given, the model has {count}",
                    given.len()
                ),
                instead: "name every class, in the order of the output".to_owned(),
            });
        }
        return Ok(given.to_vec());
    }
    let attributes = [
        ("classlabels_strings", "classlabels_ints"),
        ("classlabels_strings", "classlabels_int64s"),
    ];
    for node in &graph.nodes {
        for (texts, numbers) in attributes {
            let mut names = node.texts(texts);
            if names.is_empty() {
                names = node
                    .ints(numbers)
                    .unwrap_or_default()
                    .iter()
                    .map(i64::to_string)
                    .collect();
            }
            if is_list(&names, count) {
                return Ok(names);
            }
        }
        if node.operator != "ArrayFeatureExtractor" {
            continue;
        }
        let listed = node
            .input(0)
            .and_then(|name| graph.constant(name))
            .and_then(Result::ok);
        let names = match listed.map(|array| array.data) {
            Some(Data::Whole(values)) => values.iter().map(i64::to_string).collect(),
            Some(Data::Text(values)) => values,
            _ => Vec::new(),
        };
        if is_list(&names, count) {
            return Ok(names);
        }
    }
    Ok((0..count).map(|class| class.to_string()).collect())
}

/// Whether these can name so many classes.
fn is_list(names: &[String], count: usize) -> bool {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    sorted.dedup();
    names.len() == count && sorted.len() == count
}
