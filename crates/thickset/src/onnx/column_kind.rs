//! What all cells of a column say of it: a number with its scale and what stands in for a missing one, or a category with its values.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, Key, Line};
use super::problem::{OnnxError, Result, WITHOUT_GRADIENT};
use crate::data::Group;

/// What two numbers differ by, relative to their size, and are still called the same: rounding.
const SAME: f64 = 1e-6;

/// What is known of a column from all cells of it.
#[derive(Clone, Debug)]
pub(super) enum Known {
    Number {
        offset: f64,
        factor: f64,
        stands_in: Option<f64>,
        /// Whether the graph itself scales it.
        is_scaled: bool,
        indicator: bool,
    },
    Category {
        keys: Vec<Key>,
    },
}

pub(super) fn no_gradient() -> OnnxError {
    OnnxError::Refused {
        problem: "a column becomes steps (bins, comparisons, or a missing value that counts as a number of its own), which have no gradient".to_owned(),
        instead: format!("encode the column as a category before the model, or {WITHOUT_GRADIENT}"),
    }
}

/// Learns from a cell how its column is encoded.
pub(super) fn learn(
    cell: &Cell,
    known: &mut BTreeMap<usize, Known>,
    names: &[String],
) -> Result<()> {
    let both = |column: usize| OnnxError::Refused {
        problem: format!(
            "column `{}` is read both as a number and as a category",
            names[column]
        ),
        instead: "give the model two columns".to_owned(),
    };
    if let Cell::Lookup { column, keys, .. } = cell {
        let entry = known
            .entry(*column)
            .or_insert_with(|| Known::Category { keys: Vec::new() });
        let Known::Category { keys: all } = entry else {
            return Err(both(*column));
        };
        // The cells of one encoder know the same values.
        if all.is_empty() {
            all.clone_from(keys);
        } else if **keys != *all {
            let mut seen: BTreeSet<Key> = all.iter().cloned().collect();
            all.extend(
                keys.iter()
                    .filter(|key| seen.insert((*key).clone()))
                    .cloned(),
            );
        }
        return Ok(());
    }
    let line = match yeo_johnson(cell) {
        Some((_, of)) => of.line().map(|line| Line {
            stands_in: line.stands_in.or_else(|| cell.filled_with()),
            ..line
        }),
        None => cell.line(),
    };
    let number = |column: usize| {
        (
            column,
            Known::Number {
                offset: 0.0,
                factor: 1.0,
                stands_in: None,
                is_scaled: false,
                indicator: false,
            },
        )
    };
    if let Some(line) = line {
        let (column, fresh) = number(line.column);
        let Known::Number {
            offset,
            factor,
            stands_in,
            is_scaled,
            ..
        } = known.entry(column).or_insert(fresh)
        else {
            return Err(both(column));
        };
        let is_plain = (line.slope - 1.0).abs() < 1e-12 && line.shift == 0.0;
        if !*is_scaled && !is_plain {
            (*offset, *factor, *is_scaled) =
                (-line.shift / line.slope, 1.0 / line.slope.abs(), true);
        }
        if let Some(own) = line.stands_in {
            if stands_in.is_some_and(|known| (known - own).abs() > SAME * own.abs().max(1.0)) {
                return Err(OnnxError::Refused {
                    problem: format!(
                        "column `{}` is filled in with two different numbers",
                        names[column]
                    ),
                    instead: "fill in each column once".to_owned(),
                });
            }
            stands_in.get_or_insert(own);
        }
        return Ok(());
    }
    if let Cell::Unary(operator, of) = cell
        && let ("IsNaN", Cell::Column(column)) = (&**operator, &**of)
    {
        let (column, fresh) = number(*column);
        let Known::Number { indicator, .. } = known.entry(column).or_insert(fresh) else {
            return Err(both(column));
        };
        *indicator = true;
        return Ok(());
    }
    match cell {
        Cell::Constant(_) => Ok(()),
        Cell::Unary(_, of) | Cell::Clip { of, .. } | Cell::Replace { of, .. } => {
            learn(of, known, names)
        }
        Cell::Binary(_, a, b) => {
            learn(a, known, names)?;
            learn(b, known, names)
        }
        Cell::Select(parts) => parts.iter().try_for_each(|part| learn(part, known, names)),
        _ => Err(no_gradient()),
    }
}

/// Keys as groups of a category, each with the texts that count as it.
pub(super) fn groups(keys: &[Key]) -> Vec<Group> {
    let own = keys.iter().filter(|key| !matches!(key, Key::Alias { .. }));
    let group = |key: &Key| {
        let text = key.text();
        let aliases = keys.iter().filter_map(|key| match key {
            Key::Alias { from, of } if *of == text => Some(from.clone()),
            _ => None,
        });
        let aliases: Vec<String> = aliases.collect();
        // A value may itself be the empty text, which is a missing one.
        let name = if text.is_empty() {
            "missing".to_owned()
        } else {
            text.clone()
        };
        let values = if aliases.is_empty() && name == text {
            Vec::new()
        } else {
            [vec![text], aliases].concat()
        };
        Group { name, values }
    };
    own.map(group).collect()
}

/// The power and what it is of, if the cell is the transform of Yeo and Johnson of its column, or of its column scaled; judged by its
/// values, since exporters write it in several ways.
pub(super) fn yeo_johnson(cell: &Cell) -> Option<(f64, Cell)> {
    const AT: [f64; 12] = [
        -30.0, -5.0, -2.0, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0,
    ];
    /// Exponents are written in single precision.
    const CLOSE: f64 = 1e-4;
    if !matches!(cell, Cell::Binary(..) | Cell::Select(_)) {
        return None;
    }
    let mut exponents = BTreeSet::new();
    cell.exponents(&mut exponents);
    if exponents.is_empty() {
        return None;
    }
    let found = exponents.into_iter().map(f64::from_bits);
    let candidates: Vec<f64> = found
        .flat_map(|exponent| [exponent, 2.0 - exponent])
        .chain([0.0, 2.0])
        .collect();
    let transform = |x: f64, lambda: f64| {
        let (power, sign) = if x < 0.0 {
            (2.0 - lambda, -1.0)
        } else {
            (lambda, 1.0)
        };
        let a = x.abs() + 1.0;
        sign * if power.abs() < 1e-6 {
            a.ln()
        } else {
            (a.powf(power) - 1.0) / power
        }
    };
    let error = |lambda: f64, line: Line, z: f64| {
        let expected = transform(z, lambda);
        let value = cell.value((z - line.shift) / line.slope);
        (value - expected).abs() / expected.abs().max(1.0)
    };
    let is_it = |lambda: f64, line: Line| AT.iter().all(|&z| error(lambda, line, z) <= CLOSE);
    // Both powers that a graph holds are rounded; the one of numbers above zero counts, whose scale may be in the thousands.
    let above = |lambda: f64, line: Line| {
        let above = AT.iter().filter(|&&z| z > 0.0);
        above.map(|&z| error(lambda, line, z)).fold(0.0, f64::max)
    };
    let mut lines = Vec::new();
    cell.lines(&mut lines);
    lines.into_iter().find_map(|of| {
        let line = of.line().filter(|line| line.slope != 0.0)?;
        let fitting = candidates
            .iter()
            .copied()
            .filter(|&lambda| is_it(lambda, line));
        let lambda = fitting.min_by(|&a, &b| f64::total_cmp(&above(a, line), &above(b, line)))?;
        Some((lambda, of))
    })
}
