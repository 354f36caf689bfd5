//! Moving a network between devices.

use crate::{DType, Device, Error, Network, Result, instruction_set};

impl Network {
    /// The same network on another device; batches that it makes are there too. Weights are not tracked any more.
    ///
    /// # Errors
    /// [`Error::GpuPrecision`] if its weights are of double precision and the device is a GPU.
    pub fn on_device(&self, device: &Device) -> Result<Self> {
        if self.dtype() == DType::F64 && *device != Device::Cpu {
            return Err(Error::GpuPrecision);
        }
        let mut moved = self.clone();
        moved.move_to(*device);
        Ok(moved)
    }

    fn move_to(&mut self, device: Device) {
        for parameter in self.parameters_mut() {
            parameter.value = parameter
                .value
                .clone()
                .without_autodiff()
                .to_device(&device);
        }
        if let Some(single) = &mut self.single {
            single.move_to(device);
        }
    }

    /// Whether it computes with the kernels of this crate.
    #[must_use]
    pub fn is_on_cpu(&self) -> bool {
        let parameters = self.parameters();
        parameters
            .first()
            .is_none_or(|one| one.value.device() == Device::Cpu)
    }

    /// What its numbers can be compared with bit by bit: the CPU's [`instruction_set`], or `gpu`.
    #[must_use]
    pub fn instruction_set(&self) -> &'static str {
        if self.is_on_cpu() {
            instruction_set()
        } else {
            "gpu"
        }
    }
}
