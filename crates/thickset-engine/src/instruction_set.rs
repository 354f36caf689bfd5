//! The class of instructions that the kernels run with on this processor.
//!
//! Kernels do the same operations in the same order whatever the width of the registers, so wider registers change no bit.
//! Whether a product and a sum are rounded once or twice does. Numbers of two machines can be compared bit by bit only
//! where this name is the same.

/// `x86-64-fma` with AVX2 or AVX-512 and fused multiplication and addition, `aarch64-fma`, or `portable`.
#[must_use]
pub fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return "x86-64-fma";
    }
    if cfg!(target_arch = "aarch64") {
        "aarch64-fma"
    } else {
        "portable"
    }
}
