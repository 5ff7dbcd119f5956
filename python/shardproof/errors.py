"""What is raised: the question could not be answered, or a call demanded a valid layout.

What is wrong with a layout or a checkpoint is a `Finding`, not an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardproof.findings import Findings

__all__ = [
    "InvalidInput",
    "InvalidType",
    "LayoutError",
    "LimitExceeded",
    "LookupFailed",
    "MalformedFile",
    "ShardproofError",
    "UnsupportedFormat",
]


class ShardproofError(Exception):
    """Base of everything that shardproof raises on purpose."""


class InvalidInput(ShardproofError, ValueError):
    """Arguments that do not belong together, such as two layouts of different shapes."""


class InvalidType(ShardproofError, TypeError):
    """A value that is not an integer, a sequence or a tensor where one is needed."""


class LayoutError(ShardproofError, ValueError):
    """A call demanded a valid layout and got a faulty one; `findings` has every fault."""

    def __init__(self, message: str, findings: Findings) -> None:
        super().__init__(message, findings)
        self.findings = findings

    def __str__(self) -> str:
        return str(self.args[0])


class LookupFailed(ShardproofError, ValueError):
    """A valid layout has no shard for this index."""


class MalformedFile(ShardproofError, ValueError):
    """A file is not what its format says it is."""


class LimitExceeded(ShardproofError, ValueError):
    """An answer would need more than a stated limit allows."""


class UnsupportedFormat(ShardproofError, ValueError):
    """No reader knows this format."""
