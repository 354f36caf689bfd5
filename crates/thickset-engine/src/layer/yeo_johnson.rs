//! The power transform of Yeo and Johnson, with a power for each feature: what scikit-learn's `PowerTransformer` does first.
//!
//! With `a = |x| + 1` and `m = lambda` where `x >= 0`, else `2 - lambda`: `y = sign(x) (a^m - 1) / m`, or `sign(x) log a` for
//! `m = 0`. The slope is `a^(m - 1)` on both sides, the curvature `sign(x) (m - 1) a^(m - 2)`.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised, single};
use crate::{Init, Parameter, Result, Scope};

/// Powers nearer to zero than this are the logarithm: the quotient would cancel.
const LEAST_POWER: f64 = 1e-6;

/// `sign(x) ((|x| + 1)^m - 1) / m`, feature by feature.
#[derive(Clone, Debug)]
pub struct YeoJohnson {
    lambda: Parameter,
}

impl YeoJohnson {
    /// Takes `lambda`, which is never fitted, from the scope.
    ///
    /// # Errors
    /// If the scope's source cannot provide it.
    pub fn new(features: usize, scope: &mut Scope<'_>) -> Result<Self> {
        Ok(Self {
            lambda: scope.statistic("lambda", &[features], Init::Constant(1.0))?,
        })
    }
}

impl Layer for YeoJohnson {
    fn kind(&self) -> &'static str {
        "yeo-johnson"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::YeoJohnson {
            features: self.lambda.len(),
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.lambda.len()]).then(|| self.lambda.len())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearise(inputs).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let x = single(inputs);
        let plain = x.clone().without_autodiff();
        let is_negative = plain.clone().lower_elem(0.0);
        let sign = plain.ones_like().mask_fill(is_negative.clone(), -1.0);
        let lambda = self.lambda.value.clone().repeat_dim(0, x.dims()[0]);
        let power = lambda.clone().mask_where(is_negative, -lambda + 2.0);
        let log = x.abs().log1p();
        let is_log = power.clone().abs().lower_elem(LEAST_POWER);
        let divisor = power.clone().mask_fill(is_log.clone(), 1.0);
        let by_power = (log.clone() * divisor.clone()).exp() - 1.0;
        let size = (by_power / divisor).mask_where(is_log, log.clone());
        let at = At {
            slope: (log.clone() * (power.clone() - 1.0)).exp(),
            curvature: sign.clone() * (power.clone() - 1.0) * (log * (power - 2.0)).exp(),
        };
        (sign * size, Box::new(at))
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![&self.lambda]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![&mut self.lambda]
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

struct At {
    slope: Tensor<2>,
    curvature: Tensor<2>,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![g * self.slope.clone()]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        single(v) * self.slope.clone()
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        vec![g_dot * self.slope.clone() + g.clone() * single(v) * self.curvature.clone()]
    }
}
