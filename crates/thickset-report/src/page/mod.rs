//! Whole pages.

pub mod audit;
pub mod bench;
pub mod letter;
mod side_by_side;
