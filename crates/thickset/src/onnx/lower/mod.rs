//! From operators to layers. Each family of operators is one file; a value is a constant, cells of columns, or a tensor that a
//! layer makes.

mod activation;
mod arithmetic;
mod category;
mod choice;
mod convolution;
mod convolution_transposed;
mod cumulative;
mod cut;
mod einsum;
mod extent;
mod gather;
mod input;
mod join;
mod learned;
mod matrix;
mod normalise;
mod pooling;
mod positive;
mod reduce;
mod refused;
mod resize;
mod resized;
mod scaled;
mod shape;
mod sign;
mod support_vectors;
mod trigonometric;
mod turned;
mod value;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use thickset_engine::layer::Form;

use super::array::Array;
use super::fold::{fold, shape_part};
use super::problem::{Result, WITHOUT_GRADIENT, broken};
use super::read::{Graph, Node};
use super::room::Room;
use extent::{CELL, check_cells, kept, masked, products, size, sizes};
use refused::{never_read, refused};
pub(super) use value::{Block, Cells, Image, Made, MadeLayer, Place, RawColumn, Value};

/// The network as it grows.
#[derive(Clone)]
pub(super) struct Lowering<'g> {
    pub(super) graph: &'g Graph,
    values: HashMap<String, Value>,
    pub(super) layers: Vec<MadeLayer>,
    pub(super) blocks: Vec<Block>,
    pub(super) columns: Vec<RawColumn>,
    pub(super) image: Option<Image>,
    pub(super) is_double: bool,
    /// The number of rows, where the file fixes it.
    fixed_rows: Option<usize>,
    /// What classifiers predict; nothing that a gradient goes through.
    labels: HashSet<String>,
    /// What is only the sign of another value, by its name.
    signs: HashMap<String, String>,
    /// Whether this only finds out what a value is where others are zero.
    is_trial: bool,
    room: Room,
}

/// Rows of more numbers than this are refused before anything is made of them.
const MOST_FEATURES: usize = 1 << 23;
/// Networks of more layers than this are refused; the deepest that are in use have some thousands.
const MOST_LAYERS: usize = 1 << 14;

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
            labels: HashSet::new(),
            signs: HashMap::new(),
            is_trial: false,
            room: Room::new(graph.held),
        };
        for (place, input) in graph.inputs.iter().enumerate() {
            lowering.add_input(place, input)?;
        }
        Ok(lowering)
    }

    /// Lowers everything that a value depends on, and the value.
    pub(super) fn lower(&mut self, output: &str) -> Result<Value> {
        let mut wanted: HashSet<&str> = HashSet::from([output]);
        let mut needed = Vec::new();
        for node in self.graph.nodes.iter().rev() {
            let is_wanted =
                |made: &String| wanted.contains(made.as_str()) && !self.values.contains_key(made);
            if node.outputs.iter().any(is_wanted) {
                wanted.extend(node.inputs.iter().map(String::as_str));
                needed.push(node);
            }
        }
        if let Some(node) = needed.iter().rev().find(|node| never_read(node)) {
            return Err(refused(node));
        }
        for node in needed.into_iter().rev() {
            if node
                .outputs
                .iter()
                .any(|made| self.values.contains_key(made.as_str()))
            {
                continue;
            }
            if let ("Sign", [of], [name]) =
                (node.operator.as_str(), &node.inputs[..], &node.outputs[..])
                && !matches!(self.find(of)?, Value::Constant(_))
            {
                self.signs.insert(name.clone(), of.clone());
                continue;
            }
            let read: usize = node
                .inputs
                .iter()
                .filter_map(|input| self.values.get(input))
                .map(kept)
                .sum();
            // Most operators make about as much as they read, and what has no room must not be made first.
            self.room.check(read)?;
            let made = self.node(node)?;
            let new: usize = made.iter().map(kept).sum();
            let products = products(node, &made, read);
            self.room
                .work(read.saturating_add(new).saturating_add(products))?;
            self.room.keep(new)?;
            for (place, (name, value)) in node.outputs.iter().zip(made).enumerate() {
                if place == 0 && learned::is_classifier(node) {
                    self.labels.insert(name.clone());
                } else {
                    self.values.insert(name.clone(), value);
                }
            }
        }
        self.find(output)
    }

    /// A value by its name.
    pub(super) fn find(&mut self, name: &str) -> Result<Value> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        if self.labels.contains(name) || self.signs.contains_key(name) {
            return Err(refused::step(name, self.labels.contains(name)));
        }
        match self.graph.constant(name) {
            Some(array) => {
                // Kept, since several nodes may read it, and each several times.
                let value = Value::Constant(Rc::new(array?));
                self.room.keep(size(&value))?;
                self.values.insert(name.to_owned(), value.clone());
                Ok(value)
            }
            None => Err(broken(format!("`{name}` is read before it is made"))),
        }
    }

    /// What comes out while some names stand for other values.
    fn with_values<T>(
        &mut self,
        values: Vec<(String, Value)>,
        compute: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut kept = Vec::new();
        for (name, value) in values {
            let old = self.values.insert(name.clone(), value);
            kept.push((name, old));
        }
        let made = compute(self);
        // In turn from the last, so that a name that was given twice is what it was.
        for (name, old) in kept.into_iter().rev() {
            match old {
                Some(old) => self.values.insert(name, old),
                None => self.values.remove(&name),
            };
        }
        made
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
            Value::Turned(_) => Err(turned::refused(node)),
            Value::Constant(_) => Err(node.unsupported("it reads a constant where a row's numbers are expected", "")),
        }
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
        mut weights: Vec<(&'static str, Vec<usize>, Vec<f64>)>,
    ) -> Result<Made> {
        let features = dims
            .iter()
            .fold(1_usize, |product, &size| product.saturating_mul(size));
        if features == 0 || features > MOST_FEATURES.min(self.room.widest()) {
            return Err(broken(format!(
                "a layer would make the sizes {dims:?} for each row"
            )));
        }
        for (name, _, values) in &mut weights {
            if matches!(*name, "bias" | "value") {
                masked(values);
            }
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(broken(format!(
                    "the {name} of a layer holds {value}; weights must be finite"
                )));
            }
        }
        if self.layers.len() >= MOST_LAYERS {
            return Err(broken(format!(
                "the graph becomes more than {MOST_LAYERS} layers"
            )));
        }
        let numbers: usize = weights.iter().map(|(_, _, values)| values.len()).sum();
        // Places that are picked are kept for each feature.
        let picked = if matches!(form, Form::Gather { .. }) {
            features
        } else {
            0
        };
        self.room.keep(numbers + picked)?;
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

    fn node(&mut self, node: &Node) -> Result<Vec<Value>> {
        let operator = node.operator.as_str();
        if operator == "Mul"
            && let Some(made) = sign::product(self, node)?
        {
            return Ok(vec![made]);
        }
        if operator == "Shape" {
            let part = shape_part(node, sizes(&self.input(node, 0)?));
            return Ok(vec![Value::Constant(Rc::new(part))]);
        }
        if operator == "Size" {
            let count = sizes(&self.input(node, 0)?)
                .iter()
                .fold(1_i64, |product, &size| product.saturating_mul(size));
            return Ok(vec![Value::Constant(Rc::new(Array::whole(
                vec![],
                vec![count],
            )))]);
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
                    constants.push(Some(array));
                }
                _ if operator == "CastLike" && place == 1 => {
                    constants.push(Some(Rc::new(Array::floats(vec![], vec![0.0]))));
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
        if let Some(made) = turned::lower(self, node)? {
            return Ok(made);
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
            convolution_transposed::lower,
            pooling::lower,
            reduce::lower,
            normalise::lower,
            einsum::lower,
            cumulative::lower,
            resize::lower,
        ];
        for family in families {
            if let Some(made) = family(self, node)? {
                return Ok(vec![made]);
            }
        }
        Err(refused(node))
    }
}

/// Weights of the network by name, for what is built from the layers.
pub(super) type Weights = BTreeMap<String, (Vec<usize>, Vec<f64>)>;
