//! What training minimises: the terms that losses are made of.

pub mod term;
