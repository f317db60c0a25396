#!/usr/bin/env python3
"""How long one hello takes: `belljar run` beside bare Python and bubblewrap.

    ./dev bench --runs 100

The candidates take turns, so that a busy moment of the machine meets all of them. The table goes
to the terminal, the numbers to build/bench.json.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PYTHON = "/usr/bin/python3"
PROGRAM = "print('hello')"
WARM_UP = 3


def candidates(script):
    """name -> command that must print hello."""
    found = {
        "bare python": [PYTHON, "-I", "-c", PROGRAM],
        "belljar run": [str(ROOT / "build" / "release" / "belljar"), "run", script],
    }
    if bwrap := shutil.which("bwrap"):
        links = [part for name in ("lib", "lib64", "bin")
                 for part in ("--symlink", f"usr/{name}", f"/{name}")]
        found["bubblewrap"] = [bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/usr",
                               "/usr", *links, "--proc", "/proc", "--dev", "/dev", "--tmpfs",
                               "/tmp", PYTHON, "-I", "-c", PROGRAM]
    return found


def run_once(command):
    """Milliseconds; raises with the program's own words if it did not print hello."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    elapsed = (time.perf_counter() - start) * 1000
    if done.returncode != 0 or done.stdout.strip() != b"hello":
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise RuntimeError(f"exit code {done.returncode}: {words[-1] if words else 'no output'}")
    return elapsed


def percentile(samples, percent):
    """The nearest rank: a time that was really measured."""
    return sorted(samples)[max(0, math.ceil(len(samples) * percent / 100) - 1)]


def measure(commands, runs):
    """name -> times in milliseconds, and name -> why a candidate could not run."""
    times, broken = {name: [] for name in commands}, {}
    for turn in range(WARM_UP + runs):
        for name, command in commands.items():
            if name in broken:
                continue
            try:
                elapsed = run_once(command)
            except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
                broken[name] = str(error)
                continue
            if turn >= WARM_UP:
                times[name].append(elapsed)
    return {name: samples for name, samples in times.items() if name not in broken}, broken


def summarize(times):
    bare = statistics.median(times["bare python"])
    return {
        name: {
            "p50_ms": round(statistics.median(samples), 2),
            "p99_ms": round(percentile(samples, 99), 2),
            "best_ms": round(min(samples), 2),
            "ratio": round(statistics.median(samples) / bare, 2),
        }
        for name, samples in times.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=50, help="of each candidate (default 50)")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    with tempfile.TemporaryDirectory(prefix="belljar-bench-") as folder:
        script = pathlib.Path(folder) / "hello.py"
        script.write_text(PROGRAM + "\n")
        times, broken = measure(candidates(str(script)), arguments.runs)
    if "bare python" not in times:
        sys.exit(f"bare python could not run: {broken['bare python']}")
    summary = summarize(times)
    print(f"{'':14}{'p50 ms':>9}{'p99 ms':>9}{'best ms':>9}{'ratio':>8}   ({arguments.runs} runs)")
    for name, row in summary.items():
        print(f"{name:14}{row['p50_ms']:9.2f}{row['p99_ms']:9.2f}{row['best_ms']:9.2f}"
              f"{row['ratio']:8.2f}")
    for name, reason in broken.items():
        print(f"{name:14}could not run: {reason}")
    result = {"runs": arguments.runs, "cores": os.cpu_count(), "results": summary,
              "not_run": broken}
    (ROOT / "build" / "bench.json").write_text(json.dumps(result, indent=2) + "\n")
    sys.exit(1 if "belljar run" in broken else 0)


if __name__ == "__main__":
    main()
