//! Cells of columns taken apart: into an encoding (what stands in for a missing number, offset and scale, the values of a
//! category); the layers that are left are in [`super::emit`].

use std::collections::{BTreeMap, HashMap};

use super::cell::Cell;
use super::column_kind::{Known, groups, learn};
use super::lower::{Block, Lowering};
use super::problem::{OnnxError, Result};
use crate::data::{CategoryRule, ColumnEncoding, Group, NumberEncoding, Unseen};

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

/// The columns that the graph reads, encoded.
pub(super) struct Front {
    /// By the number of the raw column.
    pub(super) known: BTreeMap<usize, Known>,
    /// The first feature of each column.
    pub(super) first: BTreeMap<usize, usize>,
    pub(super) features: usize,
    /// Of each column of categories, the place of the group that each value leads.
    pub(super) groups: BTreeMap<usize, HashMap<String, usize>>,
    /// Where encoded features come from while layers are made.
    pub(super) block: usize,
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
        let mut leaders = BTreeMap::new();
        for (&column, known) in &known {
            first.insert(column, features);
            features += match known {
                Known::Number { indicator, .. } => 1 + usize::from(*indicator),
                Known::Category { keys } => {
                    let groups = groups(keys);
                    let all = groups.iter().enumerate();
                    let leader =
                        |(place, group): (usize, &Group)| (group.members().swap_remove(0), place);
                    leaders.insert(column, all.map(leader).collect());
                    groups.len()
                }
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
            groups: leaders,
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
}
