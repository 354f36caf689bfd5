//! How the graph's output becomes probabilities, recognised on the layers, so that the network can end in logits.

use std::fmt;

use thickset_engine::layer::Form;

use super::lower::{Lowering, Made, MadeLayer, Place};
use super::problem::{OnnxError, Result, WITHOUT_GRADIENT};

/// Probabilities below this have no logarithm that single precision can hold the exponential of.
const LEAST_PROBABILITY: f64 = 1e-30;

/// Features so far out that a score which is no probability leaves 0 to 1.
const FAR: f64 = 1e3;

/// What was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A softmax; its inputs are the logits.
    Softmax,
    /// The logarithm of a softmax.
    LogSoftmax,
    /// One logit, whose sigmoid is the probability of the second class.
    OneLogit,
    /// One sigmoid, the probability of the second class.
    Sigmoid,
    /// One number that is a probability, of the second class.
    OneProbability,
    /// A sigmoid `p` and `1 - p` side by side.
    Complement,
    /// Sigmoids of two opposite scores.
    OppositeSigmoids,
    /// Numbers of any size, read as logits.
    Logits,
    /// Numbers that are probabilities; the logits are their logarithms.
    Probabilities,
}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Softmax => "softmax of logits",
            Self::LogSoftmax => "log-probabilities",
            Self::OneLogit => "one logit, of the second class",
            Self::Sigmoid => "one sigmoid, of the second class",
            Self::OneProbability => "one probability, of the second class",
            Self::Complement => "1 - p and p, of one sigmoid",
            Self::OppositeSigmoids => "sigmoids of two opposite scores",
            Self::Logits => "logits, whose softmax is taken",
            Self::Probabilities => "probabilities, whose logarithms are taken as logits",
        })
    }
}

fn layer<'l>(to: &'l Lowering<'_>, place: Place) -> Option<&'l MadeLayer> {
    match place {
        Place::Layer(layer) => Some(&to.layers[layer]),
        Place::Block(_) => None,
    }
}

/// A tensor of a place, laid out as one row.
fn row(to: &Lowering<'_>, place: Place) -> Made {
    Made {
        place,
        dims: vec![1, to.features(place)],
    }
}

/// The logits of an output, and what was recognised. `are_probabilities` runs what was built so far.
pub(super) fn logits(
    to: &mut Lowering<'_>,
    output: &Made,
    are_probabilities: &mut dyn FnMut(&Lowering<'_>, Place, f64) -> Result<bool>,
) -> Result<(Made, Head)> {
    let (place, classes) = (output.place, output.features());
    if output.dims.first() != Some(&1) {
        return Err(OnnxError::Refused {
            problem: format!(
                "the output has several predictions for each row, sizes {:?}",
                output.dims
            ),
            instead: "choose another output, or export one prediction a row".to_owned(),
        });
    }
    let found = recognise(to, place, classes);
    match found {
        Some((Head::Softmax | Head::LogSoftmax, before)) if classes >= 2 => {
            let head = if matches!(layer(to, place).map(|layer| &layer.form), Some(Form::Exp)) {
                Head::Softmax
            } else {
                Head::LogSoftmax
            };
            Ok((row(to, before), head))
        }
        Some((head @ (Head::Sigmoid | Head::Complement), before)) => {
            let is_first = head == Head::Complement && complement_is_second(to, place);
            Ok((two_logits(to, before, is_first)?, head))
        }
        Some((Head::OppositeSigmoids, before)) => {
            Ok((opposite(to, before)?, Head::OppositeSigmoids))
        }
        _ if classes == 1 => {
            // A probability that no sigmoid ends in: a mean of several, for instance.
            let second = row(to, place);
            let first = to.affine(&second, &[-1.0], &[1.0], None)?;
            let both = to.add(Form::Concatenate, &[&first, &second], vec![1, 2])?;
            if dense(to, place).is_none()
                && are_probabilities(to, both.place, 1.0)?
                && are_probabilities(to, both.place, FAR)?
            {
                let made = to.clipped(&both, LEAST_PROBABILITY, f64::INFINITY)?;
                return Ok((to.apply(Form::Log, &made)?, Head::OneProbability));
            }
            Ok((two_logits(to, place, false)?, Head::OneLogit))
        }
        _ => {
            let is_sigmoid = matches!(
                layer(to, place).map(|layer| &layer.form),
                Some(Form::Sigmoid)
            );
            if are_probabilities(to, place, 1.0)? {
                let made = to.clipped(&row(to, place), LEAST_PROBABILITY, f64::INFINITY)?;
                return Ok((to.apply(Form::Log, &made)?, Head::Probabilities));
            }
            if is_sigmoid {
                return Err(OnnxError::Refused {
                    problem: format!(
                        "the output is {classes} sigmoids that do not sum to 1: each class is decided by itself"
                    ),
                    instead: format!(
                        "audit one class at a time (export one sigmoid), or {WITHOUT_GRADIENT}"
                    ),
                });
            }
            Ok((row(to, place), Head::Logits))
        }
    }
}

/// What the last layers are, and where the logits or the logit come from.
fn recognise(to: &Lowering<'_>, place: Place, classes: usize) -> Option<(Head, Place)> {
    let last = layer(to, place)?;
    let of_all = |place: Place| {
        let layer = layer(to, place)?;
        let Form::LogSoftmax { axis } = layer.form else {
            return None;
        };
        (axis.before() == 1 && axis.after() == 1).then_some(layer.inputs[0])
    };
    match &last.form {
        Form::Exp => of_all(last.inputs[0]).map(|before| (Head::Softmax, before)),
        Form::LogSoftmax { .. } => of_all(place).map(|before| (Head::LogSoftmax, before)),
        Form::Sigmoid if classes == 1 => Some((Head::Sigmoid, last.inputs[0])),
        Form::Sigmoid if classes == 2 => {
            is_opposite(to, last.inputs[0]).then_some((Head::OppositeSigmoids, last.inputs[0]))
        }
        Form::Concatenate => {
            let [a, b] = last.inputs[..] else { return None };
            let sigmoid = complement_of(to, a, b).or_else(|| complement_of(to, b, a))?;
            Some((Head::Complement, sigmoid))
        }
        _ => None,
    }
}

/// The logit of `p`, if the other is `1 - p`.
fn complement_of(to: &Lowering<'_>, other: Place, p: Place) -> Option<Place> {
    let sigmoid =
        layer(to, p).filter(|layer| layer.form == Form::Sigmoid && layer.features == 1)?;
    let affine = layer(to, other)?;
    let is_one = |name: &str, value: f64| {
        let found = affine.weights.iter().find(|(known, ..)| *known == name);
        found.is_some_and(|(_, _, values)| values.iter().all(|&one| (one - value).abs() < 1e-12))
    };
    let is_complement = matches!(affine.form, Form::ChannelAffine { .. }) && affine.inputs == [p];
    (is_complement && is_one("weight", -1.0) && is_one("bias", 1.0)).then_some(sigmoid.inputs[0])
}

/// Whether `p` stands first and `1 - p` second.
fn complement_is_second(to: &Lowering<'_>, place: Place) -> bool {
    let inputs = layer(to, place)
        .map(|layer| layer.inputs.clone())
        .unwrap_or_default();
    let [a, b] = inputs[..] else { return false };
    complement_of(to, b, a).is_some()
}

/// The weights of a linear layer, if that is what lies there.
pub(super) fn dense<'l>(
    to: &'l Lowering<'_>,
    place: Place,
) -> Option<(usize, &'l [f64], &'l [f64])> {
    let layer = layer(to, place)?;
    let Form::Linear { inputs, .. } = layer.form else {
        return None;
    };
    let [(_, _, weight), (_, _, bias)] = &layer.weights[..] else {
        return None;
    };
    Some((inputs, weight, bias))
}

#[expect(
    clippy::float_cmp,
    reason = "exporters write the same numbers with another sign"
)]
fn is_opposite(to: &Lowering<'_>, place: Place) -> bool {
    let Some((inputs, weight, bias)) = dense(to, place) else {
        return false;
    };
    bias.len() == 2
        && bias[0] == -bias[1]
        && (0..inputs).all(|at| weight[at] == -weight[inputs + at])
}

/// Logits 0 and z of a dense layer whose second row gives z.
fn opposite(to: &mut Lowering<'_>, place: Place) -> Result<Made> {
    let Some((inputs, weight, bias)) = dense(to, place) else {
        return Ok(row(to, place));
    };
    let (weight, bias) = (weight[inputs..].to_vec(), bias[1]);
    let before = layer(to, place).map_or(place, |layer| layer.inputs[0]);
    let made = row(to, before);
    let weight = [vec![0.0; inputs], weight].concat();
    to.dense(&made, weight, vec![0.0, bias])
}

/// Logits 0 and z of one logit z, or z and 0 where the class it speaks of is the first.
fn two_logits(to: &mut Lowering<'_>, place: Place, is_first: bool) -> Result<Made> {
    let placed = |zeros: Vec<f64>, values: Vec<f64>| {
        if is_first {
            [values, zeros].concat()
        } else {
            [zeros, values].concat()
        }
    };
    if let Some((inputs, weight, bias)) = dense(to, place) {
        let (weight, bias) = (weight.to_vec(), bias[0]);
        let before = layer(to, place).map_or(place, |layer| layer.inputs[0]);
        let made = row(to, before);
        return to.dense(
            &made,
            placed(vec![0.0; inputs], weight),
            placed(vec![0.0], vec![bias]),
        );
    }
    let made = row(to, place);
    to.dense(&made, placed(vec![0.0], vec![1.0]), vec![0.0; 2])
}
