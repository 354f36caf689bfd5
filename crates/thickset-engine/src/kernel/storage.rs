//! From arrays to slices and back.

use super::real::Real;
use crate::tensor::{Array, Element};

/// A type of number that kernels compute in.
pub(crate) trait Stored: Real + Element {}

impl Stored for f32 {}
impl Stored for f64 {}

/// Rows and columns of an array of rank two.
pub(crate) fn size(array: &Array) -> [usize; 2] {
    array.shape.dims()
}

/// Runs one call for whichever floating type some arrays share, and makes its result an array.
macro_rules! by_type {
    (|$a:ident, $b:ident| $result:expr, $size:expr) => {{
        let size = $size;
        match ($a.numbers(), $b.numbers()) {
            ($crate::tensor::Numbers::F32($a), $crate::tensor::Numbers::F32($b)) => {
                let ($a, $b) = ($a.as_slice(), $b.as_slice());
                $crate::tensor::Array::new($result, size)
            }
            ($crate::tensor::Numbers::F64($a), $crate::tensor::Numbers::F64($b)) => {
                let ($a, $b) = ($a.as_slice(), $b.as_slice());
                $crate::tensor::Array::new($result, size)
            }
            _ => $crate::kernel::storage::wrong_types(&[$a, $b]),
        }
    }};
    (|$a:ident| $result:expr, $size:expr) => {{
        let size = $size;
        match $a.numbers() {
            $crate::tensor::Numbers::F32($a) => {
                let $a = $a.as_slice();
                $crate::tensor::Array::new($result, size)
            }
            $crate::tensor::Numbers::F64($a) => {
                let $a = $a.as_slice();
                $crate::tensor::Array::new($result, size)
            }
            _ => $crate::kernel::storage::wrong_types(&[$a]),
        }
    }};
    (|$a:ident, $b:ident, $c:ident| $result:expr, $size:expr) => {{
        let size = $size;
        match ($a.numbers(), $b.numbers(), $c.numbers()) {
            (
                $crate::tensor::Numbers::F32($a),
                $crate::tensor::Numbers::F32($b),
                $crate::tensor::Numbers::F32($c),
            ) => $crate::tensor::Array::new($result, size),
            (
                $crate::tensor::Numbers::F64($a),
                $crate::tensor::Numbers::F64($b),
                $crate::tensor::Numbers::F64($c),
            ) => $crate::tensor::Array::new($result, size),
            _ => $crate::kernel::storage::wrong_types(&[$a, $b, $c]),
        }
    }};
}
pub(crate) use by_type;

/// Refuses arrays that do not share a floating type.
#[cold]
pub(crate) fn wrong_types(arrays: &[&Array]) -> ! {
    let types: Vec<_> = arrays.iter().map(|array| array.dtype()).collect();
    panic!("a kernel's tensors must have one floating type, got {types:?}")
}
