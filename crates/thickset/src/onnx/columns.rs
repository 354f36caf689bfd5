//! Cells of columns taken apart: into an encoding (what stands in for a missing number, offset and scale, the values of a
//! category) and the layers that are left between encoded features and what the graph goes on with.

use std::collections::{BTreeMap, BTreeSet};

use thickset_engine::layer::Form;

use super::cell::{Cell, Key, Line};
use super::lower::{Block, Lowering, Made, Place};
use super::problem::{OnnxError, Result, WITHOUT_GRADIENT};
use super::read::Node;
use crate::data::{CategoryRule, ColumnEncoding, Group, NumberEncoding, Unseen};

/// Weights of a layer that makes numbers of categories: more would be no table.
const MOST_WEIGHTS: usize = 1 << 24;

/// What an encoded feature differs from the graph's number by, relative to its size, and is still called the same: rounding.
const SAME: f64 = 1e-6;

/// How a column of numbers is scaled and how far it reaches, as its data says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnScale {
    /// Encoded = (value - `offset`) / `factor`.
    pub offset: f64,
    /// See `offset`; positive.
    pub factor: f64,
    /// The least value of the data.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// All values are whole numbers.
    pub integer: bool,
}

/// What is known of a column from all cells of it.
#[derive(Clone, Debug)]
enum Known {
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

/// The columns that the graph reads, encoded.
pub(super) struct Front {
    /// By the number of the raw column.
    known: BTreeMap<usize, Known>,
    /// The first feature of each column.
    first: BTreeMap<usize, usize>,
    features: usize,
    /// Where encoded features come from while layers are made.
    block: usize,
}

impl Front {
    /// Looks at all cells, and decides how each column is encoded. `names` and `scales` are by raw column.
    pub(super) fn new(
        to: &mut Lowering<'_>,
        names: &[String],
        scales: &BTreeMap<String, ColumnScale>,
    ) -> Result<Self> {
        let blocks: Vec<Vec<Cell>> = to
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Cells(cells) => Some(cells.clone()),
                Block::Image => None,
            })
            .collect();
        let mut known = BTreeMap::new();
        for cell in blocks.iter().flatten() {
            learn(cell, &mut known, names)?;
        }
        for (column, known) in &mut known {
            if let (Known::Number { offset, factor, .. }, Some(scale)) =
                (known, scales.get(&names[*column]))
            {
                (*offset, *factor) = (scale.offset, scale.factor);
            }
        }
        let (mut first, mut features) = (BTreeMap::new(), 0);
        for (&column, known) in &known {
            first.insert(column, features);
            features += match known {
                Known::Number { indicator, .. } => 1 + usize::from(*indicator),
                Known::Category { keys } => groups(keys).len(),
            };
        }
        if features == 0 {
            return Err(OnnxError::Refused {
                problem: "the output does not depend on any input".to_owned(),
                instead: String::new(),
            });
        }
        to.blocks
            .push(Block::Cells(vec![Cell::Constant(0.0); features]));
        Ok(Self {
            known,
            first,
            features,
            block: to.blocks.len() - 1,
        })
    }

    pub(super) fn features(&self) -> usize {
        self.features
    }

    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// Whether a column of numbers has a scale neither in the graph nor given.
    pub(super) fn wants_scale(
        &self,
        names: &[String],
        scales: &BTreeMap<String, ColumnScale>,
    ) -> bool {
        self.known.iter().any(|(column, known)| {
            matches!(
                known,
                Known::Number {
                    is_scaled: false,
                    ..
                }
            ) && !scales.contains_key(&names[*column])
        })
    }

    /// The encodings of the columns, in the order of features.
    pub(super) fn encodings(
        &self,
        names: &[String],
        scales: &BTreeMap<String, ColumnScale>,
    ) -> Vec<ColumnEncoding> {
        let encoding = |(column, known): (&usize, &Known)| {
            let name = names[*column].clone();
            match known {
                Known::Number {
                    offset,
                    factor,
                    stands_in,
                    indicator,
                    ..
                } => {
                    let scale = scales.get(&name);
                    // Without data the range is open; it reaches as far as single precision has numbers to spare.
                    let (low, high) = scale
                        .map_or((offset - factor * 1e30, offset + factor * 1e30), |scale| {
                            (scale.low, scale.high)
                        });
                    ColumnEncoding::Number(NumberEncoding {
                        column: name.clone(),
                        name,
                        unit: None,
                        low,
                        high,
                        clip: false,
                        offset: *offset,
                        factor: *factor,
                        impute: stands_in.unwrap_or(*offset),
                        indicator: *indicator,
                        integer: scale.is_some_and(|scale| scale.integer),
                        immutable: false,
                        required: stands_in.is_none() && !indicator,
                    })
                }
                Known::Category { keys } => ColumnEncoding::Category(CategoryRule {
                    column: name,
                    unseen: Unseen::Zero,
                    other: None,
                    groups: groups(keys),
                    immutable: false,
                }),
            }
        };
        self.known.iter().map(encoding).collect()
    }

    /// Layers that make these cells of the encoded features.
    pub(super) fn emit(&self, to: &mut Lowering<'_>, cells: &[Cell]) -> Result<Made> {
        let simple = |cell: &Cell| self.weights(cell).is_some();
        if cells.iter().all(simple) {
            return self.emit_simple(to, cells);
        }
        // Cells of one form become one tensor; the forms are joined and put in order.
        let mut kinds: Vec<(String, Vec<usize>)> = Vec::new();
        let mut powers = BTreeMap::new();
        for (place, cell) in cells.iter().enumerate() {
            let kind = if simple(cell) {
                "simple".to_owned()
            } else if let Some(power) = yeo_johnson(cell) {
                powers.insert(place, power);
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
                    let raw: Vec<Cell> = group
                        .iter()
                        .filter_map(|cell| cell.column().map(Cell::Column))
                        .collect();
                    let raw = self.emit_simple(to, &raw)?;
                    let lambda = places.iter().map(|place| powers[place]).collect();
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
                Known::Category { keys },
                Cell::Lookup {
                    keys: own,
                    values,
                    otherwise,
                    ..
                },
            ) => {
                let groups = groups(keys);
                let weights = groups.iter().enumerate().filter_map(|(place, group)| {
                    let member = &group.members()[0];
                    let at = own.iter().position(|key| key.text() == *member)?;
                    let weight = values[at] - otherwise;
                    (weight != 0.0).then_some((first + place, weight))
                });
                Some((weights.collect(), *otherwise))
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

fn no_gradient() -> OnnxError {
    OnnxError::Refused {
        problem: "a column becomes steps (bins, comparisons, or a missing value that counts as a number of its own), which have no gradient".to_owned(),
        instead: format!("encode the column as a category before the model, or {WITHOUT_GRADIENT}"),
    }
}

/// Learns from a cell how its column is encoded.
fn learn(cell: &Cell, known: &mut BTreeMap<usize, Known>, names: &[String]) -> Result<()> {
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
        for key in keys.iter() {
            if !all.contains(key) {
                all.push(key.clone());
            }
        }
        return Ok(());
    }
    let is_power = yeo_johnson(cell).is_some();
    let line = if is_power {
        cell.column().and_then(|column| Cell::Column(column).line())
    } else {
        cell.line()
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
fn groups(keys: &[Key]) -> Vec<Group> {
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

/// The power, if the cell is the transform of Yeo and Johnson of its column; judged by its values, since exporters write it in
/// several ways.
fn yeo_johnson(cell: &Cell) -> Option<f64> {
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
    let is_it = |lambda: f64| {
        AT.iter().all(|&x| {
            let expected = transform(x, lambda);
            (cell.value(x) - expected).abs() <= CLOSE * expected.abs().max(1.0)
        })
    };
    candidates.into_iter().find(|&lambda| is_it(lambda))
}
