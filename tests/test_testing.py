"""The assertion for other people's tests."""

from __future__ import annotations

import subprocess
import sys

import pytest
import samples
from shardproof import ChunkLayout, ShardLayout, open_checkpoint
from shardproof.testing import assert_whole as assert_whole_of

pytest_plugins = ["pytester"]
WHOLE = samples.HERE / "data" / "samples" / "torch_dcp_hf" / "w2_sharded_t214"
BROKEN = samples.HERE / "data" / "samples" / "torch_dcp" / "two_faults"


def test_whole_checkpoints_and_layouts_pass(assert_whole):
    assert_whole(WHOLE)
    assert_whole(str(WHOLE), deep=True)
    assert_whole(open_checkpoint(str(WHOLE)))
    assert_whole(ChunkLayout((8,), [(0,), (4,)], [(4,), (4,)]))
    assert_whole(ChunkLayout((8,), [(0,), (0,)], [(8,), (8,)]), replicas=2)
    assert_whole(ShardLayout((16,), [(12,)], [(0,)], [(4,)], (8,)))
    assert_whole(ChunkLayout((), [()], [()]))


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (BROKEN, "SP301 chunk-gap"),
        (ChunkLayout((8,), [(0,)], [(4,)]), r"1 chunks of \(8,\) are not whole\n  SP301 chunk-gap: 4 elements"),
        (ChunkLayout((), [], []), "SP302"),
        (ShardLayout((16,), [(0,), (4,)], [(0,), (3,)], [(4,), (4,)], (8,)), "SP307"),
        (ShardLayout((16,), [(13,)], [(0,)], [(4,)], (8,)), "13 [+] 4 = 17 > 16"),
    ],
)
def test_what_is_not_whole_fails_with_the_report(what, words):
    with pytest.raises(AssertionError, match=words):
        assert_whole_of(what)


def test_the_fixture_comes_with_the_package(pytester):
    pytester.makepyfile(f"def test_it(assert_whole):\n    assert_whole({str(BROKEN)!r})\n")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*broken, 2 errors*", "*SP301 chunk-gap: 6 elements are not covered*"])


def test_importing_shardproof_imports_no_pytest():
    script = "import sys, shardproof, shardproof.testing; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
