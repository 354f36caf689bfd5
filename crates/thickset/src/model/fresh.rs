//! Fresh weights: drawn from the run's seed, one named stream a parameter.

use thickset_engine::{DType, Device, Init, Parameter, ParameterSource, Role, Tensor, TensorData};

use crate::Seed;

/// Draws parameters as their layers ask for them.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    seed: Seed,
    dtype: DType,
}

impl Fresh {
    /// Weights in `f32`, which training computes in.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            dtype: DType::F32,
        }
    }

    /// Weights in `f64`, for checks.
    #[must_use]
    pub fn double(seed: Seed) -> Self {
        Self {
            seed,
            dtype: DType::F64,
        }
    }
}

impl ParameterSource for Fresh {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        init: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let count: usize = shape.iter().product();
        let values: Vec<f64> = match init {
            Init::Constant(value) => vec![value; count],
            Init::LastApart { last, rest } => {
                let mut values = vec![rest; count];
                if let Some(end) = values.last_mut() {
                    *end = last;
                }
                values
            }
            Init::Uniform { bound } => {
                let mut stream = self.seed.stream(&format!("init {name}"));
                let draw = || stream.uniform_in(-bound, bound);
                std::iter::repeat_with(draw).take(count).collect()
            }
        };
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), self.dtype)))
    }

    fn dtype(&self) -> DType {
        self.dtype
    }
}
