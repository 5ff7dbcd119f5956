//! How a caller stops a long computation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// A computation was stopped by its caller before it had an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Why a computation has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Its caller stopped it.
    Interrupted,
    /// It met a bug, which says this.
    Panicked(String),
}

/// Do `work`, and answer a panic like any other failure.
///
/// # Errors
///
/// [`Stopped::Interrupted`] when `work` says so; [`Stopped::Panicked`] when it panics.
pub fn attempt<T>(work: impl FnOnce() -> Result<T, Interrupted>) -> Result<T, Stopped> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|Interrupted| Stopped::Interrupted),
        Err(panic) => {
            let says = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
            Err(Stopped::Panicked(says.unwrap_or("unknown").to_owned()))
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer_that_says_what_the_bug_was() {
        let index = usize::from(std::env::args().count() == 0);
        let says = |work: fn(usize) -> usize| attempt(|| Ok(work(index)));
        assert_eq!(says(|index| index), Ok(0));
        assert_eq!(attempt(|| Err::<(), _>(Interrupted)), Err(Stopped::Interrupted));
        assert_eq!(says(|index| panic!("nothing at {index}")), Err(Stopped::Panicked("nothing at 0".into())));
        assert_eq!(says(|_| panic!("nothing")), Err(Stopped::Panicked("nothing".into())));
        assert_eq!(says(|_| std::panic::panic_any(7)), Err(Stopped::Panicked("unknown".into())));
        assert_eq!(says(|index| index - 1), Err(Stopped::Panicked("attempt to subtract with overflow".into())));
    }
}
