//! The inputs of a graph as columns or as an image.

use std::rc::Rc;

use super::value::image;
use super::{Block, Cells, Lowering, Made, Place, RawColumn, Value};
use crate::onnx::cell::Cell;
use crate::onnx::problem::{OnnxError, Result, broken};
use crate::onnx::proto::element;
use crate::onnx::read::Input;

/// The most numbers of a row that comes in, more than an image of 1024 x 1024 pixels has: each gets a name and a place.
const MOST_INPUTS: usize = 1 << 22;

impl<'g> Lowering<'g> {
    pub(super) fn add_input(&mut self, place: usize, input: &'g Input) -> Result<()> {
        let name = &input.name;
        let is_text = input.element == element::STRING;
        let is_whole = matches!(input.element, 2..=7 | element::BOOL | 12 | 13);
        if !(is_text || is_whole || matches!(input.element, element::FLOAT | element::DOUBLE)) {
            return Err(OnnxError::Refused {
                problem: format!("input `{name}` is of {}", element::name(input.element)),
                instead: "export the model in single precision (float32)".to_owned(),
            });
        }
        self.is_double |= input.element == element::DOUBLE;
        let dims = input.dims.clone().ok_or_else(|| OnnxError::Refused {
            problem: format!("input `{name}` does not say its sizes"),
            instead: "export the model with the sizes of its inputs".to_owned(),
        })?;
        let (rows, rest) = dims
            .split_first()
            .map_or((None, &[][..]), |(rows, rest)| (*rows, rest));
        if let ([Some(size)], 1) = (&dims[..], self.graph.inputs.len())
            && *size > 1
        {
            return Err(OnnxError::Refused {
                problem: format!(
                    "input `{name}` is one row of {size} numbers, without an axis of rows"
                ),
                instead: "export the model with a batch, whose first axis is the rows".to_owned(),
            });
        }
        // A column without a second axis may have its only size fixed or not; with one, only the first may vary.
        let mut sizes = vec![1];
        for size in rest {
            let Some(size) = size else {
                return Err(OnnxError::Refused {
                    problem: format!("input `{name}` varies in more than its number of rows"),
                    instead: "export the model with fixed sizes but for the first axis".to_owned(),
                });
            };
            sizes.push(*size);
        }
        if rows == Some(1) && graph_rows_differ(&self.graph.inputs, place) {
            return Err(OnnxError::Refused {
                problem: format!(
                    "input `{name}` is the same for all rows, an extra input beside the data"
                ),
                instead: "export the model with such numbers as constants inside".to_owned(),
            });
        }
        self.fixed_rows = self.fixed_rows.or(rows);
        let count = sizes
            .iter()
            .fold(1_usize, |product, &size| product.saturating_mul(size));
        if count > MOST_INPUTS {
            return Err(broken(format!(
                "input `{name}` has the sizes {dims:?}, more than {MOST_INPUTS} numbers a row"
            )));
        }
        if let Some(image) = image(&sizes).filter(|_| self.graph.inputs.len() == 1 && !is_text) {
            self.image = Some(image);
            self.blocks.push(Block::Image);
            let made = Made {
                place: Place::Block(0),
                dims: sizes,
            };
            self.values.insert(name.clone(), Value::Tensor(made));
            return Ok(());
        }
        let first = self.columns.len();
        super::check_cells(&[first.saturating_add(count)])?;
        self.room.keep(count.saturating_mul(super::CELL))?;
        self.columns.extend((0..count).map(|at| RawColumn {
            input: place,
            place: at,
            is_text,
            is_whole,
        }));
        let cell = |column| {
            if is_text {
                Cell::Text {
                    column,
                    replaced: Vec::new(),
                }
            } else {
                Cell::Column(column)
            }
        };
        let cells = Cells {
            cells: (first..first + count).map(cell).collect(),
            dims: sizes,
        };
        self.values
            .insert(name.clone(), Value::Cells(Rc::new(cells)));
        Ok(())
    }
}

impl Lowering<'_> {
    /// Makes input features of cells.
    pub(in crate::onnx) fn materialise(&mut self, cells: &Cells) -> Result<Made> {
        if cells.cells.is_empty() {
            return Err(broken("nothing is left of a row's numbers"));
        }
        for cell in &cells.cells {
            if matches!(cell, Cell::Text { .. }) {
                return Err(OnnxError::Refused {
                    problem: "a column of texts is read as numbers".to_owned(),
                    instead: "encode the column in the pipeline, for instance with a OneHotEncoder"
                        .to_owned(),
                });
            }
        }
        let constants = cells.cells.iter().map(|cell| match cell {
            Cell::Constant(value) => Some(*value),
            _ => None,
        });
        let image = self
            .blocks
            .iter()
            .position(|block| matches!(block, Block::Image));
        if let (Some(values), Some(image)) = (constants.collect::<Option<Vec<f64>>>(), image) {
            // The same for every image, such as the token that stands for a class.
            let place = Place::Block(image);
            let like = Made {
                place,
                dims: vec![1, self.features(place)],
            };
            return self.constant_layer(&like, cells.dims.clone(), values);
        }
        let known = self
            .blocks
            .iter()
            .position(|block| matches!(block, Block::Cells(known) if *known == cells.cells));
        let block = known.unwrap_or_else(|| {
            self.blocks.push(Block::Cells(cells.cells.clone()));
            self.blocks.len() - 1
        });
        Ok(Made {
            place: Place::Block(block),
            dims: cells.dims.clone(),
        })
    }
}

/// Whether an input of one row stands beside inputs of many.
fn graph_rows_differ(inputs: &[Input], place: usize) -> bool {
    let rows = |input: &Input| {
        input
            .dims
            .as_ref()
            .and_then(|dims| dims.first().copied().flatten())
    };
    place > 0 && inputs.first().is_some_and(|first| rows(first) != Some(1))
}
