//! Where a command's networks compute.

use anyhow::Result;
use clap::{Args, ValueEnum};
use thickset::{DeviceKind, Model};

/// The device that was asked for.
#[derive(Args)]
pub struct DeviceOption {
    /// Where networks compute. `gpu` needs a build with `--features gpu`; it pays for images and large batches, while tables are faster
    /// on the CPU; its numbers agree with the CPU's up to rounding, and nothing is certified there [default: cpu]
    #[arg(long, value_enum, value_name = "DEVICE")]
    device: Option<DeviceName>,
}

#[derive(Clone, Copy, ValueEnum)]
enum DeviceName {
    Cpu,
    Gpu,
}

impl DeviceOption {
    /// The device, if one was named.
    pub fn kind(&self) -> Option<DeviceKind> {
        self.device.map(|device| match device {
            DeviceName::Cpu => DeviceKind::Cpu,
            DeviceName::Gpu => DeviceKind::Gpu,
        })
    }

    /// The name that was given, to be typed again.
    pub fn given(&self) -> Option<&'static str> {
        self.device.map(|device| match device {
            DeviceName::Cpu => "cpu",
            DeviceName::Gpu => "gpu",
        })
    }

    /// The model on that device.
    pub fn place(&self, model: Model) -> Result<Model> {
        Ok(model.on_device(self.kind().unwrap_or_default())?)
    }
}
