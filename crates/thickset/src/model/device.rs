//! Where a model computes.

use thickset_engine::{DeviceKind, Network};

use super::Model;
use crate::Result;

impl Model {
    /// The same model on another device: what it predicts, explains, attacks and audits from now on is computed there. Loading and
    /// training give models on the CPU.
    ///
    /// On the GPU results agree with the CPU's up to rounding; audits there have no certificates, whose proofs are of the CPU's
    /// arithmetic. It pays for convolutions; tables are faster on the CPU.
    ///
    /// # Errors
    /// If this build or this machine has no such device, or the network does not fit it.
    pub fn on_device(mut self, device: DeviceKind) -> Result<Self> {
        self.network = self.network.on_device(&device.open()?)?;
        Ok(self)
    }

    /// The network whose arithmetic proofs are of.
    pub(super) fn network_on_cpu(&self) -> Result<Network> {
        Ok(self.network.on_device(&DeviceKind::Cpu.open()?)?)
    }
}
