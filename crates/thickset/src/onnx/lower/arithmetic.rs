//! Sums, products, powers, comparisons and choices, of constants, cells and tensors in any combination.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::{Cells, Lowering, Made, Place, Value};
use crate::onnx::array::Array;
use crate::onnx::cell::Cell;
use crate::onnx::fold::{broadcast, broadcast_places, expanded};
use crate::onnx::problem::{Result, WITHOUT_GRADIENT};
use crate::onnx::read::Node;

pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Value>> {
    Ok(Some(match node.operator.as_str() {
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Max" | "Min" | "Sum" | "Mean" => {
            let mut value = to.input(node, 0)?;
            for place in 1..node.inputs.len() {
                let other = to.input(node, place)?;
                value = binary(to, node, &node.operator, value, other)?;
            }
            if node.operator == "Mean" {
                #[expect(clippy::cast_precision_loss, reason = "few inputs")]
                let share = Array::floats(vec![], vec![1.0 / node.inputs.len() as f64]);
                value = binary(to, node, "Mul", value, Value::Constant(Rc::new(share)))?;
            }
            value
        }
        "Neg" | "Abs" | "Sqrt" | "Exp" | "Log" | "Reciprocal" | "Erf" | "IsNaN" | "Not" => {
            let value = to.input(node, 0)?;
            unary(to, node, &node.operator, value)?
        }
        "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" | "And" | "Or" | "Equal" => {
            let (a, b) = (to.input(node, 0)?, to.input(node, 1)?);
            comparison(to, node, &node.operator, a, b)?
        }
        "Where" => {
            let [condition, a, b] = [to.input(node, 0)?, to.input(node, 1)?, to.input(node, 2)?];
            choice(to, node, condition, a, b)?
        }
        "Clip" => clip(to, node)?,
        _ => return Ok(None),
    }))
}

/// A function of one number.
pub(super) fn unary(
    to: &mut Lowering<'_>,
    node: &Node,
    operator: &str,
    value: Value,
) -> Result<Value> {
    match value {
        Value::Cells(cells) if operator != "Erf" => {
            let made: Vec<Cell> = cells
                .cells
                .iter()
                .map(|cell| cell.clone().unary(operator))
                .collect();
            if made.iter().any(Cell::is_too_large) {
                let made = to.materialise(&cells)?;
                return unary(to, node, operator, Value::Tensor(made));
            }
            Ok(Value::Cells(Rc::new(Cells {
                cells: made,
                dims: cells.dims.clone(),
            })))
        }
        Value::Mask(made) if operator == "Not" => Ok(Value::Mask(to.not(&made)?)),
        value => {
            let made = to.made(node, value)?;
            Ok(Value::Tensor(to.function(node, operator, &made)?))
        }
    }
}

/// A function of two; comparisons are [`comparison`].
pub(super) fn binary(
    to: &mut Lowering<'_>,
    node: &Node,
    operator: &str,
    a: Value,
    b: Value,
) -> Result<Value> {
    if let Some(cells) = of_cells(operator, &a, &b)? {
        return Ok(Value::Cells(Rc::new(cells)));
    }
    match (a, b) {
        (Value::Mask(mask), other) | (other, Value::Mask(mask)) if operator == "Mul" => {
            let made = match other {
                Value::Constant(_) | Value::Mask(_) => return Err(step(node)),
                other => to.made(node, other)?,
            };
            let zero = Value::Constant(Rc::new(Array::floats(vec![], vec![0.0])));
            choice(to, node, Value::Mask(mask), Value::Tensor(made), zero)
        }
        (Value::Constant(a), b) => {
            let b = to.made(node, b)?;
            to.with_constant(node, operator, &b, &a, true)
                .map(Value::Tensor)
        }
        (a, Value::Constant(b)) => {
            let a = to.made(node, a)?;
            to.with_constant(node, operator, &a, &b, false)
                .map(Value::Tensor)
        }
        (a, b) => {
            let (a, b) = (to.made(node, a)?, to.made(node, b)?);
            to.of_two(node, operator, &a, &b).map(Value::Tensor)
        }
    }
}

fn step(node: &Node) -> crate::onnx::OnnxError {
    node.unsupported(
        "it counts true and false as numbers: a step function has no gradient",
        WITHOUT_GRADIENT,
    )
}

/// Both as cells, if each number of the result depends on one column.
fn of_cells(operator: &str, a: &Value, b: &Value) -> Result<Option<Cells>> {
    let dims = |value: &Value| match value {
        Value::Constant(array) => Some(array.dims.clone()),
        Value::Cells(cells) => Some(cells.dims.clone()),
        _ => None,
    };
    let (Some(first), Some(second)) = (dims(a), dims(b)) else {
        return Ok(None);
    };
    let made = broadcast(&first, &second)?;
    // Where cells would be repeated, columns begin to meet: that is the network's work.
    for (value, dims) in [(a, &first), (b, &second)] {
        if matches!(value, Value::Cells(_)) && (dims.len() != made.len() || *dims != made) {
            return Ok(None);
        }
    }
    let cells = |value: &Value| -> Result<Vec<Cell>> {
        Ok(match value {
            Value::Cells(cells) => cells.cells.clone(),
            Value::Constant(array) => {
                let values = expanded(array, &made)?.to_floats()?;
                values.into_iter().map(Cell::Constant).collect()
            }
            _ => Vec::new(),
        })
    };
    let pairs = cells(a)?.into_iter().zip(cells(b)?);
    let joined: Option<Vec<Cell>> = pairs.map(|(a, b)| Cell::binary(operator, &a, &b)).collect();
    let joined = joined.filter(|cells| !cells.iter().any(Cell::is_too_large));
    Ok(joined.map(|cells| Cells { cells, dims: made }))
}

fn comparison(
    to: &mut Lowering<'_>,
    node: &Node,
    operator: &str,
    a: Value,
    b: Value,
) -> Result<Value> {
    if let Some(cells) = of_cells(operator, &a, &b)? {
        return Ok(Value::Cells(Rc::new(cells)));
    }
    if let (Value::Mask(a), Value::Mask(b)) = (&a, &b) {
        let fixed = to.like(a, if operator == "And" { -1.0 } else { 1.0 })?;
        let inputs = match operator {
            "And" => [a, b, &fixed],
            "Or" => [a, &fixed, b],
            _ => return Err(step(node)),
        };
        return Ok(Value::Mask(to.add(
            Form::Select,
            &inputs,
            a.dims.clone(),
        )?));
    }
    let swapped = matches!(operator, "Less" | "GreaterOrEqual");
    let (larger, smaller) = if swapped { (b, a) } else { (a, b) };
    let difference = match operator {
        "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" => {
            binary(to, node, "Sub", larger, smaller)?
        }
        _ => return Err(step(node)),
    };
    let decider = to.made(node, difference)?;
    Ok(Value::Mask(match operator {
        "Less" | "Greater" => decider,
        _ => to.not(&decider)?,
    }))
}

/// `a` where the condition holds, else `b`.
pub(super) fn choice(
    to: &mut Lowering<'_>,
    node: &Node,
    condition: Value,
    a: Value,
    b: Value,
) -> Result<Value> {
    if let Value::Cells(condition) = &condition
        && let (Some(first), Some(second)) = (as_cells(&a, condition), as_cells(&b, condition))
    {
        let parts = condition.cells.iter().zip(first.into_iter().zip(second));
        let cells: Vec<Cell> = parts
            .map(|(condition, (a, b))| Cell::Select(Rc::new([condition.clone(), a, b])))
            .collect();
        let columns = |cell: &Cell| match cell {
            Cell::Select(parts) => {
                let mut columns: Vec<usize> = parts.iter().filter_map(Cell::column).collect();
                columns.dedup();
                columns.len() <= 1
            }
            _ => true,
        };
        if cells
            .iter()
            .all(|cell| columns(cell) && !cell.is_too_large())
        {
            let dims = condition.dims.clone();
            return Ok(Value::Cells(Rc::new(Cells { cells, dims })));
        }
    }
    let sizes = |value: &Value| match value {
        Value::Constant(array) => array.dims.clone(),
        Value::Cells(cells) => cells.dims.clone(),
        Value::Tensor(made) | Value::Mask(made) => made.dims.clone(),
    };
    let dims = broadcast(&broadcast(&sizes(&condition), &sizes(&a))?, &sizes(&b))?;
    let condition = match condition {
        Value::Mask(made) => made,
        Value::Constant(array) => {
            // A fixed choice: the decider is a constant.
            let like = match (&a, &b) {
                (Value::Constant(_), other) | (other, _) => to.made(node, other.clone())?,
            };
            let values = expanded(&array, &dims)?.to_floats()?;
            let values = values
                .into_iter()
                .map(|value| if value == 0.0 { -1.0 } else { 1.0 })
                .collect();
            to.constant_layer(&like, dims.clone(), values)?
        }
        Value::Cells(cells) => to.materialised_mask(node, &cells)?,
        Value::Tensor(_) => return Err(node.broken("its condition must be true and false")),
    };
    let condition = to.repeated(node, &condition, &dims)?;
    let side = |to: &mut Lowering<'_>, value: Value| match value {
        Value::Constant(array) => {
            let values = expanded(&array, &dims)?.to_floats()?;
            to.constant_layer(&condition, dims.clone(), values)
        }
        Value::Mask(_) => Err(step(node)),
        other => {
            let made = to.made(node, other)?;
            to.repeated(node, &made, &dims)
        }
    };
    let (a, b) = (side(to, a)?, side(to, b)?);
    Ok(Value::Tensor(to.add(
        Form::Select,
        &[&condition, &a, &b],
        dims,
    )?))
}

/// A value as cells of the same sizes as others.
fn as_cells(value: &Value, like: &Cells) -> Option<Vec<Cell>> {
    match value {
        Value::Cells(cells) if cells.dims == like.dims => Some(cells.cells.clone()),
        Value::Constant(array) => {
            let values = expanded(array, &like.dims).ok()?.to_floats().ok()?;
            Some(values.into_iter().map(Cell::Constant).collect())
        }
        _ => None,
    }
}

fn clip(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let mut bound = |place: usize, name: &str, open: f64| match to.constant(node, place)? {
        Some(array) => array.to_number(),
        None => Ok(node.float(name, open)),
    };
    let least = bound(1, "min", f64::NEG_INFINITY)?;
    let most = bound(2, "max", f64::INFINITY)?;
    match to.input(node, 0)? {
        Value::Cells(cells) => {
            let clip = |cell: &Cell| Cell::Clip {
                of: Rc::new(cell.clone()),
                least,
                most,
            };
            Ok(Value::Cells(Rc::new(Cells {
                cells: cells.cells.iter().map(clip).collect(),
                dims: cells.dims.clone(),
            })))
        }
        value => {
            let made = to.made(node, value)?;
            to.clipped(&made, least, most).map(Value::Tensor)
        }
    }
}

impl Lowering<'_> {
    /// Clipped to a range; below zero alone it is `ReLU`.
    pub(in crate::onnx) fn clipped(&mut self, made: &Made, least: f64, most: f64) -> Result<Made> {
        // Exporters write an open end as the largest number.
        const OPEN: f64 = 3.4e38;
        let end = |value: f64| (value.abs() < OPEN).then_some(value);
        let form = match (end(least), end(most)) {
            (None, None) => return Ok(made.clone()),
            (Some(0.0), None) => Form::Relu,
            (least, most) => Form::Clip { least, most },
        };
        self.apply(form, made)
    }

    /// A function of single numbers.
    pub(in crate::onnx) fn function(
        &mut self,
        node: &Node,
        operator: &str,
        made: &Made,
    ) -> Result<Made> {
        let form = match operator {
            "Neg" => return self.affine(made, &[-1.0], &[0.0], None),
            "Abs" => Form::Absolute,
            "Sqrt" => Form::SquareRoot,
            "Exp" => Form::Exp,
            "Log" => Form::Log,
            "Reciprocal" => Form::Power { exponent: -1.0 },
            "Erf" => Form::Erf,
            _ => return Err(step(node)),
        };
        self.apply(form, made)
    }

    /// A constant for every row, beside a tensor that says how many rows there are.
    pub(in crate::onnx) fn constant_layer(
        &mut self,
        like: &Made,
        dims: Vec<usize>,
        values: Vec<f64>,
    ) -> Result<Made> {
        let features = values.len();
        let weights = vec![("value", vec![features], values)];
        self.add_with(Form::Constant { features }, &[like], dims, weights)
    }

    fn like(&mut self, made: &Made, value: f64) -> Result<Made> {
        self.constant_layer(made, made.dims.clone(), vec![value; made.features()])
    }

    /// Positive where the decider is not.
    fn not(&mut self, decider: &Made) -> Result<Made> {
        let (minus, plus) = (self.like(decider, -1.0)?, self.like(decider, 1.0)?);
        self.add(
            Form::Select,
            &[decider, &minus, &plus],
            decider.dims.clone(),
        )
    }

    /// A condition on columns, as a decider.
    fn materialised_mask(&mut self, node: &Node, cells: &Cells) -> Result<Made> {
        let mut parts: Option<(Rc<str>, Vec<Cell>, Vec<Cell>)> = None;
        for cell in &cells.cells {
            let Cell::Binary(operator, a, b) = cell else {
                return Err(step(node));
            };
            let (known, first, second) =
                parts.get_or_insert_with(|| (Rc::clone(operator), Vec::new(), Vec::new()));
            if known != operator {
                return Err(step(node));
            }
            first.push((**a).clone());
            second.push((**b).clone());
        }
        let Some((operator, a, b)) = parts else {
            return Err(step(node));
        };
        let dims = &cells.dims;
        let side = |cells: Vec<Cell>| Cells {
            cells,
            dims: dims.clone(),
        };
        let (a, b) = (self.materialise(&side(a))?, self.materialise(&side(b))?);
        match comparison(self, node, &operator, Value::Tensor(a), Value::Tensor(b))? {
            Value::Mask(made) => Ok(made),
            _ => Err(step(node)),
        }
    }

    /// A tensor repeated to larger sizes.
    pub(in crate::onnx) fn repeated(
        &mut self,
        node: &Node,
        made: &Made,
        dims: &[usize],
    ) -> Result<Made> {
        if made.dims == dims {
            return Ok(made.clone());
        }
        if made.dims.len() != dims.len() {
            return Err(node.unsupported(
                format!(
                    "tensors of {} and {} axes meet, so that rows would move to another axis",
                    made.dims.len(),
                    dims.len()
                ),
                "",
            ));
        }
        let places = broadcast_places(&made.dims, dims)?;
        self.gathered(made, dims.to_vec(), &places)
    }

    /// `scale x + shift`, each one number or one for each of the tensor's. `reader` is the value that is read, if this is its
    /// only reader; then it becomes part of the dense layer before.
    pub(in crate::onnx) fn affine(
        &mut self,
        made: &Made,
        scale: &[f64],
        shift: &[f64],
        reader: Option<&str>,
    ) -> Result<Made> {
        let features = made.features();
        let at = |values: &[f64], place: usize| {
            if values.len() == 1 {
                values[0]
            } else {
                values[place]
            }
        };
        if let Some(layer) = self.dense_before(made, reader) {
            let Form::Linear { inputs, outputs } = self.layers[layer].form else {
                return Ok(made.clone());
            };
            for (name, _, values) in &mut self.layers[layer].weights {
                let is_weight = *name == "weight";
                for output in 0..outputs {
                    let row = if is_weight {
                        output * inputs..(output + 1) * inputs
                    } else {
                        output..output + 1
                    };
                    for value in &mut values[row] {
                        *value *= at(scale, output);
                        if !is_weight {
                            *value += at(shift, output);
                        }
                    }
                }
                if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                    return Err(crate::onnx::problem::broken(format!(
                        "a weight becomes {value}; weights must be finite"
                    )));
                }
            }
            return Ok(made.clone());
        }
        // The fewest channels that the numbers are constant on.
        let mut channels = features;
        let mut product = 1;
        for size in std::iter::once(1).chain(made.dims.iter().copied()) {
            product *= size;
            let block = features / product;
            let is_constant = |values: &[f64]| {
                (0..features).all(|place| {
                    at(values, place).to_bits() == at(values, place / block * block).to_bits()
                })
            };
            if is_constant(scale) && is_constant(shift) {
                channels = product;
                break;
            }
        }
        let block = features / channels;
        let each = |values: &[f64]| {
            (0..channels)
                .map(|channel| at(values, channel * block))
                .collect::<Vec<_>>()
        };
        let form = Form::ChannelAffine {
            channels,
            fixed: true,
        };
        let weights = vec![
            ("weight", vec![channels], each(scale)),
            ("bias", vec![channels], each(shift)),
        ];
        self.add_with(form, &[made], made.dims.clone(), weights)
    }

    /// The dense layer that makes a tensor which nothing else reads.
    fn dense_before(&self, made: &Made, reader: Option<&str>) -> Option<usize> {
        let name = reader?;
        let Place::Layer(layer) = made.place else {
            return None;
        };
        let is_dense = matches!(self.layers[layer].form, Form::Linear { .. });
        let nodes = self.graph.nodes.iter();
        let readers = nodes
            .flat_map(|node| &node.inputs)
            .filter(|input| *input == name)
            .count();
        let is_output = self.graph.outputs.iter().any(|output| output.name == name);
        let is_read = self
            .layers
            .iter()
            .any(|other| other.inputs.contains(&made.place));
        (is_dense && readers == 1 && !is_output && !is_read).then_some(layer)
    }

    /// A tensor and a constant; `is_first` says that the constant is the first operand.
    pub(in crate::onnx) fn with_constant(
        &mut self,
        node: &Node,
        operator: &str,
        made: &Made,
        array: &Array,
        is_first: bool,
    ) -> Result<Made> {
        let dims = broadcast(&made.dims, &array.dims)?;
        let rows =
            array.dims.len() == dims.len() && array.dims.first().is_some_and(|&size| size != 1);
        if rows {
            return Err(node.unsupported(
                "a constant has a value for each row",
                "export the model with a first axis of rows that may vary",
            ));
        }
        let own = made.dims == dims;
        let made = self.repeated(node, made, &dims)?;
        let values = if array.len() == 1 {
            array.to_floats()?
        } else {
            expanded(array, &dims)?.to_floats()?
        };
        let one = [1.0];
        let zero = [0.0];
        let negative = || values.iter().map(|value| -value).collect::<Vec<_>>();
        let name = node.inputs.get(usize::from(is_first)).map(String::as_str);
        let reader = name.filter(|_| {
            own && node.inputs.len() == 2 && matches!(operator, "Add" | "Sub" | "Mul" | "Div")
        });
        match (operator, is_first) {
            ("Add" | "Sum" | "Mean", _) => self.affine(&made, &one, &values, reader),
            ("Sub", false) => self.affine(&made, &one, &negative(), reader),
            ("Sub", true) => self.affine(&made, &[-1.0], &values, None),
            ("Mul", _) => self.affine(&made, &values, &zero, reader),
            ("Div", false) => {
                let shares: Vec<f64> = values.iter().map(|value| 1.0 / value).collect();
                self.affine(&made, &shares, &zero, reader)
            }
            ("Div", true) => {
                let shares = self.apply(Form::Power { exponent: -1.0 }, &made)?;
                self.affine(&shares, &values, &zero, None)
            }
            ("Pow", false) => self.power(&made, &values),
            ("Pow", true) => {
                let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
                let scaled = self.affine(&made, &logs, &zero, None)?;
                self.apply(Form::Exp, &scaled)
            }
            ("Max", _) if values.len() == 1 => self.clipped(&made, values[0], f64::INFINITY),
            ("Min", _) if values.len() == 1 => self.clipped(&made, f64::NEG_INFINITY, values[0]),
            _ => {
                let dims = made.dims.clone();
                let other =
                    self.constant_layer(&made, dims, expanded(array, &made.dims)?.to_floats()?)?;
                self.of_two(node, operator, &made, &other)
            }
        }
    }

    #[expect(clippy::float_cmp, reason = "a root has a layer of its own")]
    fn power(&mut self, made: &Made, exponents: &[f64]) -> Result<Made> {
        let first = exponents[0];
        if exponents
            .iter()
            .all(|exponent| exponent.to_bits() == first.to_bits())
        {
            let form = if first == 0.5 {
                Form::SquareRoot
            } else {
                Form::Power { exponent: first }
            };
            return self.apply(form, made);
        }
        let logs = self.apply(Form::Log, made)?;
        let scaled = self.affine(&logs, exponents, &[0.0], None)?;
        self.apply(Form::Exp, &scaled)
    }

    /// Two tensors, repeated to common sizes.
    pub(in crate::onnx) fn of_two(
        &mut self,
        node: &Node,
        operator: &str,
        a: &Made,
        b: &Made,
    ) -> Result<Made> {
        let dims = broadcast(&a.dims, &b.dims)?;
        let (a, b) = (
            self.repeated(node, a, &dims)?,
            self.repeated(node, b, &dims)?,
        );
        match operator {
            "Add" | "Sum" | "Mean" => self.add(Form::Add, &[&a, &b], dims),
            "Sub" => {
                let negative = self.affine(&b, &[-1.0], &[0.0], None)?;
                self.add(Form::Add, &[&a, &negative], dims)
            }
            "Mul" => self.add(Form::Multiply, &[&a, &b], dims),
            "Div" => {
                let share = self.apply(Form::Power { exponent: -1.0 }, &b)?;
                self.add(Form::Multiply, &[&a, &share], dims)
            }
            "Max" | "Min" => {
                let difference = self.of_two(node, "Sub", &a, &b)?;
                let inputs = if operator == "Max" {
                    [&difference, &a, &b]
                } else {
                    [&difference, &b, &a]
                };
                self.add(Form::Select, &inputs, dims)
            }
            "Pow" => {
                let logs = self.apply(Form::Log, &a)?;
                let scaled = self.add(Form::Multiply, &[&logs, &b], dims)?;
                self.apply(Form::Exp, &scaled)
            }
            _ => Err(step(node)),
        }
    }
}
