//! What a tensor's entries are, at compile time and at run time.

/// The type of a tensor's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    F32,
    F64,
    /// Of [`Int`] tensors: an index never needs more bits.
    I32,
    Bool,
}

/// Marks tensors of `f32` or `f64`.
#[derive(Clone, Copy, Debug)]
pub struct Float;

/// Marks tensors of whole numbers, such as indices.
#[derive(Clone, Copy, Debug)]
pub struct Int;

/// Marks tensors of truth values.
#[derive(Clone, Copy, Debug)]
pub struct Bool;

/// One of [`Float`], [`Int`] and [`Bool`].
pub trait Kind: sealed::Sealed + Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The type that a tensor of this kind has if none is asked for.
    const DEFAULT: DType;

    /// Whether a tensor of this kind can have this type.
    #[must_use]
    fn admits(dtype: DType) -> bool {
        dtype == Self::DEFAULT
    }
}

impl Kind for Float {
    const DEFAULT: DType = DType::F32;

    fn admits(dtype: DType) -> bool {
        matches!(dtype, DType::F32 | DType::F64)
    }
}

impl Kind for Int {
    const DEFAULT: DType = DType::I32;
}

impl Kind for Bool {
    const DEFAULT: DType = DType::Bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Float {}
    impl Sealed for super::Int {}
    impl Sealed for super::Bool {}
}
