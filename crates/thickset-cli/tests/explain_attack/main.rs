//! `thickset explain` and `thickset attack` as a user runs them.

mod attack;
mod case;
mod explain;
mod refused;
