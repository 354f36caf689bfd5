//! Searches for inputs that change an explanation and keep the prediction.

pub mod constraint;
pub mod moo;
