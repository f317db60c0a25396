#!/usr/bin/env python3
"""What Belljar costs, beside bare Python, bubblewrap, an OCI runtime and Docker.

    ./dev bench                  a minute or two
    ./dev bench --full           more of everything, and `docker run` too
    BELLJAR_BINARY=PROGRAM ...   measures another program

All candidates are measured in the same run, in turns. The tables go to the terminal, the numbers
to build/bench.json; report.py makes docs/PERFORMANCE.md from them.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# How a server is started and what it leaves behind is known to the end-to-end tests.
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import candidates_commands
import candidates_containers
import candidates_server
import guest_speed
import latency
import load
import machine
import memory
import ratios
import report
import tools_list
from stats import NotHere, Refused, WrongAnswer
from support_binary import BINARY
from support_processes import adopt_orphans
from support_traces import Traces, wait_until_gone

CALLERS = (1, 2, 8, 64, 256)
BUBBLEWRAP_PARALLEL = (1, 2, 3, 4)
BURST = 100
PACE_SECONDS = 0.1
SECONDS_TO_CLEAN_UP = 20


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is measured."""

    turns: int
    often: int
    paced: int
    rounds: int
    seconds: float
    bursts: int
    guest_rounds: int


QUICK = Size(turns=30, often=8, paced=30, rounds=1, seconds=2.0, bursts=2, guest_rounds=3)
FULL = Size(turns=150, often=20, paced=200, rounds=5, seconds=4.0, bursts=10, guest_rounds=10)


class Progress:
    """One line on a terminal that is written over; elsewhere a line per part."""

    def __init__(self):
        self.part, self.start = "", time.monotonic()

    def begin(self, part):
        self.part = part
        self("")
        if not sys.stdout.isatty():
            print(f"{time.monotonic() - self.start:5.0f} s  {part}", flush=True)

    def __call__(self, text):
        if sys.stdout.isatty():
            print(f"\r\033[K{self.part} {text}", end="", flush=True)

    def finish(self):
        if sys.stdout.isatty():
            print("\r\033[K", end="", flush=True)


class Bench:
    """One run: everything that is started is ended with `stack`."""

    def __init__(self, full, stack, place):
        self.size, self.full = FULL if full else QUICK, full
        self.stack, self.place, self.progress = stack, place, Progress()
        self.missing = {}
        self.server = candidates_server.start_server(place, "warm")
        stack.callback(self.server.stop)

    def add(self, found, key, label, make):
        """A candidate, or the row that says why there is none."""
        try:
            candidate = make()
        except (NotHere, Refused, OSError) as reason:
            self.missing[key] = {"label": label, "runs": 0, "failed": 0, "wrong": 0,
                                 "not_run": str(reason)}
            return
        self.stack.callback(candidate.close)
        found.append(candidate)

    def candidates(self):
        found = [candidates_commands.bare_python(), candidates_commands.WarmFork()]
        for candidate in found:
            self.stack.callback(candidate.close)
        labels = candidates_containers.LABELS
        self.add(found, "bubblewrap", "bubblewrap", candidates_commands.bubblewrap)
        for runtime, label in labels.items():
            self.add(found, runtime, label,
                     lambda runtime=runtime: candidates_containers.Bundle(runtime, self.place))
        if self.full:
            self.add(found, "docker", "docker run",
                     lambda: candidates_containers.DockerRun(self.place))
        self.add(found, "run", "belljar run",
                 lambda: candidates_commands.belljar_run(BINARY, self.place))
        for candidate in candidates_server.python_dialects(self.server):
            self.add(found, "", "", lambda candidate=candidate: candidate)
        self.add(found, "mcp_stdio", "MCP over stdio, warm", candidates_server.Stdio)
        self.add(found, "http_cold", "POST /execute, cold (no jar ready)",
                 lambda: candidates_server.Cold(self.place))
        for language in ("javascript", "typescript"):
            self.add(found, language, f"POST /execute, {language}, warm",
                     lambda language=language: candidates_server.other_language(self.server,
                                                                                language))
        return found

    def measure(self):
        size, progress = self.size, self.progress
        result = {"mode": "full" if self.full else "quick", "machine": machine.describe(BINARY)}
        stolen, start = machine.stolen_seconds(), time.monotonic()
        progress.begin("starting the candidates")
        candidates = self.candidates()
        progress.begin("one hello, in turns")
        turns = latency.Turns(candidates, size.often)
        turns.warm_up(3)
        turns.take(size.turns, progress)
        result["latency"] = {**turns.results(), **self.missing}
        progress.begin("one hello per 100 ms")
        rested = [one for one in candidates if {"fork", "bubblewrap", "http"} & one.rows.keys()]
        result["paced"] = latency.paced(rested, size.paced, PACE_SECONDS, progress)
        dialect = candidates_server.Execute(self.server.address)
        progress.begin("many callers")
        result["load"] = self.loads(dialect)
        progress.begin(f"{BURST} callers at once")
        result["burst"] = load.bursts(dialect, BURST, size.bursts, progress)
        progress.begin("loops inside")
        result["guest"] = guest_speed.measure(self.server.address, size.guest_rounds, progress)
        progress.begin("tools/list")
        result["tools_list"] = tools_list.measure(self.server, size.seconds)
        progress.begin("memory")
        result["memory"] = memory.measure(self.server)
        elapsed = time.monotonic() - start
        result["seconds"] = round(elapsed)
        result["machine"]["stolen_cores"] = round((machine.stolen_seconds() - stolen) / elapsed, 3)
        progress.finish()
        return result

    def loads(self, dialect):
        ours = [load.ServerLoad(dialect, callers) for callers in CALLERS]
        theirs = []
        if "bubblewrap" not in self.missing:
            theirs = [load.BubblewrapLoad(parallel) for parallel in BUBBLEWRAP_PARALLEL]
        measured = load.measure([*ours, *theirs], self.size.rounds, self.size.seconds,
                                self.progress)
        return {"belljar": measured[:len(ours)], "bubblewrap": measured[len(ours):]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--full", action="store_true",
                        help="more of everything, and docker run: a quarter of an hour")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "bench.json",
                        help="where the numbers go (default build/bench.json)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if os.geteuid() != 0:
        sys.exit("jars can be made only by root; ./dev bench asks for it")
    adopt_orphans()
    before = Traces()
    with contextlib.ExitStack() as stack:
        place = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="belljar-bench-")))
        place.chmod(0o755)
        try:
            result = Bench(arguments.full, stack, place).measure()
        except (NotHere, Refused, WrongAnswer) as reason:
            sys.exit(f"bench: {reason}")
    result["ratios"] = ratios.of(result)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    print(report.as_text(result))
    wait_until_gone(before, SECONDS_TO_CLEAN_UP)
    bad = ratios.failures(result)
    if bad:
        sys.exit(f"bench: {bad} runs of Belljar failed or printed something else")


if __name__ == "__main__":
    main()
