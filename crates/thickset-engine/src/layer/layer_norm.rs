//! Layer normalisation: each run of features of a row to mean 0 and variance 1, then a learned scale and shift.
//!
//! With `n = (x - mean) r`, `r = (var + eps)^(-1/2)` and means over the run, `y = gamma n + beta`. The Jacobian of `n` is
//! symmetric: `P v = r (v - mean v - n mean(n v))`; along `v`, `r` changes by `-r^2 mean(n v)`.

use crate::tensor::Tensor;

use super::axis::Axis;
use super::{Form, Layer, Linearised, single};
use crate::{Error, Init, Parameter, Result, Scope};

/// Normalisation of runs of features with a learned scale and shift.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    scale: Parameter,
    shift: Parameter,
    axis: Axis,
    epsilon: f64,
}

impl LayerNorm {
    /// Normalises each of `runs` runs of `size` features; `epsilon` is added to variances. Takes `weight` and `bias` from the
    /// scope, one number for each place of a run.
    ///
    /// # Errors
    /// If a size is zero, `epsilon` is not finite and positive, or the scope's source cannot provide the parameters.
    pub fn new(runs: usize, size: usize, epsilon: f64, scope: &mut Scope<'_>) -> Result<Self> {
        if !(epsilon.is_finite() && epsilon > 0.0) {
            return Err(Error::Positive {
                name: "epsilon",
                got: epsilon,
            });
        }
        Ok(Self {
            axis: Axis::new(runs, size, 1)?,
            scale: scope.weight("weight", &[size], Init::Constant(1.0))?,
            shift: scope.weight("bias", &[size], Init::Constant(0.0))?,
            epsilon,
        })
    }

    /// A parameter beside the runs.
    fn beside(&self, parameter: &Parameter) -> Tensor<3> {
        parameter.value.clone().reshape([1, self.axis.size(), 1])
    }
}

impl Layer for LayerNorm {
    fn kind(&self) -> &'static str {
        "layer-norm"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::LayerNorm {
            runs: self.axis.before(),
            size: self.axis.size(),
            epsilon: self.epsilon,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let features = self.axis.features();
        (inputs == [features]).then_some(features)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearise(inputs).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let x = self.axis.split(single(inputs));
        let centred = x.clone() - mean(x, self.axis);
        let variance = mean(centred.clone() * centred.clone(), self.axis);
        let r = (variance + self.epsilon).powf_scalar(-0.5);
        let at = At {
            n: centred * r.clone(),
            r,
            scale: self.beside(&self.scale),
            axis: self.axis,
        };
        let y = at.n.clone() * at.scale.clone() + self.beside(&self.shift);
        (self.axis.joined(y), Box::new(at))
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![&self.scale, &self.shift]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![&mut self.scale, &mut self.shift]
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

/// The mean over the axis.
fn mean(x: Tensor<3>, axis: Axis) -> Tensor<3> {
    x.sum_dim(1) * axis.share()
}

struct At {
    n: Tensor<3>,
    r: Tensor<3>,
    scale: Tensor<3>,
    axis: Axis,
}

impl At {
    /// The mean over a run of `n` times the given.
    fn along(&self, v: &Tensor<3>) -> Tensor<3> {
        mean(self.n.clone() * v.clone(), self.axis)
    }

    /// `v - mean v - n mean(n v)`
    fn projected(&self, v: Tensor<3>) -> Tensor<3> {
        let along = self.along(&v);
        v.clone() - mean(v, self.axis) - self.n.clone() * along
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let h = self.axis.split(g) * self.scale.clone();
        vec![self.axis.joined(self.projected(h) * self.r.clone())]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let moved = self.projected(self.axis.split(single(v))) * self.r.clone();
        self.axis.joined(moved * self.scale.clone())
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let v = self.axis.split(single(v));
        let h = self.axis.split(g.clone()) * self.scale.clone();
        let h_dot = self.axis.split(g_dot) * self.scale.clone();
        let r_dot = -(self.r.clone() * self.r.clone() * self.along(&v));
        let n_dot = self.projected(v) * self.r.clone();
        let along_dot = mean(h.clone() * n_dot.clone(), self.axis);
        let change = self.projected(h_dot) - n_dot * self.along(&h) - self.n.clone() * along_dot;
        vec![
            self.axis
                .joined(self.projected(h) * r_dot + change * self.r.clone()),
        ]
    }
}
