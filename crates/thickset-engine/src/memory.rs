//! How the process keeps memory between training steps.
//!
//! A step on images allocates and frees the same buffers of megabytes over and over. By default the C
//! library gives such blocks back to the system at once and asks for them again, and the system
//! clears every page anew: on the CNN that takes as long as all arithmetic together.

/// Keeps freed blocks in the process for its next allocations, where the C library is glibc.
///
/// To be called once by a program that trains, before it starts; elsewhere it does nothing.
pub fn keep_freed_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The largest threshold that glibc accepts.
        const LARGEST_THRESHOLD: libc::c_int = 32 << 20;
        #[expect(
            unsafe_code,
            reason = "the C library's settings have no safe interface"
        )]
        // SAFETY: both calls only set parameters of the allocator, which takes a lock of its own.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST_THRESHOLD);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        }
    }
}
