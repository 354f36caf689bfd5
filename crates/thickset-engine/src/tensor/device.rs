//! Where tensors live, and how new ones are asked for.

use super::kind::DType;

/// Where a tensor's numbers lie and its operations run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// Memory and processor of this machine.
    #[default]
    Cpu,
}

impl Device {
    /// Memory and processor of this machine.
    #[must_use]
    pub fn cpu() -> Self {
        Self::Cpu
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
