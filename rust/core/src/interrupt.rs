//! How a caller stops a long computation.

use std::sync::atomic::{AtomicBool, Ordering};

/// A computation was stopped by its caller before it had an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// A flag that a caller may raise while a kernel runs.
///
/// Kernels ask once per block of work (some thousands of chunks), so that asking costs nothing and an answer comes
/// within a few milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interrupt<'a>(Option<&'a AtomicBool>);

impl<'a> Interrupt<'a> {
    /// A computation that nobody will interrupt.
    pub const NEVER: Interrupt<'static> = Interrupt(None);

    /// A computation that ends soon after `flag` becomes true.
    #[must_use]
    pub const fn on(flag: &'a AtomicBool) -> Self {
        Self(Some(flag))
    }

    /// Answer whether to go on.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] once the flag is raised.
    pub fn check(self) -> Result<(), Interrupted> {
        match self.0 {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(Interrupted),
            _ => Ok(()),
        }
    }
}
