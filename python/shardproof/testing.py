"""An assertion for tests: that a checkpoint or a layout is whole.

With pytest, `assert_whole` is also a fixture: the plugin comes with the package.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING

from shardproof.checkpoint.check import check_checkpoint
from shardproof.checkpoint.model import Checkpoint

if TYPE_CHECKING:
    from shardproof.layout import ChunkLayout, ShardLayout

__all__ = ["assert_whole"]


def assert_whole(
    what: str | PathLike[str] | Checkpoint | ChunkLayout | ShardLayout, *, deep: bool = False, replicas: int = 1
) -> None:
    """Assert that a checkpoint, or the layout of a tensor, is whole.

    Of a `ShardLayout`, which is one process's part of a tensor, form, bounds and overlaps among its own shards are
    judged.

    Parameters
    ----------
    what
        Where a checkpoint is, a checkpoint that was opened, or a layout.
    deep
        Whether to look into the stored records of a checkpoint too.
    replicas
        How often every element of a `ChunkLayout` should be covered.

    Raises
    ------
    AssertionError
        If it is not whole, or cannot be proved to be; the message is the report.

    Examples
    --------
    >>> from shardproof import ChunkLayout
    >>> assert_whole(ChunkLayout((8,), [(0,), (4,)], [(4,), (4,)]))
    >>> assert_whole(ChunkLayout((8,), [(0,), (5,)], [(4,), (3,)]))
    Traceback (most recent call last):
        ...
    AssertionError: 2 chunks of (8,) are not whole
      SP301 chunk-gap: 1 element is not covered (4)+(1)
    """
    __tracebackhide__ = True
    if isinstance(what, (str, PathLike, Checkpoint)):
        report = check_checkpoint(what if isinstance(what, Checkpoint) else fspath(what), deep=deep)
        if not report.ok:
            raise AssertionError(str(report))
        return
    from shardproof.findings import Severity  # noqa: PLC0415 -- a path needs no layouts
    from shardproof.layout import ChunkLayout  # noqa: PLC0415
    from shardproof.proof import prove  # noqa: PLC0415
    from shardproof.report.place import place  # noqa: PLC0415

    if isinstance(what, ChunkLayout):
        proof = prove(what, replicas=replicas)
        ok, findings, name = proof.ok, proof.findings, f"{len(what)} chunks of {what.global_shape}"
    else:
        findings = what.check_local()
        ok = findings.worst is not Severity.ERROR
        name = f"{len(what)} shards in a local tensor of {what.local_shape}"
    shown = [f"  {f.code} {f.name}: {f.sentence} {place(f)}".rstrip() for f in findings[:20]]
    more = findings.total - len(shown)
    if not ok:
        raise AssertionError("\n".join([f"{name} are not whole", *shown, *[f"  and {more} more"] * (more > 0)]))
