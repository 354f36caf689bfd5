//! The layers that are left between encoded features and the cells that the graph goes on with.

use std::collections::BTreeMap;

use thickset_engine::layer::Form;

use super::cell::{Cell, Line};
use super::column_kind::{Known, no_gradient, yeo_johnson};
use super::columns::Front;
use super::lower::{Lowering, Made, Place};
use super::problem::{OnnxError, Result};
use super::read::Node;

/// Weights of a layer that makes numbers of categories: more would be no table.
const MOST_WEIGHTS: usize = 1 << 24;

/// What an encoded feature differs from the graph's number by, relative to its size, and is still called the same: rounding.
const SAME: f64 = 1e-6;

impl Front {
    /// Layers that make these cells of the encoded features.
    pub(super) fn emit(&self, to: &mut Lowering<'_>, cells: &[Cell]) -> Result<Made> {
        let simple = |cell: &Cell| self.weights(cell).is_some();
        if cells.iter().all(simple) {
            return self.emit_simple(to, cells);
        }
        // What stands in for the logarithm of nothing, and the like: such a number is refused here, so nothing does.
        let bare = |cell: &Cell| match cell {
            Cell::Replace { of, missing, .. }
                if !missing.is_finite() && of.line().is_none() && yeo_johnson(cell).is_none() =>
            {
                Some((**of).clone())
            }
            _ => None,
        };
        if cells.iter().any(|cell| bare(cell).is_some()) {
            let cells = cells
                .iter()
                .map(|cell| bare(cell).unwrap_or_else(|| cell.clone()));
            return self.emit(to, &cells.collect::<Vec<_>>());
        }
        // Cells of one form become one tensor; the forms are joined and put in order.
        let mut kinds: Vec<(String, Vec<usize>)> = Vec::new();
        let mut powers = BTreeMap::new();
        for (place, cell) in cells.iter().enumerate() {
            let kind = if simple(cell) {
                "simple".to_owned()
            } else if let Some((power, of)) = yeo_johnson(cell) {
                powers.insert(place, (power, of));
                "yeo-johnson".to_owned()
            } else {
                kind(cell)?
            };
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, places)) => places.push(place),
                None => kinds.push((kind, vec![place])),
            }
        }
        let mut parts = Vec::new();
        let mut order = vec![0; cells.len()];
        let mut start = 0;
        for (kind, places) in &kinds {
            let group: Vec<Cell> = places.iter().map(|&place| cells[place].clone()).collect();
            let made = match kind.as_str() {
                "simple" => self.emit_simple(to, &group)?,
                "yeo-johnson" => {
                    let raw = places.iter().map(|place| powers[place].1.clone());
                    let raw = self.emit_simple(to, &raw.collect::<Vec<_>>())?;
                    let lambda = places.iter().map(|place| powers[place].0).collect();
                    let features = places.len();
                    to.add_with(
                        Form::YeoJohnson { features },
                        &[&raw],
                        vec![1, features],
                        vec![("lambda", vec![features], lambda)],
                    )?
                }
                _ => self.emit_group(to, &group)?,
            };
            for (at, &place) in places.iter().enumerate() {
                order[place] = start + at;
            }
            start += places.len();
            parts.push(made);
        }
        let all: Vec<&Made> = parts.iter().collect();
        let joined = if let [only] = all[..] {
            only.clone()
        } else {
            to.add(Form::Concatenate, &all, vec![1, start])?
        };
        to.gathered(&joined, vec![1, cells.len()], &order)
    }

    /// What a cell is of encoded features: the weight of each, and a constant; if that is all it is.
    fn weights(&self, cell: &Cell) -> Option<(Vec<(usize, f64)>, f64)> {
        if let Cell::Constant(value) = cell {
            return Some((Vec::new(), *value));
        }
        let column = cell.column()?;
        let (known, first) = (self.known.get(&column)?, *self.first.get(&column)?);
        match (known, cell) {
            (
                Known::Category { .. },
                Cell::Lookup {
                    keys: own,
                    values,
                    otherwise,
                    ..
                },
            ) => {
                let places = self.groups.get(&column)?;
                let listed = own.iter().zip(values.iter());
                let mut weights: Vec<(usize, f64)> = listed
                    .filter_map(|(key, value)| {
                        let place = places.get(&key.text())?;
                        Some((first + place, value - otherwise))
                    })
                    .collect();
                // A value that is listed twice counts as it is listed first.
                weights.sort_by_key(|(place, _)| *place);
                weights.dedup_by_key(|(place, _)| *place);
                weights.retain(|(_, weight)| *weight != 0.0);
                Some((weights, *otherwise))
            }
            (
                Known::Number {
                    indicator: true, ..
                },
                Cell::Unary(operator, _),
            ) if &**operator == "IsNaN" => Some((vec![(first + 1, 1.0)], 0.0)),
            (
                Known::Number {
                    offset,
                    factor,
                    stands_in,
                    ..
                },
                _,
            ) => {
                let Line {
                    slope,
                    shift,
                    stands_in: own,
                    ..
                } = cell.line()?;
                if own.is_some() && own != *stands_in {
                    return None;
                }
                let (weight, rest) = (slope * factor, slope * offset + shift);
                let size = (slope * offset).abs().max(shift.abs()).max(1.0);
                let weight = if (weight - 1.0).abs() < SAME {
                    1.0
                } else {
                    weight
                };
                let rest = if rest.abs() < SAME * size { 0.0 } else { rest };
                Some((vec![(first, weight)], rest))
            }
            _ => None,
        }
    }

    #[expect(clippy::float_cmp, reason = "a weight of exactly one needs no layer")]
    fn emit_simple(&self, to: &mut Lowering<'_>, cells: &[Cell]) -> Result<Made> {
        let input = Made {
            place: Place::Block(self.block),
            dims: vec![1, self.features],
        };
        let weights: Vec<_> = cells.iter().filter_map(|cell| self.weights(cell)).collect();
        if weights.len() != cells.len() {
            return Err(OnnxError::Refused {
                problem: "a column is filled in differently in two places".to_owned(),
                instead: "fill in each column once".to_owned(),
            });
        }
        let is_picked = weights.iter().all(|(weights, _)| weights.len() == 1);
        if is_picked {
            let places: Vec<usize> = weights.iter().map(|(weights, _)| weights[0].0).collect();
            let picked = to.gathered(&input, vec![1, cells.len()], &places)?;
            if weights
                .iter()
                .all(|(weights, rest)| weights[0].1 == 1.0 && *rest == 0.0)
            {
                return Ok(picked);
            }
            let scale: Vec<f64> = weights.iter().map(|(weights, _)| weights[0].1).collect();
            let shift: Vec<f64> = weights.iter().map(|(_, rest)| *rest).collect();
            return to.affine(&picked, &scale, &shift, None);
        }
        if cells.len().saturating_mul(self.features) > MOST_WEIGHTS {
            return Err(OnnxError::Refused {
                problem: format!(
                    "categories become {} numbers of {} values",
                    cells.len(),
                    self.features
                ),
                instead: "use fewer categories".to_owned(),
            });
        }
        let mut matrix = vec![0.0; cells.len() * self.features];
        for (row, (weights, _)) in weights.iter().enumerate() {
            for (feature, weight) in weights {
                matrix[row * self.features + feature] = *weight;
            }
        }
        let bias = weights.iter().map(|(_, rest)| *rest).collect();
        to.dense(&input, matrix, bias)
    }

    /// Cells of one operator.
    fn emit_group(&self, to: &mut Lowering<'_>, cells: &[Cell]) -> Result<Made> {
        let node = Node::of_columns();
        let inner = |pick: &dyn Fn(&Cell) -> Option<Cell>| -> Vec<Cell> {
            cells.iter().filter_map(pick).collect()
        };
        match &cells[0] {
            Cell::Unary(operator, _) => {
                let of = inner(&|cell| match cell {
                    Cell::Unary(_, of) => Some((**of).clone()),
                    _ => None,
                });
                let made = self.emit(to, &of)?;
                to.function(&node, operator, &made)
            }
            Cell::Clip { least, most, .. } => {
                let of = inner(&|cell| match cell {
                    Cell::Clip { of, .. } => Some((**of).clone()),
                    _ => None,
                });
                let made = self.emit(to, &of)?;
                to.clipped(&made, *least, *most)
            }
            Cell::Binary(operator, ..) => {
                let a = inner(&|cell| match cell {
                    Cell::Binary(_, a, _) => Some((**a).clone()),
                    _ => None,
                });
                let b = inner(&|cell| match cell {
                    Cell::Binary(_, _, b) => Some((**b).clone()),
                    _ => None,
                });
                if let ("Pow", Cell::Constant(exponent)) = (&**operator, &b[0]) {
                    // One exponent for all of them, so that what is below zero may be squared.
                    let made = self.emit(to, &a)?;
                    return to.power(&made, &[*exponent]);
                }
                let (a, b) = (self.emit(to, &a)?, self.emit(to, &b)?);
                to.of_two(&node, operator, &a, &b)
            }
            _ => Err(no_gradient()),
        }
    }
}

/// The name of what a cell computes last, the same for cells that one layer can compute.
fn kind(cell: &Cell) -> Result<String> {
    match cell {
        Cell::Unary(operator, _) if !matches!(&**operator, "IsNaN" | "Not" | "ToWhole") => {
            Ok(operator.to_string())
        }
        Cell::Clip { least, most, .. } => Ok(format!("clip {least} {most}")),
        Cell::Binary(operator, _, b)
            if matches!((&**operator, &**b), ("Pow", Cell::Constant(_))) =>
        {
            Ok(format!("{operator} {b:?}"))
        }
        Cell::Binary(operator, ..)
            if matches!(
                &**operator,
                "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Max" | "Min"
            ) =>
        {
            Ok(operator.to_string())
        }
        _ => Err(no_gradient()),
    }
}
