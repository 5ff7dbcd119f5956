"""Threads, forks, signals and panics."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from shardproof import ShardLayout, _core

LARGE = 3_000_000
"""Shards enough for work to run on a thread of its own."""


def large_layout(count=LARGE):
    offsets = np.arange(count)[:, None]
    return ShardLayout((count,), offsets, offsets, np.ones((count, 1), np.int64), (count,))


def run(program, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def test_large_work_gives_the_same_answers_as_small_work():
    layout = large_layout()
    assert not layout.findings()
    queries = np.random.default_rng(7).permutation(LARGE)[:, None]
    assert np.array_equal(layout.resolve_many(queries), queries[:, 0])


def test_other_threads_go_on_while_the_core_works():
    layout = large_layout()
    queries = np.random.default_rng(7).permutation(LARGE)[:, None]
    turns = 0
    done = threading.Event()

    def work():
        layout.resolve_many(queries)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.0005)
    thread.join()
    assert turns > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_can_do_large_work_after_its_parent_did():
    program = f"""
        import os, sys, warnings
        import numpy as np
        from shardproof import ShardLayout
        warnings.simplefilter("ignore", DeprecationWarning)
        count = {LARGE}
        offsets = np.arange(count)[:, None]
        layout = ShardLayout((count,), offsets, offsets, np.ones((count, 1), np.int64), (count,))
        assert not layout.findings()
        child = os.fork()
        answers = layout.resolve_many(offsets[::-1])
        assert answers[0] == count - 1
        if child == 0:
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    result = run(program)
    assert (result.stdout, result.returncode) == ("7\n", 0), result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent another way")
def test_ctrl_c_ends_large_work_with_keyboard_interrupt():
    program = """
        import time
        import numpy as np
        from shardproof import ShardLayout
        count = 6_000_000
        offsets = np.random.default_rng(7).permutation(count)[:, None]
        layout = ShardLayout((count,), offsets, offsets, np.ones((count, 1), np.int64), (count,))
        layout.check()
        print("ready", flush=True)
        try:
            while True:
                layout.resolve_many(offsets)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert process.wait(60) == 0
    process.stdout.close()


@pytest.mark.parametrize("chunks", [None, 0, 1 << 15, 1 << 22], ids=["asking", "small", "large", "on a thread"])
def test_a_panic_in_the_core_is_a_runtime_error_and_the_next_call_works(chunks):
    with pytest.raises(RuntimeError, match=r"^shardproof has a bug, please report it: asked to panic$"):
        _core.panic(chunks)
    assert large_layout(4).resolve_many([(3,)]) == [3]


def test_importing_shardproof_starts_no_thread_and_imports_nothing_from_outside():
    program = """
        import sys, threading
        before = set(sys.modules)
        import shardproof
        print(sorted({name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))
        shardproof.ShardLayout
        outside = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
        print(sorted(name for name in outside if not name.startswith("_")))
        print(threading.active_count())
    """
    result = run(program)
    assert result.stdout.splitlines() == ["['shardproof']", "['numpy', 'shardproof']", "1"], result.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no such file")
@pytest.mark.parametrize("wide", [1, 4096], ids=["1-D", "rows of (n, wide)"])
def test_a_proof_takes_no_memory_that_grows_with_the_chunks(wide):
    program = f"""
        import numpy as np
        from shardproof import ChunkLayout, prove

        def most():
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024

        def layout(count):
            starts = (np.arange(count) * 7919 % count)[:, None] * 1000
            sizes = np.full_like(starts, 1000)
            if {wide} == 1:
                return ChunkLayout((count * 1000,), starts, sizes)
            offsets, lengths = np.zeros((count, 2), np.int64), np.full((count, 2), {wide})
            offsets[:, :1], lengths[:, :1] = starts, sizes
            return ChunkLayout((count * 1000, {wide}), offsets, lengths)

        large = layout(3_000_000)
        assert prove(layout(1000)).ok
        before = most()
        # What building the layouts took and gave back would hide what the proof takes.
        ballast = np.ones(before // 8, np.int64)
        before = most()
        assert prove(large).ok
        print(most() - before)
    """
    grown = run(program)
    assert int(grown.stdout) < 8 << 20, grown.stderr
