//! Buffers of numbers in the machine's memory, shared until somebody writes.

use std::sync::Arc;

use super::kind::DType;

/// Numbers of one type. Clones share them.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    F32(Arc<Vec<f32>>),
    F64(Arc<Vec<f64>>),
    I32(Arc<Vec<i32>>),
    Bool(Arc<Vec<bool>>),
}

/// A type that data is given in and read as: `f32`, `f64`, `i32`, `i64` or `bool`.
pub trait Element: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// A buffer of these values; `i64` becomes `i32`.
    ///
    /// # Panics
    /// If an `i64` is no index.
    #[doc(hidden)]
    fn into_numbers(values: Vec<Self>) -> Numbers;

    /// The values of a buffer of just this type.
    #[doc(hidden)]
    fn slice(numbers: &Numbers) -> Option<&[Self]>;

    /// The same to write to, copied first if they are shared.
    #[doc(hidden)]
    fn slice_mut(numbers: &mut Numbers) -> Option<&mut [Self]>;

    /// The same as a vector, copied if they are shared.
    #[doc(hidden)]
    fn take(numbers: Numbers) -> Result<Vec<Self>, Numbers>;

    /// The nearest value of this type; a truth value is 0 or 1.
    #[doc(hidden)]
    fn nearest(value: f64) -> Self;
}

macro_rules! stored {
    ($type:ty, $variant:ident, $from:expr) => {
        impl Element for $type {
            fn into_numbers(values: Vec<Self>) -> Numbers {
                Numbers::$variant(Arc::new(values))
            }

            fn slice(numbers: &Numbers) -> Option<&[Self]> {
                match numbers {
                    Numbers::$variant(values) => Some(values),
                    _ => None,
                }
            }

            fn slice_mut(numbers: &mut Numbers) -> Option<&mut [Self]> {
                match numbers {
                    Numbers::$variant(values) => Some(Arc::make_mut(values).as_mut_slice()),
                    _ => None,
                }
            }

            fn take(numbers: Numbers) -> Result<Vec<Self>, Numbers> {
                match numbers {
                    Numbers::$variant(values) => Ok(Arc::unwrap_or_clone(values)),
                    other => Err(other),
                }
            }

            fn nearest(value: f64) -> Self {
                $from(value)
            }
        }
    };
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "networks of this type compute in it"
)]
fn single(value: f64) -> f32 {
    value as f32
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the nearest whole number is asked for"
)]
fn whole(value: f64) -> i32 {
    value as i32
}

stored!(f32, F32, single);
stored!(f64, F64, std::convert::identity);
stored!(i32, I32, whole);
stored!(bool, Bool, |value| value != 0.0);

/// Whole numbers as programs count them; they are stored as `i32`.
impl Element for i64 {
    fn into_numbers(values: Vec<Self>) -> Numbers {
        let narrow = |value: i64| {
            i32::try_from(value).unwrap_or_else(|_| panic!("{value} is no index of a tensor"))
        };
        i32::into_numbers(values.into_iter().map(narrow).collect())
    }

    fn slice(_: &Numbers) -> Option<&[Self]> {
        None
    }

    fn slice_mut(_: &mut Numbers) -> Option<&mut [Self]> {
        None
    }

    fn take(numbers: Numbers) -> Result<Vec<Self>, Numbers> {
        i32::take(numbers).map(|values| values.into_iter().map(i64::from).collect())
    }

    fn nearest(value: f64) -> Self {
        i64::from(whole(value))
    }
}

impl Numbers {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::I32(_) => DType::I32,
            Self::Bool(_) => DType::Bool,
        }
    }

    /// So many numbers, all of one value.
    pub(crate) fn filled(count: usize, value: f64, dtype: DType) -> Self {
        match dtype {
            DType::F32 => f32::into_numbers(vec![single(value); count]),
            DType::F64 => f64::into_numbers(vec![value; count]),
            DType::I32 => i32::into_numbers(vec![whole(value); count]),
            DType::Bool => bool::into_numbers(vec![value != 0.0; count]),
        }
    }

    /// The values as any type.
    pub(crate) fn read<E: Element>(&self) -> Vec<E> {
        if let Some(values) = E::slice(self) {
            return values.to_vec();
        }
        match self {
            Self::F32(values) => values.iter().map(|&v| E::nearest(f64::from(v))).collect(),
            Self::F64(values) => values.iter().map(|&v| E::nearest(v)).collect(),
            Self::I32(values) => values.iter().map(|&v| E::nearest(f64::from(v))).collect(),
            Self::Bool(values) => values.iter().map(|&v| E::nearest(f64::from(v))).collect(),
        }
    }

    /// The same numbers in another type.
    pub(crate) fn cast(self, dtype: DType) -> Self {
        if self.dtype() == dtype {
            return self;
        }
        match dtype {
            DType::F32 => f32::into_numbers(self.read()),
            DType::F64 => f64::into_numbers(self.read()),
            DType::I32 => i32::into_numbers(self.read()),
            DType::Bool => bool::into_numbers(self.read()),
        }
    }
}
