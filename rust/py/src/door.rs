//! The door to the core: long work releases the interpreter lock and answers Ctrl-C; a panic is an error.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use shardproof_core::interrupt::{Interrupt, Interrupted, Stopped, attempt};

/// Work, in chunks or things as cheap, below which taking and giving the lock costs more than the work.
const ATTACHED: usize = 1 << 10;
/// Work below which an answer comes so soon that nobody waits for Ctrl-C.
const UNWATCHED: usize = 1 << 21;
/// How often Python is asked whether Ctrl-C was pressed.
const WATCH: Duration = Duration::from_millis(50);

/// Do `work` that takes about as long as looking at `chunks` chunks.
///
/// Large work runs on a thread of its own, made for this call, while this one asks Python about signals: a process
/// that forks has no thread of ours to lose.
///
/// # Errors
///
/// What a signal handler raised, such as `KeyboardInterrupt`; `RuntimeError` for a panic, which is a bug.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    chunks: usize,
    work: impl FnOnce(Interrupt<'_>) -> Result<T, Interrupted> + Send,
) -> PyResult<T> {
    if chunks < UNWATCHED {
        let unwatched = || attempt(|| work(Interrupt::NEVER));
        let done = if chunks < ATTACHED { unwatched() } else { py.detach(unwatched) };
        return answer(done);
    }
    let (stop, finished) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let (here, stop, finished) = (thread::current(), &stop, &finished);
        let worker = scope.spawn(move || {
            let done = attempt(|| work(Interrupt::on(stop)));
            finished.store(true, Ordering::Release);
            here.unpark();
            done
        });
        while !finished.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(WATCH));
            if let Err(raised) = py.check_signals() {
                stop.store(true, Ordering::Relaxed);
                drop(py.detach(|| worker.join()));
                return Err(raised);
            }
        }
        answer(worker.join().unwrap_or_else(|_| Err(Stopped::Panicked(String::from("outside of the work")))))
    })
}

/// Do `work` that may ask Python for more: it holds the lock, and Python answers Ctrl-C when it is asked.
///
/// # Errors
///
/// `RuntimeError` for a panic, which is a bug.
pub(crate) fn attached<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    answer(attempt(|| Ok(work())))
}

/// Panic behind the door, in work of that many chunks, or attached: so that tests can see what becomes of it.
#[pyfunction]
#[pyo3(signature = (chunks=None))]
#[allow(clippy::panic, reason = "this is what it is for")]
pub(crate) fn panic(py: Python<'_>, chunks: Option<usize>) -> PyResult<()> {
    let says = "asked to panic";
    chunks.map_or_else(|| attached(|| panic!("{says}")), |chunks| run(py, chunks, |_| panic!("{says}")))
}

fn answer<T>(done: Result<T, Stopped>) -> PyResult<T> {
    done.map_err(|stopped| match stopped {
        Stopped::Interrupted => PyKeyboardInterrupt::new_err(()),
        Stopped::Panicked(says) => PyRuntimeError::new_err(format!("shardproof has a bug, please report it: {says}")),
    })
}
