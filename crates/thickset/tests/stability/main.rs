//! Explanations and attacks: against `PyTorch`, by their axioms, and bit for bit over batches and threads.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "small counts, and results that must be equal to the bit"
)]

mod attacks;
mod bits;
mod configs;
mod constraints;
mod contributions;
mod explanations;
mod golden;
mod images;
mod immutable;
mod moo;
mod regions;
mod suite;
mod threats;
mod trained;
mod trajectories;
