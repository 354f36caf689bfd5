//! The engine's error type: what a model file or an architecture can get wrong.

use crate::kernel::ShapeError;

/// Anything a caller can cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A layer cannot read what it was given.
    #[error("layer {layer} (`{kind}`) cannot read inputs of {got:?} features")]
    Inputs {
        /// Place of the layer in the network.
        layer: usize,
        /// What the layer is.
        kind: &'static str,
        /// Features of each input that came.
        got: Vec<usize>,
    },
    /// A classifier of single inputs for a network that has no pairs.
    #[error("expected a network of pairs, which embeds both inputs and compares them")]
    NotOfPairs,
    /// An image shape that no layer can have.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A size that must be positive, or small enough to address, is not.
    #[error("`{name}` must lie in 1..={most}, got {got}")]
    Size {
        /// What the size is of.
        name: &'static str,
        /// The largest sensible value.
        most: usize,
        /// What came.
        got: usize,
    },
    /// A number that must be finite and positive is not.
    #[error("`{name}` must be finite and positive, got {got}")]
    Positive {
        /// What the number is.
        name: &'static str,
        /// What came.
        got: f64,
    },
    /// A number that must be finite is not.
    #[error("`{name}` must be finite, got {got}")]
    Finite {
        /// What the number is.
        name: &'static str,
        /// What came.
        got: f64,
    },
    /// An exponent that no whole number of the tensor library holds.
    #[error("`exponent` must be between -{largest:e} and {largest:e}, got {got:e}")]
    Exponent {
        /// The largest that is taken.
        largest: f64,
        /// What came.
        got: f64,
    },
    /// A range whose ends are not in order.
    #[error("`least` must be below `most`, got {least} and {most}")]
    Range {
        /// The lower end that came.
        least: f64,
        /// The upper end that came.
        most: f64,
    },
    /// The system gives no threads to compute on.
    #[error("cannot start threads: {problem}")]
    Threads {
        /// What the system said.
        problem: String,
    },
    /// A GPU was asked for, and this build has none.
    #[error(
        "this build computes on the CPU alone; the GPU needs the cargo feature `gpu`: cargo build --release --features gpu"
    )]
    GpuNotBuilt,
    /// A GPU was asked for, and the machine has none that can be used.
    #[error("no GPU was found: {problem}")]
    NoAdapter {
        /// What the search for one came to.
        problem: String,
    },
    /// A network of double precision was to compute on the GPU.
    #[error(
        "the GPU computes in single precision, and the network's weights are of double precision"
    )]
    GpuPrecision,
    /// The environment asks for instructions that the processor does not have.
    #[error("`{variable}` must name instructions of this processor, {available}; got `{got}`")]
    Instructions {
        /// The variable's name.
        variable: &'static str,
        /// What it may name.
        available: String,
        /// What it names.
        got: String,
    },
    /// The file is not a safetensors file, or is cut off.
    #[error("not a complete safetensors file: {reason}")]
    NotSafetensors {
        /// What the reader stumbled on.
        reason: String,
    },
    /// The file is larger than any model.
    #[error("the file has {bytes} bytes, more than the {most} a model may have")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The most that is read.
        most: u64,
    },
    /// The architecture needs a tensor that the file does not hold.
    #[error("tensor `{name}` is missing from the file")]
    MissingTensor {
        /// The tensor's name.
        name: String,
    },
    /// The file holds tensors that the architecture does not name.
    #[error("the file holds {count} tensors the architecture does not name, the first is `{name}`")]
    ExtraTensor {
        /// The first one in alphabetical order.
        name: String,
        /// How many there are.
        count: usize,
    },
    /// A tensor's shape is not the architecture's.
    #[error("tensor `{name}` must have shape {expected:?}, got {got:?}")]
    TensorShape {
        /// The tensor's name.
        name: String,
        /// What the architecture says.
        expected: Vec<usize>,
        /// What the file says.
        got: Vec<usize>,
    },
    /// A tensor's element type is not one that models have.
    #[error("tensor `{name}` must hold F32 or F64, as all others do, got {got}")]
    TensorType {
        /// The tensor's name.
        name: String,
        /// The type that came.
        got: String,
    },
    /// A weight is NaN or infinite.
    #[error("tensor `{name}` holds {value} at position {position}; weights must be finite")]
    NotFinite {
        /// The tensor's name.
        name: String,
        /// Where.
        position: usize,
        /// What came.
        value: f64,
    },
    /// A variance is not positive.
    #[error("tensor `{name}` holds {value} at position {position}; variances must not be negative")]
    NegativeVariance {
        /// The tensor's name.
        name: String,
        /// Where.
        position: usize,
        /// What came.
        value: f64,
    },
    /// The file could not be read or written.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// A result of the engine.
pub type Result<T> = std::result::Result<T, Error>;
