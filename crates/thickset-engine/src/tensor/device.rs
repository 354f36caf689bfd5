//! Where tensors live, and how new ones are asked for.

use super::kind::DType;
use crate::{Error, Result};

/// Where a tensor's numbers lie and its operations run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// Memory and processor of this machine.
    #[default]
    Cpu,
    /// The graphics adapter that the system names first; [`Device::gpu`] makes it ready.
    #[cfg(feature = "gpu")]
    Gpu,
}

impl Device {
    /// Memory and processor of this machine.
    #[must_use]
    pub fn cpu() -> Self {
        Self::Cpu
    }

    /// The graphics adapter of this machine.
    ///
    /// # Errors
    /// [`Error::GpuNotBuilt`] where this build has no GPU, [`Error::NoAdapter`] where the machine has none.
    pub fn gpu() -> Result<Self> {
        #[cfg(feature = "gpu")]
        return match super::gpu::open() {
            Ok(()) => Ok(Self::Gpu),
            Err(problem) => Err(Error::NoAdapter { problem }),
        };
        #[cfg(not(feature = "gpu"))]
        Err(Error::GpuNotBuilt)
    }

    /// The device itself: what is recorded is a matter of single tensors.
    #[must_use]
    pub fn autodiff(self) -> Self {
        self
    }

    /// The device itself: what is recorded is a matter of single tensors.
    #[must_use]
    pub fn without_autodiff(self) -> Self {
        self
    }
}

/// What a new tensor should be: its device, and its type if that matters.
#[derive(Clone, Copy, Debug)]
pub struct TensorOptions {
    pub(crate) device: Device,
    pub(crate) dtype: Option<DType>,
}

impl From<&Device> for TensorOptions {
    fn from(device: &Device) -> Self {
        Self {
            device: *device,
            dtype: None,
        }
    }
}

impl From<(&Device, DType)> for TensorOptions {
    fn from((device, dtype): (&Device, DType)) -> Self {
        Self {
            device: *device,
            dtype: Some(dtype),
        }
    }
}
