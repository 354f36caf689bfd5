//! Tensors with constants, and with one another: scaled, shifted, raised and joined number by number.

use thickset_engine::layer::Form;

use super::choice::step;
use super::{Lowering, Made, Place};
use crate::onnx::array::Array;
use crate::onnx::fold::{broadcast, broadcast_places, expanded};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

impl Lowering<'_> {
    /// What a constant has for one row, of a file that fixes their number and repeats the same for each.
    pub(super) fn of_one_row(&self, array: &Array) -> Option<Array> {
        let rows = self.fixed_rows().filter(|&rows| rows > 1)?;
        if array.dims.len() < 2 || array.dims[0] != rows {
            return None;
        }
        let values = array.to_floats().ok()?;
        let each = values.len() / rows;
        let first = values.get(..each).filter(|first| !first.is_empty())?;
        let is_same = |row: &[f64]| {
            let mut pairs = row.iter().zip(first);
            pairs.all(|(a, b)| a.to_bits() == b.to_bits())
        };
        if !values.chunks(each).all(is_same) {
            return None;
        }
        let mut dims = array.dims.clone();
        dims[0] = 1;
        Some(array.picked(dims, 0..each))
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
        self.gathered(made, dims.to_vec(), &places.collect::<Vec<_>>())
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
        let readers = self.graph.readers.get(name).copied().unwrap_or(0);
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
        let one = self.of_one_row(array);
        let array = one.as_ref().unwrap_or(array);
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
    pub(in crate::onnx) fn power(&mut self, made: &Made, exponents: &[f64]) -> Result<Made> {
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
