//! Numbers on their way into tensors and out of them.

use super::kind::DType;
use super::numbers::{Element, Numbers};
use super::shape::Shape;

/// The numbers of a tensor, row by row, and its shape. Tensors of the machine's memory and their data share the numbers until
/// one of them is written to.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorData {
    pub(crate) numbers: Numbers,
    shape: Shape,
}

/// Data was read as another type than its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the numbers are of type {got:?}")]
pub struct WrongType {
    pub got: DType,
}

impl TensorData {
    /// Values, row by row.
    ///
    /// # Panics
    /// If there are not as many as the shape holds.
    #[must_use]
    pub fn new<E: Element>(values: Vec<E>, shape: impl Into<Shape>) -> Self {
        Self::of(E::into_numbers(values), shape.into())
    }

    pub(crate) fn of(numbers: Numbers, shape: Shape) -> Self {
        assert_eq!(
            numbers.len(),
            shape.num_elements(),
            "numbers for a tensor of shape {shape:?}"
        );
        Self { numbers, shape }
    }

    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    #[must_use]
    pub fn num_elements(&self) -> usize {
        self.numbers.len()
    }

    #[must_use]
    pub fn dtype(&self) -> DType {
        self.numbers.dtype()
    }

    /// The values, converted to any type.
    #[must_use]
    pub fn iter<E: Element>(&self) -> Box<dyn Iterator<Item = E> + '_> {
        if let Some(values) = E::slice(&self.numbers) {
            return Box::new(values.iter().copied());
        }
        match &self.numbers {
            Numbers::F32(values) => {
                Box::new(values.iter().map(|&value| E::nearest(f64::from(value))))
            }
            Numbers::F64(values) => Box::new(values.iter().map(|&value| E::nearest(value))),
            Numbers::I32(values) => {
                Box::new(values.iter().map(|&value| E::nearest(f64::from(value))))
            }
            Numbers::Bool(values) => {
                Box::new(values.iter().map(|&value| E::nearest(f64::from(value))))
            }
        }
    }

    /// The values of data of just this type.
    ///
    /// # Errors
    /// If it has another type.
    pub fn as_slice<E: Element>(&self) -> Result<&[E], WrongType> {
        E::slice(&self.numbers).ok_or(WrongType { got: self.dtype() })
    }

    /// The same, to write to; what is shared is copied first.
    ///
    /// # Errors
    /// If it has another type.
    pub fn as_mut_slice<E: Element>(&mut self) -> Result<&mut [E], WrongType> {
        let got = self.dtype();
        E::slice_mut(&mut self.numbers).ok_or(WrongType { got })
    }

    /// The same as a vector.
    ///
    /// # Errors
    /// If it has another type.
    pub fn try_to_vec<E: Element>(&self) -> Result<Vec<E>, WrongType> {
        self.clone().try_into_vec()
    }

    /// The same without a copy where nobody shares the values.
    ///
    /// # Errors
    /// If it has another type.
    pub fn try_into_vec<E: Element>(self) -> Result<Vec<E>, WrongType> {
        E::take(self.numbers).map_err(|other| WrongType { got: other.dtype() })
    }

    /// The same numbers in another type.
    #[must_use]
    pub fn convert_dtype(self, dtype: DType) -> Self {
        Self {
            numbers: self.numbers.cast(dtype),
            shape: self.shape,
        }
    }

    /// The bytes of the values, each with its lowest byte first.
    #[must_use]
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match &self.numbers {
            Numbers::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Numbers::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Numbers::I32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Numbers::Bool(values) => values.iter().map(|&v| u8::from(v)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_read_as_its_own_type_or_converted() {
        let data = TensorData::new(vec![1.5_f32, -2.0], [1, 2]);
        assert_eq!(data.iter::<f64>().collect::<Vec<_>>(), [1.5, -2.0]);
        assert_eq!(data.as_slice::<f32>().unwrap(), [1.5, -2.0]);
        assert_eq!(data.as_slice::<f64>(), Err(WrongType { got: DType::F32 }));
        assert_eq!(data.to_le_bytes().len(), 8);
        let wide = data.clone().convert_dtype(DType::F64);
        assert_eq!(wide.try_into_vec::<f64>().unwrap(), [1.5, -2.0]);
        let whole = TensorData::new(vec![3_i64, 4], [2]);
        assert_eq!(whole.try_to_vec::<i64>().unwrap(), [3, 4]);
    }

    #[test]
    fn writing_to_shared_data_leaves_the_other_as_it_was() {
        let data = TensorData::new(vec![1.0_f64, 2.0], [2]);
        let mut written = data.clone();
        written.as_mut_slice::<f64>().unwrap()[0] = 9.0;
        assert_eq!(data.as_slice::<f64>().unwrap(), [1.0, 2.0]);
        assert_eq!(written.as_slice::<f64>().unwrap(), [9.0, 2.0]);
    }

    #[test]
    #[should_panic(expected = "numbers for a tensor of shape [2, 2]")]
    fn too_few_values_are_refused() {
        let _ = TensorData::new(vec![1.0_f32], [2, 2]);
    }
}
