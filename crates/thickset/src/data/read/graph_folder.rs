//! A folder of graphs: `labels.csv` with the columns `file` and `label`, and one adjacency matrix a file, as numbers
//! without a header. Matrices are square, symmetric and of one size; the diagonal is not used.

use std::path::{Component, Path, PathBuf};

use super::csv;
use super::inputs::Inputs;
use super::read_rule::{ReadRule, Wanted};
use super::table::ColumnType;
use crate::data::dataset::Dataset;
use crate::data::encode::{encoding, infer};
use crate::data::schema::{Schema, check_features};
use crate::{Error, Result};

/// The file that makes a folder a folder of graphs.
pub const LABELS: &str = "labels.csv";

/// How far a weight may be from its mirror image: rounding of single-precision text.
const ASYMMETRY: f64 = 1e-5;

/// Reads the folder; returns the inputs and the names of the classes.
///
/// # Errors
/// For whatever is wrong with a file, with its line.
pub fn read(folder: &Path) -> Result<(Inputs, Vec<String>)> {
    let list = folder.join(LABELS);
    let types = ["file", "label"]
        .map(|name| (name.to_owned(), ColumnType::Text))
        .into();
    let table = csv::read(
        &list,
        &ReadRule::default(),
        &Wanted {
            types,
            ..Wanted::default()
        },
    )?;
    let target = infer::target(&table, "label")?;
    let labels = encoding::labels(&target, &table)?;
    let files = &table.column("file")?.values;
    let mut inputs = Inputs {
        values: Vec::new(),
        labels: Vec::new(),
        schema: Schema::graph(0, 0.0, 0.0),
    };
    let mut nodes = None;
    for (row, label) in labels.into_iter().enumerate() {
        let (Some(label), Some(file)) = (label, files.text(row)) else {
            return Err(Error::Malformed {
                path: list.display().to_string(),
                line: None,
                problem: format!("row {}: expected a file and a label", row + 1),
            });
        };
        let path = inside(folder, &file)?;
        let matrix = matrix(&path)?;
        check_features(
            &path.display().to_string(),
            &[matrix.len(), matrix.len() / 2],
        )?;
        let size = *nodes.get_or_insert(matrix.len());
        if matrix.len() != size {
            return Err(Error::Malformed {
                path: path.display().to_string(),
                line: None,
                problem: format!(
                    "it has {} nodes, the graphs before it have {size}",
                    matrix.len()
                ),
            });
        }
        upper_triangle(&matrix, &path, &mut inputs.values)?;
        inputs.labels.push(label);
    }
    inputs.schema = Schema::graph(nodes.unwrap_or(0), 0.0, 0.0);
    Ok((
        inputs,
        target.classes.into_iter().map(|class| class.name).collect(),
    ))
}

/// The path of a file that a list names, which must lie in the folder, also where it is a link.
pub(super) fn inside(folder: &Path, file: &str) -> Result<PathBuf> {
    let outside = || Error::Malformed {
        path: folder.join(LABELS).display().to_string(),
        line: None,
        problem: format!("expected files inside the folder, got `{file}`"),
    };
    let relative = Path::new(file);
    let is_plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_plain {
        return Err(outside());
    }
    let path = folder.join(relative);
    let real = |path: &Path| {
        path.canonicalize()
            .map_err(|source| Error::io("read", path, source))
    };
    if real(&path)?.starts_with(real(folder)?) {
        Ok(path)
    } else {
        Err(outside())
    }
}

/// The range of weights, from the training rows. Correlations keep theirs; other weights get the one they have.
pub fn learn_range(dataset: &mut Dataset) {
    let weights = dataset.gather(&dataset.split.train);
    let (least, greatest) = weights
        .iter()
        .fold((-1.0_f32, 1.0_f32), |(low, high), &weight| {
            (low.min(weight), high.max(weight))
        });
    let is_positive = weights.iter().all(|&weight| weight >= 0.0);
    for feature in &mut dataset.schema.features {
        feature.low = if is_positive { 0.0 } else { least };
        feature.high = greatest;
    }
}

fn matrix(path: &Path) -> Result<Vec<Vec<f64>>> {
    let rule = ReadRule {
        header: Some(false),
        ..ReadRule::default()
    };
    let wanted = Wanted {
        only_numbers: true,
        ..Wanted::default()
    };
    let table = csv::read(path, &rule, &wanted)?;
    let nodes = table.rows();
    let name = path.display().to_string();
    if table.columns.len() != nodes || nodes < 2 {
        return Err(Error::Malformed {
            path: name,
            line: None,
            problem: format!(
                "expected a square matrix, got {nodes} rows of {} numbers",
                table.columns.len()
            ),
        });
    }
    (0..nodes)
        .map(|row| {
            let weights = table.columns.iter().map(|column| {
                let weight = column.values.number(row);
                weight.ok_or_else(|| Error::Malformed {
                    path: name.clone(),
                    line: None,
                    problem: format!("row {}: `{}` has no weight", row + 1, column.name),
                })
            });
            weights.collect()
        })
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "features are f32 by design"
)]
fn upper_triangle(matrix: &[Vec<f64>], path: &Path, values: &mut Vec<f32>) -> Result<()> {
    for (from, row) in matrix.iter().enumerate() {
        for (to, &weight) in row.iter().enumerate().skip(from + 1) {
            let mirrored = matrix[to][from];
            let problem = if (weight - mirrored).abs() > ASYMMETRY * weight.abs().max(1.0) {
                format!(
                    "expected a symmetric matrix, got {weight} in row {} and column {}, and {mirrored} in row {1} and column {0}",
                    from + 1,
                    to + 1
                )
            } else if (weight as f32).is_finite() {
                values.push(weight as f32);
                continue;
            } else {
                format!("the weight {weight} is beyond single precision")
            };
            return Err(Error::Malformed {
                path: path.display().to_string(),
                line: None,
                problem,
            });
        }
    }
    Ok(())
}
