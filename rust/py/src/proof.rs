//! The proof of coverage, and residues of many tensors.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};
use shardproof_core::field::Mersenne127;
use shardproof_core::interrupt::{Interrupt, Interrupted};
use shardproof_core::proof::residue::{self, Identity};
use shardproof_core::proof::{self, Error, Expected, Question, Rigour};
use shardproof_core::tally::Tally;
use shardproof_core::volume::Volume;

use crate::arrays::{self, Rows};
use crate::layout::{Counted, counted, place};
use crate::{door, raised};

/// Whether it is whole, how often it is covered, what decided, the error bound; None if nothing can be judged.
type Verdict = Option<(bool, Option<u64>, &'static str, f64)>;

/// Verdict, uncovered and over-covered elements, whether these are exact, findings.
type Report<'py> = (Verdict, Bound<'py, PyAny>, Bound<'py, PyAny>, bool, Counted<'py>);

/// Do `work`, with the errors that are not an interrupt as exceptions.
fn run<T: Send>(
    py: Python<'_>,
    chunks: usize,
    work: impl FnOnce(Interrupt<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let answer = door::run(py, chunks, |interrupt| match work(interrupt) {
        Err(Error::Interrupted(interrupted)) => Err::<_, Interrupted>(interrupted),
        other => Ok(other),
    })?;
    answer.map_err(|error| match error {
        Error::RankTooHigh { .. } => raised::limit_exceeded(error),
        error => raised::invalid_input(error),
    })
}

/// Judge bounds and coverage; row i is reported under `positions[i]`. `replicas` None means any number of them.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a layout and a question, piece by piece")]
pub(crate) fn prove<'py>(
    py: Python<'py>,
    shape: Vec<i64>,
    offsets: &Rows<'_>,
    sizes: &Rows<'_>,
    positions: Option<Vec<u64>>,
    replicas: Option<u64>,
    exact: bool,
    keys: &[u8],
    most: usize,
) -> PyResult<Report<'py>> {
    let chunks = arrays::chunks(&shape, offsets, sizes)?;
    let expected = replicas.map_or(Expected::Uniform, Expected::Times);
    let question = Question { expected, rigour: if exact { Rigour::Exact } else { Rigour::Bounded }, keys };
    let (report, tally) = run(py, chunks.len(), |interrupt| {
        let mut tally = Tally::keeping(most);
        let position_of = place(positions.as_deref());
        proof::judge(chunks, &position_of, &question, &mut tally, interrupt).map(|report| (report, tally))
    })?;
    let verdict =
        report.verdict.map(|verdict| (verdict.whole, verdict.multiplicity, verdict.method.name(), verdict.error_bound));
    let [uncovered, overcovered] = [&report.uncovered, &report.overcovered].map(|volume| whole_number(py, volume));
    Ok((verdict, uncovered?, overcovered?, report.complete, counted(py, &tally)?))
}

/// What chunks add to the two accumulators of a residue, and how many of them are faulty.
#[pyfunction]
pub(crate) fn residue_share(
    py: Python<'_>,
    fqn: &str,
    dtype: &str,
    shape: Vec<i64>,
    offsets: &Rows<'_>,
    sizes: &Rows<'_>,
    keys: &[u8],
) -> PyResult<(u128, u128, u64)> {
    let chunks = arrays::chunks(&shape, offsets, sizes)?;
    let share = run(py, chunks.len(), |interrupt| residue::share(fqn, dtype, chunks, keys, interrupt))?;
    Ok((share.uneven.lowest(), share.coverage.lowest(), share.faults))
}

/// What a tensor adds to the coverage of a residue when it is covered once.
#[pyfunction]
pub(crate) fn residue_salt(fqn: &str, dtype: &str, shape: Vec<i64>, keys: &[u8]) -> PyResult<u128> {
    residue::salt(&Identity { fqn, dtype, shape: &shape }, keys).map(Mersenne127::lowest).map_err(raised::invalid_input)
}

fn whole_number<'py>(py: Python<'py>, volume: &Volume) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyBytes::new(py, &volume.to_le_bytes());
    py.get_type::<PyInt>().call_method1("from_bytes", (bytes, "little"))
}
