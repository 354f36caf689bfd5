//! Metrics of rows of a network: what turns a model and rows into the lists that the metrics themselves take.
//!
//! A row's result depends neither on the rows beside it nor on threads.

pub mod faithfulness;
pub mod thickness;
