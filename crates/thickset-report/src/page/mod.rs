//! Whole pages.

pub mod audit;
pub mod bench;
mod side_by_side;
