//! The primitive operations that everything else is made of: functions of [`Array`]s that record nothing.
//!
//! Operands are taken by value where an operation may write its result over one that nobody else holds. On the CPU every sum has
//! one fixed order, whatever the number of threads. With the feature `gpu` each of them has a namesake there (`super::gpu`), and
//! `by_device` calls the one that runs where the operands lie.
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
#[cfg(feature = "gpu")]
mod by_device;
mod compare;
mod create;
mod index;
mod layout;
mod number;
mod product;
mod reduce;
mod unary;

pub(crate) use binary::Binary;
pub(crate) use compare::Comparison;
#[cfg(feature = "gpu")]
pub(crate) use product::product_shape;
pub(crate) use reduce::sum_to;
pub(crate) use unary::{Kept, Unary};

#[cfg(feature = "gpu")]
pub(crate) use by_device::{
    binary, cast, compare, compare_scalar, concatenate, download, embed, expand, full, gather,
    mask_fill, mask_where, matrix_product, max_axis, not, power, scalar, scatter_add, select,
    select_add, slice, sum, sum_axis, swap_axes, unary, unary_gradient, upload,
};
#[cfg(not(feature = "gpu"))]
pub(crate) use {
    binary::{binary, power, scalar},
    compare::{compare, compare_scalar, mask_fill, mask_where, not},
    create::{cast, download, full, upload},
    index::{gather, scatter_add, select, select_add},
    layout::{concatenate, embed, expand, slice, swap_axes},
    product::matrix_product,
    reduce::{max_axis, sum, sum_axis},
    unary::{unary, unary_gradient},
};

#[cfg(doc)]
use super::array::Array;
