"""Does one peer's share of the jobs in a process of its own, a call at a time, as the driver asks."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time


def main() -> None:
    jobs = importlib.import_module(sys.argv[1]).JOBS
    gc.disable()
    call, scale = None, 1.0
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        if command == "prepare":
            number, peer = arguments
            job = jobs[number]
            call = (job.peers[peer] if peer else job.ours)()
            scale = getattr(call, "scale", 1.0)
            call()
            answer: object = "ready"
        else:
            # Short calls are repeated until the clock can tell them from nothing.
            repeats, seconds = 0, 0.0
            begin = time.perf_counter()
            while seconds < 0.002:
                call()
                repeats += 1
                seconds = time.perf_counter() - begin
            answer = seconds / repeats * scale
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
