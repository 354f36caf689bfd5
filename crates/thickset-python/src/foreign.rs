//! A network that Python computes: one layer whose values and derivatives are calls of a Python object.
//!
//! The object has `logits(x)`, `pullback(x, g)` (the gradient in x of the logits weighed by g), `tangent(x, v)` (the change of the
//! logits along v), `pullback_tangent(x, v, g)` (the change of the pullback along v) and `smooth(beta)` (such an object of the smooth
//! twin, or None). All take and give arrays of double precision, a row a line. With these every explanation, attack and audit works; it
//! cannot be trained. An exception of the object unwinds to the call that was made, and is raised there.

use std::sync::Arc;

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use thickset::host::read;
use thickset_engine::layer::{Layer, Linearised};
use thickset_engine::{Tensor, TensorData};

use crate::arrays::matrix;
use crate::errors::bad_value;

/// The layer.
#[derive(Clone, Debug)]
pub struct PythonLayer {
    object: Arc<Py<PyAny>>,
    features: usize,
    classes: usize,
}

impl PythonLayer {
    pub fn new(object: Py<PyAny>, features: usize, classes: usize) -> Self {
        Self {
            object: Arc::new(object),
            features,
            classes,
        }
    }

    /// Calls a method with tensors; the answer has `width` columns and is of the first one's kind.
    fn call(&self, method: &str, given: &[&Tensor<2>], width: usize) -> Tensor<2> {
        let [rows, _] = given[0].dims();
        let arrays: Vec<(Vec<f64>, usize)> = given
            .iter()
            .map(|tensor| (read((*tensor).clone()), tensor.dims()[1]))
            .collect();
        let answer = Python::attach(|py| -> PyResult<Vec<f64>> {
            let arrays = arrays.into_iter();
            let arrays = arrays.map(|(values, width)| matrix(py, values, width));
            let arrays = arrays.collect::<PyResult<Vec<_>>>()?;
            let arguments = pyo3::types::PyTuple::new(py, arrays)?;
            let answer = self.object.bind(py).call_method1(method, arguments)?;
            let answer: PyReadonlyArray2<'_, f64> = answer.extract()?;
            let found = answer.as_array();
            if found.dim() != (rows, width) {
                return Err(bad_value(&format!(
                    "`{method}` must give {rows} rows of {width} numbers, got {:?}",
                    found.dim()
                )));
            }
            Ok(found.iter().copied().collect())
        });
        match answer {
            Ok(values) => {
                let like = given[0];
                Tensor::from_data(
                    TensorData::new(values, [rows, width]),
                    (&like.device(), like.dtype()),
                )
            }
            // Nothing between here and the call passes errors of Python; `supervise` raises it.
            Err(error) => std::panic::resume_unwind(Box::new(error)),
        }
    }
}

impl Layer for PythonLayer {
    fn kind(&self) -> &'static str {
        "python"
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.features]).then_some(self.classes)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.call("logits", &[&inputs[0]], self.classes)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = PythonLayerAt {
            layer: self.clone(),
            x: inputs[0].clone(),
        };
        (self.forward(inputs), Box::new(at))
    }

    fn smooth(&self, beta: f64) -> Option<Box<dyn Layer>> {
        let twin = Python::attach(|py| {
            let twin = self.object.bind(py).call_method1("smooth", (beta,))?;
            Ok::<_, PyErr>((!twin.is_none()).then(|| twin.unbind()))
        });
        match twin {
            Ok(twin) => {
                let layer = Self::new(twin?, self.features, self.classes);
                Some(Box::new(layer))
            }
            Err(error) => std::panic::resume_unwind(Box::new(error)),
        }
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

/// The layer at one input.
struct PythonLayerAt {
    layer: PythonLayer,
    x: Tensor<2>,
}

impl Linearised for PythonLayerAt {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let features = self.layer.features;
        vec![self.layer.call("pullback", &[&self.x, &g], features)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let classes = self.layer.classes;
        self.layer.call("tangent", &[&self.x, &v[0]], classes)
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let features = self.layer.features;
        let bent = self
            .layer
            .call("pullback_tangent", &[&self.x, &v[0], g], features);
        let pulled = self.layer.call("pullback", &[&self.x, &g_dot], features);
        vec![pulled + bent]
    }
}
