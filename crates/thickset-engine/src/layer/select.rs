//! One of two inputs, as the sign of a third decides number by number. Which one it is has no derivative.

use crate::tensor::{Bool, Tensor};

use super::{Form, Layer, Linearised};

/// Of `[decider, a, b]`: `a` where the decider is positive, else `b`.
#[derive(Clone, Copy, Debug)]
pub struct Select;

impl Layer for Select {
    fn kind(&self) -> &'static str {
        "select"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Select)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [decider, a, b] = inputs else { return None };
        (decider == a && a == b).then_some(*a)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let at = At::new(&inputs[0]);
        at.chosen(inputs[1].clone(), inputs[2].clone())
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = At::new(&inputs[0]);
        let output = at.chosen(inputs[1].clone(), inputs[2].clone());
        (output, Box::new(at))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    is_first: Tensor<2, Bool>,
}

impl At {
    fn new(decider: &Tensor<2>) -> Self {
        Self {
            is_first: decider.clone().without_autodiff().greater_elem(0.0),
        }
    }

    /// Never a product with 0, so that what is not chosen may be no number.
    fn chosen(&self, a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        b.mask_where(self.is_first.clone(), a)
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let none = g.zeros_like();
        vec![
            none.clone(),
            self.chosen(g.clone(), none.clone()),
            self.chosen(none, g),
        ]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.chosen(v[1].clone(), v[2].clone())
    }
}
