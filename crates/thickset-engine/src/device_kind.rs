//! Where networks compute, by name.

use serde::{Deserialize, Serialize};

use crate::{Device, Result};

/// Where networks compute.
///
/// On the GPU every layer is composed of the operations of the tensor library that the cargo feature `gpu` brings, in single
/// precision. Results agree with the CPU's up to rounding, not bit by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// The processor, with kernels of our own.
    #[default]
    Cpu,
    /// The graphics adapter that the system names first.
    Gpu,
}

impl DeviceKind {
    /// The device itself.
    ///
    /// # Errors
    /// [`crate::Error::GpuNotBuilt`] where this build has no GPU, [`crate::Error::NoAdapter`] where the machine has none.
    pub fn open(self) -> Result<Device> {
        match self {
            Self::Cpu => Ok(Device::Cpu),
            Self::Gpu => Device::gpu(),
        }
    }
}

#[cfg(all(test, not(feature = "gpu")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_feature_says_how_to_get_one() {
        let refused = DeviceKind::Gpu.open().unwrap_err().to_string();
        assert!(refused.contains("--features gpu"), "{refused}");
    }
}
