//! Numbers with a shape, on some device: what primitive operations take and give, and what the tape keeps.

use super::device::Device;
#[cfg(feature = "gpu")]
use super::gpu::GpuNumbers;
use super::kind::DType;
use super::numbers::{Element, Numbers};
use super::shape::Shape;

/// Numbers with a shape, row by row without gaps. Clones share the numbers; an operation that owns its operand alone may
/// write the result over it.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) shape: Shape,
    pub(crate) storage: Storage,
}

/// Where the numbers lie.
#[derive(Clone, Debug)]
pub(crate) enum Storage {
    Cpu(Numbers),
    #[cfg(feature = "gpu")]
    Gpu(Box<GpuNumbers>),
}

impl Array {
    /// Numbers in the machine's memory.
    pub(crate) fn of(numbers: Numbers, shape: Shape) -> Self {
        debug_assert_eq!(numbers.len(), shape.num_elements());
        Self {
            shape,
            storage: Storage::Cpu(numbers),
        }
    }

    /// The same from values.
    pub(crate) fn new<E: Element>(values: Vec<E>, shape: impl Into<Shape>) -> Self {
        Self::of(E::into_numbers(values), shape.into())
    }

    pub(crate) fn device(&self) -> Device {
        match self.storage {
            Storage::Cpu(_) => Device::Cpu,
            #[cfg(feature = "gpu")]
            Storage::Gpu(_) => Device::Gpu,
        }
    }

    pub(crate) fn dtype(&self) -> DType {
        match &self.storage {
            Storage::Cpu(numbers) => numbers.dtype(),
            #[cfg(feature = "gpu")]
            Storage::Gpu(numbers) => numbers.dtype(),
        }
    }

    /// The same numbers in another shape that holds as many.
    pub(crate) fn reshaped(self, shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        assert_eq!(
            self.shape.num_elements(),
            shape.num_elements(),
            "numbers of shape {:?} as {shape:?}",
            self.shape
        );
        Self { shape, ..self }
    }

    /// The numbers of an array on the CPU.
    pub(crate) fn numbers(&self) -> &Numbers {
        match &self.storage {
            Storage::Cpu(numbers) => numbers,
            #[cfg(feature = "gpu")]
            Storage::Gpu(_) => panic!("an array on the GPU is read as one on the CPU"),
        }
    }

    /// The same, given away.
    pub(crate) fn into_numbers(self) -> Numbers {
        match self.storage {
            Storage::Cpu(numbers) => numbers,
            #[cfg(feature = "gpu")]
            Storage::Gpu(_) => panic!("an array on the GPU is read as one on the CPU"),
        }
    }

    /// The values of an array on the CPU of just this type.
    pub(crate) fn values<E: Element>(&self) -> &[E] {
        E::slice(self.numbers())
            .unwrap_or_else(|| panic!("numbers of type {:?} read as another", self.dtype()))
    }
}
