//! Which instructions the kernels use: the widest that the processor has, unless the environment asks for narrower ones.

use std::fmt;
use std::sync::OnceLock;

use crate::{Error, Result};

/// The environment variable that asks for instructions: `avx512`, `avx2` or `portable`.
const VARIABLE: &str = "THICKSET_INSTRUCTIONS";

/// Instructions that kernels are compiled for. All of them do the same operations in the same order; those of x86 and of
/// ARM fuse each product with its sum and give the same bits, `portable` on x86 rounds in between and differs in last bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// AVX-512.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every processor of the architecture has.
    Portable,
    /// What [`Instructions::Portable`] is on ARM, for tests elsewhere.
    #[cfg(test)]
    PortableFused,
}

impl Instructions {
    /// Widest first.
    pub(crate) const ALL: &[Self] = &[
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        Self::Portable,
    ];

    /// Those whose results must have the same bits.
    #[cfg(test)]
    pub(crate) const FUSED: &[Self] = &[
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        Self::PortableFused,
    ];

    fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
            #[cfg(test)]
            Self::PortableFused => "portable-fused",
        }
    }

    /// Whether this processor has them.
    fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Self::Avx2.is_available() && is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Self::Portable => true,
            #[cfg(test)]
            Self::PortableFused => true,
        }
    }

    /// Those that this processor has, widest first.
    fn available() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|one| one.is_available())
    }

    /// The widest that this processor has.
    fn widest() -> Self {
        Self::available().next().unwrap_or(Self::Portable)
    }

    /// The instructions of this name, or the widest where no name is given.
    ///
    /// # Errors
    /// Says what could have been asked for.
    fn choose(name: Option<&str>) -> Result<Self> {
        let Some(name) = name else {
            return Ok(Self::widest());
        };
        let found = Self::available().find(|one| one.name() == name);
        found.ok_or_else(|| Error::Instructions {
            variable: VARIABLE,
            available: Self::available()
                .map(|one| format!("`{one}`"))
                .collect::<Vec<_>>()
                .join(", "),
            got: name.to_owned(),
        })
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

/// The instructions that the environment asks for, or the widest that the processor has.
///
/// # Errors
/// If the variable `THICKSET_INSTRUCTIONS` names instructions that the processor does not have; says which it has.
pub fn requested_instructions() -> Result<Instructions> {
    let name = std::env::var_os(VARIABLE).map(|name| name.to_string_lossy().into_owned());
    Instructions::choose(name.as_deref())
}

/// The instructions that kernels use in this process: those that the environment variable `THICKSET_INSTRUCTIONS` names, else
/// the widest that the processor has. A name that fits nothing is an error of [`requested_instructions`], which every network
/// asks before it is built.
#[must_use]
pub fn instructions() -> Instructions {
    static CHOSEN: OnceLock<Instructions> = OnceLock::new();
    #[cfg(test)]
    if let Some(forced) = testing::forced() {
        return forced;
    }
    *CHOSEN.get_or_init(|| requested_instructions().unwrap_or_else(|_| Instructions::widest()))
}

#[cfg(test)]
pub(crate) use testing::with_instructions;

#[cfg(test)]
mod testing {
    use std::cell::Cell;

    use super::Instructions;

    thread_local! {
        static FORCED: Cell<Option<Instructions>> = const { Cell::new(None) };
    }

    pub(super) fn forced() -> Option<Instructions> {
        FORCED.get()
    }

    /// Runs `work` on one thread with these instructions, or not at all where the processor lacks them.
    pub(crate) fn with_instructions<R: Send>(
        instructions: Instructions,
        work: impl FnOnce() -> R + Send,
    ) -> Option<R> {
        if !instructions.is_available() {
            eprintln!("skipped: this processor has no {instructions}");
            return None;
        }
        Some(crate::kernel::testing::on_threads(1, || {
            FORCED.set(Some(instructions));
            work()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_instructions_are_chosen_unless_others_are_named() {
        let widest = Instructions::choose(None).unwrap();
        assert!(widest.is_available());
        let named = Instructions::choose(Some("portable")).unwrap();
        assert_eq!(named, Instructions::Portable);
        let refused = Instructions::choose(Some("sse9")).unwrap_err().to_string();
        assert!(refused.contains("`portable`; got `sse9`"), "{refused}");
    }
}
