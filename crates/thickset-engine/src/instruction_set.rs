//! The class of instructions that the kernels run with on this processor.
//!
//! Kernels do the same operations in the same order whatever the width of the registers, so wider registers change no bit.
//! Whether a product and a sum are rounded once or twice does. Numbers of two machines can be compared bit by bit only
//! where this name is the same.

use crate::kernel::{Instructions, instructions};

/// `x86-64-fma` with AVX2 or AVX-512 and fused multiplication and addition, `aarch64-fma`, or `portable`.
#[must_use]
pub fn instruction_set() -> &'static str {
    match instructions() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 | Instructions::Avx2 => "x86-64-fma",
        _ if cfg!(target_arch = "aarch64") => "aarch64-fma",
        _ => "portable",
    }
}
