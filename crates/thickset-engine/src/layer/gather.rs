//! Features by their numbers: a permutation, a part, or some of them several times (which is how a channel's number meets all
//! its pixels).

use crate::tensor::{Int, Tensor, TensorData};

use super::{Form, Layer, Linearised, single};
use crate::{Error, Result};

/// `y_i = x_(indices_i)`.
#[derive(Clone, Debug)]
pub struct Gather {
    indices: Vec<i64>,
    features: usize,
}

impl Gather {
    /// Takes these of `features` features, in this order.
    ///
    /// # Errors
    /// If there are none, or an index is not below `features`.
    pub fn new(features: usize, indices: &[usize]) -> Result<Self> {
        let refused = |got| Error::Size {
            name: "indices",
            most: features,
            got,
        };
        if indices.is_empty() {
            return Err(refused(0));
        }
        let whole = |&index: &usize| match i64::try_from(index) {
            Ok(whole) if index < features => Ok(whole),
            _ => Err(refused(index.saturating_add(1))),
        };
        Ok(Self {
            indices: indices.iter().map(whole).collect::<Result<_>>()?,
            features,
        })
    }

    fn at(&self, like: &Tensor<2>) -> At {
        let data = TensorData::new(self.indices.clone(), [self.indices.len()]);
        At {
            indices: Tensor::from_data(data, &like.device().without_autodiff()),
            features: self.features,
        }
    }
}

impl Layer for Gather {
    fn kind(&self) -> &'static str {
        "gather"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Gather {
            features: self.features,
            indices: self
                .indices
                .iter()
                .map(|index| usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX))
                .collect(),
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.features]).then_some(self.indices.len())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearise(inputs).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = self.at(&inputs[0]);
        (at.tangent(inputs), Box::new(at))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

struct At {
    indices: Tensor<1, Int>,
    features: usize,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let zeros = Tensor::zeros([g.dims()[0], self.features], (&g.device(), g.dtype()));
        let indices = self.indices.clone();
        vec![zeros.select_add(1, indices, g)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        single(v).select(1, self.indices.clone())
    }
}
