//! Whole pages.

pub mod audit;
pub mod bench;
pub mod gradient_free;
pub mod letter;
mod side_by_side;
