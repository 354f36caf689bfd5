//! Tensors, layers and networks whose input gradients are ordinary forward computations.

pub mod kernel;
