//! From what was lowered to the layers of a network: the front first, gathers of gathers joined, what nothing reads left out.

use thickset_engine::layer::Form;
use thickset_engine::{DType, Device, Init, Parameter, ParameterSource, Role, Tensor, TensorData};

use super::lower::{Lowering, MadeLayer, Place, Weights};
use super::problem::{Result, broken};
use crate::model::graph::{GraphConfig, GraphLayer};

/// A network's layers and weights.
pub(super) struct Assembled {
    pub(super) graph: GraphConfig,
    pub(super) weights: GraphWeights,
    /// About how many products a row takes.
    pub(super) steps: usize,
    /// The numbers that the widest layer makes of a row.
    pub(super) widest: usize,
}

/// Weights by name, as a network asks for them.
pub(crate) struct GraphWeights {
    pub(crate) weights: Weights,
    pub(crate) dtype: DType,
}

impl ParameterSource for GraphWeights {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let Some((sizes, values)) = self.weights.get(name) else {
            return Err(thickset_engine::Error::MissingTensor {
                name: name.to_owned(),
            });
        };
        if sizes != shape || values.len() != shape.iter().product::<usize>() {
            return Err(thickset_engine::Error::TensorShape {
                name: name.to_owned(),
                expected: shape.to_vec(),
                got: sizes.clone(),
            });
        }
        let data = TensorData::new(values.clone(), [values.len()]);
        let flat = Tensor::<1>::from_data(data, (&Device::cpu(), self.dtype));
        Ok(flat.reshape(Parameter::matrix_size(shape)))
    }

    fn dtype(&self) -> DType {
        self.dtype
    }
}

/// Puts layers in order. `fronts` says what stands for each block of cells; `input` is the block of the network's own input.
pub(super) fn assemble(
    to: &Lowering<'_>,
    fronts: &[Option<Place>],
    input: usize,
    end: Place,
) -> Result<Assembled> {
    let mut layers: Vec<MadeLayer> = to.layers.clone();
    let resolve = |place: Place| -> Result<Place> {
        let mut place = place;
        // A block stands for a layer of the front, or for the input itself.
        while let Place::Block(block) = place {
            if block == input {
                return Ok(place);
            }
            place = fronts
                .get(block)
                .copied()
                .flatten()
                .ok_or_else(|| broken("a block of cells without layers"))?;
        }
        Ok(place)
    };
    for layer in &mut layers {
        for place in &mut layer.inputs {
            *place = resolve(*place)?;
        }
    }
    let end = resolve(end)?;
    let order = order(&layers, end);
    let features = |place: Place| match place {
        Place::Layer(layer) => layers[layer].features,
        Place::Block(_) => to.features(place),
    };
    let input_features = features(Place::Block(input));
    let mut layers: Vec<MadeLayer> = {
        let mut new_place = vec![usize::MAX; layers.len()];
        for (place, &old) in order.iter().enumerate() {
            new_place[old] = place;
        }
        let moved = |place: &mut Place| {
            if let Place::Layer(layer) = place {
                *layer = new_place[*layer];
            }
        };
        order
            .iter()
            .map(|&old| {
                let mut layer = layers[old].clone();
                layer.inputs.iter_mut().for_each(moved);
                layer
            })
            .collect()
    };
    join_gathers(&mut layers);
    fold_scales(&mut layers);
    fold_orders(&mut layers);
    let mut layers = only_read(layers);
    if layers.is_empty() {
        layers.push(MadeLayer {
            form: Form::ChannelAffine {
                channels: 1,
                fixed: true,
            },
            inputs: vec![Place::Block(input)],
            weights: vec![("weight", vec![1], vec![1.0]), ("bias", vec![1], vec![0.0])],
            features: input_features,
        });
    }
    let dtype = if to.is_double { DType::F64 } else { DType::F32 };
    let steps = layers.iter().map(steps).fold(0, usize::saturating_add);
    let widest = layers.iter().map(|layer| layer.features).max();
    let mut weights = Weights::new();
    let mut graph = GraphConfig::default();
    for (place, layer) in layers.into_iter().enumerate() {
        for (name, shape, values) in layer.weights {
            weights.insert(format!("layers.{place}.{name}"), (shape, values));
        }
        let reads = layer.inputs.iter().map(|place| match place {
            Place::Block(_) => 0,
            Place::Layer(layer) => layer + 1,
        });
        graph.layers.push(GraphLayer {
            form: layer.form,
            reads: reads.collect(),
        });
    }
    Ok(Assembled {
        graph,
        weights: GraphWeights { weights, dtype },
        steps,
        widest: widest.unwrap_or(0).max(input_features),
    })
}

/// About how many products a layer takes for each row.
fn steps(layer: &MadeLayer) -> usize {
    let weights: usize = layer
        .weights
        .iter()
        .map(|(_, _, values)| values.len())
        .sum();
    match &layer.form {
        Form::Conv2d { shape, .. } => {
            let each = weights / shape.out_channels.max(1);
            layer.features.saturating_mul(each.max(1))
        }
        Form::LinearRuns { runs, .. } => weights.saturating_mul(*runs),
        Form::MatrixProduct(shape) => layer.features.saturating_mul(shape.inner),
        _ => layer.features.saturating_add(weights),
    }
}

/// The layers that the last one needs, each after what it reads. Without recursion, since graphs may be deep.
fn order(layers: &[MadeLayer], end: Place) -> Vec<usize> {
    let Place::Layer(end) = end else {
        return Vec::new();
    };
    let mut done = vec![false; layers.len()];
    let mut order = Vec::new();
    let mut open = vec![(end, false)];
    while let Some((layer, is_ready)) = open.pop() {
        if done[layer] {
            continue;
        }
        if is_ready {
            done[layer] = true;
            order.push(layer);
            continue;
        }
        open.push((layer, true));
        for place in layers[layer].inputs.iter().rev() {
            if let Place::Layer(read) = place
                && !done[*read]
            {
                open.push((*read, false));
            }
        }
    }
    order
}

/// A gather of a gather reads what that one reads; one that changes nothing is passed over.
fn join_gathers(layers: &mut [MadeLayer]) {
    for place in 0..layers.len() {
        for read in 0..layers[place].inputs.len() {
            while let Place::Layer(before) = layers[place].inputs[read]
                && let Form::Gather { features, indices } = &layers[before].form
                && indices.len() == *features
                && indices.iter().enumerate().all(|(at, &index)| at == index)
            {
                layers[place].inputs[read] = layers[before].inputs[0];
            }
        }
        let Form::Gather { indices, .. } = &layers[place].form else {
            continue;
        };
        if let Place::Layer(before) = layers[place].inputs[0]
            && let Form::Gather {
                features,
                indices: earlier,
            } = &layers[before].form
        {
            let form = Form::Gather {
                features: *features,
                indices: indices.iter().map(|&index| earlier[index]).collect(),
            };
            let input = layers[before].inputs[0];
            layers[place].form = form;
            layers[place].inputs[0] = input;
        }
    }
}

/// A fixed scale and shift before a dense layer that alone reads it become part of its weights.
fn fold_scales(layers: &mut [MadeLayer]) {
    for place in 0..layers.len() {
        let Form::Linear { inputs, outputs } = layers[place].form else {
            continue;
        };
        let Place::Layer(before) = layers[place].inputs[0] else {
            continue;
        };
        let readers = layers
            .iter()
            .flat_map(|layer| &layer.inputs)
            .filter(|read| **read == Place::Layer(before))
            .count();
        let Form::ChannelAffine {
            channels,
            fixed: true,
        } = layers[before].form
        else {
            continue;
        };
        if readers != 1 || channels == 0 {
            continue;
        }
        let [(_, _, scale), (_, _, shift)] = &layers[before].weights[..] else {
            continue;
        };
        let block = inputs / channels;
        let (scale, shift) = (scale.clone(), shift.clone());
        let input = layers[before].inputs[0];
        let [(_, _, weight), (_, _, bias)] = &mut layers[place].weights[..] else {
            continue;
        };
        for output in 0..outputs {
            for at in 0..inputs {
                let value = &mut weight[output * inputs + at];
                bias[output] += *value * shift[at / block];
                *value *= scale[at / block];
            }
        }
        layers[place].inputs[0] = input;
    }
}

/// A dense layer behind numbers in another order reads them in their own: its weights change places. So a pipeline that puts numbers
/// before categories is a chain of dense layers like any other.
fn fold_orders(layers: &mut [MadeLayer]) {
    for place in 0..layers.len() {
        let Form::Linear { inputs, outputs } = layers[place].form else {
            continue;
        };
        let Place::Layer(before) = layers[place].inputs[0] else {
            continue;
        };
        let Form::Gather { features, indices } = layers[before].form.clone() else {
            continue;
        };
        // One that picks few of many would make the layer larger.
        if indices.len() != inputs || features > inputs {
            continue;
        }
        let input = layers[before].inputs[0];
        let [(_, shape, weight), _] = &mut layers[place].weights[..] else {
            continue;
        };
        let mut moved = vec![0.0; outputs * features];
        for output in 0..outputs {
            for (at, &index) in indices.iter().enumerate() {
                moved[output * features + index] += weight[output * inputs + at];
            }
        }
        (*shape, *weight) = (vec![outputs, features], moved);
        layers[place].form = Form::Linear {
            inputs: features,
            outputs,
        };
        layers[place].inputs[0] = input;
    }
}

/// Only layers that the last one needs.
fn only_read(layers: Vec<MadeLayer>) -> Vec<MadeLayer> {
    let Some(last) = layers.len().checked_sub(1) else {
        return layers;
    };
    let mut read = vec![false; layers.len()];
    read[last] = true;
    for place in (0..layers.len()).rev() {
        if read[place] {
            for input in &layers[place].inputs {
                if let Place::Layer(layer) = input {
                    read[*layer] = true;
                }
            }
        }
    }
    let mut new_place = vec![0; layers.len()];
    let mut kept: Vec<MadeLayer> = Vec::new();
    for (place, mut layer) in layers.into_iter().enumerate() {
        if !read[place] {
            continue;
        }
        for input in &mut layer.inputs {
            if let Place::Layer(read) = input {
                *read = new_place[*read];
            }
        }
        new_place[place] = kept.len();
        kept.push(layer);
    }
    kept
}
