//! Names of columns, their units, and the column that holds the classes.

use std::collections::BTreeMap;

use super::import::OnnxOptions;
use super::lower::Lowering;
use super::problem::{OnnxError, Result};
use crate::data::{ClassRule, ColumnEncoding, TargetRule};

/// Gives columns of numbers the units that were named.
pub(super) fn name_units(
    columns: &mut [ColumnEncoding],
    units: &BTreeMap<String, String>,
) -> Result<()> {
    for (name, unit) in units {
        let number = columns.iter_mut().find_map(|column| match column {
            ColumnEncoding::Number(number) if number.column == *name => Some(number),
            _ => None,
        });
        let Some(number) = number else {
            return Err(OnnxError::Refused {
                problem: format!(
                    "a unit was given for `{name}`, which is no column of numbers that the model reads"
                ),
                instead: "give units of its columns of numbers".to_owned(),
            });
        };
        number.unit = Some(unit.clone());
    }
    Ok(())
}

/// A name for each raw column.
pub(super) fn column_names(to: &Lowering<'_>, options: &OnnxOptions) -> Result<Vec<String>> {
    let inputs = &to.graph.inputs;
    let mut counts = vec![0_usize; inputs.len()];
    for column in &to.columns {
        counts[column.input] += 1;
    }
    let (all, given) = (to.columns.len(), &options.columns);
    let in_matrices: usize = counts.iter().filter(|&&count| count > 1).sum();
    if !given.is_empty() && given.len() != in_matrices && given.len() != all {
        return Err(OnnxError::Refused {
            problem: format!(
                "{} names of columns were given, the graph reads {all}",
                given.len()
            ),
            instead: "name every column of the graph's input, in order, and no target".to_owned(),
        });
    }
    let mut next = given.iter();
    let mut names = Vec::with_capacity(all);
    for column in &to.columns {
        let input = &inputs[column.input].name;
        let is_matrix = counts[column.input] > 1;
        let name = if is_matrix || given.len() == all {
            next.next()
        } else {
            None
        };
        names.push(match name {
            Some(name) => name.clone(),
            None if is_matrix => format!("{input}[{}]", column.place),
            None => input.clone(),
        });
    }
    Ok(names)
}

/// The target of an encoding: it is only looked for where rows have labels.
pub(super) fn target(options: &OnnxOptions, columns: &[String], classes: &[String]) -> TargetRule {
    let mut column = options
        .target
        .clone()
        .unwrap_or_else(|| "target".to_owned());
    if options.target.is_none() {
        while columns.contains(&column) {
            column.push('_');
        }
    }
    let class = |name: &String| ClassRule {
        name: name.clone(),
        values: Vec::new(),
        at_least: None,
        below: None,
    };
    TargetRule {
        column,
        classes: classes.iter().map(class).collect(),
    }
}
