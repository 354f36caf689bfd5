//! Signals that would end the process where an error says more.

use std::sync::atomic::{AtomicBool, Ordering};

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

/// Whether somebody asked the program to stop.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What the first Ctrl-C writes to stderr.
#[cfg(unix)]
const NOTICE: &[u8] = b"\nstopping at the next safe place; once more stops at once\n";

/// From now on, the first Ctrl-C (or the first request to end) is only noticed, so that the program can say what it keeps; the
/// second one ends it at once. A line on stderr says so.
pub fn notice_interrupts() {
    #[cfg(unix)]
    {
        extern "C" fn notice(_: libc::c_int) {
            INTERRUPTED.store(true, Ordering::Relaxed);
            #[expect(
                unsafe_code,
                reason = "the C library's call is the one that is allowed here"
            )]
            // SAFETY: the bytes are constant, and `write` may be called inside a signal. What it cannot write is nobody's loss.
            unsafe {
                let _ = libc::write(libc::STDERR_FILENO, NOTICE.as_ptr().cast(), NOTICE.len());
            }
        }
        #[expect(unsafe_code, reason = "the C library's signals have no safe interface")]
        // SAFETY: the handler stores to an atomic and calls `write`, both allowed inside a signal; the structure is of plain
        // numbers, for which zeros are valid, and lives until the calls return.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = notice as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut());
            libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Whether somebody asked the program to stop since [`notice_interrupts`].
#[must_use]
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
