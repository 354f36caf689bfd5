//! From operators to layers. Each family of operators is one file; a value is a constant, cells of columns, or a tensor that a
//! layer makes.

mod activation;
mod arithmetic;
mod convolution;
mod learned;
mod matrix;
mod normalise;
mod pooling;
mod reduce;
mod shape;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use thickset_engine::layer::Form;

use super::array::{Array, BATCH};
use super::cell::Cell;
use super::fold::{fold, shape_part};
use super::problem::{OnnxError, Result, WITHOUT_GRADIENT, broken};
use super::proto::element;
use super::read::{Graph, Input, Node};

/// What a layer reads: cells of columns, the image, or another layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The block of cells with this number.
    Block(usize),
    /// The layer at this place.
    Layer(usize),
}

/// A layer that was made of operators, and its weights.
#[derive(Clone, Debug)]
pub(super) struct MadeLayer {
    pub(super) form: Form,
    pub(super) inputs: Vec<Place>,
    /// By name: sizes and numbers.
    pub(super) weights: Vec<(&'static str, Vec<usize>, Vec<f64>)>,
    /// Numbers of its output.
    pub(super) features: usize,
}

/// Numbers that a layer makes for each row. The first size counts how many of them a row has along the axis of rows, mostly 1.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) place: Place,
    pub(super) dims: Vec<usize>,
}

impl Made {
    pub(super) fn features(&self) -> usize {
        self.dims.iter().product()
    }
}

/// Cells of columns, laid out as a tensor.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub(super) cells: Vec<Cell>,
    pub(super) dims: Vec<usize>,
}

/// A value of the graph.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Constant(Rc<Array>),
    Cells(Rc<Cells>),
    Tensor(Made),
    /// True where the numbers of the tensor are positive.
    Mask(Made),
}

/// A column of the table that the graph reads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawColumn {
    /// The input it belongs to, and its place in it.
    pub(super) input: usize,
    pub(super) place: usize,
    pub(super) is_text: bool,
    pub(super) is_whole: bool,
}

/// What comes before the first layer.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Cells(Vec<Cell>),
    /// The whole image, as the graph lays it out.
    Image,
}

/// The layout of an image input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Image {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    /// Channels stand last, as Keras has them.
    pub(super) channels_last: bool,
}

/// The network as it grows.
#[derive(Clone)]
pub(super) struct Lowering<'g> {
    pub(super) graph: &'g Graph,
    values: HashMap<&'g str, Value>,
    pub(super) layers: Vec<MadeLayer>,
    pub(super) blocks: Vec<Block>,
    pub(super) columns: Vec<RawColumn>,
    pub(super) image: Option<Image>,
    pub(super) is_double: bool,
    /// The number of rows, where the file fixes it.
    fixed_rows: Option<usize>,
}

/// Rows of more numbers than this are refused before anything is made of them.
const MOST_FEATURES: usize = 1 << 24;

impl<'g> Lowering<'g> {
    pub(super) fn new(graph: &'g Graph) -> Result<Self> {
        let mut lowering = Self {
            graph,
            values: HashMap::new(),
            layers: Vec::new(),
            blocks: Vec::new(),
            columns: Vec::new(),
            image: None,
            is_double: false,
            fixed_rows: None,
        };
        for (place, input) in graph.inputs.iter().enumerate() {
            lowering.add_input(place, input)?;
        }
        Ok(lowering)
    }

    fn add_input(&mut self, place: usize, input: &'g Input) -> Result<()> {
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
        if count > MOST_FEATURES {
            return Err(broken(format!(
                "input `{name}` has the sizes {dims:?}, more than {MOST_FEATURES} numbers a row"
            )));
        }
        if let Some(image) = image(&sizes).filter(|_| self.graph.inputs.len() == 1 && !is_text) {
            self.image = Some(image);
            self.blocks.push(Block::Image);
            let made = Made {
                place: Place::Block(0),
                dims: sizes,
            };
            self.values.insert(name, Value::Tensor(made));
            return Ok(());
        }
        let first = self.columns.len();
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
        self.values.insert(name, Value::Cells(Rc::new(cells)));
        Ok(())
    }

    /// Lowers everything that a value depends on, and the value.
    pub(super) fn lower(&mut self, output: &str) -> Result<Value> {
        let mut wanted: HashSet<&str> = HashSet::from([output]);
        let mut needed = Vec::new();
        for node in self.graph.nodes.iter().rev() {
            if node
                .outputs
                .iter()
                .any(|made| wanted.contains(made.as_str()))
            {
                wanted.extend(node.inputs.iter().map(String::as_str));
                needed.push(node);
            }
        }
        for node in needed.into_iter().rev() {
            if node
                .outputs
                .iter()
                .any(|made| self.values.contains_key(made.as_str()))
            {
                continue;
            }
            let made = self.node(node)?;
            for (name, value) in node.outputs.iter().zip(made) {
                self.values.insert(name, value);
            }
        }
        self.find(output)
    }

    /// A value by its name.
    pub(super) fn find(&mut self, name: &str) -> Result<Value> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        match self.graph.constant(name) {
            Some(array) => Ok(Value::Constant(Rc::new(array?))),
            None => Err(broken(format!("`{name}` is read before it is made"))),
        }
    }

    /// An input of a node.
    pub(super) fn input(&mut self, node: &Node, place: usize) -> Result<Value> {
        let name = node.input(place);
        let name = name.ok_or_else(|| node.broken(format!("input {place} is missing")))?;
        let name = name.to_owned();
        self.find(&name)
    }

    /// An input that must be a constant, if there is one.
    pub(super) fn constant(&mut self, node: &Node, place: usize) -> Result<Option<Rc<Array>>> {
        if node.input(place).is_none() {
            return Ok(None);
        }
        match self.input(node, place)? {
            Value::Constant(array) => Ok(Some(array)),
            _ => Err(node.unsupported(
                format!(
                    "its input `{}` is computed from the row, and must be a constant here",
                    node.inputs[place]
                ),
                "",
            )),
        }
    }

    /// An input that is computed from the row, as a tensor.
    pub(super) fn tensor(&mut self, node: &Node, place: usize) -> Result<Made> {
        let value = self.input(node, place)?;
        self.made(node, value)
    }

    /// A value as a tensor.
    pub(super) fn made(&mut self, node: &Node, value: Value) -> Result<Made> {
        match value {
            Value::Tensor(made) => Ok(made),
            Value::Cells(cells) => self.materialise(&cells),
            Value::Mask(_) => Err(node.unsupported(
                "it reads true and false that are computed from the row: a step function has no gradient",
                WITHOUT_GRADIENT,
            )),
            Value::Constant(_) => Err(node.unsupported("it reads a constant where a row's numbers are expected", "")),
        }
    }

    /// Makes input features of cells.
    pub(super) fn materialise(&mut self, cells: &Cells) -> Result<Made> {
        for cell in &cells.cells {
            if matches!(cell, Cell::Text { .. }) {
                return Err(OnnxError::Refused {
                    problem: "a column of texts is read as numbers".to_owned(),
                    instead: "encode the column in the pipeline, for instance with a OneHotEncoder"
                        .to_owned(),
                });
            }
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

    pub(super) fn features(&self, place: Place) -> usize {
        match place {
            Place::Layer(layer) => self.layers[layer].features,
            Place::Block(block) => match &self.blocks[block] {
                Block::Cells(cells) => cells.len(),
                Block::Image => self
                    .image
                    .map_or(0, |image| image.channels * image.height * image.width),
            },
        }
    }

    /// Adds a layer with weights.
    pub(super) fn add_with(
        &mut self,
        form: Form,
        inputs: &[&Made],
        dims: Vec<usize>,
        weights: Vec<(&'static str, Vec<usize>, Vec<f64>)>,
    ) -> Result<Made> {
        let features = dims
            .iter()
            .fold(1_usize, |product, &size| product.saturating_mul(size));
        if features == 0 || features > MOST_FEATURES {
            return Err(broken(format!(
                "a layer would make the sizes {dims:?} for each row"
            )));
        }
        for (name, _, values) in &weights {
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(broken(format!(
                    "the {name} of a layer holds {value}; weights must be finite"
                )));
            }
        }
        self.layers.push(MadeLayer {
            form,
            inputs: inputs.iter().map(|made| made.place).collect(),
            weights,
            features,
        });
        Ok(Made {
            place: Place::Layer(self.layers.len() - 1),
            dims,
        })
    }

    /// Adds a layer without weights.
    pub(super) fn add(&mut self, form: Form, inputs: &[&Made], dims: Vec<usize>) -> Result<Made> {
        self.add_with(form, inputs, dims, Vec::new())
    }

    /// Adds a layer that keeps the sizes of its only input.
    pub(super) fn apply(&mut self, form: Form, input: &Made) -> Result<Made> {
        self.add(form, &[input], input.dims.clone())
    }

    /// The number of rows, if the file fixes it.
    pub(super) fn fixed_rows(&self) -> Option<usize> {
        self.fixed_rows
    }

    /// The sizes of a value as the graph sees them, the rows by their stand-in.
    #[expect(clippy::cast_possible_wrap, reason = "sizes are bounded")]
    fn sizes(value: &Value) -> Vec<i64> {
        let of_rows = |dims: &[usize]| {
            let mut sizes: Vec<i64> = dims.iter().map(|&size| size as i64).collect();
            if let Some(first) = sizes.first_mut() {
                *first = first.saturating_mul(BATCH);
            }
            sizes
        };
        match value {
            Value::Constant(array) => array.dims.iter().map(|&size| size as i64).collect(),
            Value::Cells(cells) => of_rows(&cells.dims),
            Value::Tensor(made) | Value::Mask(made) => of_rows(&made.dims),
        }
    }

    /// The same number for every row, if that is what the node makes.
    fn constant_rows(&mut self, node: &Node) -> Result<Option<Cells>> {
        let sizes = self.constant(node, 0)?;
        let sizes = sizes.map_or(Ok(Vec::new()), |sizes| sizes.to_whole())?;
        let Some((&rows, rest)) = sizes.split_first().filter(|(rows, _)| **rows >= BATCH) else {
            return Ok(None);
        };
        let mut dims = vec![usize::try_from(rows / BATCH).unwrap_or(1)];
        dims.extend(super::fold::to_sizes(rest)?);
        super::fold::check_made(&dims)?;
        let value = match node.tensor("value") {
            Some(tensor) => self.graph.array(tensor)?.to_number()?,
            None => 0.0,
        };
        let cells = vec![Cell::Constant(value); dims.iter().product()];
        Ok(Some(Cells { cells, dims }))
    }

    fn node(&mut self, node: &'g Node) -> Result<Vec<Value>> {
        let operator = node.operator.as_str();
        if operator == "Shape" {
            let sizes = Self::sizes(&self.input(node, 0)?);
            return Ok(vec![Value::Constant(Rc::new(shape_part(node, sizes)))]);
        }
        if operator == "ConstantOfShape"
            && let Some(cells) = self.constant_rows(node)?
        {
            return Ok(vec![Value::Cells(Rc::new(cells))]);
        }
        let mut constants = Vec::new();
        let mut all_constant = true;
        for place in 0..node.inputs.len() {
            if node.input(place).is_none() {
                constants.push(None);
                continue;
            }
            match self.input(node, place)? {
                Value::Constant(array) => {
                    self.is_double |= array.is_double();
                    constants.push(Some((*array).clone()));
                }
                _ if operator == "CastLike" && place == 1 => {
                    constants.push(Some(Array::floats(vec![], vec![0.0])));
                }
                _ => {
                    all_constant = false;
                    break;
                }
            }
        }
        if all_constant && let Some(made) = fold(self.graph, node, &constants)? {
            let made = made
                .into_iter()
                .map(|array| Value::Constant(Rc::new(array)));
            return Ok(made.collect());
        }
        if let Some(made) = shape::lower(self, node)? {
            return Ok(made);
        }
        if let Some(made) = learned::lower(self, node)? {
            return Ok(made);
        }
        let families = [
            arithmetic::lower,
            activation::lower,
            matrix::lower,
            convolution::lower,
            pooling::lower,
            reduce::lower,
            normalise::lower,
        ];
        for family in families {
            if let Some(made) = family(self, node)? {
                return Ok(vec![made]);
            }
        }
        Err(refused(node))
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

/// What an input of these sizes is, if it is an image.
fn image(sizes: &[usize]) -> Option<Image> {
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

/// The refusal of an operator that no family knows.
fn refused(node: &Node) -> OnnxError {
    let (reason, instead) = match node.operator.as_str() {
        "TreeEnsembleClassifier" | "TreeEnsembleRegressor" | "TreeEnsemble" => {
            ("trees have no gradient", WITHOUT_GRADIENT.to_owned())
        }
        "If" | "Loop" | "Scan" => (
            "control flow is not read",
            "export the model by tracing one example, without branches or loops".to_owned(),
        ),
        "LSTM" | "GRU" | "RNN" => ("recurrent layers are not read", WITHOUT_GRADIENT.to_owned()),
        "Floor" | "Ceil" | "Round" | "Sign" | "ArgMax" | "ArgMin" | "TopK" | "Binarizer"
        | "Hardmax" | "OneHot" | "NonZero" => (
            "a step function has no gradient",
            WITHOUT_GRADIENT.to_owned(),
        ),
        "QuantizeLinear"
        | "DequantizeLinear"
        | "QLinearConv"
        | "QLinearMatMul"
        | "DynamicQuantizeLinear"
        | "MatMulInteger"
        | "ConvInteger" => (
            "quantised models step, and have no gradient",
            "export the model before it is quantised".to_owned(),
        ),
        "RandomNormal" | "RandomUniform" | "RandomNormalLike" | "RandomUniformLike"
        | "Bernoulli" | "Multinomial" => (
            "the model draws at random",
            "export the model in evaluation mode".to_owned(),
        ),
        _ => (
            "it has no layer here",
            format!(
                "write the model without it, audit it from its probabilities alone, or ask for the operator; docs/onnx.md lists those that are read{}",
                if node.operator.contains('.') {
                    " (operators of other domains are none of them)"
                } else {
                    ""
                }
            ),
        ),
    };
    node.unsupported(reason, instead)
}

/// Weights of the network by name, for what is built from the layers.
pub(super) type Weights = BTreeMap<String, (Vec<usize>, Vec<f64>)>;
