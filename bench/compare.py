"""Compares shardproof with its peers, call by call in turn, and writes the tables of the README.

    python bench/compare.py [TABLE ...] [--rounds N] [--write]

Each peer runs in a process of its own; torch and TensorPlay in the interpreters that SHARDPROOF_TORCH_PYTHON and
SHARDPROOF_TENSORPLAY_PYTHON name, and not at all where these are not set. A figure is the ratio of medians; minima
stand beside it, since these are what a quiet machine would give.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from jobs import XOR, Job, home_of

HERE = Path(__file__).parent
ROOT = HERE.parent
TABLES = ["protocol", "plans", "proof", "growth", "reading"]


class Worker:
    """A process that times calls when it is asked to."""

    def __init__(self, *command: str) -> None:
        environment = os.environ | {"PYTHONPATH": f"{HERE}{os.pathsep}{ROOT / 'python'}"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, *command: object) -> object:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def homes() -> dict[str, str]:
    """Find what runs peers: interpreters, and a program that is built for it."""
    found = {"here": sys.executable}
    build = ["cargo", "build", "--release", "--quiet", "--package", "shardproof-core", "--example", "xor"]
    if shutil.which("cargo") and subprocess.run(build, cwd=ROOT, check=False).returncode == 0:
        found[XOR] = str(ROOT / "target/release/examples/xor")
    else:
        print(f"{XOR} is not compared: it cannot be built", file=sys.stderr)
    for framework in ("torch", "tensorplay"):
        python = os.environ.get(f"SHARDPROOF_{framework.upper()}_PYTHON")
        if python and Path(python).exists():
            found[framework] = python
        else:
            print(f"{framework} is not compared: no interpreter with it is named", file=sys.stderr)
    return found


def measure(table: str, number: int, job: Job, rounds: int, programs: dict[str, str]) -> dict[str, list[float]]:
    """Time our call and those of the peers, one after the other, `rounds` times."""

    def worker(home: str) -> Worker:
        script = [str(job.items)] if home == XOR else [str(HERE / "worker.py"), table]
        return Worker(programs[home], *script)

    runners = {peer: worker(home) for peer in ["", *job.peers] if (home := home_of(peer)) in programs}
    try:
        for peer, worker in runners.items():
            worker.ask("prepare", number, peer)
        seconds: dict[str, list[float]] = {peer: [] for peer in runners}
        for _ in range(rounds):
            for peer, worker in runners.items():
                seconds[peer].append(float(worker.ask("time")))  # type: ignore[arg-type]
        return seconds
    finally:
        for worker in runners.values():
            worker.close()


def pretty(seconds: float) -> str:
    unit = max(min(math.floor(math.log10(seconds) / 3), 0), -3)
    return f"{seconds / 1000.0**unit:.3g} {['s', 'ms', 'us', 'ns'][-unit]}"


def rows(job: Job, seconds: dict[str, list[float]]) -> Iterator[tuple[list[str], bool]]:
    ours = seconds.pop("")
    each = f"{pretty(statistics.median(ours) / job.items)} (min {pretty(min(ours) / job.items)})"
    if job.most_us is not None:
        reached = statistics.median(ours) <= job.most_us * 1e-6
        yield [job.name, job.call, each, "", "", f"<= {job.most_us:g} us"], reached
    if job.growth is not None:
        peer, items, most = job.growth
        fewer = seconds.pop(peer)
        exponents = [math.log(of(ours) / of(fewer)) / math.log(job.items / items) for of in (statistics.median, min)]
        found = f"time grows with the power {exponents[0]:.2f} (min {exponents[1]:.2f})"
        yield [job.name, job.call, each, peer, found, f"<= {most:g}"], exponents[0] <= most
    for peer, theirs in seconds.items():
        ratio = statistics.median(theirs) / statistics.median(ours)
        must = job.must.get(peer)
        yield (
            [
                job.name,
                job.call,
                each,
                peer,
                f"{ratio:,.3g}x (min {min(theirs) / min(ours):,.3g}x)",
                "" if must is None else f"{must:g}x",
            ],
            must is None or ratio >= must,
        )


def write(table: str, text: str) -> None:
    readme = ROOT / "README.md"
    begin, end = f"<!-- bench:{table} -->\n", f"<!-- /bench:{table} -->"
    before, _, rest = readme.read_text().partition(begin)
    _, _, after = rest.partition(end)
    readme.write_text(f"{before}{begin}{text}{end}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="write the tables into the README")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    programs = homes()
    short = 0
    for table in options.tables:
        lines = [
            "| job | call | per item | against | how many times faster | must reach |",
            "|---|---|---|---|---|---|",
        ]
        for number, job in enumerate(importlib.import_module(table).JOBS):
            for cells, reached in rows(job, measure(table, number, job, options.rounds, programs)):
                short += not reached
                lines.append(f"| {' | '.join(cells)} |")
                print(lines[-1], "" if reached else "  <-- falls short", flush=True)
        if options.write:
            write(table, "\n".join(lines) + "\n")
    print(f"{short} figures fall short" if short else "every figure is reached")
    return bool(short)


if __name__ == "__main__":
    sys.exit(main())
