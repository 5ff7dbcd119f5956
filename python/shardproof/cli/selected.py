"""Which tensors a name or a pattern means."""

from __future__ import annotations

from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from shardproof.errors import InvalidInput
from shardproof.report.place import printable

if TYPE_CHECKING:
    from shardproof.checkpoint.model import Checkpoint, Part, Tensor

__all__ = ["selected"]


def selected(checkpoint: Checkpoint, names: str | None) -> list[tuple[Part, Tensor]]:
    """Find the tensors of a name, else those that match a pattern, else say which name is near.

    Raises
    ------
    InvalidInput
        If there are none, although a name was given.
    """
    tensors = [(part, tensor) for part in checkpoint.parts.values() for tensor in part.tensors.values()]
    if names is None:
        return tensors
    fqns = {tensor.fqn for _, tensor in tensors}
    if names in fqns:
        return [(part, tensor) for part, tensor in tensors if tensor.fqn == names]
    found = [(part, tensor) for part, tensor in tensors if fnmatchcase(tensor.fqn, names)]
    if not found:
        near = next(iter(get_close_matches(names, fqns, n=1)), None)
        hint = "leave the name out to list all" if near is None else f"did you mean {printable(near)}?"
        raise InvalidInput(f"{checkpoint.location}: no tensor is named or matches {names!r}; {hint}")
    return found
