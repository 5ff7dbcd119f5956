"""How layouts, proofs, reports and checkpoints show themselves in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from shardproof.report.place import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardproof.checkpoint.check import CheckReport
    from shardproof.checkpoint.model import Checkpoint
    from shardproof.findings import Finding, Findings
    from shardproof.layout import ChunkLayout, ShardLayout

__all__ = ["checkpoint_as_html", "findings_as_html", "layout_as_html", "report_as_html", "shards_as_html"]


def layout_as_html(chunks: ChunkLayout) -> str:
    """Draw a layout, with the boxes that a proof finds wrong."""
    from shardproof.proof import prove  # noqa: PLC0415 -- the others need no numpy

    report = prove(chunks)
    return _drawn(chunks, f"{count(len(chunks), 'chunk')}, {'whole' if report.ok else 'not whole'}", report.findings)


def shards_as_html(layout: ShardLayout, places: ChunkLayout) -> str:
    """Draw a local tensor with its shards, and what is wrong with them among themselves."""
    found = layout.check_local()
    # Other boxes are those of the global tensor.
    local = [finding for finding in found if finding.code == "SP307"]
    picture = _drawn(places, f"local tensor with {count(len(places), 'shard')}", local)
    return picture + findings_as_html(found, repr(layout)[1:-1])


def _drawn(chunks: ChunkLayout, title: str, findings: Sequence[Finding]) -> str:
    from shardproof.report.gallery import DOUBLED, GAPS, marked  # noqa: PLC0415 -- they need numpy
    from shardproof.report.scene import scene_of  # noqa: PLC0415
    from shardproof.report.svg import Legend, drawing  # noqa: PLC0415

    (gaps, short), (doubled, several) = (marked(findings, codes, chunks.global_shape) for codes in (GAPS, DOUBLED))
    scene = scene_of(chunks, gaps=gaps, doubled=doubled)
    return drawing(scene, Legend("chunk", {0: "chunks"}, "chunk {}".format, str, short, several), title)


def findings_as_html(findings: Findings, head: str) -> str:
    """Write findings as a table below a line."""
    from shardproof.report.page import PAGE_TABLE, findings_table  # noqa: PLC0415 -- it needs numpy

    return f"<style>{PAGE_TABLE}</style><p><b>{escape(head)}</b></p>{findings_table(findings, findings.total)}"


def report_as_html(report: CheckReport) -> str:
    """Write a report: the verdict, and the findings as a table."""
    from shardproof.report.text import headline  # noqa: PLC0415 -- together with the page

    return findings_as_html(report.findings, headline(report))


def checkpoint_as_html(checkpoint: Checkpoint) -> str:
    """Write the tensors of a checkpoint as bars, as long as they have bytes. Nothing is judged."""
    from shardproof.report.listing import Listed  # noqa: PLC0415 -- it needs numpy
    from shardproof.report.page import PAGE_TABLE, overview  # noqa: PLC0415

    listed = [Listed(part, tensor) for part in checkpoint.parts.values() for tensor in part.tensors.values()]
    title = f"{checkpoint.location}: {checkpoint.format or 'no known format'}, {count(len(listed), 'tensor')}"
    return f"<style>{PAGE_TABLE}</style><p><b>{escape(title)}</b></p>{overview(listed, (), links=False)}"
