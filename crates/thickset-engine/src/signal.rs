//! Signals that would end the process where an error says more.

/// Lets writing beyond the system's limit on a file's size (`ulimit -f`) fail with an error, instead of ending the process.
///
/// To be called once by a program, before it starts; where there is no such limit it does nothing.
pub fn let_long_files_fail() {
    #[cfg(unix)]
    {
        #[expect(unsafe_code, reason = "the C library's signals have no safe interface")]
        // SAFETY: ignoring a signal installs no handler, so nothing of ours ever runs inside one.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
    }
}
