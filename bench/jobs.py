"""What a benchmark compares: jobs, and how each peer does them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Call = Callable[[], object]


@dataclass(frozen=True)
class Job:
    """One row of a table.

    Attributes
    ----------
    name
        What is measured, in words.
    call
        Which call of ours is measured.
    items
        How many things one call handles: figures are given per item.
    ours
        Makes the call; it runs once before any timing.
    peers
        What we are compared with: name of the peer, and the same for it.
    must
        How many times faster than a peer we have to be.
    most_us
        Microseconds that one call of ours may take, where there is no peer.
    growth
        The peer that is our own call on fewer things, how many these are, and the exponent with which time may grow.
    """

    name: str
    call: str
    items: int
    ours: Callable[[], Call]
    peers: Mapping[str, Callable[[], Call]] = field(default_factory=dict)
    must: Mapping[str, float] = field(default_factory=dict)
    most_us: float | None = None
    growth: tuple[str, int, float] | None = None


XOR = "xor-reading in Rust"
"""The yardstick of reading: a Rust program that does nothing but look at the same bytes."""


def home_of(peer: str) -> str:
    """Name the environment in which a peer lives: torch and TensorPlay cannot share a process with each other."""
    return peer if peer in {"torch", "tensorplay", XOR} else "here"
