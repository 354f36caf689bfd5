//! Which tensors are above zero for every row, by the layers that make them: exporters ask whether a sum of probabilities is zero before
//! they divide by it, and the answer is then known.

use thickset_engine::layer::Form;

use super::{Lowering, Place};

/// Layers that are looked back through.
const DEEPEST: usize = 32;

impl Lowering<'_> {
    /// Whether every number that is made at a place is positive; false where that is not seen.
    pub(super) fn is_positive(&self, place: Place) -> bool {
        self.is_positive_within(place, DEEPEST)
    }

    fn is_positive_within(&self, place: Place, depth: usize) -> bool {
        let (Place::Layer(layer), Some(depth)) = (place, depth.checked_sub(1)) else {
            return false;
        };
        let layer = &self.layers[layer];
        let of_all = || {
            let mut inputs = layer.inputs.iter();
            inputs.all(|&input| self.is_positive_within(input, depth))
        };
        match &layer.form {
            Form::Sigmoid | Form::Exp | Form::Softmax | Form::Softplus { .. } => true,
            Form::Clip { least, .. } => least.is_some_and(|least| least > 0.0) || of_all(),
            Form::ChannelAffine { .. } => {
                let numbers = |name: &str| {
                    let found = layer.weights.iter().find(|(known, ..)| *known == name);
                    found.map(|(_, _, values)| values.as_slice())
                };
                let (Some(scale), Some(shift)) = (numbers("weight"), numbers("bias")) else {
                    return false;
                };
                scale.iter().all(|&value| value > 0.0)
                    && shift.iter().all(|&value| value >= 0.0)
                    && of_all()
            }
            Form::Add
            | Form::Multiply
            | Form::Concatenate
            | Form::Power { .. }
            | Form::SquareRoot
            | Form::Gather { .. }
            | Form::Reduce { .. } => of_all(),
            _ => false,
        }
    }
}
