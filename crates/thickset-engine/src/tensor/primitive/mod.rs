//! The primitive operations that everything else is made of: functions of [`Array`]s that record nothing.
//!
//! Each one looks at where its operands lie; a further device is a further arm of every `match` here. Operands are taken by
//! value, so that an operation may write its result over an operand that nobody else holds. On the CPU every sum has one
//! fixed order, whatever the number of threads.
//!
//! | file | operations |
//! |---|---|
//! | `create` | [`full`], [`upload`], [`download`], [`cast`] |
//! | `unary` | [`unary`] and [`unary_gradient`], for each [`Unary`] |
//! | `binary` | [`binary`] with stretched axes and [`scalar`], for each [`Binary`]; [`power`] |
//! | `compare` | [`compare`], [`compare_scalar`], [`not`], [`mask_fill`], [`mask_where`] |
//! | `reduce` | [`sum`], [`sum_axis`], [`sum_to`], [`max_axis`] with its places |
//! | `layout` | [`expand`], [`swap_axes`], [`slice`] and its adjoint [`embed`], [`concatenate`] |
//! | `index` | [`gather`] and [`scatter_add`], [`select`] and [`select_add`] |
//! | `product` | [`matrix_product`] |

mod binary;
mod compare;
mod create;
mod index;
mod layout;
mod number;
mod product;
mod reduce;
mod unary;

pub(crate) use binary::{Binary, binary, power, scalar};
pub(crate) use compare::{Comparison, compare, compare_scalar, mask_fill, mask_where, not};
pub(crate) use create::{cast, download, full, upload};
pub(crate) use index::{gather, scatter_add, select, select_add};
pub(crate) use layout::{concatenate, embed, expand, slice, swap_axes};
pub(crate) use product::matrix_product;
pub(crate) use reduce::{max_axis, sum, sum_axis, sum_to};
pub(crate) use unary::{Kept, Unary, unary, unary_gradient};

#[cfg(doc)]
use super::array::Array;
