#!/usr/bin/env python3
"""What Belljar costs, beside bare Python, bubblewrap, an OCI runtime and Docker.

    ./dev bench                  a few minutes
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
import download
import floor
import governance
import guest_speed
import latency
import load
import machine
import memory
import privacy
import ratios
import report
import sessions
import steps
import tools_list
from stats import NotHere, Refused, WrongAnswer
from support_binary import BINARY
from support_processes import adopt_orphans
from support_traces import Traces, wait_until_gone

CALLERS = (1, 2, 8, 64, 256)
BUBBLEWRAP_PARALLEL = (1, 2, 3, 4)
BURST = 100
PACED = {"fork", "bubblewrap", "http_python"}
PACE_SECONDS = 0.1
WARM_UP = 3
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
    cells: int
    downloads: int


# Half of the jars that wait for Python are still there after one and `often` more questions: a warm
# hello finds one, and none is made beside it. What comes when nobody leaves time to make them is
# measured with callers that never rest.
QUICK = Size(turns=30, often=7, paced=30, rounds=1, seconds=2.0, bursts=2, guest_rounds=3,
             cells=40, downloads=3)
FULL = Size(turns=60, often=7, paced=100, rounds=3, seconds=4.0, bursts=10, guest_rounds=5,
            cells=200, downloads=9)


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
        self.candidates, self.missing = [], {}
        self.server = candidates_server.start_server(place, "warm")
        self.servers = {"warm": self.server}
        stack.callback(self.server.stop)
        languages = candidates_server.usable_languages(self.server)
        self.languages = [name for name, reason in languages.items() if reason is None]
        for name, reason in languages.items():
            if reason is not None:
                self.note_missing(f"http_{name}", f"POST /execute, {name}", reason)

    def note_missing(self, key, label, reason):
        self.missing[key] = {"label": label, "runs": 0, "failed": 0, "wrong": 0,
                             "not_run": str(reason)}

    def add(self, key, label, make):
        """A candidate, or the row that says why there is none."""
        try:
            candidate = make()
        except (NotHere, Refused, OSError) as reason:
            self.note_missing(key, label, reason)
            return
        self.stack.callback(candidate.close)
        self.candidates.append(candidate)

    def add_baselines(self):
        self.add("python", "bare python3", candidates_commands.bare_python)
        self.add("fork", "bare warm fork", candidates_commands.WarmFork)
        self.add("bubblewrap", "bubblewrap", candidates_commands.bubblewrap)
        for runtime, label in candidates_containers.LABELS.items():
            self.add(runtime, label, lambda: candidates_containers.Bundle(runtime, self.place))
        if self.full:
            self.add("docker", "docker run", lambda: candidates_containers.DockerRun(self.place))
        if "javascript" in self.languages:
            self.add("node", "bare node", candidates_commands.bare_node)

    def add_belljar(self):
        self.add("run", "belljar run",
                 lambda: candidates_commands.belljar_run(BINARY, self.place))
        for language in self.languages:
            self.add("", "", lambda: candidates_server.warm(self.server, language))
        self.add("", "", lambda: candidates_server.mcp_over_http(self.server))
        self.add("mcp_stdio", "MCP over stdio, python, warm", candidates_server.Stdio)
        try:
            server = candidates_server.start_server(self.place, "cold",
                                                    candidates_server.NONE_READY)
        except NotHere as reason:
            self.note_missing("http_python_cold", "POST /execute, python, cold", reason)
            return
        self.stack.callback(server.stop)
        self.servers["cold"] = server
        for language in self.languages:
            self.add("", "", lambda: candidates_server.cold(server, language))

    def measure(self):
        start, stolen = time.monotonic(), machine.stolen_seconds()
        self.progress.begin("starting the candidates")
        result = {"mode": "full" if self.full else "quick", "machine": machine.describe(BINARY)}
        self.add_baselines()
        self.add_belljar()
        self.measure_hellos(result)
        self.measure_loads(result)
        self.measure_service(result)
        elapsed = time.monotonic() - start
        result["seconds"] = round(elapsed)
        result["machine"]["stolen_cores"] = round((machine.stolen_seconds() - stolen) / elapsed, 3)
        self.progress.finish()
        return result

    def measure_hellos(self, result):
        self.progress.begin("one hello, in turns")
        turns = latency.Turns(self.candidates, self.size.often)
        turns.warm_up(WARM_UP)
        turns.take(self.size.turns, self.progress)
        result["latency"] = {**turns.results(), **self.missing}
        self.progress.begin("one hello per 100 ms")
        rested = [one for one in self.candidates if PACED & one.rows.keys()]
        result["paced"] = latency.paced(rested, self.size.paced, PACE_SECONDS, self.progress)

        self.progress.begin("the steps of one hello")
        result["steps"] = steps.measure(self.servers, self.size.paced, time.sleep)

    def measure_loads(self, result):
        self.progress.begin("many callers")
        dialects = [candidates_server.Execute(self.server.address, language)
                    for language in self.languages]
        ours = [load.ServerLoad(dialect, callers) for dialect in dialects for callers in CALLERS]
        theirs = []
        if "bubblewrap" not in self.missing:
            theirs = [load.bubblewrap_load(parallel) for parallel in BUBBLEWRAP_PARALLEL]
        least, reason = self.find_floor()
        load.measure([*ours, *theirs, *(least.loads() if least else ())], self.size.rounds,
                     self.size.seconds, self.progress)
        result["load"] = {"belljar": [one.result() for one in ours],
                          "bubblewrap": [one.result() for one in theirs],
                          "floor": least.result() if least else {"not_run": reason}}
        self.progress.begin(f"{BURST} callers at once")
        result["burst"] = [load.bursts(dialect, BURST, self.size.bursts, self.progress)
                           for dialect in dialects]

    def find_floor(self):
        """It, or nothing and why."""
        try:
            found = floor.Floor()
        except NotHere as reason:
            return None, str(reason)
        self.stack.callback(found.close)
        return found, None

    def measure_service(self, result):
        self.progress.begin("loops inside")
        result["guest"] = guest_speed.measure(self.place, self.size.guest_rounds, self.progress)
        self.progress.begin("tools/list")
        result["tools_list"] = tools_list.measure(self.server, self.size.seconds)
        self.progress.begin("cells of a session")
        result["sessions"] = sessions.measure(self.server, self.size.cells, self.progress)
        self.progress.begin("policy and audit")
        result["governance"] = governance.measure(self.place, self.progress)
        self.progress.begin("masking")
        result["privacy"] = privacy.measure(self.place, self.size.downloads, self.progress)
        self.progress.begin("memory")
        result["memory"] = memory.measure(self.server)
        self.progress.begin("a large file")
        result["download"] = download.measure(self.place, self.size.downloads, self.progress)
        if self.full:
            self.progress.begin("a thousand jars")
            result["crowd"] = sessions.crowd(self.place)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--full", action="store_true",
                        help="more of everything, and docker run: some twenty minutes")
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
