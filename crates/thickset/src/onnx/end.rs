//! The front of columns or the image before the layers, and the network that both become.

use std::collections::BTreeMap;

use thickset_engine::DType;
use thickset_engine::layer::Form;

use super::assemble::{Assembled, assemble};
use super::cell::Cell;
use super::columns::{ColumnScale, Front};
use super::head;
use super::lower::{Block, Lowering, Made, Place};
use super::problem::{OnnxError, Result};
use crate::Seed;
use crate::data::InputShape;
use crate::model::ModelConfig;

/// What a lowering ends in.
pub(super) struct Ended {
    pub(super) assembled: Assembled,
    /// Of a table.
    pub(super) front: Option<Front>,
    pub(super) input: InputShape,
    pub(super) features: usize,
    /// What white is in the graph's own pixels.
    pub(super) white: f64,
}

/// Puts the front before the layers.
pub(super) fn end(
    to: &mut Lowering<'_>,
    end: Place,
    names: &[String],
    scales: &BTreeMap<String, ColumnScale>,
) -> Result<Ended> {
    if let Some(image) = to.image {
        let features = image.channels * image.height * image.width;
        let white = white(to);
        to.blocks
            .push(Block::Cells(vec![Cell::Constant(0.0); features]));
        let input = to.blocks.len() - 1;
        let mut made = Made {
            place: Place::Block(input),
            dims: vec![1, features],
        };
        if image.channels_last {
            let pixels = image.height * image.width;
            let places: Vec<usize> = (0..features)
                .map(|at| (at % image.channels) * pixels + at / image.channels)
                .collect();
            made = to.gathered(&made, vec![1, features], &places)?;
        }
        if white > 1.0 {
            made = to.affine(&made, &[white], &[0.0], None)?;
        }
        let mut fronts = vec![None; to.blocks.len()];
        fronts[0] = Some(made.place);
        return Ok(Ended {
            assembled: assemble(to, &fronts, input, end)?,
            front: None,
            input: InputShape::Image {
                channels: image.channels,
                height: image.height,
                width: image.width,
            },
            features,
            white,
        });
    }
    let front = Front::new(to, names, scales)?;
    let mut fronts = vec![None; to.blocks.len()];
    for (block, place) in fronts.iter_mut().enumerate().take(front.block()) {
        if let Block::Cells(cells) = to.blocks[block].clone() {
            *place = Some(front.emit(to, &cells)?.place);
        }
    }
    Ok(Ended {
        assembled: assemble(to, &fronts, front.block(), end)?,
        input: InputShape::Table,
        features: front.features(),
        front: Some(front),
        white: 1.0,
    })
}

/// What white is in the graph's own pixels: 255 where the first thing it does is to divide by about as much, else 1.
pub(super) fn white(to: &Lowering<'_>) -> f64 {
    /// A scale below this can only be meant for pixels of 0 to 255.
    const OF_BYTES: f64 = 0.05;
    let mut readers = to
        .layers
        .iter()
        .filter(|layer| layer.inputs.contains(&Place::Block(0)));
    let (Some(first), None) = (readers.next(), readers.next()) else {
        return 1.0;
    };
    let scale = first.weights.iter().find(|(name, ..)| *name == "weight");
    let is_scale = matches!(first.form, Form::ChannelAffine { .. });
    match scale {
        Some((_, _, values)) if is_scale && values.iter().all(|value| value.abs() < OF_BYTES) => {
            255.0
        }
        _ => 1.0,
    }
}

/// Whether the numbers at a place are probabilities for every one of some made-up rows, whose features go as far as `reach`.
pub(super) fn are_probabilities(
    mut to: Lowering<'_>,
    place: Place,
    names: &[String],
    reach: f64,
) -> Result<bool> {
    /// Rows that are looked at, how much work they may be, the numbers that a layer may make of them whatever the file, and how far
    /// a sum may be from one.
    const ROWS: usize = 24;
    const MOST_STEPS: usize = 1 << 34;
    const LEAST_NUMBERS: usize = 1 << 19;
    const CLOSE: f64 = 1e-3;
    let classes = to.features(place);
    let is_affine = head::dense(&to, place).is_some();
    let ended = end(&mut to, place, names, &BTreeMap::new())?;
    // Few rows of a large network; none of one that would take minutes, or far more memory than its file.
    let numbers = to
        .graph
        .held
        .saturating_mul(2)
        .saturating_add(LEAST_NUMBERS);
    let most = (numbers / ended.assembled.widest.max(1)).min(ROWS);
    if most == 0 && !is_affine {
        return Err(OnnxError::Refused {
            problem: format!(
                "whether the output is probabilities or scores is not written in the graph, and a layer makes {} numbers of each row, \
                 too many for so small a file to be tried",
                ended.assembled.widest
            ),
            instead: "export the model with a softmax or a sigmoid at its end, or with the scores of a linear layer".to_owned(),
        });
    }
    let rows = (MOST_STEPS / ended.assembled.steps.max(1)).min(most);
    if rows == 0 {
        return Ok(false);
    }
    let mut source = ended.assembled.weights;
    // Far from any training row scores are large, and their rounding in single precision larger than any probability.
    source.dtype = DType::F64;
    let model = ModelConfig::from(ended.assembled.graph);
    let Ok(network) = model.network(&ended.input, ended.features, classes, &mut source) else {
        return Ok(false);
    };
    let mut stream = Seed::new(0).stream("onnx-head");
    // Every other row above zero, where logarithms and powers are numbers too.
    let values: Vec<f64> = (0..rows * ended.features)
        .map(|at| {
            let drawn = stream.uniform() * 2.0 - 0.5;
            let is_above = at / ended.features % 2 == 1;
            reach * if is_above { drawn.abs() } else { drawn }
        })
        .collect();
    let made = crate::host::read(network.logits(network.batch(&values)));
    let is_number = |row: &&[f64]| row.iter().all(|value| value.is_finite());
    let mut computed = made.chunks(classes).filter(is_number).peekable();
    Ok(computed.peek().is_some()
        && computed.all(|row| {
            let sum: f64 = row.iter().sum();
            row.iter().all(|&value| value >= -1e-6) && (sum - 1.0).abs() < CLOSE
        }))
}
