"""Proofs: whether every element of a tensor is covered as often as it should be, and why not."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shardproof import _core
from shardproof.errors import InvalidInput
from shardproof.findings import Findings, Severity
from shardproof.metadata import integers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from shardproof.layout import ChunkLayout

__all__ = ["Report", "Residue", "prove"]

_KEY_BYTES: Final = 16
"""Random bytes that a dimension needs."""
_MODULUS: Final = 2**127 - 1
_INT64S: Final = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a proof found.

    Attributes
    ----------
    ok
        Whether there is no fault of form or bounds and every element is covered as often as asked.
    multiplicity
        How often every element is covered, where that is the same for all and known.
    uncovered, overcovered
        How many elements are covered less often, and more often, than asked; at least so many unless `complete`.
    complete
        Whether these totals are exact and every box is named (or counted, where there are more than are kept).
    findings
        Everything that is wrong or noteworthy, the worst first.
    method
        What decided. ``"coalesced"``: merging chunks that touch left one box, or a few that could be compared with
        each other. ``"residue"``: the coverage residue. ``"corners"``: the corners of all chunks cancelled.
        ``"volume"``: the number of elements is wrong. ``"empty"``: the tensor has no elements. ``"form"``: nothing
        could be judged.
    error_bound
        At most how probable it is that `ok` is wrong: 0.0 for all methods but the residue, and whenever `ok` is false.
    """

    ok: bool
    multiplicity: int | None
    uncovered: int
    overcovered: int
    complete: bool
    findings: Findings
    method: str
    error_bound: float

    def _repr_html_(self) -> str:
        from shardproof.report.notebook import findings_as_html  # noqa: PLC0415 -- reports come after proofs

        return findings_as_html(self.findings, repr(self)[1:-1])

    def __repr__(self) -> str:
        verdict = "whole" if self.ok else f"not whole, {self.findings.total} findings"
        return f"<Report: {verdict}, by {self.method}, error bound {self.error_bound:.3g}>"


def prove(
    chunks: ChunkLayout,
    *,
    replicas: int | None = 1,
    exact: bool = False,
    seed: int | bytes | None = None,
    max_findings: int = 100,
) -> Report:
    """Prove that chunks cover every element of a tensor, as often as asked.

    Form and bounds come first; a chunk that sticks out is cut to the tensor, and one with a negative number dropped,
    before coverage is judged. Empty chunks cover nothing and are counted in a note. A tensor of rank 0 has one element;
    a tensor without elements is whole with any chunks inside it. Touching chunks do not overlap.

    Chunks that touch are merged first, which settles layouts in order without any probability, and so do the corners of
    chunks where the tensor has few points. Of what is left a random product or sum is made that depends only on how
    often each element is covered.

    Parameters
    ----------
    chunks
        The layout. It may be faulty.
    replicas
        How often every element should be covered; None for any number of times, at least once and all alike.
    exact
        Leave nothing to chance: where merging does not settle the question, cancel the 2**rank corners of every chunk.
    seed
        Use these random numbers instead of fresh ones. Whoever knows them can make a layout that passes and is not
        whole: a seed is for reproducing an answer, never for layouts of strangers.
    max_findings
        How many findings of each code are kept; all are counted.

    Returns
    -------
    Report
        Never raises for what a layout contains.

    Raises
    ------
    InvalidInput
        If `replicas` or `max_findings` is negative.
    LimitExceeded
        If `exact` is asked for above rank 6 and merging does not settle the question.

    Notes
    -----
    This is polynomial identity testing. Two layouts cover every element equally often if and only if their signed
    corners cancel. At ranks 1 and 2 the corners of either sign are the roots of a polynomial, and both polynomials are
    evaluated at a random pole. At other ranks, with a random pole ``a`` in every dimension, a chunk contributes the
    product over dimensions of ``1 / (start + a) - 1 / (stop + a)``, and the sums of two layouts are equal as rational
    functions of the poles if and only if their coverage is equal. In both, unequal layouts agree only where a
    polynomial that is not zero vanishes; by the lemma of Schwartz and Zippel it does so at random poles with
    probability at most degree over choices. With two lanes modulo 2**61 - 1 and 2**60 choices each, `error_bound` is at
    most ``(2 * (n + replicas) / 2**60) ** 2`` for n chunks of rank 2, which is 2**-78 for a million; `docs/proof.md`
    has the others. This holds for every layout chosen without knowledge of the poles.

    References
    ----------
    .. [1] J. T. Schwartz, "Fast probabilistic algorithms for verification of polynomial identities", J. ACM 27, 1980.
    .. [2] R. Zippel, "Probabilistic algorithms for sparse polynomials", EUROSAM 1979.

    Examples
    --------
    >>> from shardproof import ChunkLayout, prove
    >>> prove(ChunkLayout((8, 4), offsets=[(0, 0), (4, 0)], sizes=[(4, 4), (4, 4)])).ok
    True
    >>> report = prove(ChunkLayout((8,), offsets=[(0,), (2,)], sizes=[(4,), (4,)]))
    >>> for finding in report.findings:
    ...     print(finding.code, finding.box, finding.sentence)
    SP301 ((6,), (2,)) 2 elements are not covered
    SP303 ((2,), (2,)) 2 elements are covered 2 times
    """
    if replicas is not None and not 0 <= replicas < 2**64:
        msg = f"replicas is {replicas}: it must be None or from 0 to 2**64 - 1"
        raise InvalidInput(msg)
    if max_findings < 0:
        msg = f"max_findings is {max_findings}: it must not be negative"
        raise InvalidInput(msg)
    form, offsets, sizes, positions = chunks.sound_rows()
    shape = chunks.global_shape
    if _is_beyond(shape):
        return _report(Findings(form), None)
    verdict, uncovered, overcovered, complete, counted = _core.prove(
        shape, offsets, sizes, positions, replicas, exact, _keys(seed, chunks.rank), max_findings
    )
    found = Findings.together(form, counted)
    return _report(found, verdict, uncovered, overcovered, complete=complete and not form)


def _report(
    findings: Findings,
    verdict: tuple[bool, int | None, str, float] | None,
    uncovered: int = 0,
    overcovered: int = 0,
    *,
    complete: bool = False,
) -> Report:
    whole, multiplicity, method, error_bound = verdict or (False, None, "form", 0.0)
    ok = whole and findings.worst is not Severity.ERROR
    return Report(
        ok=ok,
        multiplicity=multiplicity,
        uncovered=uncovered,
        overcovered=overcovered,
        complete=complete,
        findings=findings,
        method=method,
        error_bound=error_bound if ok else 0.0,
    )


def _keys(seed: int | bytes | None, count: int) -> bytes:
    """Give 16 random bytes for each of `count` dimensions: fresh ones, or those that a seed stands for."""
    if seed is None:
        return os.urandom(_KEY_BYTES * count)
    if isinstance(seed, bytes):
        spelled = b"bytes:" + seed
    else:
        (number,) = integers((seed,), "seed")
        spelled = b"int:%d" % number
    # An output of any length, of which a shorter one is the beginning: a seed stands for one key in each dimension.
    return hashlib.shake_256(b"shardproof residue 1\0" + spelled).digest(_KEY_BYTES * count)


class Residue:
    """What many tensors leave when every element is covered equally often: nothing.

    Two numbers and a counter that add up over chunks, tensors, threads, files and processes, in any order. Every
    process adds the chunks that it holds; the sum says whether all tensors are covered uniformly (`is_uniform`), and,
    held against a list of what ought to be there (`matches`), whether everything is there exactly as often as it
    should be. Which tensor is at fault it cannot say: `prove` does, given all chunks of a tensor.

    Instances never change: `add` and ``+`` give new ones. All that are added must have the same seed.

    Parameters
    ----------
    seed
        Random numbers that all participants share, or None to draw 32 fresh bytes, which `seed` then gives for
        broadcasting. Whoever knows the seed can make a layout that passes and is not whole.

    Raises
    ------
    InvalidType
        If the seed is neither an integer nor bytes.

    Notes
    -----
    The residue of `prove`, modulo 2**127 - 1, with every tensor weighed by ``1 / (a + hash)``, where the hash of fqn,
    dtype and shape is a polynomial in a random point. A sum that is wrong and passes is a zero of a polynomial that is
    not zero: for T tensors of rank at most r, with at most L bytes of name and dtype and N chunks each, the probability
    is at most ``(T**2 * (L / 32 + r / 4 + 2) + 2 * r * (N + 1) + 2 * T) / 2**126`` (Schwartz-Zippel) if the keys are
    random. They are expanded from the seed by SHAKE-256: that nobody can tell its output from random bits is the one
    assumption.

    Examples
    --------
    >>> from shardproof import ChunkLayout, Residue
    >>> first = Residue(seed=7).add("w", ChunkLayout((8,), [(0,)], [(5,)]), dtype="float32")
    >>> second = Residue(seed=7).add("w", ChunkLayout((8,), [(5,)], [(3,)]), dtype="float32")
    >>> first.is_uniform, (first + second).is_uniform
    (False, True)
    >>> (first + second).matches({"w": ((8,), "float32", 1)})
    True
    """

    __slots__ = ("_coverage", "_uneven", "faults", "seed")

    seed: int | bytes
    faults: int
    """How many chunks that were added have faults of form or bounds."""

    def __init__(self, *, seed: int | bytes | None = None) -> None:
        seed = os.urandom(32) if seed is None else seed
        self.seed = seed if isinstance(seed, bytes) else integers((seed,), "seed")[0]
        self.faults = self._uneven = self._coverage = 0

    def add(self, fqn: str, chunks: ChunkLayout, *, dtype: str = "") -> Residue:
        """Add chunks of a tensor: all of them, or those that this process or file has.

        Empty chunks add nothing, and neither does a tensor without elements.

        Parameters
        ----------
        fqn
            Fully qualified name of the tensor.
        chunks
            Some of its chunks. What sticks out of the tensor is counted in `faults`.
        dtype
            Name of its dtype. Tensors that differ in name, dtype or shape are different tensors.

        Returns
        -------
        Residue
            The sum; this residue stays as it is.

        Examples
        --------
        >>> from shardproof import ChunkLayout
        >>> Residue(seed=7).add("w", ChunkLayout((8,), [(4,)], [(5,)])).faults
        1
        """
        form, offsets, sizes, _ = chunks.sound_rows()
        shape = chunks.global_shape
        if _is_beyond(shape):
            return self._plus(0, 0, len(form))
        keys = _keys(self.seed, chunks.rank + 2)
        uneven, coverage, faults = _core.residue_share(fqn, dtype, shape, offsets, sizes, keys)
        return self._plus(uneven, coverage, faults + len(form))

    def __add__(self, other: Residue) -> Residue:
        if not isinstance(other, Residue):
            return NotImplemented
        if self.seed != other.seed:
            msg = "residues of different seeds cannot be added"
            raise InvalidInput(msg)
        return self._plus(other._uneven, other._coverage, other.faults)

    def _plus(self, uneven: int, coverage: int, faults: int) -> Residue:
        result = Residue(seed=self.seed)
        result._uneven = (self._uneven + uneven) % _MODULUS
        result._coverage = (self._coverage + coverage) % _MODULUS
        result.faults = self.faults + faults
        return result

    @property
    def is_uniform(self) -> bool:
        """Whether every tensor is covered equally often everywhere, without faults.

        How often is another question: a tensor saved twice over is uniform, and so is one that nobody saved. `matches`
        answers it.
        """
        return self._uneven == 0 and self.faults == 0

    def matches(self, expected: Mapping[str, tuple[Iterable[int], str, int]]) -> bool:
        """Whether exactly the tensors that are expected are covered, each as often as expected.

        Parameters
        ----------
        expected
            Shape, name of the dtype and number of replicas by fqn.

        Raises
        ------
        InvalidInput
            If a number of replicas or a dimension is negative, or a dimension is beyond 64 bits.

        Examples
        --------
        >>> from shardproof import ChunkLayout
        >>> twice = Residue(seed=7).add("w", ChunkLayout((8,), [(0,), (0,)], [(8,), (8,)]))
        >>> twice.is_uniform, twice.matches({"w": ((8,), "", 1)}), twice.matches({"w": ((8,), "", 2)})
        (True, False, True)
        """
        coverage = 0
        for fqn, (dims, dtype, replicas) in expected.items():
            shape = integers(dims, f"shape of {fqn!r}")
            if replicas < 0 or _is_beyond(shape) or any(dim < 0 for dim in shape):
                msg = f"{fqn!r}: shape {shape}, {replicas} replicas: there is no such tensor"
                raise InvalidInput(msg)
            coverage += replicas * _core.residue_salt(fqn, dtype, shape, _keys(self.seed, len(shape) + 2))
        return self.is_uniform and self._coverage == coverage % _MODULUS

    def to_int64(self) -> NDArray[np.int64]:
        """Write the residue as numbers that an all-reduce can sum.

        Returns
        -------
        int64 (11,)
            Add those of fewer than 2**31 processes element by element and give the sum to `from_int64`.

        Examples
        --------
        >>> Residue(seed=7).to_int64().shape
        (11,)
        """
        limbs = [number >> 32 * limb & 0xFFFF_FFFF for number in (self._uneven, self._coverage) for limb in range(4)]
        return np.array([*limbs, self.faults, 1, _fingerprint(self.seed)], np.int64)

    @classmethod
    def from_int64(cls, summed: Iterable[int], *, seed: int | bytes) -> Residue:
        """Read a residue, or the sum of several, that `to_int64` wrote.

        Parameters
        ----------
        summed
            The eleven numbers.
        seed
            The seed that all of them had.

        Raises
        ------
        InvalidInput
            If these are not eleven numbers that `to_int64` wrote, or a process had another seed.

        Examples
        --------
        >>> from shardproof import ChunkLayout
        >>> halves = [ChunkLayout((8,), [(start,)], [(4,)]) for start in (0, 4)]
        >>> summed = sum(Residue(seed=7).add("w", half).to_int64() for half in halves)
        >>> Residue.from_int64(summed, seed=7).is_uniform
        True
        """
        numbers = integers(summed, "summed")
        if len(numbers) != _INT64S or min(numbers) < 0:
            msg = f"a residue is {_INT64S} numbers, none of them negative"
            raise InvalidInput(msg)
        *limbs, faults, processes, fingerprints = numbers
        result = cls(seed=seed)
        if not processes or fingerprints != processes * _fingerprint(result.seed):
            msg = f"the residues of {processes} processes do not all have this seed"
            raise InvalidInput(msg)
        uneven, coverage = (
            sum(limb << 32 * place for place, limb in enumerate(four)) for four in (limbs[:4], limbs[4:])
        )
        return result._plus(uneven, coverage, faults)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Residue) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash(self._state())

    def _state(self) -> tuple[int | bytes, int, int, int]:
        return self.seed, self._uneven, self._coverage, self.faults

    def __repr__(self) -> str:
        return f"<Residue: {'uniform' if self.is_uniform else 'not uniform'}, {self.faults} faults>"


def _is_beyond(shape: Iterable[int]) -> bool:
    """Whether a dimension does not fit 64 bits, so that nothing about the tensor can be judged."""
    return any(not -(2**63) <= dim < 2**63 for dim in shape)


def _fingerprint(seed: int | bytes) -> int:
    """31 bits that tell seeds apart by accident, not by intent."""
    return int.from_bytes(hashlib.shake_256(b"fingerprint\0" + _keys(seed, 1)).digest(4), "little") >> 1
