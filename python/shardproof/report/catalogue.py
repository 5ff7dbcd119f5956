"""What every finding means: for a terminal, and as a page."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Final

from shardproof.explanations import EXPLANATIONS
from shardproof.findings import KINDS

if TYPE_CHECKING:
    from shardproof.findings import Kind

__all__ = ["explained", "findings_page"]

_QUESTIONS: Final = ("What:", "Why it matters:", "How it comes about:", "What to do:")

# The first digit of a code, and what the family is about.
_FAMILIES: Final = {
    1: "Form: what a layout is made of",
    2: "Bounds: chunks and shards inside their tensors",
    3: "Coverage: every element exactly as often as it should be",
    4: "Storage: records, ranges, files and what is in them",
    5: "Agreement: between files, processes, and what is expected",
    6: "Reading: metadata that is damaged, hostile or unknown",
    7: "The set: a checkpoint as a whole",
}


def explained(kind: Kind, width: int) -> str:
    """Explain a kind of finding in lines of at most `width` characters."""
    answers = zip(_QUESTIONS, EXPLANATIONS[kind.code], strict=True)
    paragraphs = [fill(f"{question} {answer}", width=width) for question, answer in answers]
    return "\n\n".join([f"{kind.code} {kind.name} ({kind.severity}): {kind.summary}", *paragraphs])


def findings_page() -> str:
    """Write the page of all findings, `docs/findings.md`."""
    lines = [
        "# Findings",
        "",
        "What each code means, why it matters, how it comes about and what to do: the texts of `shardproof explain`. A",
        "published code never changes its meaning. Severities are the usual ones; a format may have another where it",
        "allows what others forbid. `make docs` writes this page.",
    ]
    for family, title in _FAMILIES.items():
        lines += ["", f"## {title}"]
        for kind in KINDS.values():
            if kind.number // 100 != family:
                continue
            lines += ["", f"### {kind.code} {kind.name}", "", f"*{kind.severity}*: {kind.summary}."]
            answers = zip(_QUESTIONS, EXPLANATIONS[kind.code], strict=True)
            lines += [
                line for question, answer in answers for line in ("", fill(f"**{question}** {answer}", width=120))
            ]
    return "\n".join(lines) + "\n"
