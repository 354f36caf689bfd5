//! `thickset explain`, `thickset attack` and `thickset certify` as a user runs them.

mod attack;
mod case;
mod certify;
mod explain;
mod refused;
