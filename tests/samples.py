"""Checkpoints with known truth: what they hold, and what is wrong with them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardproof.findings import Finding

HERE = Path(__file__).parent
OWN = HERE / "data" / "samples"


@dataclass(frozen=True)
class Sample:
    """One checkpoint and what the manifest says about it."""

    directory: Path
    row: dict[str, Any]

    @property
    def name(self) -> str:
        return self.row["path"]

    def says_boxes(self) -> bool:
        """Whether the manifest says which boxes the chunks are; fragments of flat buffers are none."""
        return "fragments" not in self.row

    def expected(self, *, deep: bool) -> list[dict[str, Any]]:
        return [want for want in self.row["expected_findings"] if deep or not want.get("needs_payload")]


def collection() -> Path:
    """The whole collection where there is one, else the selection that comes with the tests."""
    beside = Path(os.environ.get("SHARDPROOF_SAMPLES", HERE.parent.parent / "shared" / "samples"))
    return beside if (beside / "manifest.json").is_file() else OWN


def samples(directory: Path) -> list[Sample]:
    manifest = json.loads((directory / "manifest.json").read_text())
    return [Sample(directory / row["path"], row) for row in manifest["samples"]]


def kinds(want: dict[str, Any]) -> set[str]:
    return {kind.replace("_", "-") for kind in [want["kind"], *want.get("accept", [])]}


def answers(finding: Finding, want: dict[str, Any]) -> bool:
    """Whether a finding is the expected one, at the right tensor, chunk and file."""
    if finding.name not in kinds(want):
        return False
    if want["tensor"] is not None and finding.fqn not in {want["tensor"], None}:
        return False
    if want["file"] is not None and finding.file not in {want["file"], None}:
        return False
    chunk = want["chunk"] or {}
    if chunk.get("index") is not None and finding.positions.count:
        return chunk["index"] in finding.positions.first
    if chunk.get("offsets") is not None and finding.box is not None:
        offsets, sizes = finding.box
        places = zip(chunk["offsets"], offsets, sizes, strict=True)
        return all(start <= at < max(start + length, start + 1) for at, start, length in places)
    return True
