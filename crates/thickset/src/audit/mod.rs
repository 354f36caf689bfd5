//! Audits: how far a model's explanations can be trusted, row by row and over all.

pub mod result;

pub use result::Audit;
