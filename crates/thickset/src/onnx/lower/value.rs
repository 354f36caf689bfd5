//! What a name of the graph stands for while it is lowered: a constant, cells of columns, or a tensor that a layer makes.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use thickset_engine::layer::Form;

use super::turned::Turned;
use crate::onnx::array::Array;
use crate::onnx::cell::Cell;

/// What a layer reads: cells of columns, the image, or another layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::onnx) enum Place {
    /// The block of cells with this number.
    Block(usize),
    /// The layer at this place.
    Layer(usize),
}

/// A layer that was made of operators, and its weights.
#[derive(Clone, Debug)]
pub(in crate::onnx) struct MadeLayer {
    pub(in crate::onnx) form: Form,
    pub(in crate::onnx) inputs: Vec<Place>,
    /// By name: sizes and numbers.
    pub(in crate::onnx) weights: Vec<(&'static str, Vec<usize>, Vec<f64>)>,
    /// Numbers of its output.
    pub(in crate::onnx) features: usize,
}

/// Numbers that a layer makes for each row. The first size counts how many of them a row has along the axis of rows, mostly 1.
#[derive(Clone, Debug)]
pub(in crate::onnx) struct Made {
    pub(in crate::onnx) place: Place,
    pub(in crate::onnx) dims: Vec<usize>,
}

impl Made {
    pub(in crate::onnx) fn features(&self) -> usize {
        self.dims.iter().product()
    }
}

/// Cells of columns, laid out as a tensor.
#[derive(Clone, Debug)]
pub(in crate::onnx) struct Cells {
    pub(in crate::onnx) cells: Vec<Cell>,
    pub(in crate::onnx) dims: Vec<usize>,
}

/// A value of the graph.
#[derive(Clone, Debug)]
pub(in crate::onnx) enum Value {
    Constant(Rc<Array>),
    Cells(Rc<Cells>),
    Tensor(Made),
    /// True where the numbers of the tensor are positive.
    Mask(Made),
    /// Rows that are not at the first axis.
    Turned(Turned),
}

/// A column of the table that the graph reads.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::onnx) struct RawColumn {
    /// The input it belongs to, and its place in it.
    pub(in crate::onnx) input: usize,
    pub(in crate::onnx) place: usize,
    pub(in crate::onnx) is_text: bool,
    pub(in crate::onnx) is_whole: bool,
}

/// What comes before the first layer.
#[derive(Clone, Debug)]
pub(in crate::onnx) enum Block {
    Cells(Vec<Cell>),
    /// The whole image, as the graph lays it out.
    Image,
}

/// The layout of an image input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::onnx) struct Image {
    pub(in crate::onnx) channels: usize,
    pub(in crate::onnx) height: usize,
    pub(in crate::onnx) width: usize,
    /// Channels stand last, as Keras has them.
    pub(in crate::onnx) channels_last: bool,
}

/// What an input of these sizes is, if it is an image.
pub(in crate::onnx) fn image(sizes: &[usize]) -> Option<Image> {
    let is_channels = |size: usize| size == 1 || size == 3;
    match *sizes {
        [1, channels, height, width] if is_channels(channels) => Some(Image {
            channels,
            height,
            width,
            channels_last: false,
        }),
        [1, height, width, channels] if is_channels(channels) => Some(Image {
            channels,
            height,
            width,
            channels_last: true,
        }),
        _ => None,
    }
}
