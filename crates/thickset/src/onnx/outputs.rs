//! Which output of the graph is read.

use thickset_engine::layer::Form;

use super::import::OnnxOptions;
use super::lower::{Lowering, Made, Value};
use super::problem::{OnnxError, Result, broken};
use super::proto::element;
use super::read::Graph;

/// What the outputs hold for each row: one of them, or several of one number each, side by side.
pub(super) fn made_of(to: &mut Lowering<'_>, outputs: &[String]) -> Result<Made> {
    let mut all = Vec::new();
    for output in outputs {
        all.push(match to.lower(output)? {
            Value::Tensor(made) => made,
            Value::Cells(cells) => to.materialise(&cells)?,
            _ => {
                return Err(OnnxError::Refused {
                    problem: format!(
                        "output `{output}` holds no numbers that are computed from the row"
                    ),
                    instead: "choose the output of probabilities".to_owned(),
                });
            }
        });
    }
    let is_single = |made: &Made| made.features() == 1;
    if all.len() > 1 && all.iter().all(is_single) {
        let parts: Vec<&Made> = all.iter().collect();
        return to.add(Form::Concatenate, &parts, vec![1, all.len()]);
    }
    Ok(all.swap_remove(0))
}

/// The output that holds scores or probabilities; several where each class has its own.
pub(super) fn choose_outputs(graph: &Graph, options: &OnnxOptions) -> Result<Vec<String>> {
    if let Some(name) = &options.output {
        let names = graph.outputs.iter().map(|output| output.name.as_str());
        if !names.clone().any(|known| known == name) {
            let known: Vec<&str> = names.collect();
            return Err(broken(format!(
                "there is no output `{name}`; the outputs are {}",
                known.join(", ")
            )));
        }
        return Ok(vec![name.clone()]);
    }
    let is_number = |element: Option<i32>| {
        matches!(
            element,
            None | Some(
                0 | element::FLOAT | element::DOUBLE | element::FLOAT16 | element::BFLOAT16
            )
        )
    };
    let candidates: Vec<&str> = graph
        .outputs
        .iter()
        .filter(|output| is_number(output.element))
        .map(|output| output.name.as_str())
        .collect();
    let named = candidates
        .iter()
        .find(|name| name.to_lowercase().contains("prob"));
    // One output a class, as scikit-learn's converter writes them with `zipmap="columns"`.
    let is_column = |name: &&str| {
        let numbered = name.strip_prefix('i').unwrap_or_default();
        graph.producer.starts_with("skl2onnx") && numbered.parse::<usize>().is_ok()
    };
    if named.is_none() && candidates.len() > 1 && candidates.iter().all(is_column) {
        return Ok(candidates.iter().map(|&name| name.to_owned()).collect());
    }
    let chosen = named.or_else(|| candidates.first());
    chosen
        .map(|name| vec![(*name).to_owned()])
        .ok_or_else(|| OnnxError::Refused {
            problem: "no output holds numbers".to_owned(),
            instead: "export the probabilities, not only the label".to_owned(),
        })
}
