"""The pytest plugin: the fixture `assert_whole`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["assert_whole"]


@pytest.fixture(scope="session")
def assert_whole() -> Callable[..., None]:
    """Assert that a checkpoint or a layout is whole; the message of a failure is the report."""
    from shardproof.testing import assert_whole  # noqa: PLC0415 -- only tests that ask for it pay for it

    return assert_whole
