//! Tensors, layers and networks whose input gradients are ordinary forward computations.
//!
//! Every [`layer::Layer`] has a forward, and at the point where it ran a pullback (vector-Jacobian
//! product) and the tangents of both, all written in differentiable tensor operations. A
//! [`Network`] chains them: logits, input gradients and Hessian products come out as ordinary
//! tensors, and any loss of them is differentiated by one first-order `backward`, with respect to
//! weights or inputs.

pub mod disk;
pub mod interrupt;
pub mod kernel;
pub mod layer;
pub mod memory;
pub mod optimizer;
pub mod signal;

mod chain;
mod device_kind;
mod error;
mod file;
mod folder_lock;
mod input_search;
mod instruction_set;
mod network;
mod network_device;
mod on_workers;
mod parameter;
mod pass;
mod regular_file;
mod single_classifier;
mod tensor;
mod training_step;
mod whole_file;

pub use chain::{Chain, MarginTile, Tile};
pub use device_kind::DeviceKind;
pub use error::{Error, Result};
pub use file::{MAX_FILE_BYTES, StoredModel};
pub use folder_lock::{FolderLock, LockError};
pub use input_search::{InputSearch, InputSlopes};
pub use instruction_set::instruction_set;
pub use network::{Network, NetworkBuilder, Source};
pub use on_workers::on_workers;
pub use parameter::{Init, Parameter, ParameterSource, Role, Scope};
pub use pass::{InputGradient, Output, Pass, one_hot};
pub use regular_file::{open_regular, read_regular, read_regular_text};
pub use tensor::{
    Bool, DType, Device, Element, Float, Gradients, Int, Kind, Shape, Tensor, TensorData,
    TensorOptions, WrongType, activation,
};
pub use training_step::{PathStep, Slopes, TrainingStep};
pub use whole_file::write_whole;
